let nextGroup = 0;
const DOUBTS = {
  exact: "Hollow bars, grey numbers: the word speaks for the label in some masked texts, and as much against it in others.",
  sampled: "Hollow bars, grey numbers: the interval includes 0, so the word may not matter, or may have the other sign.",
};

// The interval of an interaction, if known.
const between = (low, high) => (high > low ? ` (${signed(low, 2)} to ${signed(high, 2)})` : "");

// Repeated words get a number.
function namesOf(texts) {
  const count = new Map();
  for (const text of texts) count.set(text, (count.get(text) || 0) + 1);
  const seen = new Map();
  return texts.map((text) => {
    seen.set(text, (seen.get(text) || 0) + 1);
    return count.get(text) > 1 ? `${text} (${seen.get(text)})` : text;
  });
}

// The words of a group, with the text between them.
function textFrom(first, last) {
  if (first.parentElement !== last.parentElement) return `${first.textContent} ... ${last.textContent}`;
  let text = first.textContent;
  for (let node = first; node !== last;) {
    node = node.nextSibling;
    text += node.textContent;
  }
  return text;
}

// One explanation on the page: its text, its bars and its curve.
class Card {
  constructor(element, explanation, group) {
    this.element = element;
    this.explanation = explanation;
    this.group = group;
    this.all = false;
    this.most = group.explanations.length > 1 ? 6 : 15; // bars shown at first
    this.spans = [...element.querySelectorAll(".texts .w")];
    this.bars = element.querySelector(".bars");
    this.note = element.querySelector(".interval-note");
    this.doubt = element.querySelector(".doubt");
    this.curve = element.querySelector(".curve-place");
    this.more = element.querySelector("button.more");
    this.more.addEventListener("click", () => {
      this.all = !this.all;
      this.paint();
    });
    this.names = namesOf(this.spans.map((span) => span.dataset.name || span.textContent));
    for (const members of explanation.groups) {
      if (members.length === 1) continue;
      const spans = members.map((place) => this.spans[explanation.scored[place]]);
      for (const place of members) this.names[explanation.scored[place]] = textFrom(spans[0], spans.at(-1));
    }
    this.wordOf = new Map(this.spans.map((span, word) => [span, word]));
    this.stop = this.spans[0]; // one tab stop; arrow keys move from there
    if (this.stop) this.stop.tabIndex = 0;
    this.listen(element.querySelector(".texts"), (target) => this.wordOf.get(target.closest(".w")));
    this.listen(this.bars, (target) => {
      const row = target.closest(".bar");
      return row ? Number(row.dataset.word) : undefined;
    });
  }

  // Words in the text and bars in the list show the same details.
  listen(place, wordAt) {
    const { details } = this.group;
    const show = (event) => {
      const word = wordAt(event.target);
      if (word !== undefined) this.select(word, event.target.closest(".w") || event.target.closest(".bar").firstChild);
    };
    place.addEventListener("pointerover", (event) => event.pointerType !== "touch" && show(event));
    place.addEventListener("pointerout", (event) => event.pointerType !== "touch" && details.leave());
    place.addEventListener("focusin", show);
    place.addEventListener("show", show);
    place.addEventListener("focusout", () => details.hide());
    place.addEventListener("click", (event) => {
      const word = wordAt(event.target);
      if (word === undefined) return;
      this.focus(word);
      this.select(word, this.stop); // even if it has the focus already
      this.stop.scrollIntoView({ block: "nearest" });
    });
    place.addEventListener("keydown", (event) => {
      const at = this.wordOf.get(event.target);
      const last = this.spans.length - 1;
      const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: last }[event.key];
      if (at === undefined || to === undefined) return;
      event.preventDefault();
      this.focus(Math.min(last, Math.max(0, to)));
    });
  }

  focus(word) {
    this.stop.tabIndex = -1;
    this.stop = this.spans[word];
    this.stop.tabIndex = 0;
    this.stop.focus();
  }

  // All words in the group of this word; usually the word alone.
  groupOf(word) {
    const place = this.explanation.placeOf.get(word);
    return place === undefined ? [word] : this.explanation.groups[place].map((member) => this.explanation.scored[member]);
  }

  select(word, anchor) {
    const { details, label } = this.group;
    const members = this.groupOf(word);
    details.show(anchor, this.names[word], this.rowsOf(word));
    for (const member of members) details.mark(this.spans[member], "selected");
    const bar = this.bars.querySelector(`[data-word="${members[0]}"]`);
    if (bar) details.mark(bar, "selected");
    for (const { word: other, score } of this.explanation.partners(word, label)) {
      const [effect, low, high] = score;
      const unsure = low === null || (low <= 0 && high >= 0);
      details.mark(this.spans[other], "partner", ...(effect < 0 ? ["weakens"] : []), ...(unsure ? ["unsure"] : []));
      this.spans[other].dataset.pair = signed(effect, 2);
    }
  }

  rowsOf(word) {
    const { label, measure } = this.group;
    const place = this.explanation.placeOf.get(word);
    if (place === undefined) {
      const outside = this.explanation.status[word] === "o";
      return [["not scored", outside ? "outside the model\u2019s window" : "stays in every masked text"]];
    }
    const v = this.explanation.values(label);
    if (!v) return [["not scored", `${label} was not analysed`]];
    const { order, rank } = this.explanation.ranking(label, measure);
    const members = this.explanation.groups[place].length;
    const doubt = this.explanation.doubt(label, measure, place);
    const many = order.length > 10 && !this.explanation.isExact && v.stability[place] >= 0;
    const rows = [
      ...(members > 1 ? [["group", `${members} words, masked as one`]] : []),
      ...Object.keys(MEASURED).flatMap((name) => this.rowOf(name, place)),
      ...(this.explanation.screened[place] === "1" ? [["screened out", "predicted, not measured"]] : []),
      ...(doubt ? [["how sure", doubt]] : []),
      ...(rank.has(place) ? [["rank", `${rank.get(place)} of ${order.length}`]] : []),
      ...(many ? [["in the top ten", `in ${Math.round(100 * v.stability[place])} % of resamples`]] : []),
    ];
    for (const { word: other, score } of this.explanation.partners(word, label)) {
      const [effect, low, high] = score;
      rows.push([`with \u2068${shortened(this.names[other], 24)}\u2069`, signed(effect, 2) + between(low, high)]);
    }
    return rows;
  }

  // A measure with its interval; empty if unknown.
  rowOf(measure, place) {
    const { label } = this.group;
    const [value, low, high] = this.explanation.measured(label, measure, place);
    if (Number.isNaN(value)) return [];
    const digits = measure === "effect" ? 2 : 3;
    const number = this.explanation.isDirected(measure) ? signed : plain;
    const sure = !Number.isNaN(low) ? ` (${number(low, digits)} to ${number(high, digits)})` : this.explanation.isExact ? ", exact" : "";
    return [[measure, number(value, digits) + sure]];
  }

  paint() {
    const { label, measure } = this.group;
    const known = this.explanation.isKnown(label, measure);
    const measured = this.group.measuredWith(this.explanation);
    const highest = Math.max(...measured.map((e) => e.highest(label, measure)));
    this.range = this.group.rangeOfBars(measured);
    this.explanation.scored.forEach((word, place) => {
      if (known) colourWord(this.spans[word], this.explanation, label, measure, place, highest);
      else this.spans[word].classList.remove("for", "against", "share", "unclear");
    });
    for (const [name, pieces] of Object.entries(this.explanation.sentences.get(label) || {})) {
      const line = this.element.querySelector(`.${name}`);
      line.replaceChildren(...pieces.map((piece, k) => (k % 2 ? make("em", { dir: "auto" }, piece) : piece)));
      line.hidden = !pieces.length;
    }
    this.paintDeletions();
    this.paintBars(known ? this.explanation.ranking(label, measure).order : []);
  }

  deletedSteps() {
    return this.explanation.steps.slice(0, this.group.deleted);
  }

  paintDeletions() {
    const gone = new Set(this.deletedSteps().flatMap(([words]) => words));
    this.spans.forEach((span, word) => span.classList.toggle("gone", gone.has(word)));
    for (const button of this.bars.querySelectorAll("button")) {
      button.classList.toggle("gone", gone.has(Number(button.parentElement.dataset.word)));
    }
    if (this.curve) this.curve.replaceChildren(...curveOf(this.explanation, this.group));
  }

  paintBars(ranking) {
    // Words whose number rounds to 0 are listed on demand.
    const strong = ranking.filter((place) => plain(this.explanation.weight(this.group.label, this.group.measure, place)) !== "0");
    const shown = this.all ? ranking : (strong.length ? strong : ranking).slice(0, this.most);
    const [low, high] = this.range;
    const inside = (value) => Math.max(low, Math.min(high, value));
    const at = (value) => Number(((100 * (inside(value) - low)) / (high - low || 1)).toFixed(2));
    this.bars.replaceChildren(...shown.map((place) => this.barOf(place, at)));
    this.note.textContent = this.intervalNote();
    this.doubt.hidden = !this.bars.querySelector(".doubtful");
    this.doubt.textContent = this.explanation.isExact ? DOUBTS.exact : DOUBTS.sampled;
    this.bars.classList.toggle("wide", shown.some((place) => this.names[this.explanation.scored[place]].length > 24));
    this.paintPairs();
    this.more.hidden = !this.all && shown.length === ranking.length;
    this.more.textContent = this.all ? "fewer" : `all ${ranking.length}`;
    this.more.setAttribute("aria-expanded", String(this.all));
  }

  intervalNote() {
    if (this.explanation.isExact) return "exact";
    if (this.bars.querySelector(".error")) return "95 % intervals";
    return this.explanation.isShare ? "no intervals at this budget" : "no intervals";
  }

  // The pairs with the largest interactions, if their interval excludes 0.
  paintPairs() {
    const section = this.element.querySelector(".together");
    if (!section || !this.explanation.pairs.length) return;
    const found = this.explanation.pairs
      .flatMap(([one, other, scores]) => (scores.has(this.group.label) ? [{ one, other, score: scores.get(this.group.label) }] : []))
      .filter(({ score: [, low, high] }) => low !== null && (low > 0 || high < 0))
      .sort((a, b) => Math.abs(b.score[0]) - Math.abs(a.score[0]));
    const rows = found.slice(0, 5).map(({ one, other, score: [effect, low, high] }) =>
      make("li", {}, make("bdi", {}, this.names[one]), " and ", make("bdi", {}, this.names[other]), ` ${signed(effect, 2)}${between(low, high)}`));
    const none = make("li", {}, `none of ${this.explanation.pairs.length} pairs clearly`);
    section.querySelector("ul").replaceChildren(...(rows.length ? rows : [none]));
    section.querySelector("small").textContent = `effect beyond each alone, ${this.explanation.isExact ? "exact" : "95 % intervals"}`;
    section.hidden = false;
  }

  barOf(place, at) {
    const { label, measure } = this.group;
    const [value, low, high] = this.explanation.measured(label, measure, place);
    const word = this.explanation.scored[place];
    const text = shortened(this.names[word].replace(/\s+/g, " "));
    const number = this.explanation.isDirected(measure) ? signed : plain;
    const extent = (from, to) => {
      const [left, right] = [at(Math.min(from, to)), at(Math.max(from, to))];
      return `left:${left}%;width:${right - left}%`;
    };
    const doubt = this.explanation.doubt(label, measure, place);
    const kind = this.explanation.kind(label, measure, place) + (doubt ? " unclear" : "");
    const button = make("button", { type: "button", dir: "auto" }, text);
    const track = make("span", { class: "track", "aria-hidden": "true" },
      ...(number(value) === "0" ? [] : [make("i", { class: `fill ${kind}`, style: extent(0, value) })]),
      make("i", { class: "zero", style: `left:${at(0)}%` }));
    const shown = make("span", { class: doubt ? "value doubtful" : "value" }, number(value));
    if (!Number.isNaN(low)) {
      const [left, right] = this.range;
      const open = `${low < left ? " open-left" : ""}${high > right ? " open-right" : ""}`;
      track.append(make("i", { class: `error${open}`, style: extent(low, high) }));
      shown.append(make("span", { class: "hidden" }, `, 95 % interval ${number(low)} to ${number(high)}`));
    }
    if (doubt) shown.append(make("span", { class: "hidden" }, `, ${doubt}`));
    const row = make("li", { class: "bar", "data-word": word }, button, track, shown);
    button.classList.toggle("gone", this.spans[word].classList.contains("gone"));
    return row;
  }
}

// Explanations shown together: with the same label, measure and number of deletions.
class Group {
  constructor(root, cards, explanations, details, measures) {
    this.root = root;
    this.number = nextGroup++;
    this.details = details;
    this.explanations = explanations;
    this.measures = measures; // what each measure means
    this.cards = cards.map((element, k) => new Card(element, explanations[k], this));
    this.label = explanations[0].label;
    this.measure = "score";
    this.deleted = 0;
    this.controls();
    this.refresh();
  }

  controls() {
    const [first, ...others] = this.explanations;
    const place = this.root.querySelector(".controls");
    const alone = others.length === 0;
    const labels = first.labels.map(([name, probability]) => ({
      value: name, text: name, disabled: !this.explanations.every((e) => e.numbers.has(name)),
      ...(alone && probability !== null && { number: probability.toFixed(3), part: first.isOutput ? null : probability }),
    }));
    const measures = Object.keys(MEASURED).map((value) => ({
      value, text: value, disabled: !this.explanations.some((e) => e.isKnown(this.label, value)),
    }));
    this.meaning = make("p", { class: "note meaning", "aria-live": "polite" });
    const choice = this.choice("Measure", "measure", measures, (value) => { this.measure = value; });
    choice.append(this.meaning);
    place.append(this.choice("Words for and against", "label", labels, (value) => { this.label = value; }), choice);
    if (this.explanations.some((e) => e.steps.length)) this.slider();
  }

  choice(title, name, options, choose) {
    const choices = make("div", { class: "choices" });
    for (const { value, text, number, part, disabled } of options) {
      const input = make("input", { type: "radio", name: `${name}-${this.number}`, value, disabled: Boolean(disabled), checked: this[name] === value });
      const choice = make("label", { class: "choice" }, input, make("span", { dir: "auto" }, text));
      if (number !== undefined) choice.append(make("span", { class: "number" }, number));
      if (typeof part === "number") choice.append(make("span", { class: "part-of", style: `width:${(100 * part).toFixed(2)}%` }));
      input.addEventListener("change", () => {
        choose(value);
        this.refresh();
      });
      choices.append(choice);
    }
    return make("fieldset", { class: name }, make("legend", {}, title), choices);
  }

  slider() {
    const most = Math.max(...this.explanations.map((e) => e.steps.length));
    this.input = make("input", { type: "range", class: "slider", min: 0, max: most, value: 0, id: `delete-${this.number}` });
    this.input.addEventListener("input", () => {
      this.deleted = Number(this.input.value);
      this.afterDeletions();
      for (const card of this.cards) card.paintDeletions();
    });
    this.after = make("p", { class: "after" }); // screen readers read it as the slider's value
    const section = this.root.querySelector(".slider-place");
    section.append(
      make("h2", {}, make("label", { for: this.input.id }, "Delete words, in the order found by a search")),
      make("p", { class: "note" }, "The search looks for the deletions that change the prediction soonest. It does not change the scores, and another seed may find another order."),
      this.input, this.after);
    section.hidden = false;
  }

  // Explanations on the same scale: those of one method.
  measuredWith(explanation) {
    return this.explanations.filter((other) => other.method === explanation.method);
  }

  // From the lowest to the highest end of any bar or interval; very wide intervals are cut, so that
  // bars stay visible.
  rangeOfBars(explanations) {
    let [low, high] = [0, 0];
    const most = 2.5 * Math.max(...explanations.map((e) => e.highest(this.label, this.measure)));
    for (const explanation of explanations) {
      if (!explanation.isKnown(this.label, this.measure)) continue;
      explanation.scored.forEach((_, place) => {
        const ends = explanation.measured(this.label, this.measure, place).filter((end) => !Number.isNaN(end));
        low = Math.max(-most, Math.min(low, ...ends));
        high = Math.min(most, Math.max(high, ...ends));
      });
    }
    return [low, high];
  }

  refresh() {
    this.details.hide();
    const directed = this.explanations.some((e) => e.isDirected(this.measure));
    this.root.querySelector(".legend.directed").hidden = !directed;
    this.root.querySelector(".legend.undirected").hidden = directed;
    for (const name of this.root.querySelectorAll(".legend .target")) name.textContent = this.label;
    this.meaning.textContent = this.meaningOf();
    if (this.input) this.afterDeletions();
    for (const card of this.cards) card.paint();
    for (const table of this.root.querySelectorAll("table[data-label]")) {
      table.hidden = table.dataset.label !== this.label;
    }
  }

  // What the measure means; scores of different methods differ.
  meaningOf() {
    const meanings = this.explanations.map((e) =>
      this.measures[this.measure === "score" && !e.isShare ? "own score" : this.measure].replace("log-odds", e.unit));
    if (new Set(meanings).size === 1) return meanings[0];
    return this.cards.map((card, k) => `${card.element.dataset.name}: ${meanings[k]}`).join("; ");
  }

  afterDeletions() {
    const alone = this.explanations.length === 1;
    const lines = this.cards.filter((card) => card.explanation.steps.length).map((card) => {
      const { explanation } = card;
      const label = explanation.curveLabel(this.label);
      const values = explanation.probabilities(label);
      const steps = card.deletedSteps();
      const now = steps.length ? ` \u2192 ${values[steps.length].toFixed(3)}` : "";
      const prediction = steps.length ? steps.at(-1)[2] : explanation.prediction;
      const turned = prediction === explanation.prediction ? "" : `; the prediction is now ${prediction}`;
      return `${alone ? "" : `${card.element.dataset.name}: `}${label} ${values[0].toFixed(3)}${now}${turned}`;
    });
    this.after.textContent = lines.join(". ");
    this.input.setAttribute("aria-valuetext", `${this.deleted} of ${this.input.max} deletions. ${this.after.textContent}`);
  }
}
