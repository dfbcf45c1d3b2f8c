const MEASURES = { signed: "signed", total: "total", first: "first order" };
let nextGroup = 0;

// Words that occur several times are told apart by a number.
function namesOf(texts) {
  const count = new Map();
  for (const text of texts) count.set(text, (count.get(text) || 0) + 1);
  const seen = new Map();
  return texts.map((text) => {
    seen.set(text, (seen.get(text) || 0) + 1);
    return count.get(text) > 1 ? `${text} (${seen.get(text)})` : text;
  });
}

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
    this.note = element.querySelector(".interval-note");
    this.curve = element.querySelector(".curve-place");
    this.more = element.querySelector("button.more");
    this.more.addEventListener("click", () => {
      this.all = !this.all;
      this.paint();
    });
    this.names = namesOf(this.spans.map((span) => span.textContent));
    this.wordOf = new Map(this.spans.map((span, word) => [span, word]));
    this.stop = this.spans[0]; // one stop for the tab key; arrows go on from there
    if (this.stop) this.stop.tabIndex = 0;
    this.listen(element.querySelector(".texts"), (target) => this.wordOf.get(target.closest(".w")));
    this.listen(this.bars, (target) => {
      const row = target.closest(".bar");
      return row ? Number(row.dataset.word) : undefined;
    });
  }

  // Words in the text and bars in the list tell the same.
  listen(place, wordAt) {
    const { details } = this.group;
    const tell = (event) => {
      const word = wordAt(event.target);
      if (word !== undefined) this.look(word, event.target.closest(".w") || event.target.closest(".bar").firstChild);
    };
    place.addEventListener("pointerover", (event) => event.pointerType !== "touch" && tell(event));
    place.addEventListener("pointerout", (event) => event.pointerType !== "touch" && details.leave());
    place.addEventListener("focusin", tell);
    place.addEventListener("tell", tell);
    place.addEventListener("focusout", () => details.hide());
    place.addEventListener("click", (event) => {
      const word = wordAt(event.target);
      if (word === undefined) return;
      this.focus(word);
      this.look(word, this.stop); // also where it has the focus already
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

  look(word, anchor) {
    const { details, label } = this.group;
    details.show(anchor, this.names[word], this.rowsOf(word));
    details.mark(this.spans[word], "looked");
    const bar = this.bars.querySelector(`[data-word="${word}"]`);
    if (bar) details.mark(bar, "looked");
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
    const unit = { logit: " log-odds", probability: " probability" }[this.explanation.unit] || "";
    const { rank } = this.explanation.ranking(label, measure);
    const others = (this.explanation.sharedBy[place] || 1) - 1;
    const rows = [
      ["score", signed(v.score[place])],
      ["shared", `equally with ${others} other word${others > 1 ? "s" : ""}`, others || NaN],
      ["95 % interval", `${signed(v.low[place])} to ${signed(v.high[place])}`, v.low[place]],
      ["rank", `${rank[place]} of ${this.explanation.scored.length}`, rank[place] ?? NaN],
      ["total", plain(v.total[place]), v.total[place]],
      ["first order", plain(v.first[place]), v.first[place]],
      ["effect", signed(v.effect[place], 2) + unit, v.effect[place]],
      ["in the top ten", `${Math.round(100 * v.stability[place])} % of redraws`, v.stability[place] || NaN],
    ].filter(([, , known]) => !Number.isNaN(known)); // what the method does not tell is left out
    for (const { word: other, score } of this.explanation.partners(word, label)) {
      const [effect, low, high] = score;
      const sure = low === null ? "" : ` (${signed(low, 2)} to ${signed(high, 2)})`;
      rows.push([`with \u2068${shortened(this.names[other], 24)}\u2069`, signed(effect, 2) + sure]);
    }
    return rows;
  }

  paint() {
    const { label, measure } = this.group;
    const known = this.explanation.tells(label, measure);
    const measured = this.group.measuredWith(this.explanation);
    this.strongest = Math.max(...measured.map((e) => e.strongest(label, measure)));
    this.range = this.group.rangeOfBars(measured);
    this.explanation.scored.forEach((word, place) => {
      const value = known ? this.explanation.measured(label, measure, place)[0] : 0;
      colourWord(this.spans[word], value, this.strongest, measure, this.explanation);
    });
    this.paintDeletions();
    this.paintBars(known ? this.explanation.ranking(label, measure).order : []);
  }

  deletedSteps() {
    return (this.explanation.whatif.get(this.group.label) || []).slice(0, this.group.deleted);
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
    const [low, high] = this.range;
    const inside = (value) => Math.max(low, Math.min(high, value));
    const at = (value) => Number(((100 * (inside(value) - low)) / (high - low || 1)).toFixed(2));
    this.bars.replaceChildren(...shown.map((place) => this.barOf(place, at)));
    const sure = this.bars.querySelector(".error") !== null; // some measures have intervals, some not
    const level = this.explanation.isRough ? "rough" : "95 %"; // from few base rows
    this.note.textContent = sure ? `with ${level} intervals` : "without intervals";
    this.bars.classList.toggle("wide", shown.some((place) => this.names[this.explanation.scored[place]].length > 24));
    this.paintPairs();
    this.more.hidden = ranking.length <= this.most;
    this.more.textContent = this.all ? `only the top ${this.most}` : `all ${ranking.length}`;
    this.more.setAttribute("aria-expanded", String(this.all));
  }

  // The pairs that do most together, where that is sure.
  paintPairs() {
    const section = this.element.querySelector(".together");
    if (!section || !this.explanation.pairs.length) return;
    const found = this.explanation.pairs
      .flatMap(([one, other, scores]) => (scores.has(this.group.label) ? [{ one, other, score: scores.get(this.group.label) }] : []))
      .filter(({ score: [, low, high] }) => low !== null && (low > 0 || high < 0))
      .sort((a, b) => Math.abs(b.score[0]) - Math.abs(a.score[0]));
    const rows = found.slice(0, 5).map(({ one, other, score: [effect, low, high] }) =>
      make("li", {}, make("bdi", {}, this.names[one]), " and ", make("bdi", {}, this.names[other]), ` ${signed(effect, 2)} (${signed(low, 2)} to ${signed(high, 2)})`));
    const none = make("li", {}, `of ${this.explanation.pairs.length} pairs none clearly`);
    section.querySelector("ul").replaceChildren(...(rows.length ? rows : [none]));
    section.hidden = false;
  }

  barOf(place, at) {
    const { label, measure } = this.group;
    const [value, low, high] = this.explanation.measured(label, measure, place);
    const word = this.explanation.scored[place];
    const text = shortened(this.names[word].replace(/\s+/g, " "));
    const number = measure === "signed" ? signed(value) : plain(value);
    const ends = measure === "signed" ? [signed(low), signed(high)] : [plain(low), plain(high)];
    const between = (from, to) => {
      const [left, right] = [at(Math.min(from, to)), at(Math.max(from, to))];
      return `left:${left}%;width:${right - left}%`;
    };
    const kind = measure !== "signed" || !this.explanation.isSigned ? "share" : value < 0 ? "against" : "for";
    const button = make("button", { type: "button", dir: "auto" }, text);
    const track = make("span", { class: "track", "aria-hidden": "true" },
      make("i", { class: `fill ${kind}`, style: between(0, value) }),
      make("i", { class: "zero", style: `left:${at(0)}%` }));
    const told = make("span", { class: "value" }, number);
    if (!Number.isNaN(low)) {
      const [left, right] = this.range;
      const open = `${low < left ? " open-left" : ""}${high > right ? " open-right" : ""}`;
      track.append(make("i", { class: `error${open}`, style: between(low, high) }));
      told.append(make("span", { class: "hidden" }, `, 95 % interval ${ends[0]} to ${ends[1]}`));
    }
    const row = make("li", { class: "bar", "data-word": word }, button, track, told);
    button.classList.toggle("gone", this.spans[word].classList.contains("gone"));
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
      value: name, text: name, disabled: !this.explanations.every((e) => e.numbers.has(name)),
      ...(alone && { number: plain(share), share: first.isOutput ? null : share }),
    }));
    const measures = Object.entries(MEASURES).map(([value, text]) => ({
      value, text, disabled: !this.explanations.some((e) => e.tells(this.label, value)),
    }));
    place.append(
      this.choice("Words for and against", "label", labels, (value) => { this.label = value; }),
      this.choice("Measure", "measure", measures, (value) => { this.measure = value; }));
    if (this.explanations.some((e) => e.whatif.size)) this.slider();
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
    this.after = make("p", { class: "after" }); // told to screen readers as the slider's value
    const section = this.root.querySelector(".slider-place");
    section.append(make("h2", {}, this.title), this.input, this.after);
    section.hidden = false;
  }

  // Explanations that share a scale: all of one method; scores of several methods have several.
  measuredWith(explanation) {
    return this.explanations.filter((other) => other.method === explanation.method);
  }

  // From the lowest to the highest end of any bar or interval; very wide intervals are cut, since
  // nothing else could be seen beside them.
  rangeOfBars(explanations) {
    let [low, high] = [0, 0];
    const most = 2.5 * Math.max(...explanations.map((e) => e.strongest(this.label, this.measure)));
    for (const explanation of explanations) {
      if (!explanation.tells(this.label, this.measure)) continue;
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
    const reading = this.root.querySelector(".reading");
    const name = make("bdi", {}, this.label);
    if (this.measure === "signed" && !this.explanations.some((e) => e.isSigned)) {
      reading.replaceChildren("The stronger the colour, the more a word matters for ", name, "; this method does not tell for from against.");
    } else if (this.measure === "signed") {
      reading.replaceChildren("Blue words (solid line) speak for ", name, ", orange words (dashed line) against it; the stronger the colour, the more they matter.");
    } else {
      const share = this.measure === "total" ? "alone or together with others" : "alone";
      reading.replaceChildren("The stronger the colour, the larger the share that a word has in what the model says of ", name, `, ${share}.`);
    }
    if (this.input) {
      const most = Math.max(...this.explanations.map((e) => (e.whatif.get(this.label) || []).length));
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
      const from = card.explanation.probabilities.get(this.label);
      if (from === undefined) return [];
      const [, left, prediction] = now || [null, from, card.explanation.prediction];
      const who = alone ? "" : `${card.element.dataset.name}: `;
      const turned = prediction === card.explanation.prediction ? "" : `; the prediction is now ${prediction}`;
      return [`${who}${this.label} ${plain(from)}${now ? ` \u2192 ${plain(left)}` : ""}${turned}`];
    });
    const asked = this.explanations.some((e) => e.whatif.has(this.label));
    const none = !asked ? "Deletions were made for the likeliest labels only. " : this.input.disabled ? "No word speaks for this label. " : "";
    this.after.textContent = none + told.join(". ");
    this.input.setAttribute("aria-valuetext", `${this.deleted} deleted. ${this.after.textContent}`);
  }
}
