"""The gallery: ten pages that textsobol makes, from texts that were written for it.

python docs/gallery.py DIRECTORY     # writes the pages; the site has them in frames
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from textsobol import Sobol, TextExplainer, TextExplanation, save_comparison, save_report
from textsobol.render.page import render_explanation

MISREAD = (
    "Do not believe the bad reviews. Nothing in this film is dull, nothing is wasted, and the "
    "ending left me in tears. I only wish it had been an hour longer."
)
LONG = "\n\n".join(
    [
        "I went to see The Lighthouse Keeper's Daughter with my sister, who had read the book, "
        "and with low hopes, since I had not.",
        "The first half hour is a delight. The harbour is filmed in grey and silver, nobody "
        "explains anything, and the two leads talk as people talk who have shared a kitchen for "
        "thirty years. There is a scene with a broken clock that I would not change by a "
        "second.",
        "Then the mystery begins, and the film falls apart. A stranger arrives with a suitcase. "
        "A letter is found, lost and found again. The music, so quiet until then, starts to "
        "tell us what to feel, and the dialogue turns into a list of clues. I counted three "
        "scenes in which somebody looks out of a window and sighs.",
        "The last twenty minutes are a mess. The twist is foolish, the storm is cheap, and a "
        "fine actress is left to shout a speech that no human being has ever given. My sister, "
        "who knew what was coming, was as bored as I was.",
        "See it for the harbour, if you must. Then leave when the stranger knocks.",
    ]
)
REVIEWS = [
    ("A gripping, beautifully acted film with a wonderful score.", "POSITIVE"),
    ("Dull, clumsy and far too long. I want my two hours back.", "NEGATIVE"),
    ("Not bad at all: the cast is fun and the story moves.", "POSITIVE"),
    ("I expected a masterpiece and got a boring, predictable mess.", "NEGATIVE"),
    ("The worst thing about this great film is that it ends.", "POSITIVE"),
    ("Great actors, a great budget, a great composer, and I fell asleep.", "NEGATIVE"),
    ("Small, strange and lovely. I have told all my friends to go.", "POSITIVE"),
    ("The jokes are old, the chase is cheap, and the dog is the best actor.", "NEGATIVE"),
]


@dataclass(frozen=True)
class Entry:
    """A page of the gallery.

    Attributes:
        title: heading above the frame.
        note: what to look at.
        make: makes the page.
    """

    title: str
    note: str
    make: Callable[[], str]


@cache
def _reviews() -> TextExplainer:
    return TextExplainer(progress=False)


def _explain(text: str, explainer: TextExplainer | None = None, **call: object) -> str:
    return render_explanation((explainer or _reviews())(text, **call))  # type: ignore[arg-type]


def _write(save: Callable[[Path], None]) -> str:
    with TemporaryDirectory() as directory:
        page = Path(directory) / "page.html"
        save(page)
        return page.read_text(encoding="utf-8")


def rate_urgency(messages: list[str]) -> list[float]:
    """How urgent a message to a help desk is, by rules."""
    alarming = ("down", "broken", "immediately", "nobody")
    lower = [message.lower() for message in messages]
    return [
        (-1.0 if "not urgent" in text else 2.0 if "urgent" in text else 0.0)
        + sum(word in text for word in alarming)
        + text.count("!")
        for text in lower
    ]


def find_topics(texts: list[str]) -> list[list[float]]:
    """Counts of words of three topics."""
    topics = (("goal", "match", "star"), ("vote", "minister", "match"), ("film", "star", "actor"))
    return [
        [float(sum(text.lower().count(word) for word in words)) for words in topics]
        for text in texts
    ]


def measure_overlap(pairs: list[tuple[str, str]]) -> list[float]:
    """The share of the second text's words that the first one has."""
    shares = []
    for premise, hypothesis in pairs:
        words = [set(text.lower().replace(".", "").split()) for text in (premise, hypothesis)]
        shares.append(len(words[0] & words[1]) / max(1, len(words[1])))
    return shares


def _compare() -> str:
    text = REVIEWS[5][0]
    found: dict[str, TextExplanation] = {
        "Sobol": _reviews()(text),
        "occlusion": _reviews()(text, method="occlusion"),
        "gates, about 25 forward passes": _reviews()(text, method="gates"),
    }
    return _write(lambda page: save_comparison(found, page))


def _report() -> str:
    texts, truth = zip(*REVIEWS, strict=True)
    found = list(_reviews().many(texts))
    return _write(lambda page: save_report(found, page, truth=truth, title="Eight short reviews"))


ENTRIES = {
    "misread": Entry(
        "Praise that the model reads as a complaint",
        "The model takes every *dull* and *wasted* at face value and misses what *nothing* does to "
        "them. Move the slider: four words have to go before it changes its mind. This is the "
        "review of the [tutorial](../tutorial.md).",
        lambda: _explain(MISREAD),
    ),
    "short": Entry(
        "A short text, without sampling error",
        "Eight words have 256 masks, and all of them were tried. Scores have no intervals because "
        "nothing is estimated.",
        lambda: _explain("The cast is wonderful, the ending is dull."),
    ),
    "pairs": Entry(
        "Words that work together",
        "Pairs of the six strongest words were analysed too. Choose a marked word to see with "
        "which others it interacts.",
        lambda: _explain(
            "Not good, not even bad in a funny way, only long.", method=Sobol(interactions=6)
        ),
    ),
    "long": Entry(
        "A long review",
        "Words that hardly matter are screened out: their scores are predictions with wide "
        "intervals, and they say so.",
        lambda: _explain(LONG),
    ),
    "sentences": Entry(
        "The same review, sentence by sentence",
        'With `unit="sentence"` a sentence is what is left out. The first half speaks against '
        "the label, the second half for it.",
        lambda: _explain(LONG, TextExplainer(unit="sentence", progress=False)),
    ),
    "rules": Entry(
        "Rules instead of a model",
        "Any function from texts to scores can be explained. Here *urgent* counts 2, but *not "
        "urgent* takes 1 off, so that *not* has the largest share.",
        lambda: _explain(
            "Not urgent, but the printer on the second floor is broken again!",
            TextExplainer(rate_urgency, label_names=["urgency"], progress=False),
        ),
    ),
    "labels": Entry(
        "Three labels at once",
        "All labels are explained from the same forward passes. Switch between them above the "
        "text: *star* speaks for two labels, and so does *match*.",
        lambda: _explain(
            "The star scored a late goal in a match that the minister watched.",
            TextExplainer(
                find_topics, label_names=["sports", "politics", "cinema"], progress=False
            ),
        ),
    ),
    "pair": Entry(
        "A pair of texts",
        "Both texts of a pair are explained together. The function measures how many words of "
        "the second text occur in the first.",
        lambda: _explain(
            ("A man is playing a guitar on a stage.", "A man is playing loud music."),  # type: ignore[arg-type]
            TextExplainer(measure_overlap, label_names=["overlap"], progress=False),
        ),
    ),
    "methods": Entry(
        "Three methods on one text",
        "`save_comparison` puts explanations of one text side by side, with the rank correlation "
        "of their scores.",
        _compare,
    ),
    "report": Entry(
        "Eight reviews in one report",
        "`save_report` lists texts, and the words that push to each label over all of them. With "
        "the true labels it marks wrong predictions: filter for them.",
        _report,
    ),
}


def make_pages() -> dict[str, str]:
    """All pages by name."""
    return {name: entry.make() for name, entry in ENTRIES.items()}


def write_index() -> str:
    """The page of the site that shows the others in frames."""
    parts = [
        "# Gallery",
        "Ten pages, as textsobol writes them: each is one file that works offline. Hover over a "
        "word, tap it, or move through the words with the arrow keys. "
        "[The code](https://github.com/textsobol/textsobol/blob/main/docs/gallery.py) makes all "
        "of them, from texts that were written for it.",
    ]
    for name, entry in ENTRIES.items():
        parts += [
            f"## {entry.title}",
            f"{entry.note} [Open it alone](pages/{name}.html).",
            f'<iframe class="page-frame" src="pages/{name}.html" title="{entry.title}" '
            f'loading="lazy"></iframe>',
        ]
    return "\n\n".join(parts) + "\n"


def main(directory: str) -> None:
    """Write the pages into a directory."""
    Path(directory).mkdir(parents=True, exist_ok=True)
    for name, page in make_pages().items():
        (Path(directory) / f"{name}.html").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
