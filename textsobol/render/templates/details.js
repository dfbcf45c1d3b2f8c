// The box with a word's numbers: on hover, focus and tap.
class Details {
  constructor() {
    this.box = document.getElementById("details");
    this.anchor = null;
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.hide());
    document.addEventListener("pointerdown", (event) => {
      if (!event.target.closest(".w, .bar, #details")) this.hide();
    });
    window.addEventListener("scroll", () => this.anchor && this.place(), { passive: true });
  }

  show(anchor, title, rows) {
    this.hide();
    const list = make("dl");
    for (const [name, value] of rows) list.append(make("dt", {}, name), make("dd", {}, value));
    this.box.replaceChildren(make("b", { dir: "auto" }, shortened(title, 120)), list);
    this.box.hidden = false;
    this.anchor = anchor;
    anchor.setAttribute("aria-describedby", "details");
    this.place();
  }

  place() {
    // A long word has several lines: the box goes below the first.
    const line = this.anchor.getClientRects()[0];
    if (!line) return this.hide();
    const { width, height } = this.box.getBoundingClientRect();
    const below = line.bottom + 8;
    const top = below + height > window.innerHeight ? Math.max(8, line.top - height - 8) : below;
    this.box.style.top = `${top}px`;
    this.box.style.left = `${Math.max(8, Math.min(line.left, window.innerWidth - width - 8))}px`;
  }

  hide() {
    this.anchor?.removeAttribute("aria-describedby");
    this.anchor = null;
    this.box.hidden = true;
    for (const marked of document.querySelectorAll(".looked, .partner")) {
      marked.classList.remove("looked", "partner", "weakens", "unsure");
    }
  }
}
