"""How far scores agree with what people marked."""

from __future__ import annotations

import numpy as np

from textsobol.sobol.arrays import Array, Floats


def average_precision(scores: Floats, marked: Array) -> float:
    """Area under the curve of precision and recall; a random order has the share of marked words.

    Example:
        >>> average_precision(np.array([3.0, 2.0, 1.0]), np.array([True, False, True]))
        0.8333333333333333
    """
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(marked, scores))


def choose_top(scores: Floats, rate: float) -> Array:
    """The words with the largest scores, so many as people mark on average; at least one.

    Example:
        >>> choose_top(np.array([0.1, 0.5, -0.9, 0.2]), 0.5).tolist()
        [False, True, False, True]
    """
    chosen = np.zeros(len(scores), dtype=bool)
    n_chosen = max(1, round(rate * len(scores)))
    chosen[np.argsort(-scores, kind="stable")[:n_chosen]] = True
    return chosen


def token_f1(chosen: Array, marked: Array) -> float:
    """Harmonic mean of precision and recall over words.

    Example:
        >>> token_f1(np.array([True, True, False]), np.array([True, False, True]))
        0.5
    """
    return float(2 * (chosen & marked).sum() / (chosen.sum() + marked.sum()))


def intersection_over_union(chosen: Array, marked: Array) -> float:
    """Words in both sets over words in either.

    Example:
        >>> round(intersection_over_union(np.array([1, 1, 0]) > 0, np.array([1, 0, 1]) > 0), 3)
        0.333
    """
    return float((chosen & marked).sum() / (chosen | marked).sum())
