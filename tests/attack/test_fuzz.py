"""Random hostile texts: each is explained and shown as text, or refused with a message."""

import json
import random
import unicodedata
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.render.conftest import Look
from textsobol import TextExplainer, TextExplanation
from textsobol.render.page import render_explanation
from textsobol.render.view import clean

pytestmark = pytest.mark.filterwarnings("ignore::textsobol.TextsobolWarning")
PIECES = (
    "good", "bad", "film", "not", "Don't", "10/10", "A.", "U.S.", "e.g.", ":)", "!!!", "<br />",
    "<script>window.hacked=1</script>", "</script>", "<img src=x onerror=hacked=1>", "--></style>",
    "{{7*7}}", "${1}", "&amp;", "&#x3c;", "'\"", "\\u0000", "\x00", "\x1b[31m", "\u202e", "\u2066",
    "\u2028", "\ufeff", "\u200d", "\u0301", "\U0001f468\u200d\U0001f469", "\U0001f1e9\U0001f1ea",
    "\u4e2d\u6587\u7535\u5f71", "\u05e9\u05dc\u05d5\u05dd", "\u0e20\u0e32\u0e1e", "\ud83d", "=1+1",
    "@SUM(A1)", "x" * 400, "\t", "\r\n", "\n\n", "   ", "\x85", "\ufffe", "\U0010fffd", "[MASK]",
    "[UNK]", "<unk>", "[SEP]", "##ing", "\u0130", "\ufb01", "\u00df",
)  # fmt: skip


def random_text(rng: random.Random) -> str:
    """Words and hostile pieces, or any characters, with or without spaces between them."""
    if rng.random() < 0.2:
        return "".join(chr(rng.randrange(0x11000)) for _ in range(rng.randrange(40)))
    joint = rng.choice(["", " ", " ", " ", "\n"])
    return joint.join(rng.choice(PIECES) for _ in range(rng.randrange(12)))


def score(texts: list[str]) -> np.ndarray:
    return np.array([[len(t) + t.count("good"), -2.0 * t.count("bad"), 1.0] for t in texts])


def texts(rng: random.Random, size: int) -> Iterator[str]:
    return (random_text(rng) for _ in range(size))


class Scripts(HTMLParser):
    """Counts what could run: scripts, handlers, frames."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "iframe", "object", "embed", "link", "base", "form"):
            self.found.append(tag)
        self.found += [name for name, value in attrs if name.startswith("on")]


def runnable(html: str) -> list[str]:
    parser = Scripts()
    parser.feed(html)
    return parser.found


@pytest.mark.parametrize("unit", ["word", "sentence", "paragraph"])
def test_every_text_is_explained_or_refused(
    unit: str, rng: random.Random, attack_size: int, tmp_path: Path
) -> None:
    models: list[Any] = [
        TextExplainer(score, label_names=["a", "<b>", "\x1b[2Jc"], unit=unit, progress=False),
        TextExplainer(unit=unit, progress=False),
    ]
    usual = runnable(render_explanation(models[0]("a good film")))
    refusals: list[str] = []
    for number, text in enumerate(texts(rng, attack_size)):
        try:
            found = models[number % 2](text, budget=rng.choice([2, 5, 30]), seed=number)
        except ValueError as error:
            refusals.append(str(error))
            continue
        for word in found.words:
            assert text[word.start : word.end] == word.text
            assert all(np.isfinite(own.score) for own in word.scores.values())
        found.save(tmp_path / "x.json")
        assert TextExplanation.load(tmp_path / "x.json") == found
        json.dumps(found.to_dict(), allow_nan=False)
        assert runnable(render_explanation(found)) == usual
        shown = str(found)
        assert not [c for c in shown if unicodedata.category(c) == "Cc" and c not in "\n"]
    assert all("nothing to explain" in why or "surrogate" in why for why in refusals)
    assert len(refusals) < attack_size / 2


def test_pages_show_text_and_run_nothing(look: Look, rng: random.Random, attack_size: int) -> None:
    explainer = TextExplainer(score, label_names=["<a>", "b", "c"], progress=False)
    n_pages = 0
    while n_pages < max(3, attack_size // 20):
        text = random_text(rng)
        try:
            found = explainer(text, budget=30)
        except ValueError:
            continue
        n_pages += 1
        with look(render_explanation(found)) as page:
            shown = page.locator(".card .text").first.evaluate("e => e.textContent")
            assert shown == clean(text)
            assert page.evaluate("typeof window.hacked") == "undefined"
