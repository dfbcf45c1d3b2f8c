"""Neighbouring words that many texts contain, found without counting all of them exactly."""

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
    """Upper bounds of the number of texts that contain a phrase: phrases share counters.

    The first pass over texts counts here, in constant memory; the second counts exactly only the
    phrases whose counter is high enough (Park, Chen and Yu 1995).
    """

    def __init__(self) -> None:
        self._counts = np.zeros(_BUCKETS, dtype=np.uint32)

    def count(self, documents: Integers, places: Integers) -> None:
        """Count phrases once per text.

        Args:
            documents: number of the text that contains each ``(phrases,)``.
            places: numbers of the words of each ``(phrases, length)``.
        """
        pairs = np.unique(documents * _BUCKETS + _buckets(places))
        np.add.at(self._counts, pairs % _BUCKETS, 1)

    def may_be_frequent(self, places: Integers, least_texts: int) -> Array:
        """Which of the phrases may be in at least so many texts ``(phrases,)``."""
        return np.asarray(self._counts[_buckets(places)] >= least_texts)


def phrases_in(
    codes: Integers, found: Occurrences, most_words: int
) -> Iterator[tuple[int, Integers, Integers, Integers]]:
    """Yield the runs of neighbouring words of each length: length, words, texts, first words.

    Args:
        codes: numbers of the words ``(words,)``.
        found: the words.
        most_words: highest length.
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
