"""What a model says without, and with only, shares of the words: hard, soft, and at best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from textsobol.metrics.faithfulness import make_prefixes, rank
from textsobol.sobol.arrays import Array, Floats, Integers

SHARES = (0.05, 0.1, 0.2, 0.4)
MOST = max(SHARES)
DRAWS = 8  # soft masks of every share
_WORD_BY_WORD = 30  # words; bounds of longer texts are searched in blocks
_BLOCKS = 5
Probability = Callable[[Array], Floats]
"""From masks ``(masks, features)`` to the probability of the explained label ``(masks,)``."""


@dataclass(frozen=True)
class Curves:
    """Probabilities without the top words, and with only these ``(shares,)``.

    Attributes:
        without: comprehensive scores make it fall.
        only: sufficient scores keep it high.
    """

    without: Floats
    only: Floats

    def drops(self, whole: float) -> tuple[float, float]:
        """Comprehensiveness (high is good) and sufficiency (low is good): mean drops."""
        return float(whole - self.without.mean()), float(whole - self.only.mean())


def counts_of(n_features: int) -> list[int]:
    """Words that the shares come to, at least one.

    Example:
        >>> counts_of(40)
        [2, 4, 8, 16]
    """
    return [max(1, round(share * n_features)) for share in SHARES]


def measure_hard(probability: Probability, order: Integers) -> Curves:
    """Delete the first words of an order, or keep only these."""
    present = make_prefixes(order, counts_of(len(order)))
    without, only = np.split(probability(np.concatenate([~present, present])), 2)
    return Curves(without, only)


def measure_soft(probability: Probability, scores: Floats, seed: int) -> Curves:
    """Delete words by chance, in proportion to their scores (after Zhao & Aletras 2023).

    As many words are deleted on average as by `measure_hard`, whatever the scale of the scores, and
    all methods have the same random numbers. Words with scores below 0 are chosen last.
    """
    coins = np.random.default_rng(seed).random((len(SHARES), DRAWS, len(scores)))
    chances = np.stack([chances_of(scores, n) for n in counts_of(len(scores))])
    chosen = (coins < chances[:, None]).reshape(-1, len(scores))
    without, only = np.split(probability(np.concatenate([~chosen, chosen])), 2)
    return Curves(*(each.reshape(len(SHARES), DRAWS).mean(axis=1) for each in (without, only)))


def chances_of(scores: Floats, expected: float) -> Floats:
    """Chances in proportion to positive scores, at most 1, with a given sum.

    What positive scores cannot take is spread evenly over the other words.

    Example:
        >>> chances_of(np.array([3.0, 1.0, -2.0, 0.0]), 1.0).tolist()
        [0.75, 0.25, 0.0, 0.0]
        >>> chances_of(np.array([3.0, 1.0, -2.0, 0.0]), 3.0).tolist()
        [1.0, 1.0, 0.5, 0.5]
    """
    weights = np.maximum(scores, 0.0)
    is_positive = weights > 0
    if is_positive.sum() <= expected:
        n_others = len(scores) - is_positive.sum()
        rest = (expected - is_positive.sum()) / n_others if n_others else 0.0
        return np.where(is_positive, 1.0, rest)
    is_sure = np.zeros(len(scores), dtype=bool)
    while True:
        factor = (expected - is_sure.sum()) / weights[~is_sure].sum()
        too_many = ~is_sure & (factor * weights > 1)
        if not too_many.any():
            return np.where(is_sure, 1.0, factor * weights)
        is_sure |= too_many


def search_bounds(probability: Probability, n_features: int) -> Mapping[str, Curves]:
    """The lowest and the highest that greedy searches find, of both curves.

    Word by word up to 30 words; longer texts in five blocks, each of the words that do most at that
    moment. Not exact: who uses these bounds must also take what any method reaches.
    """
    found = {}
    for name, sign in (("lowest", 1.0), ("highest", -1.0)):
        deleted = search_order(probability, n_features, sign, is_kept=False)
        kept = search_order(probability, n_features, sign, is_kept=True)
        found[name] = Curves(
            measure_hard(probability, deleted).without, measure_hard(probability, kept).only
        )
    return found


def search_order(
    probability: Probability, n_features: int, sign: float, *, is_kept: bool
) -> Integers:
    """Search an order whose first words, deleted or kept alone, give extreme probabilities.

    Args:
        probability: of masks.
        n_features: number of words.
        sign: 1 for low probabilities, -1 for high ones.
        is_kept: whether the words are kept, and all others deleted.
    """
    state = np.full(n_features, not is_kept)
    order: list[int] = []
    for size in _block_sizes(n_features):
        left = np.flatnonzero(state != is_kept)
        tried = np.repeat(state[None], len(left), axis=0)
        tried[np.arange(len(left)), left] = is_kept
        best = left[rank(-sign * probability(tried))[:size]]
        order += best.tolist()
        state[best] = is_kept
    rest = np.setdiff1d(np.arange(n_features), order)
    return np.array([*order, *rest])


def _block_sizes(n_features: int) -> Sequence[int]:
    n_words = counts_of(n_features)[-1]
    n_blocks = n_words if n_features <= _WORD_BY_WORD else _BLOCKS
    return [len(block) for block in np.array_split(np.arange(n_words), n_blocks)]
