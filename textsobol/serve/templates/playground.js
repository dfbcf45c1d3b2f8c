// The page: what is typed goes to the server, and what it finds comes back step by step.
const TYPING = 250; // milliseconds without a key before a text is sent
const WAITING = 400; // milliseconds before new words are shown without colours
const PLAYING = 700; // milliseconds between two words of the path
const MOST_LABELS = 6; // labels in the table
const MOST_SETS = 64; // sets of words in one request

const byId = (id) => document.getElementById(id);
const page = JSON.parse(byId("data").textContent);
const percent = (value, isOutput) => (isOutput ? value.toFixed(3) : `${(100 * value).toFixed(1)}\u00a0%`);
const naturally = (words) => (words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`);

class Playground {
  constructor() {
    this.wire = new Wire();
    this.details = new Details();
    this.board = null; // on the page
    this.coming = null; // the next one, until it has colours
    this.request = null;
    this.asked = 0; // number of the last question of each kind: older answers are dropped
    this.contrasted = 0;
    this.found = []; // the last explanation of each side
    this.label = null; // if one was chosen
    this.measure = "score";
    this.pair = null; // two labels to tell apart
  }

  async start() {
    try {
      await this.wire.login();
      this.info = await this.wire.ask("info");
    } catch (error) {
      this.fail(error);
      return;
    }
    this.fill();
    this.listen();
    if (this.info.corpus) new CorpusList(this.wire, this.info.corpus, (number) => this.openSaved(number), (error) => this.fail(error));
    byId("text").value ||= this.info.example;
    byId("privacy").textContent = this.info.remote.length
      ? `Texts are sent to ${this.info.remote.join(", ")}.`
      : "Nothing leaves this machine.";
    byId("text").focus({ preventScroll: true });
    this.explain();
  }

  fill() {
    const { models, methods } = this.info;
    const option = (value, text) => make("option", { value }, text);
    byId("model").append(...models.map((name, k) => option(k, name)));
    byId("method").append(...methods.map((name) => option(name, name)));
    byId("compare").append(option("", "nothing"));
    if (models.length > 1) byId("compare").append(make("optgroup", { label: "another model" }, ...models.map((name, k) => option(`model:${k}`, name))));
    byId("compare").append(make("optgroup", { label: "another method" }, ...methods.map((name) => option(`method:${name}`, name))));
    if (models.length > 1) byId("compare").value = "model:1";
    byId("settings").open = window.matchMedia("(min-width: 46.01rem)").matches;
  }

  listen() {
    byId("text").addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.explain(), TYPING);
    });
    for (const id of ["model", "method", "compare"]) byId(id).addEventListener("input", () => this.explain());
    for (const id of ["for", "against"]) byId(id).addEventListener("input", () => this.choosePair());
    byId("stop").addEventListener("click", () => this.stop());
    byId("undo").addEventListener("click", () => this.board?.undo());
    byId("restore").addEventListener("click", () => this.board?.set([]));
    byId("flip").addEventListener("click", () => this.playFlip());
    for (const kind of ["html", "json"]) byId(`save-${kind}`).addEventListener("click", () => this.save(kind));
    window.addEventListener("pagehide", () => this.wire.forget());
    window.addEventListener("pageshow", (event) => event.persisted && this.explain());
    window.addEventListener("hashchange", () => location.hash.includes("token=") && this.wire.login().then(() => location.reload(), (error) => this.fail(error)));
  }

  sides() {
    const first = { model: Number(byId("model").value), method: byId("method").value };
    const [what, which] = byId("compare").value.split(":");
    if (what === "model") return [first, { ...first, model: Number(which) }];
    return what ? [first, { ...first, method: which }] : [first];
  }

  async explain() {
    clearTimeout(this.timer);
    this.request?.abort();
    this.clear();
    const text = byId("text").value;
    if (!text.trim()) {
      this.board = null;
      byId("result").replaceChildren();
      byId("prediction").textContent = "";
      for (const id of ["probabilities", "actions", "hint"]) byId(id).hidden = true;
      return;
    }
    const request = new AbortController();
    this.request = request;
    this.work(true, "asking the model");
    try {
      const body = { text, sides: this.sides(), contrast: this.pair };
      await this.wire.follow("explain", body, request.signal, (event, data) => request === this.request && this.take(event, data));
      if (request !== this.request) return;
      this.request = null;
      if (!this.isOver) this.work(false, "stopped");
    } catch (error) {
      if (request === this.request) this.fail(error);
    }
  }

  // What belongs to the text before.
  clear() {
    clearTimeout(this.delay);
    this.request = null;
    this.player = null;
    this.coming = [];
    this.found = [];
    this.isOver = false;
    byId("message").textContent = "";
    byId("notes").replaceChildren();
    this.work(false, "");
    this.enable();
    this.board?.element.classList.add("old");
  }

  work(isRunning, status) {
    byId("stop").hidden = !isRunning;
    byId("progress").hidden = true;
    byId("status").textContent = status;
    byId("result").setAttribute("aria-busy", String(isRunning));
  }

  fail(error) {
    if (error.name === "AbortError") return;
    this.work(false, "");
    byId("message").textContent = error.message;
  }

  take(event, data) {
    if (event === "prediction") this.takePrediction(data);
    else if (event === "explanation") this.takeExplanation(data);
    else if (event === "progress") this.takeProgress(data);
    else if (event === "note") byId("notes").append(make("li", {}, data.message));
    else if (event === "stopped") this.work(false, data.message);
    else if (event === "error") this.fail(new Error(data.message));
    if (event === "stopped" || event === "error") this.isOver = true;
  }

  takePrediction(side) {
    this.coming.push(side);
    if (side.isLive && this.coming.length < this.sides().length) return;
    const sides = this.coming;
    this.coming = new Board(sides, this.details, page.measures, () => this.predict());
    if (this.label !== null || this.measure !== "score") this.coming.choose(this.label, this.measure);
    this.coming.element.addEventListener("change", () => this.remember());
    this.fillLabels(sides);
    this.now = null;
    this.paintPrediction(sides);
    this.work(true, "first estimate");
    this.delay = setTimeout(() => this.swap(), WAITING);
  }

  // The new words take the place of the old ones once they have colours.
  swap() {
    clearTimeout(this.delay);
    if (!(this.coming instanceof Board)) return;
    this.board = this.coming;
    this.coming = null;
    byId("result").replaceChildren(this.board.element);
    byId("actions").hidden = false;
    byId("hint").hidden = !this.board.sides[0].isLive;
    this.details.hide();
    this.enable();
  }

  takeExplanation(data) {
    const board = this.coming instanceof Board ? this.coming : this.board;
    this.found[data.side] = data;
    board.renew(data.side, data);
    const n = board.sides.length;
    const stages = Array.from({ length: n }, (_, side) => this.found[side]?.stage);
    if (stages.every(Boolean)) this.swap();
    if (stages.every((stage) => stage === "done" || stage === "saved")) {
      this.isOver = true;
      this.work(false, stages[0] === "saved" ? "as it was explained" : "done");
    } else {
      byId("status").textContent = stages.includes("better") || stages.includes("done") ? "getting better" : "quick estimate";
    }
    this.enable();
    // The labels to tell apart were changed while this was on its way.
    if (data.stage === "done" && data.canContrast && JSON.stringify(data.contrast) !== JSON.stringify(this.pair ?? [])) this.contrast();
  }

  takeProgress({ side, done, total }) {
    const bar = byId("progress");
    bar.hidden = total === 0;
    bar.value = Math.min(1, done / (total || 1));
    const sides = (this.board ?? this.coming)?.sides ?? [];
    const name = sides.length > 1 ? `, ${sides[side]?.name ?? ""}` : "";
    byId("status").textContent = `getting better: ${done.toLocaleString("en")} forward passes${name}`;
  }

  remember() {
    const { group } = this.board;
    if (!this.pair) this.label = group.label;
    this.measure = group.measure;
  }

  enable() {
    const { board } = this;
    const isCurrent = board !== null && !(this.coming instanceof Board) && this.found.length > 0;
    const isLive = isCurrent && board.sides.every((side) => side.isLive);
    byId("undo").disabled = !isLive || !board.history.length;
    byId("restore").disabled = !isLive || !board.removed.length;
    byId("flip").disabled = !isLive || !this.found[0]?.hasPath || this.found[0].stage !== "done";
    for (const kind of ["html", "json"]) byId(`save-${kind}`).disabled = !isCurrent;
    const canContrast = isCurrent && this.found.every((found) => found.canContrast);
    for (const id of ["for", "against"]) byId(id).disabled = !canContrast && this.pair === null;
  }

  // Labels to tell apart: those of all sides.
  fillLabels(sides) {
    const labels = sides[0].labels.map(([name]) => name).filter((name) => sides.every((side) => side.labels.some(([other]) => other === name)));
    const key = JSON.stringify([...labels].sort());
    if (key === this.labels) {
      if (!this.pair) byId("for").value = labels[0] ?? "";
      return;
    }
    this.labels = key;
    this.pair = null;
    const options = () => labels.map((name) => make("option", { value: name }, shortened(name, 40)));
    byId("for").replaceChildren(...options());
    byId("against").replaceChildren(make("option", { value: "" }, "(no label)"), ...options());
  }

  async choosePair() {
    const [one, other] = [byId("for").value, byId("against").value];
    if (one === other) byId("against").value = "";
    const pair = other && one !== other ? [one, other] : null;
    if (pair === null && this.pair === null) return;
    this.pair = pair;
    if (this.board && this.found.length) await this.contrast();
  }

  async contrast() {
    const number = ++this.contrasted;
    const { board } = this;
    try {
      const { sides } = await this.wire.ask("contrast", { contrast: this.pair });
      if (number !== this.contrasted || board !== this.board) return;
      sides.forEach((data, side) => {
        this.found[side] = { ...this.found[side], ...data };
        this.board.renew(side, data);
      });
      if (!this.pair) this.board.choose(this.label ?? this.board.sides[0].prediction, this.measure);
      byId("message").textContent = "";
    } catch (error) {
      this.pair = null;
      byId("against").value = "";
      this.fail(error);
    }
    this.enable();
  }

  // What the models say of the words that are left.
  async predict() {
    this.enable();
    const { board } = this;
    const removed = [...board.removed];
    const number = ++this.asked;
    if (!removed.length) {
      this.now = null;
      this.paintPrediction(board.sides);
      return;
    }
    try {
      const { sides } = await this.wire.ask("predict", { removed: [removed] });
      if (number === this.asked && board === this.board) this.showLeft(sides, 0);
    } catch (error) {
      this.fail(error);
    }
  }

  showLeft(sides, set) {
    this.now = sides.map((side) => new Map(side.labels.map((label, k) => [label, side.values[set][k]])));
    this.paintPrediction(this.board.sides);
  }

  // Two methods on one model: what the model says is said once.
  paintPrediction(all) {
    const isOneModel = all.every((side) => side.model === all[0].model);
    const sides = isOneModel ? all.slice(0, 1) : all;
    const gone = this.now ? this.board.removed.map((word) => shortened(this.board.group.cards[0].names[word], 24)) : [];
    const without = `ithout ${gone.length > 4 ? `${gone.length} words` : naturally(gone)}: `;
    byId("prediction").replaceChildren(...sides.flatMap((side, k) => {
      const name = sides.length > 1 ? side.name : "";
      const whole = `${side.prediction} ${side.value}`;
      if (!this.now) return [make("span", { dir: "auto" }, `${name && `${name}: `}${whole}`), make("span", { class: "was" })];
      // A tie keeps the prediction.
      const [label, value] = [...this.now[k]].reduce((best, own) => (own[1] > best[1] || (own[1] === best[1] && own[0] === side.prediction) ? own : best));
      return [
        make("span", { dir: "auto" }, `${name ? `${name}, w` : "W"}${without}${label} ${percent(value, side.isOutput)}`),
        make("span", { class: "was" }, `${whole} with all words`)];
    }));
    this.paintTable(sides);
  }

  paintTable(sides) {
    const [first] = sides;
    const rows = first.labels.slice(0, MOST_LABELS).map(([label]) => make("tr", {}, make("th", { scope: "row" }, make("bdi", {}, shortened(label, 40))),
      ...sides.map((side, k) => this.makeCell(side, label, this.now?.[k].get(label)))));
    const more = first.labels.length - MOST_LABELS;
    if (more > 0) rows.push(make("tr", {}, make("th", { scope: "row", colspan: sides.length + 1 }, `and ${more} more labels`)));
    const head = make("tr", {}, make("td"), ...sides.map((side) => make("th", { scope: "col" }, side.name)));
    byId("probabilities").tHead.replaceChildren(...(sides.length > 1 ? [head] : []));
    byId("probabilities").tBodies[0].replaceChildren(...rows);
    byId("probabilities").hidden = false;
  }

  makeCell(side, label, now) {
    const whole = side.labels.find(([name]) => name === label)?.[1];
    if (whole === undefined) return make("td", {}, "\u2013");
    const value = now ?? whole;
    const text = now === undefined ? percent(whole, side.isOutput) : `${percent(whole, side.isOutput)} \u2192 ${percent(now, side.isOutput)}`;
    const bar = side.isOutput ? [] : [make("i", { style: `width:${(100 * value).toFixed(1)}%` })];
    return make("td", {}, text, ...bar);
  }

  // Takes the words of the flip set out, one after the other.
  async playFlip() {
    const { board } = this;
    const { flip } = this.found[0];
    if (!flip.length) {
      byId("message").textContent = "No set of words was found whose removal changes the prediction.";
      return;
    }
    const sets = flip.map((_, k) => flip.slice(0, k + 1));
    const player = {};
    this.player = player;
    const isStill = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    try {
      const answers = [];
      for (let start = 0; start < sets.length; start += MOST_SETS) {
        const { sides } = await this.wire.ask("predict", { removed: sets.slice(start, start + MOST_SETS) });
        answers.push(...sets.slice(start, start + MOST_SETS).map((_, k) => [sides, k]));
      }
      for (const [k, set] of sets.entries()) {
        if (player !== this.player || board !== this.board) return;
        board.history.push(board.removed);
        this.asked++;
        board.removed = set;
        board.paintRemoved();
        this.showLeft(...answers[k]);
        this.enable();
        if (k < sets.length - 1 && !isStill) await new Promise((done) => setTimeout(done, PLAYING));
      }
    } catch (error) {
      this.fail(error);
    }
  }

  async stop() {
    this.request?.abort();
    this.request = null;
    this.swap();
    this.work(false, "stopped");
    await this.wire.ask("stop").catch((error) => this.fail(error));
  }

  async save(kind) {
    try {
      const { name, content } = await this.wire.ask("save", { kind, label: this.pair ? null : this.board.group.label });
      const address = URL.createObjectURL(new Blob([content], { type: kind === "html" ? "text/html" : "application/json" }));
      make("a", { href: address, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
    } catch (error) {
      this.fail(error);
    }
  }

  async openSaved(number) {
    clearTimeout(this.timer);
    this.request?.abort();
    this.clear();
    try {
      const { prediction, explanation, text } = await this.wire.ask("corpus/text", { number });
      if (text !== null) byId("text").value = text;
      this.takePrediction(prediction);
      this.takeExplanation(explanation);
    } catch (error) {
      this.fail(error);
    }
  }
}

const playground = new Playground();
playground.start();
