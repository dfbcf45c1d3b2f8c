"""How well scores point at planted words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

from textsobol.sobol.arrays import Floats

MEASURES = (
    "precision", "precision by size", "rank", "rank by size", "sign", "gap", "distractors",
)  # fmt: skip


def measure(
    scores: Floats, planted: Sequence[int], distractors: Sequence[int], *, is_signed: bool
) -> dict[str, float]:
    """All measures of one explanation; those that need signs only where scores have them.

    Args:
        scores: of all words ``(words,)`` for the label that the planted words decide for.
        planted: places of the planted words.
        distractors: places of words that decide nothing.
        is_signed: whether scores have signs.

    Returns:
        Precision@k and mean rank of the k planted words, also by the size of scores, the share of
        planted words with a score above 0, the gap between them, and the share of the k largest
        scores that distractors have.
    """
    k, sizes = len(planted), np.abs(scores)
    found = {
        "precision by size": share_of_top(sizes, planted, k),
        "rank by size": mean_rank(sizes, planted),
        "gap": gap(scores, planted),
        "distractors": share_of_top(sizes, distractors, k),
    }
    if is_signed:
        found |= {
            "precision": share_of_top(scores, planted, k),
            "rank": mean_rank(scores, planted),
            "sign": float((scores[list(planted)] > 0).mean()),
        }
    return found


def share_of_top(scores: Floats, places: Sequence[int], k: int) -> float:
    """Share of the k highest scores that certain words have; of planted words it is precision@k.

    Words that share a score have equal parts of the places that are left.

    Example:
        >>> share_of_top(np.array([0.5, 0.1, 0.1, 0.0]), [0, 1], 2)
        0.75
    """
    least = np.sort(scores)[-k]
    n_above = int((scores > least).sum())
    part = (k - n_above) / int((scores == least).sum())
    chances = np.where(scores > least, 1.0, np.where(scores == least, part, 0.0))
    return float(chances[list(places)].sum() / k)


def mean_rank(scores: Floats, places: Sequence[int]) -> float:
    """Mean rank of certain words, 1 for the highest score; words that share a score share ranks.

    Example:
        >>> mean_rank(np.array([0.5, 0.1, 0.1, 0.0]), [0, 1])
        1.75
    """
    return float(rankdata(-scores)[list(places)].mean())


def gap(scores: Floats, places: Sequence[int]) -> float:
    """Largest difference between the scores of certain words, as a share of the largest score.

    Example:
        >>> gap(np.array([0.5, -0.1, 0.25]), [0, 2])
        0.5
    """
    largest = float(np.abs(scores).max())
    return float(np.ptp(scores[list(places)])) / largest if largest else 0.0
