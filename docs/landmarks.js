// The theme makes a nameless landmark of every copy button; a screen reader would list them all.
// A table that is wider than the page can be scrolled by keyboard only if it can have the focus.
new MutationObserver(() => {
  for (const nav of document.querySelectorAll("nav.md-code__nav:not([role])")) {
    nav.setAttribute("role", "none");
  }
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) {
    table.setAttribute("tabindex", "0");
  }
}).observe(document.documentElement, { childList: true, subtree: true });
