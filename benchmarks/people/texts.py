"""Texts in which people have marked the evidence."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from textsobol.text.words import Span, find_sentences, find_words

TOXIC = 1  # the label of toxic sentences; of film reviews, 1 is positive
_FEWEST_WORDS = 4


@dataclass(frozen=True)
class MarkedText:
    """A text, its label, and the spans of characters that people named as the evidence for it."""

    id: str
    text: str
    label: int
    marked: Sequence[Span]

    @property
    def n_words(self) -> int:
        """As textsobol counts them."""
        return len(find_words(self.text))


def read_marked(path: Path, *, seed: int, longest: int | None = None) -> list[MarkedText]:
    """Texts with marked evidence from JSON lines (``text``, ``rationales``, ``label``), shuffled.

    Posts of the toxic-spans task have no labels of their own: those with a span are toxic. Texts
    without any span are left out, since there is nothing to agree with.

    Args:
        path: the file, ``.gz`` or not.
        seed: of the order.
        longest: words; longer texts are left out.
    """
    every = [
        MarkedText(line["id"], line["text"], int(line.get("label", TOXIC)), _spans_of(line))
        for line in _lines(path)
    ]
    fitting = [t for t in every if t.marked and t.n_words <= (longest or t.n_words)]
    return [fitting[k] for k in np.random.default_rng(seed).permutation(len(fitting))]


def mark_words(words: Sequence[Span], marked: Sequence[Span]) -> np.ndarray:
    """Which words people marked, if only in part ``(words,)``.

    Example:
        >>> mark_words([(0, 3), (4, 9)], [(8, 12)]).tolist()
        [False, True]
    """
    return np.array(
        [any(start < b and a < end for a, b in marked) for start, end in words], dtype=bool
    )


def write_sentences(path: Path, to: Path, *, seed: int) -> int:
    """Sentences of toxic-spans posts to train a classifier on; returns how many were written.

    A sentence is toxic if a marked span touches it. There are more of the others; as many of
    them are drawn as there are toxic ones. Which words of a sentence are marked is not written:
    the classifier must find out by itself.
    """
    drawn = np.random.default_rng(seed)
    groups: dict[int, list[dict[str, Any]]] = {0: [], TOXIC: []}
    for line in _lines(path):
        for sentence, label in _labelled_sentences(line["text"], _spans_of(line)):
            groups[label].append({"text": sentence, "label": label})
    n_each = min(map(len, groups.values()))
    chosen = [group[k] for group in groups.values() for k in drawn.permutation(len(group))[:n_each]]
    chosen = [chosen[k] for k in drawn.permutation(len(chosen))]
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text("".join(json.dumps(sentence) + "\n" for sentence in chosen), encoding="utf-8")
    return len(chosen)


def _labelled_sentences(text: str, marked: Sequence[Span]) -> Iterator[tuple[str, int]]:
    for start, end in find_sentences(text):
        sentence = text[start:end]
        if len(find_words(sentence)) >= _FEWEST_WORDS:
            is_toxic = bool(mark_words([(start, end)], marked)[0])
            yield " ".join(sentence.split()), TOXIC if is_toxic else 0


def _lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _spans_of(line: dict[str, Any]) -> list[Span]:
    return [(start, end) for start, end in line["rationales"]]
