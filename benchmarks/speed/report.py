"""How large a report of many reviews is, and how fast a browser opens and scrolls it.

Needs Chromium and playwright. Explains with the bundled classifier:

    python -m benchmarks.speed.report --data test.jsonl.gz --number 500
"""

import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from benchmarks.speed.reviews import parser, reviews
from benchmarks.tables import markdown
from textsobol import Sobol, TextExplainer
from textsobol.render.report import render_report

# Jumps from screen to screen; the time until the browser has painted each.
SCROLL = """async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const times = [];
  for (let screen = 1; screen <= 100; screen++) {
    const start = performance.now();
    window.scrollTo(0, screen * window.innerHeight);
    await frame();
    times.push(performance.now() - start);
  }
  return times;
}"""
LOADED = "performance.timing.loadEventEnd - performance.timing.navigationStart"


def main() -> None:
    """Explain, write, open, scroll."""
    options = parser(__doc__, model_required=False)
    options.add_argument("--number", type=int, default=500, help="reviews (default: 500)")
    asked = options.parse_args()
    texts = reviews(asked.data, around=230, number=asked.number)
    different = list(TextExplainer(asked.model).many(texts, method=Sobol(base_masks=2)))
    explanations = [different[k % len(different)] for k in range(asked.number)]
    start = time.perf_counter()
    html = render_report(explanations)
    written = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "report.html"
        path.write_text(html, encoding="utf-8")
        is_root = hasattr(os, "geteuid") and os.geteuid() == 0
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"] if is_root else []
        )
        opened = [_opened(browser.new_page(), path) for _ in range(3)]
        page = browser.new_page()
        page.goto(path.as_uri())
        screens = page.evaluate(SCROLL)
        browser.close()
    words = sum(len(e.words) for e in explanations) / len(explanations)
    rows = [
        ["reviews", f"{asked.number} ({len(different)} different), {words:.0f} words each"],
        ["size", f"{len(html.encode()) / 1e6:.1f} MB"],
        ["to make the page", f"{written:.1f} s"],
        ["to open it (median of 3)", f"{statistics.median(opened) / 1000:.2f} s"],
        ["to scroll by a screen (median, slowest of 100)",
         f"{statistics.median(screens):.0f} ms, {max(screens):.0f} ms"],
    ]  # fmt: skip
    print(markdown(["report", ""], rows))


def _opened(page: Page, path: Path) -> float:
    """Milliseconds until everything is loaded and listed."""
    page.goto(path.as_uri())
    page.wait_for_function("document.getElementById('count').textContent.length > 0")
    return float(page.evaluate(LOADED))


if __name__ == "__main__":
    main()
