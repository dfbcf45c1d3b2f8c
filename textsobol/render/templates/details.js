// The box with a word's numbers, shown on hover, focus and tap.
const HIDE_DELAY = 200; // milliseconds for the pointer to reach the box

class Details {
  constructor() {
    this.box = document.getElementById("details");
    this.anchor = null;
    this.marked = new Set();
    this.leaving = null;
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.hide());
    document.addEventListener("pointerdown", (event) => {
      if (!event.target.closest(".w, .bar, #details")) this.hide();
    });
    this.box.addEventListener("pointerenter", () => clearTimeout(this.leaving));
    this.box.addEventListener("pointerleave", () => this.leave());
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

  mark(element, ...classes) {
    element.classList.add(...classes);
    this.marked.add(element);
  }

  place() {
    // A long word has several lines: place the box below the first.
    const line = this.anchor.getClientRects()[0];
    if (!line) return this.hide();
    const { width, height } = this.box.getBoundingClientRect();
    const below = line.bottom + 8;
    const top = below + height > window.innerHeight ? Math.max(8, line.top - height - 8) : below;
    this.box.style.top = `${top}px`;
    this.box.style.left = `${Math.max(8, Math.min(line.left, window.innerWidth - width - 8))}px`;
  }

  // When the pointer leaves, show the word that has the focus, if any.
  leave() {
    clearTimeout(this.leaving);
    this.leaving = setTimeout(() => {
      this.hide();
      document.activeElement?.dispatchEvent(new CustomEvent("show", { bubbles: true }));
    }, HIDE_DELAY);
  }

  hide() {
    clearTimeout(this.leaving);
    this.anchor?.removeAttribute("aria-describedby");
    this.anchor = null;
    this.box.hidden = true;
    for (const element of this.marked) element.classList.remove("selected", "partner", "weakens", "unsure");
    this.marked.clear();
  }
}
