// The list and the corpus view of a report. Words get their colours when they come into sight.
const report = JSON.parse(document.getElementById("data").textContent);
const details = new Details();
const byId = (id) => document.getElementById(id);
const list = byId("list");
const items = [...list.children].map((element, number) => ({ element, number, data: report.items[number] }));

// The plain text of an item, cut into words; lengths below 0 are of what stands between words.
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
  const strongest = explanation.strongest(explanation.label, "signed");
  explanation.scored.forEach((word, place) => paint(spans[word], explanation.values(explanation.label).score[place], strongest, "signed"));
  spans.forEach((span, word) => span.classList.toggle("outside", explanation.status[word] === "o"));
}

function toggle(item) {
  colour(item);
  if (!item.opened) {
    item.opened = byId("opened").content.firstElementChild.cloneNode(true);
    const texts = item.opened.querySelector(".texts");
    for (const paragraph of item.element.querySelectorAll(":scope > .text")) texts.append(paragraph.cloneNode(true));
    for (const span of texts.querySelectorAll(".w")) span.tabIndex = -1;
    item.opened.querySelector("footer").textContent = item.explanation.facts;
    item.element.append(item.opened);
    new Group(item.opened, [item.opened.querySelector(".card")], [item.explanation], details);
    item.opened.hidden = true;
  }
  item.opened.hidden = !item.opened.hidden;
  item.element.classList.toggle("open", !item.opened.hidden);
  item.element.querySelector(".open").setAttribute("aria-expanded", String(!item.opened.hidden));
}

function listTexts() {
  const label = byId("label").value;
  const right = byId("right")?.value || "";
  const search = byId("search").value.trim().toLowerCase();
  const word = search && new RegExp(`(?<![\\p{L}\\p{N}])${search.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?![\\p{L}\\p{N}])`, "iu");
  let count = 0;
  for (const { element } of items) {
    const { dataset } = element;
    const shown = (!label || dataset.label === label) && (!right || dataset.right === right)
      && (!word || [...element.querySelectorAll(":scope > .text")].some((p) => word.test(p.textContent)));
    element.hidden = !shown;
    count += shown;
  }
  byId("count").textContent = `${count} of ${items.length} texts`;
}

function orderTexts() {
  const order = byId("order").value;
  const way = { "": 0, sure: -1, unsure: 1 }[order];
  const confidence = ({ element }) => Number(element.dataset.confidence);
  const sorted = [...items].sort((a, b) => way * (confidence(a) - confidence(b)) || a.number - b.number);
  list.replaceChildren(...sorted.map(({ element }) => element));
}

const BY = {
  weight: ([, , occurrences, score]) => Math.abs(score) * occurrences,
  score: ([, , , score]) => Math.abs(score),
  texts: ([, texts]) => texts,
};

function corpusTable(title, rows) {
  const head = make("tr", {}, ...["word", "texts", "times", "mean score", "mean effect"].map((name) => make("th", { scope: "col" }, name)));
  const body = rows.map(([word, texts, times, score, effect]) => {
    const button = make("button", { type: "button", dir: "auto", title: "list the texts that have it" }, shortened(word, 40));
    button.addEventListener("click", () => {
      byId("search").value = word;
      listTexts();
      byId("search").scrollIntoView({ block: "start" });
    });
    return make("tr", {}, make("td", {}, button), ...[texts, times, signed(score), signed(effect, 2)].map((value) => make("td", {}, String(value))));
  });
  return make("table", {}, make("caption", {}, title), head, ...body);
}

function showCorpus() {
  const label = byId("corpus-label").value;
  const least = Number(byId("corpus-least").value) || 1;
  const by = BY[byId("corpus-order").value];
  const rows = (report.corpus[label] || []).filter(([, texts]) => texts >= least).sort((a, b) => by(b) - by(a));
  const most = 12;
  byId("corpus").replaceChildren(
    corpusTable(`push to ${label}`, rows.filter(([, , , score]) => score > 0).slice(0, most)),
    corpusTable(`push away from ${label}`, rows.filter(([, , , score]) => score < 0).slice(0, most)));
}

for (const label of Object.keys(report.corpus)) byId("corpus-label").append(make("option", {}, label));
for (const id of ["corpus-label", "corpus-order", "corpus-least"]) byId(id).addEventListener("input", showCorpus);
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
listTexts();
showCorpus();
