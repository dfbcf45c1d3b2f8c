// The list of a corpus's texts.
class CorpusList {
  constructor(wire, corpus, open, fail) {
    this.wire = wire;
    this.start = 0;
    this.open = open;
    this.fail = fail;
    const byId = (id) => document.getElementById(`corpus-${id}`);
    [this.search, this.before, this.after, this.count, this.list] = ["search", "before", "after", "count", "list"].map(byId);
    byId("name").textContent = `${corpus.name}, ${corpus.texts.toLocaleString("en")}`;
    document.getElementById("corpus").hidden = false;
    this.search.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.show(0), 200);
    });
    this.before.addEventListener("click", () => this.show(this.start - this.page));
    this.after.addEventListener("click", () => this.show(this.start + this.page));
    this.show(0);
  }

  async show(start) {
    try {
      const found = await this.wire.ask("corpus", { start: Math.max(0, start), search: this.search.value.slice(0, 200) });
      this.start = found.start;
      this.page = found.page;
      this.list.replaceChildren(...found.texts.map((text) => this.makeItem(text)));
      const last = found.start + found.texts.length;
      this.count.textContent = found.found ? `${found.start + 1} to ${last} of ${found.found}` : "none";
      this.before.disabled = found.start === 0;
      this.after.disabled = last >= found.found;
    } catch (error) {
      this.fail(error);
    }
  }

  makeItem({ number, prediction, snippet }) {
    const button = make("button", { type: "button" }, make("bdi", { class: "label" }, prediction), make("span", { dir: "auto" }, snippet));
    button.addEventListener("click", () => {
      for (const other of this.list.querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
      button.setAttribute("aria-current", "true");
      this.open(number);
    });
    return make("li", {}, button);
  }
}
