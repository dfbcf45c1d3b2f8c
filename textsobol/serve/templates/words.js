// The words of a text, which can be taken out, and what they did: a Group whose numbers get better.
class LiveGroup extends Group {
  slider() {} // words are taken out one by one here

  // One scale for all sides: for methods that measure different things, parts of the highest score.
  rangeOfBars(own) {
    if (this.explanations.every((e) => e.method === own[0].method)) return super.rangeOfBars(own);
    const highest = (e) => e.highest(this.label, this.measure) || 1;
    const ranges = this.explanations.map((e) => super.rangeOfBars([e]).map((end) => end / highest(e)));
    const scale = Math.max(...own.map(highest));
    return [scale * Math.min(...ranges.map(([low]) => low)), scale * Math.max(...ranges.map(([, high]) => high))];
  }

  // New numbers for the same text.
  renew(side, data) {
    const explanation = new Explanation(data);
    this.explanations[side] = explanation;
    const card = this.cards[side];
    card.explanation = explanation;
    card.names = namesOf(card.spans.map((span) => span.textContent));
    for (const members of explanation.groups) {
      if (members.length === 1) continue;
      const spans = members.map((place) => card.spans[explanation.scored[place]]);
      for (const place of members) card.names[explanation.scored[place]] = textFrom(spans[0], spans.at(-1));
    }
  }
}

class Board {
  // sides: what was said of the text; change: called when words were taken out or put back.
  constructor(sides, details, measures, change) {
    this.sides = sides;
    this.change = change;
    this.removed = [];
    this.history = [];
    this.element = document.getElementById("board").content.firstElementChild.cloneNode(true);
    const place = this.element.querySelector(".cards");
    place.classList.toggle("two", sides.length > 1);
    place.append(...sides.map((side) => this.makeCard(side)));
    // What is chosen stands above what it changes; a single text comes before it.
    if (sides.length === 1) place.querySelector(".columns").before(this.element.querySelector(".view"));
    const explanations = sides.map((side) => new Explanation(side.blank));
    this.group = new LiveGroup(this.element, [...place.children], explanations, details, measures);
    for (const card of this.group.cards) card.deletedSteps = () => [[this.removed, [], ""]];
    // A word has the same number on both sides, if both cut the text in the same way.
    const [first, ...others] = this.group.cards.map((card) => card.spans.map((span) => span.textContent).join("\n"));
    this.isAligned = others.every((other) => other === first);
    this.group.cards.forEach((card, side) => this.listen(card, side));
    this.group.refresh();
  }

  makeCard(side) {
    const element = document.getElementById("card").content.firstElementChild.cloneNode(true);
    element.dataset.name = side.name;
    const title = element.querySelector(".side");
    title.hidden = this.sides.length === 1;
    title.append(make("bdi", {}, side.name), ": ", make("bdi", {}, side.prediction), ` ${side.value}`);
    const isButton = side.isLive;
    element.querySelector(".texts").append(...side.parts.map((pieces) => make("p", { class: "text", dir: "auto" },
      ...pieces.map(([text, status]) => {
        if (status === " ") return text;
        const role = isButton && status === "s" ? { role: "button", "aria-pressed": "false" } : {};
        return make("span", { class: status === "o" ? "w outside" : "w", tabindex: -1, ...role }, text);
      }))));
    return element;
  }

  listen(card, side) {
    if (!this.sides[side].isLive || (side > 0 && !this.isAligned)) return;
    const place = card.element.querySelector(".texts");
    place.addEventListener("click", (event) => this.toggle(card, event.target));
    place.addEventListener("keydown", (event) => {
      if (event.key === "z" && (event.ctrlKey || event.metaKey)) this.undo();
      else if (["Enter", " ", "Delete", "Backspace"].includes(event.key)) this.toggle(card, event.target);
      else return;
      event.preventDefault();
    });
  }

  toggle(card, target) {
    const word = card.wordOf.get(target.closest(".w"));
    if (word === undefined || card.explanation.status[word] !== "s") return;
    this.set(this.removed.includes(word) ? this.removed.filter((other) => other !== word) : [...this.removed, word]);
  }

  set(removed) {
    this.history.push(this.removed);
    this.show(removed);
  }

  undo() {
    if (this.history.length) this.show(this.history.pop());
  }

  show(removed) {
    this.removed = removed;
    this.paintRemoved();
    this.change();
  }

  paintRemoved() {
    const { group } = this;
    // The place on the curves, if these words are the first of every path.
    const isFirst = ({ steps }) => {
      const order = steps.flatMap(([words]) => words).slice(0, this.removed.length);
      return !steps.length || (order.length === this.removed.length && order.every((word) => this.removed.includes(word)));
    };
    group.deleted = group.explanations.every(isFirst) ? this.removed.length : 0;
    for (const card of group.cards) {
      card.paintDeletions();
      card.spans.forEach((span, word) => {
        if (span.hasAttribute("aria-pressed")) span.setAttribute("aria-pressed", String(this.removed.includes(word)));
      });
    }
  }

  // New numbers of one side; the label and the measure that were chosen stay.
  renew(side, { data, facts }) {
    const { group } = this;
    const isBar = document.activeElement?.closest?.(".bar");
    const focused = isBar && this.element.contains(isBar) ? isBar.dataset.word : null;
    const hadContrast = group.explanations[side].labels.length === 1;
    group.renew(side, data);
    this.group.cards[side].element.querySelector("footer").textContent = facts;
    const isContrast = data.labels.length === 1;
    if (hadContrast !== isContrast || !group.explanations.every((e) => e.numbers.has(group.label))) group.label = data.label;
    this.paintControls();
    if (focused !== null) group.cards[side].bars.querySelector(`[data-word="${focused}"] button`)?.focus();
  }

  // Labels and measures to choose from: these change with a contrast, and as numbers become known.
  paintControls() {
    const { group } = this;
    const place = this.element.querySelector(".controls");
    const focused = place.contains(document.activeElement) ? document.activeElement : null;
    const known = Object.keys(MEASURED).map((measure) => group.explanations.some((e) => e.isKnown(group.label, measure)));
    const labels = group.explanations[0].labels.map(([name]) => name);
    const shape = JSON.stringify([labels, known, group.explanations.map((e) => [...e.numbers.keys()])]);
    if (shape !== this.shape) {
      this.shape = shape;
      place.replaceChildren();
      group.controls();
      if (focused) place.querySelector(`input[name="${focused.name}"]:checked`)?.focus();
    }
    group.refresh();
    this.paintRemoved();
  }

  choose(label, measure) {
    if (this.group.explanations.every((e) => e.numbers.has(label))) this.group.label = label;
    this.group.measure = measure;
    this.shape = null;
    this.paintControls();
  }
}
