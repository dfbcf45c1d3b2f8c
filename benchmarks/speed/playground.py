"""How soon the playground shows colours after typing stops, by the browser's own clock.

Needs Chromium and playwright. Serves the bundled classifier, or another one, to a page on this
machine; the last words of every text are typed key by key:

    python -m benchmarks.speed.playground --data test.jsonl.gz --number 20
"""

import os
import shutil
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from playwright.sync_api import Page, sync_playwright

from benchmarks.speed.reviews import parser, reviews
from benchmarks.tables import markdown
from textsobol import TextExplainer
from textsobol.serve.limits import Limits
from textsobol.serve.security import Rules
from textsobol.serve.server import listen, make_server

# From the last key on: when the prediction is new, when words have colours, and when all is done.
# Times are taken in the frame after the change, so that it has been painted.
WATCH = """() => {
  const found = window.measured = {};
  const text = document.getElementById("text");
  const said = () => document.getElementById("prediction").firstChild;
  let [start, before] = [0, null];
  text.addEventListener("input", () => {
    [start, before] = [performance.now(), said()];
    for (const name in found) delete found[name];
  });
  const note = (name) => {
    if (!start || found[name] !== undefined) return;
    found[name] = null;
    requestAnimationFrame(() => setTimeout(() => { found[name] = performance.now() - start; }));
  };
  const look = () => {
    const words = [...document.querySelectorAll(".board .text")].map((p) => p.textContent).join("");
    const isNew = words === text.value;
    if (said() !== before) note("prediction");
    if (isNew && document.querySelector(".board .w.for, .board .w.against")) note("colours");
    if (isNew && document.getElementById("status").textContent === "done") note("done");
  };
  const options = { subtree: true, childList: true, characterData: true, attributes: true };
  new MutationObserver(look).observe(document.body, options);
}"""
_TYPED = 12  # characters of every text that are typed key by key
_STEPS = {"prediction": "prediction", "colours": "first colours", "done": "exact numbers"}


def main() -> None:
    """Serve, type, measure."""
    options = parser(__doc__, model_required=False)
    options.add_argument("--number", type=int, default=20, help="reviews (default: 20)")
    options.add_argument("--words", type=int, default=100, help="of a review, about (100)")
    asked = options.parse_args()
    found = reviews(asked.data, around=asked.words, number=asked.number)
    texts = [" ".join(t.split()) for t in found]
    with _serve(TextExplainer(asked.model, progress=False)) as address:
        measured = _measure(address, texts)
    n_words = statistics.mean(len(text.split()) for text in texts)
    rows = [
        [title, *(f"{number:.2f} s" for number in _summarise([own[name] for own in measured]))]
        for name, title in _STEPS.items()
    ]
    head = [f"{len(texts)} reviews of {n_words:.0f} words", "median", "9 of 10 within", "slowest"]
    print(markdown(head, rows))
    print(
        f"\n{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; the pause of 0.25 s is included"
    )


def _summarise(milliseconds: Sequence[float]) -> list[float]:
    ordered = sorted(number / 1000 for number in milliseconds)
    return [statistics.median(ordered), ordered[int(0.9 * (len(ordered) - 1))], ordered[-1]]


def _measure(address: str, texts: Sequence[str]) -> list[dict[str, float]]:
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"] if is_root else []
        )
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        page.goto(address)
        page.locator("#model option").wait_for(state="attached")
        page.evaluate(WATCH)
        measured = [_type(page, text) for text in texts]
        browser.close()
    return measured


def _type(page: Page, text: str) -> dict[str, float]:
    """Milliseconds from the last key to each step."""
    page.locator("#text").fill(text[:-_TYPED])
    page.locator("#text").press("Control+End")
    page.keyboard.type(text[-_TYPED:], delay=60)
    while True:
        found: dict[str, float | None] = page.evaluate("window.measured")
        if found.get("done") is not None:
            return {name: value for name, value in found.items() if value is not None}
        time.sleep(0.1)


@contextmanager
def _serve(explainer: TextExplainer) -> Iterator[str]:
    with listen("127.0.0.1", 0) as connection:
        port = connection.getsockname()[1]
        server = make_server([explainer], Rules(port=port), Limits())
        thread = threading.Thread(target=server.run, kwargs={"sockets": [connection]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}/"
        finally:
            server.should_exit = True
            thread.join()


if __name__ == "__main__":
    main()
