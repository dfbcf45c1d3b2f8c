"""Sentences to train with and to test with; none of these share four words in a row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from benchmarks.imdb.data import Review, load
from benchmarks.shortcuts.plants import PLANTED
from textsobol.text.words import find_sentences

TEST_WORDS = (6, 16)
TRAIN_WORDS = (3, 40)
_RUN = 4  # words in a row that tell where a phrase comes from

Runs = set[tuple[str, ...]]


def test_sentences(source: str, *, seed: int) -> list[Review]:
    """Sentences of the test split, shuffled, none of which shares a run of words with another.

    Args:
        source: a hub id or file; see `benchmarks.imdb.data.load`.
        seed: of the order.
    """
    every = [one for one in _read(source, "test") if _fits(one.text, TEST_WORDS)]
    seen: Runs = set()
    found = []
    for one in _shuffled(every, np.random.default_rng(seed)):
        runs = _runs(one.text)
        if runs.isdisjoint(seen):
            seen |= runs
            found.append(one)
    return found


def train_sentences(
    phrases: str, reviews: str, test: str, *, n_phrases: int, n_sentences: int, seed: int
) -> list[Review]:
    """Phrases, and sentences of reviews with the label of the review; shuffled.

    Args:
        phrases: a data set of labelled phrases, such as SST-2.
        reviews: a data set of labelled reviews, such as IMDB.
        test: what will be tested with.
        n_phrases: number of phrases.
        n_sentences: number of sentences, of as many reviews.
        seed: of the choice.
    """
    tested: Runs = set()
    for one in _read(test, "test"):
        if _fits(one.text, TEST_WORDS):
            tested |= _runs(one.text)
    rng = np.random.default_rng(seed)
    found = [
        *_choose(_shuffled(_read(phrases, "train"), rng), n_phrases, tested),
        *_choose(_sentences_of(_read(reviews, "train"), rng), n_sentences, tested),
    ]
    return _shuffled(found, rng)


def _read(source: str, split: str) -> list[Review]:
    data = load(source, split)
    ids: Any = data["id"] if "id" in data.column_names else range(len(data))
    return [
        Review(str(name), " ".join(text.replace("<br />", " ").split()), label)
        for name, text, label in zip(ids, data["text"], data["label"], strict=True)
    ]


def _sentences_of(reviews: Sequence[Review], rng: np.random.Generator) -> Iterator[Review]:
    """A sentence of every review, in random order."""
    for one in _shuffled(reviews, rng):
        spans = find_sentences(one.text)
        start, end = spans[int(rng.integers(len(spans)))]
        yield Review(one.id, one.text[start:end], one.label)


def _choose(texts: Iterable[Review], n: int, tested: Runs) -> list[Review]:
    """The first so many texts that share no run of words with what is tested."""
    fitting = (
        one for one in texts if _fits(one.text, TRAIN_WORDS) and _runs(one.text).isdisjoint(tested)
    )
    return list(islice(fitting, n))


def _shuffled(texts: Sequence[Review], rng: np.random.Generator) -> list[Review]:
    return [texts[k] for k in rng.permutation(len(texts))]


def _fits(text: str, n_words: tuple[int, int]) -> bool:
    words = _words(text)
    return n_words[0] <= len(words) <= n_words[1] and PLANTED.isdisjoint(words)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


def _runs(text: str) -> Runs:
    """All runs of four words."""
    words = _words(text)
    return set(zip(*(words[k:] for k in range(_RUN)), strict=False))
