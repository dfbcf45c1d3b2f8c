// The list and the corpus view of a report. Words are coloured when they scroll into view.
const report = JSON.parse(document.getElementById("data").textContent);
const details = new Details();
const byId = (id) => document.getElementById(id);
const list = byId("list");
const items = [...list.children].map((element, number) => ({ element, number, data: report.items[number] }));

// Cuts the text of an item into words; negative lengths are those of the text between words.
function cutInto(paragraph, cuts) {
  const text = paragraph.textContent;
  let done = 0;
  paragraph.replaceChildren(...cuts.map((length) => {
    const piece = text.slice(done, (done += Math.abs(length)));
    return length < 0 ? piece : make("span", { class: "w" }, piece);
  }));
}

function colour(item) {
  if (item.explanation) return;
  item.explanation = new Explanation(item.data);
  const { explanation } = item;
  [...item.element.querySelectorAll(":scope > .text")].forEach((paragraph, part) => cutInto(paragraph, explanation.cuts[part]));
  const spans = item.element.querySelectorAll(":scope > .text .w");
  const highest = explanation.highest(explanation.label, "score");
  explanation.scored.forEach((word, place) => colourWord(spans[word], explanation, explanation.label, "score", place, highest));
  spans.forEach((span, word) => span.classList.toggle("outside", explanation.status[word] === "o"));
}

function toggle(item) {
  colour(item);
  if (!item.opened) {
    item.opened = byId("opened").content.firstElementChild.cloneNode(true);
    const texts = item.opened.querySelector(".texts");
    for (const paragraph of item.element.querySelectorAll(":scope > .part, :scope > .text")) texts.append(paragraph.cloneNode(true));
    for (const span of texts.querySelectorAll(".w")) span.tabIndex = -1;
    item.opened.querySelector("footer").textContent = item.explanation.facts;
    item.element.append(item.opened);
    new Group(item.opened, [item.opened], [item.explanation], details, report.measures);
    item.opened.hidden = true;
  }
  item.opened.hidden = !item.opened.hidden;
  item.element.classList.toggle("open", !item.opened.hidden);
  const button = item.element.querySelector(".open");
  button.setAttribute("aria-expanded", String(!item.opened.hidden));
  button.firstChild.data = item.opened.hidden ? "Details" : "Close";
}

// The words of an item as the corpus view counts them.
function wordsOf(item) {
  item.words ??= new Set([...item.element.querySelectorAll(":scope > .text")].flatMap((paragraph, part) => {
    let done = 0;
    return item.data.cuts[part].flatMap((length) => {
      const piece = paragraph.textContent.slice(done, (done += Math.abs(length)));
      return length < 0 ? [] : [piece.toLowerCase()];
    });
  }));
  return item.words;
}

// A word chosen in the corpus view matches whole words; typed text matches anywhere.
let chosen = null;

function isFound(item, search) {
  if (!search) return true;
  if (chosen?.field === search) return wordsOf(item).has(chosen.word);
  return [...item.element.querySelectorAll(":scope > .text")].some((p) => p.textContent.toLowerCase().includes(search));
}

function listTexts() {
  const label = byId("label").value;
  const right = byId("right")?.value || "";
  const search = byId("search").value.toLowerCase();
  let count = 0;
  for (const item of items) {
    const { dataset } = item.element;
    const shown = (!label || dataset.label === label) && (!right || dataset.right === right) && isFound(item, search);
    item.element.hidden = !shown;
    count += shown;
  }
  byId("count").textContent = `${count} of ${items.length} texts`;
}

function orderTexts() {
  const order = byId("order").value;
  const sign = { "": 0, sure: -1, unsure: 1 }[order];
  const confidence = ({ element }) => Number(element.dataset.confidence);
  const sorted = [...items].sort((a, b) => sign * (confidence(a) - confidence(b)) || a.number - b.number);
  list.replaceChildren(...sorted.map(({ element }) => element));
}

const BY = {
  weight: (row) => Math.abs(row[7]),
  score: ([, , , score]) => Math.abs(score),
  texts: ([, texts]) => texts,
};

function corpusTable(title, rows, isPhrase) {
  const head = make("tr", {}, ...[isPhrase ? "phrase" : "word", "texts", "times", "mean score", "mean effect"].map((name) => make("th", { scope: "col" }, name)));
  const body = rows.map(([word, texts, times, score, effect, low, high]) => {
    const mean = signed(score) + (low === null ? "" : `\u00a0±\u00a0${((high - low) / 2).toFixed(3)}`);
    const button = make("button", { type: "button", dir: "auto", title: "list the texts with it" }, shortened(word, 40));
    button.addEventListener("click", () => {
      byId("search").value = word; // the field removes line breaks
      chosen = isPhrase ? null : { word, field: byId("search").value.toLowerCase() };
      listTexts();
      byId("search").scrollIntoView({ block: "start" });
    });
    return make("tr", {}, make("td", {}, button), ...[texts, times, mean, effect === null ? "" : signed(effect, 2)].map((value) => make("td", {}, String(value))));
  });
  const none = make("tr", {}, make("td", { colspan: 5 }, isPhrase ? "no such phrase" : "no such word"));
  return make("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": title }, make("table", {}, make("caption", {}, title), head, ...(body.length ? body : [none])));
}

function showCorpus() {
  const kind = Number(byId("corpus-kind").value);
  const { 0: label, [kind]: words } = report.corpus[byId("corpus-label").value];
  const least = Number(byId("corpus-least").value) || 1;
  const by = BY[byId("corpus-order").value];
  const rows = words.filter(([, texts]) => texts >= least).sort((a, b) => by(b) - by(a));
  const most = 12;
  byId("corpus").replaceChildren(
    corpusTable(`push to ${label}`, rows.filter(([, , , score]) => score > 0).slice(0, most), kind === 2),
    corpusTable(`push away from ${label}`, rows.filter(([, , , score]) => score < 0).slice(0, most), kind === 2));
}

report.corpus.forEach(([label], number) => byId("corpus-label").append(make("option", { value: number }, label)));
for (const id of ["corpus-kind", "corpus-label", "corpus-order", "corpus-least"]) byId(id).addEventListener("input", showCorpus);
for (const id of ["label", "right", "search"]) byId(id)?.addEventListener("input", listTexts);
byId("order").addEventListener("input", orderTexts);
list.addEventListener("click", (event) => {
  const button = event.target.closest("button.open");
  if (button) toggle(items.find(({ element }) => element === button.closest(".item")));
});
const sight = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    sight.unobserve(target);
    colour(items.find(({ element }) => element === target));
  }
}, { rootMargin: "600px" });
for (const { element } of items) sight.observe(element);
window.addEventListener("beforeprint", () => items.forEach(colour));
listTexts();
showCorpus();
