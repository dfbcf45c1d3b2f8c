"use strict";
// Texts and labels are only ever set as textContent or as attributes, never parsed as markup.

// In the order of view.py.
const FIELDS = [
  "score", "low", "high", "total", "total_low", "total_high", "first", "first_low", "first_high",
  "effect", "effect_low", "effect_high", "stability",
];
// Fields of each measure: its number and the ends of its interval.
const MEASURED = {
  score: ["score", "low", "high"],
  share: ["total", "total_low", "total_high"],
  alone: ["first", "first_low", "first_high"],
  effect: ["effect", "effect_low", "effect_high"],
};
// What speaks for one of two labels speaks against the other.
const OPPOSITE = {
  score: "score", low: "high", high: "low", effect: "effect", effect_low: "effect_high", effect_high: "effect_low",
};
const FULL = 32767; // the integer for the scale of a field
const UNKNOWN = -32768;
const CANCELS = 1e-4; // effects cancel out if a word alone causes less than this part of its share

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function makeSvg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// Numbers that round to 0 are shown without sign and decimals.
function plain(value, digits = 3) {
  const size = Math.abs(value).toFixed(digits);
  return Number(size) === 0 ? "0" : (value < 0 ? "\u2212" : "") + size;
}

function signed(value, digits = 3) {
  const text = plain(value, digits);
  return text === "0" || value < 0 ? text : `+${text}`;
}

const shortened = (text, most = 60) => (text.length > most ? text.slice(0, most - 1) + "\u2026" : text);

// The numbers of one explanation; those of a label are unpacked when it is first selected.
class Explanation {
  constructor(data) {
    Object.assign(this, data);
    this.numbers = new Map(data.numbers);
    this.sentences = new Map(data.sentences);
    this.steps = data.path?.steps || [];
    this.pairs = data.pairs.map(([one, other, scores]) => [one, other, new Map(scores)]);
    this.scored = [...this.status].flatMap((status, word) => (status === "s" ? [word] : []));
    this.placeOf = new Map(this.scored.map((word, place) => [word, place]));
    this.groups = this.findGroups();
    this.unpacked = new Map();
    this.rankings = new Map();
  }

  // For every place, the places of all words in its group.
  findGroups() {
    const groups = [];
    while (groups.length < this.scored.length) {
      const size = this.sharedBy[groups.length] || 1;
      const members = Array.from({ length: size }, (_, k) => groups.length + k).filter((place) => place < this.scored.length);
      groups.push(...members.map(() => members));
    }
    return groups;
  }

  values(label) {
    if (!this.unpacked.has(label)) this.unpacked.set(label, this.unpack(this.numbers.get(label)));
    return this.unpacked.get(label);
  }

  unpack(packed) {
    if (packed === undefined) return null;
    if (typeof packed === "string") { // the opposite of this label
      const other = this.values(packed);
      const opposite = (field) => (OPPOSITE[field] ? other[OPPOSITE[field]].map((value) => -value) : other[field]);
      return Object.fromEntries(FIELDS.map((field) => [field, opposite(field)]));
    }
    const bytes = Uint8Array.from(atob(packed.integers), (c) => c.charCodeAt(0));
    const integers = new Int16Array(bytes.buffer);
    const n = this.scored.length;
    const values = {};
    let start = 0;
    FIELDS.forEach((field, k) => {
      const scale = packed.scales[k];
      if (scale === null) { // unknown, and not packed
        values[field] = new Float64Array(n).fill(NaN);
        return;
      }
      const own = integers.subarray(start, start + n);
      values[field] = Float64Array.from(own, (i) => (i === UNKNOWN ? NaN : (i / FULL) * scale));
      start += n;
    });
    return values;
  }

  isKnown(label, measure) {
    const v = this.values(label);
    return v !== null && v[MEASURED[measure][0]].some((value) => !Number.isNaN(value));
  }

  // Whether the measure has a sign: for or against.
  isDirected(measure) {
    return measure === "effect" || (measure === "score" && this.isSigned);
  }

  // Value and interval of the word at a place; the interval is NaN if unknown.
  measured(label, measure, place) {
    const v = this.values(label);
    const [value, low, high] = MEASURED[measure].map((field) => v[field][place]);
    return high > low && !this.isExact ? [value, low, high] : [value, NaN, NaN];
  }

  // What is unclear about a word: nothing, its direction, or whether it matters at all.
  doubt(label, measure, place) {
    const v = this.values(label);
    const directed = this.isDirected(measure);
    if (this.isExact) {
      const cancels = v.total[place] > 0 && v.first[place] < CANCELS * v.total[place];
      return directed && cancels ? "no direction on average" : "";
    }
    const [, low, high] = this.measured(label, measure, place);
    if (Number.isNaN(low) || low > 0 || high < 0) return "";
    return directed && v.total_low[place] > 0 ? "direction unclear" : "may be 0";
  }

  // Ranks and colours a word. First-order estimates below 0 are noise around 0.
  weight(label, measure, place) {
    const [value] = this.measured(label, measure, place);
    return (this.isDirected(measure) || measure === "score" ? Math.abs(value) : Math.max(0, value)) || 0;
  }

  kind(label, measure, place) {
    if (!this.isDirected(measure)) return "share";
    return this.measured(label, measure, place)[0] < 0 ? "against" : "for";
  }

  // Places of the scored words (of a group, its first), highest weight first; and the rank of
  // every place.
  ranking(label, measure) {
    const key = `${measure} ${label}`;
    if (!this.rankings.has(key)) {
      const weights = this.scored.map((_, place) => this.weight(label, measure, place));
      const isListed = (place) => this.groups[place][0] === place && !Number.isNaN(this.measured(label, measure, place)[0]);
      const order = weights.map((_, place) => place).filter(isListed).sort((a, b) => weights[b] - weights[a] || a - b);
      const rank = new Map(order.flatMap((place, k) => this.groups[place].map((member) => [member, k + 1])));
      this.rankings.set(key, { order, rank });
    }
    return this.rankings.get(key);
  }

  highest(label, measure) {
    if (!this.values(label)) return 0;
    const [first] = this.ranking(label, measure).order;
    return first === undefined ? 0 : this.weight(label, measure, first);
  }

  // The label of the curve: the prediction, if the label is a contrast without probability.
  curveLabel(label) {
    return this.path.labels.includes(label) ? label : this.prediction;
  }

  // A label's probability for the whole text and after every deletion.
  probabilities(label) {
    const column = this.path.labels.indexOf(label);
    return [this.path.start, ...this.steps.map(([, values]) => values)].map((values) => values[column]);
  }

  partners(word, label) {
    return this.pairs.flatMap(([one, other, scores]) =>
      (one === word || other === word) && scores.has(label)
        ? [{ word: one === word ? other : one, score: scores.get(label) }]
        : []);
  }
}

// Colours a word. Shares are squares: their root makes the colour proportional to the effect.
// view.py has the same rule, for the page without scripts.
function colourWord(span, explanation, label, measure, place, highest) {
  const part = highest > 0 ? explanation.weight(label, measure, place) / highest : 0;
  const isSquare = measure === "score" ? explanation.isShare : measure !== "effect";
  const opacity = isSquare ? Math.sqrt(part) : part;
  span.classList.remove("for", "against", "share", "unclear");
  if (opacity < 0.1) return;
  span.classList.add(explanation.kind(label, measure, place));
  span.classList.toggle("unclear", explanation.doubt(label, measure, place) !== "");
  span.style.setProperty("--a", opacity.toFixed(3));
}
