"use strict";
// Everything that comes from a text or a label is set as textContent or as an attribute:
// nothing of it is ever parsed as markup.

const FIELDS = [
  "score", "low", "high", "total", "totalLow", "totalHigh", "first", "firstLow", "firstHigh", "stability", "effect",
];
const FULL = 32767; // the integer that stands for the scale of a field
const UNKNOWN = -32768;

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

function signed(value, digits = 3) {
  const size = Math.abs(value).toFixed(digits);
  return (Number(size) === 0 ? "" : value < 0 ? "\u2212" : "+") + size;
}

const plain = (value) => value.toFixed(3);
const shortened = (text, most = 60) => (text.length > most ? text.slice(0, most - 1) + "\u2026" : text);

// The numbers of one explanation; those of a label are unpacked when it is first looked at.
class Explanation {
  constructor(data) {
    Object.assign(this, data);
    this.numbers = new Map(data.numbers);
    this.whatif = new Map(data.whatif);
    this.probabilities = new Map(data.labels);
    this.pairs = data.pairs.map(([one, other, scores]) => [one, other, new Map(scores)]);
    this.scored = [...this.status].flatMap((status, word) => (status === "s" ? [word] : []));
    this.placeOf = new Map(this.scored.map((word, place) => [word, place]));
    this.unpacked = new Map();
    this.rankings = new Map();
  }

  values(label) {
    if (!this.unpacked.has(label)) this.unpacked.set(label, this.unpack(this.numbers.get(label)));
    return this.unpacked.get(label);
  }

  unpack(packed) {
    if (!packed) return null;
    const bytes = Uint8Array.from(atob(packed.integers), (c) => c.charCodeAt(0));
    const integers = new Int16Array(bytes.buffer);
    const n = this.scored.length;
    const values = {};
    let start = 0;
    FIELDS.forEach((field, k) => {
      const scale = packed.scales[k];
      if (scale === null) { // nothing is known of it, and nothing packed
        values[field] = new Float64Array(n).fill(NaN);
        return;
      }
      const own = integers.subarray(start, start + n);
      values[field] = Float64Array.from(own, (i) => (i === UNKNOWN ? NaN : (i / FULL) * scale));
      start += n;
    });
    return values;
  }

  tells(label, measure) {
    const v = this.values(label);
    return v !== null && (measure === "signed" || v.first.some((value) => !Number.isNaN(value)));
  }

  // Value and interval of the word at a place, in one of the measures; the interval may be NaN.
  measured(label, measure, place) {
    const v = this.values(label);
    if (measure === "first") return [v.first[place], v.firstLow[place], v.firstHigh[place]];
    const [score, low, high] = [v.score[place], v.low[place], v.high[place]];
    if (measure === "signed") return [score, low, high];
    if (!this.isShare) return [v.total[place], v.totalLow[place], v.totalHigh[place]];
    return [Math.abs(score), Math.min(Math.abs(low), Math.abs(high)), Math.max(Math.abs(low), Math.abs(high))];
  }

  // What ranks and colours a word. First-order estimates below 0 are noise around nothing.
  weight(label, measure, place) {
    const [value] = this.measured(label, measure, place);
    return (measure === "first" ? Math.max(0, value) : Math.abs(value)) || 0;
  }

  // Places of the scored words, the one that matters most first, and the rank of each place.
  ranking(label, measure) {
    const key = `${measure} ${label}`;
    if (!this.rankings.has(key)) {
      const weights = this.scored.map((_, place) => this.weight(label, measure, place));
      const known = (place) => !Number.isNaN(this.measured(label, measure, place)[0]); // not of words that share a score
      const order = weights.map((_, place) => place).filter(known).sort((a, b) => weights[b] - weights[a] || a - b);
      const rank = new Array(order.length);
      order.forEach((place, k) => { rank[place] = k + 1; });
      this.rankings.set(key, { order, rank });
    }
    return this.rankings.get(key);
  }

  strongest(label, measure) {
    if (!this.values(label)) return 0;
    const [first] = this.ranking(label, measure).order;
    return first === undefined ? 0 : this.weight(label, measure, first);
  }

  partners(word, label) {
    return this.pairs.flatMap(([one, other, scores]) =>
      (one === word || other === word) && scores.has(label)
        ? [{ word: one === word ? other : one, score: scores.get(label) }]
        : []);
  }
}

// Colour of a word. Shares are squares: their root makes the colour follow the size of the effect,
// as the scores of other methods do. view.py has the same rule, for the page before any script.
function colourWord(span, value, strongest, measure, { isShare, isSigned }) {
  const weight = measure === "first" ? Math.max(0, value) : Math.abs(value);
  const part = strongest > 0 ? weight / strongest : 0;
  const strength = isShare || measure !== "signed" ? Math.sqrt(part) : part;
  span.classList.remove("for", "against", "share");
  if (!(strength >= 0.1)) return;
  span.classList.add(measure !== "signed" || !isSigned ? "share" : value > 0 ? "for" : "against");
  span.style.setProperty("--a", strength.toFixed(3));
}
