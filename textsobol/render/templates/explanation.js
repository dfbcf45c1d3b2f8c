const MEASURES = { signed: "signed", total: "total", first: "first order" };
let nextGroup = 0;

// One explanation on the page: its text, its bars and its curve.
class Card {
  constructor(element, explanation, group) {
    this.element = element;
    this.explanation = explanation;
    this.group = group;
    this.all = false;
    this.most = group.explanations.length > 1 ? 6 : 15; // bars shown at first
    this.spans = [...element.querySelectorAll(".w")];
    this.bars = element.querySelector(".bars");
    this.curve = element.querySelector(".curve-place");
    this.more = element.querySelector("button.more");
    this.more.addEventListener("click", () => {
      this.all = !this.all;
      this.paint();
    });
    this.listen(element.querySelector(".texts"));
    if (this.spans.length) this.spans[0].tabIndex = 0; // one stop for the tab key; arrows go on
  }

  listen(texts) {
    const wordAt = (event) => this.spans.indexOf(event.target.closest?.(".w"));
    texts.addEventListener("pointerover", (event) => {
      if (event.pointerType !== "touch" && wordAt(event) >= 0) this.look(wordAt(event));
    });
    texts.addEventListener("pointerout", (event) => {
      if (event.pointerType !== "touch" && document.activeElement !== this.group.details.anchor) {
        this.group.details.hide();
      }
    });
    texts.addEventListener("focusin", (event) => wordAt(event) >= 0 && this.look(wordAt(event)));
    texts.addEventListener("focusout", () => this.group.details.hide());
    texts.addEventListener("click", (event) => wordAt(event) >= 0 && this.focus(wordAt(event)));
    texts.addEventListener("keydown", (event) => {
      const at = wordAt(event);
      const last = this.spans.length - 1;
      const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: last };
      if (at < 0 || !(event.key in to)) return;
      event.preventDefault();
      this.focus(Math.min(last, Math.max(0, to[event.key])));
    });
  }

  focus(word) {
    for (const span of this.element.querySelectorAll('.w[tabindex="0"]')) span.tabIndex = -1;
    this.spans[word].tabIndex = 0;
    this.spans[word].focus();
    this.look(word);
  }

  look(word, anchor = this.spans[word]) {
    const { details, label } = this.group;
    details.show(anchor, this.spans[word].textContent, this.rowsOf(word));
    this.spans[word].classList.add("looked");
    this.bars.querySelector(`[data-word="${word}"]`)?.classList.add("looked");
    for (const { word: other, score } of this.explanation.partners(word, label)) {
      this.spans[other].classList.add("partner");
      const [effect, low, high] = score;
      this.spans[other].classList.toggle("weakens", effect < 0);
      this.spans[other].classList.toggle("unsure", low === null || (low <= 0 && high >= 0));
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
    const rank = this.explanation.ranking(label, measure).indexOf(place) + 1;
    const unit = { logit: " log-odds", probability: " probability" }[this.explanation.unit] || "";
    const rows = [
      ["score", signed(v.score[place])],
      ["95 % interval", `${signed(v.low[place])} to ${signed(v.high[place])}`],
      ["rank", `${rank} of ${this.explanation.scored.length}`],
      ["total", plain(Math.abs(v.score[place]))],
      ["first order", plain(v.first[place])],
      ["effect", signed(v.effect[place], 2) + unit],
    ];
    if (v.stability[place] > 0) rows.push(["in the top ten", `${Math.round(100 * v.stability[place])} % of redraws`]);
    for (const { word: other, score } of this.explanation.partners(word, label)) {
      const [effect, low, high] = score;
      const sure = low === null ? "" : ` (${signed(low, 2)} to ${signed(high, 2)})`;
      rows.push([`with \u2068${shortened(this.spans[other].textContent, 24)}\u2069`, signed(effect, 2) + sure]);
    }
    return rows;
  }

  paint() {
    const { label, measure } = this.group;
    const known = this.explanation.values(label) !== null;
    this.explanation.scored.forEach((word, place) => {
      const value = known ? this.explanation.measured(label, measure, place)[0] : 0;
      paint(this.spans[word], value, this.group.strongest, measure);
    });
    this.paintDeletions();
    this.paintBars(known ? this.explanation.ranking(label, measure) : []);
  }

  deletedSteps() {
    return (this.explanation.whatif[this.group.label] || []).slice(0, this.group.deleted);
  }

  paintDeletions() {
    const gone = new Set(this.deletedSteps().map(([word]) => word));
    this.spans.forEach((span, word) => span.classList.toggle("gone", gone.has(word)));
    for (const button of this.bars.querySelectorAll("button")) {
      button.classList.toggle("gone", gone.has(Number(button.parentElement.dataset.word)));
    }
    if (this.curve) this.curve.replaceChildren(...curveOf(this.explanation, this.group));
  }

  paintBars(ranking) {
    const shown = this.all ? ranking : ranking.slice(0, this.most);
    const [low, high] = this.group.range;
    const at = (value) => `${((100 * (value - low)) / (high - low || 1)).toFixed(2)}%`;
    this.bars.replaceChildren(...shown.map((place) => this.barOf(place, at)));
    this.more.hidden = ranking.length <= this.most;
    this.more.textContent = this.all ? `only the top ${this.most}` : `all ${ranking.length}`;
    this.more.setAttribute("aria-expanded", String(this.all));
  }

  barOf(place, at) {
    const { label, measure } = this.group;
    const [value, low, high] = this.explanation.measured(label, measure, place);
    const word = this.explanation.scored[place];
    const text = shortened(this.spans[word].textContent.replace(/\s+/g, " "));
    const number = measure === "signed" ? signed(value) : plain(value);
    const ends = measure === "signed" ? [signed(low), signed(high)] : [plain(low), plain(high)];
    const span = (from, to) => `left:${at(Math.min(from, to))};width:calc(${at(Math.max(from, to))} - ${at(Math.min(from, to))})`;
    const kind = measure !== "signed" ? "share" : value < 0 ? "against" : "for";
    const button = make("button", { type: "button", dir: "auto" }, text);
    const row = make("li", { class: "bar", "data-word": word }, button,
      make("span", { class: "track", "aria-hidden": "true" },
        make("i", { class: `fill ${kind}`, style: span(0, value) }),
        make("i", { class: "zero", style: `left:${at(0)}` }),
        make("i", { class: "error", style: span(low, high) })),
      make("span", { class: "value" }, number, make("span", { class: "hidden" }, `, 95 % interval ${ends[0]} to ${ends[1]}`)));
    button.classList.toggle("gone", this.spans[word].classList.contains("gone"));
    row.addEventListener("pointerenter", () => this.look(word, button));
    row.addEventListener("pointerleave", () => this.group.details.hide());
    button.addEventListener("focus", () => this.look(word, button));
    button.addEventListener("blur", () => this.group.details.hide());
    button.addEventListener("click", () => {
      this.focus(word);
      this.spans[word].scrollIntoView({ block: "nearest" });
    });
    return row;
  }
}

// Explanations that are looked at together: the same label, measure and number of deletions.
class Group {
  constructor(root, cards, explanations, details) {
    this.root = root;
    this.number = nextGroup++;
    this.details = details;
    this.explanations = explanations;
    this.cards = cards.map((element, k) => new Card(element, explanations[k], this));
    this.label = explanations[0].label;
    this.measure = "signed";
    this.deleted = 0;
    this.controls();
    this.refresh();
  }

  controls() {
    const [first, ...others] = this.explanations;
    const place = this.root.querySelector(".controls");
    const alone = others.length === 0;
    const labels = first.labels.map(([name, share]) => ({
      value: name, text: name, disabled: !this.explanations.some((e) => e.numbers[name]),
      ...(alone && { number: plain(share), share: first.isOutput ? null : share }),
    }));
    const measures = Object.entries(MEASURES).map(([value, text]) => ({ value, text }));
    place.append(
      this.choice("Words for and against", "label", labels, (value) => { this.label = value; }),
      this.choice("Measure", "measure", measures, (value) => { this.measure = value; }));
    if (this.explanations.some((e) => Object.keys(e.whatif).length)) this.slider();
  }

  choice(title, name, options, choose) {
    const choices = make("div", { class: "choices" });
    for (const { value, text, number, share, disabled } of options) {
      const input = make("input", { type: "radio", name: `${name}-${this.number}`, value, disabled: Boolean(disabled), checked: this[name] === value });
      const choice = make("label", { class: "choice" }, input, make("span", { dir: "auto" }, text));
      if (number !== undefined) choice.append(make("span", { class: "number" }, number));
      if (typeof share === "number") choice.append(make("span", { class: "share", style: `width:${(100 * share).toFixed(2)}%` }));
      input.addEventListener("change", () => {
        choose(value);
        this.refresh();
      });
      choices.append(choice);
    }
    return make("fieldset", { class: name }, make("legend", {}, title), choices);
  }

  slider() {
    this.input = make("input", { type: "range", class: "slider", min: 0, value: 0, id: `delete-${this.number}` });
    this.input.addEventListener("input", () => {
      this.deleted = Number(this.input.value);
      this.afterDeletions();
      for (const card of this.cards) card.paintDeletions();
    });
    this.title = make("label", { for: this.input.id });
    this.after = make("p", { class: "after", "aria-live": "polite" });
    const section = this.root.querySelector(".slider-place");
    section.append(make("h2", {}, this.title), this.input, this.after);
    section.hidden = false;
  }

  get range() {
    let [low, high] = [0, 0];
    for (const explanation of this.explanations) {
      if (!explanation.values(this.label)) continue;
      explanation.scored.forEach((_, place) => {
        const [value, bottom, top] = explanation.measured(this.label, this.measure, place);
        low = Math.min(low, value, bottom);
        high = Math.max(high, value, top);
      });
    }
    return [low, high];
  }

  refresh() {
    this.details.hide();
    this.strongest = Math.max(...this.explanations.map((e) => e.strongest(this.label, this.measure)));
    const reading = this.root.querySelector(".reading");
    const name = make("bdi", {}, this.label);
    if (this.measure === "signed") {
      reading.replaceChildren("Blue words (solid line) speak for ", name, ", orange words (dashed line) against it; the stronger the colour, the more they matter.");
    } else {
      const share = this.measure === "total" ? "alone or together with others" : "alone";
      reading.replaceChildren("The stronger the colour, the larger the share that a word has in what the model says of ", name, `, ${share}.`);
    }
    if (this.input) {
      const most = Math.max(...this.explanations.map((e) => (e.whatif[this.label] || []).length));
      this.input.max = most;
      this.input.disabled = most === 0;
      this.deleted = Math.min(this.deleted, most);
      this.input.value = this.deleted;
      this.afterDeletions();
    }
    for (const card of this.cards) card.paint();
    for (const table of this.root.querySelectorAll("table[data-label]")) {
      table.hidden = table.dataset.label !== this.label;
    }
  }

  afterDeletions() {
    const words = this.deleted === 1 ? "the word that speaks" : `the ${this.deleted || ""} words that speak`.replace("  ", " ");
    this.title.replaceChildren(`Delete ${words} most for `, make("bdi", {}, this.label));
    const alone = this.explanations.length === 1;
    const told = this.cards.flatMap((card, k) => {
      const now = card.deletedSteps().at(-1);
      const from = card.explanation.probabilityOf(this.label);
      if (from === undefined) return [];
      const [, left, prediction] = now || [null, from, card.explanation.prediction];
      const who = alone ? "" : `${card.element.dataset.name}: `;
      const turned = prediction === card.explanation.prediction ? "" : `; the prediction is now ${prediction}`;
      return [`${who}${this.label} ${plain(from)}${now ? ` \u2192 ${plain(left)}` : ""}${turned}`];
    });
    const none = this.input.disabled ? "No word speaks for this label. " : "";
    this.after.textContent = none + told.join(". ");
    this.input.setAttribute("aria-valuetext", `${this.deleted} deleted. ${this.after.textContent}`);
  }
}
