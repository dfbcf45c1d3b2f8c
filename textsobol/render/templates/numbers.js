"use strict";
// Everything that comes from a text or a label is set as textContent or as an attribute:
// nothing of it is ever parsed as markup.

const FIELDS = ["score", "low", "high", "first", "firstLow", "firstHigh", "stability", "effect"];
const FULL = 32767; // the integer that stands for 1

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

const signed = (value, digits = 3) => (value < 0 ? "\u2212" : "+") + Math.abs(value).toFixed(digits);
const plain = (value) => value.toFixed(3);
const shortened = (text, most = 60) => (text.length > most ? text.slice(0, most - 1) + "\u2026" : text);

// The numbers of one explanation; those of a label are unpacked when it is first looked at.
class Explanation {
  constructor(data) {
    Object.assign(this, data);
    this.scored = [...this.status].flatMap((status, word) => (status === "s" ? [word] : []));
    this.placeOf = new Map(this.scored.map((word, place) => [word, place]));
    this.unpacked = new Map();
  }

  values(label) {
    if (!this.unpacked.has(label)) this.unpacked.set(label, this.unpack(this.numbers[label]));
    return this.unpacked.get(label);
  }

  unpack(packed) {
    if (!packed) return null;
    const bytes = Uint8Array.from(atob(packed.shares), (c) => c.charCodeAt(0));
    const integers = new Int16Array(bytes.buffer);
    const n = this.scored.length;
    const values = {};
    FIELDS.forEach((field, k) => {
      const unit = field === "effect" ? packed.effect : 1;
      values[field] = Float64Array.from(integers.subarray(k * n, (k + 1) * n), (i) => (i / FULL) * unit);
    });
    return values;
  }

  // Value and interval of the word at a place, in one of the measures.
  measured(label, measure, place) {
    const v = this.values(label);
    if (measure === "first") return [v.first[place], v.firstLow[place], v.firstHigh[place]];
    const [score, low, high] = [v.score[place], v.low[place], v.high[place]];
    if (measure === "signed") return [score, low, high];
    return [Math.abs(score), Math.min(Math.abs(low), Math.abs(high)), Math.max(Math.abs(low), Math.abs(high))];
  }

  // Places of the scored words, the one that matters most first.
  ranking(label, measure) {
    const size = this.scored.map((_, place) => Math.abs(this.measured(label, measure, place)[0]));
    return this.scored.map((_, place) => place).sort((a, b) => size[b] - size[a] || a - b);
  }

  strongest(label, measure) {
    if (!this.values(label)) return 0;
    return this.scored.reduce((most, _, k) => Math.max(most, Math.abs(this.measured(label, measure, k)[0])), 0);
  }

  partners(word, label) {
    return this.pairs.flatMap(([one, other, scores]) =>
      (one === word || other === word) && scores[label]
        ? [{ word: one === word ? other : one, score: scores[label] }]
        : []);
  }

  probabilityOf(label) {
    return this.labels.find(([name]) => name === label)?.[1];
  }
}

// Colour of a word: the root makes it follow the size of the effect, since shares are squares.
function paint(span, value, strongest, measure) {
  const strength = strongest > 0 ? Math.sqrt(Math.abs(value) / strongest) : 0;
  span.classList.remove("for", "against", "share");
  if (strength < 0.1) return;
  span.classList.add(measure !== "signed" ? "share" : value > 0 ? "for" : "against");
  span.style.setProperty("--a", strength.toFixed(3));
}
