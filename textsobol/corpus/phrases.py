"""Neighbouring words that many texts have, found without counting all that there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from textsobol.sobol.arrays import Array, Integers

if TYPE_CHECKING:
    from textsobol.corpus.words import Occurrences

_BUCKETS = 1 << 21
_MIX = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)


class Candidates:
    """In how many texts phrases are, at most: phrases share counters.

    The first pass over texts counts here, in memory that does not grow; the second looks closer
    at those phrases only whose counter is high enough (Park, Chen and Yu 1995).
    """

    def __init__(self) -> None:
        self._counts = np.zeros(_BUCKETS, dtype=np.uint32)

    def count(self, documents: Integers, places: Integers) -> None:
        """Count phrases once for every text.

        Args:
            documents: the text of each ``(phrases,)``.
            places: the words of each, by number ``(phrases, length)``.
        """
        pairs = np.unique(documents * _BUCKETS + _buckets(places))
        np.add.at(self._counts, pairs % _BUCKETS, 1)

    def may_be_frequent(self, places: Integers, least_texts: int) -> Array:
        """Which of the phrases may be in so many texts ``(phrases,)``."""
        return np.asarray(self._counts[_buckets(places)] >= least_texts)


def phrases_in(
    codes: Integers, found: Occurrences, most_words: int
) -> Iterator[tuple[int, Integers, Integers, Integers]]:
    """Runs of neighbouring words, by length: length, words, texts and first words.

    Args:
        codes: numbers of the words ``(words,)``.
        found: the words.
        most_words: of a phrase.
    """
    starts = np.arange(len(codes))
    for length in range(2, most_words + 1):
        starts = starts[starts + length <= len(codes)]
        starts = starts[found.follows[starts + length - 1]]
        if not len(starts):
            return
        places = np.stack([codes[starts + k] for k in range(length)], axis=1)
        yield length, places, found.documents[starts], starts


def _buckets(places: Integers) -> Integers:
    mixed = (places.astype(np.uint64) + np.uint64(1)) * _MIX[: places.shape[1]]
    mixed = np.bitwise_xor.reduce(mixed ^ (mixed >> np.uint64(29)), axis=1)
    return np.asarray((mixed >> np.uint64(20)) % np.uint64(_BUCKETS), dtype=np.int64)
