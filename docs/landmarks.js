// The theme makes a nameless landmark of every copy button; a screen reader would list them all.
new MutationObserver(() => {
  for (const nav of document.querySelectorAll("nav.md-code__nav:not([role])")) {
    nav.setAttribute("role", "none");
  }
}).observe(document.documentElement, { childList: true, subtree: true });
