"""The path for models with gates: one backward pass a step proposes, real deletions decide.

At every step the derivatives with respect to the gates of all features left say which deletions
promise most; only those are scored, and the best of them is made. A complete greedy search would
score every feature left (`textsobol.search.path`).
"""

from __future__ import annotations

import numpy as np

from textsobol.search.path import DEPTH
from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.sobol.masks import without_each
from textsobol.steps import PASSES_PER_GATES, Gates, Steps

# benchmarks/gates/NOTES.md says how these numbers were chosen.
# Deletions that a step scores, and for how many steps: most at first, where most is to be won.
_CANDIDATES = ((8, 6), (4, 8), (2, 6))
_MANY = 8  # at every step, where the passes suffice
_GATE = 0.5  # of the features left: between present and absent, to see further than one derivative
_KEPT = 0.5  # of the promise of a feature whose deletion was scored at an earlier step
_ROUNDING = 1e-12  # of the largest promise


def search_gated_path(
    n_features: int, *, passes: int, passes_per_gates: int, depth: int = DEPTH
) -> Steps[list[int]]:
    """Delete features one by one.

    Yields masks ``(masks, features)``, and is sent scores ``(masks,)`` of the predicted label;
    yields `Gates`, and is sent their derivatives ``(rows, features)``; after every deletion, yields
    the list of all features deleted so far.

    The search ends after ``depth`` deletions, when no feature left speaks for the label, or when
    the passes are spent.

    Args:
        n_features: number of features.
        passes: forward passes that may be spent, besides the whole input.
        passes_per_gates: what one row of gates costs, in forward passes.
        depth: most deletions.

    Example:
        >>> weights = np.array([1.0, 3.0, -1.0, 2.0])
        >>> def answer(asked):
        ...     is_gates = isinstance(asked, Gates)
        ...     return np.tile(weights, (1, 1)) if is_gates else asked @ weights
        >>> steps = search_gated_path(4, passes=40, passes_per_gates=3)
        >>> asked = next(steps)
        >>> while True:
        ...     try:
        ...         asked = steps.send(None if isinstance(asked, list) else answer(asked))
        ...     except StopIteration as end:
        ...         path = end.value
        ...         break
        >>> path
        [1, 3, 0]
    """
    present = np.ones(n_features, dtype=bool)
    drops = np.zeros(n_features)  # as last scored
    is_scored = np.zeros(n_features, dtype=bool)
    (current,) = yield present[None]
    path: list[int] = []
    planned = plan_candidates(min(depth, n_features), passes, passes_per_gates)
    while len(path) < min(depth, n_features) and passes > passes_per_gates:
        (slopes,) = yield Gates(np.where(present, _GATE, 0.0)[None])
        passes -= passes_per_gates
        promise = np.where(is_scored, _KEPT * drops + (1 - _KEPT) * slopes, slopes)
        candidates = _choose_candidates(present, promise, min(planned[len(path)], passes))
        if not len(candidates):
            break
        drops[candidates] = current - (yield without_each(present, candidates))
        is_scored[candidates] = True
        passes -= len(candidates)
        best = int(candidates[np.argmax(drops[candidates])])
        if drops[best] <= _ROUNDING * np.abs(drops).max():
            break  # no candidate speaks for the label
        path.append(best)
        present[best] = False
        current -= drops[best]
        yield list(path)
    return path


def count_gated_path_passes(n_features: int, *, is_thorough: bool = False) -> int:
    """Forward passes of a path of full depth.

    Args:
        n_features: number of features.
        is_thorough: whether every step scores many deletions, not only the first ones.

    Example:
        >>> count_gated_path_passes(100), count_gated_path_passes(100, is_thorough=True)
        (152, 220)
    """
    depth = min(DEPTH, n_features)
    if is_thorough:
        return depth * (PASSES_PER_GATES + _MANY)
    usual = enumerate(_plan_usual(depth))
    return sum(PASSES_PER_GATES + min(n, n_features - k) for k, n in usual)


def plan_candidates(depth: int, passes: int, passes_per_gates: int) -> list[int]:
    """How many deletions every step scores; fewer, but at least one, if passes are short.

    Example:
        >>> plan_candidates(9, 98, 3), plan_candidates(9, 57, 3)
        ([8, 8, 8, 8, 8, 8, 4, 4, 4], [4, 4, 4, 4, 4, 4, 2, 2, 2])
        >>> plan_candidates(9, 99, 3)
        [8, 8, 8, 8, 8, 8, 8, 8, 8]
    """
    left = passes - passes_per_gates * depth
    if left >= _MANY * depth:
        return [_MANY] * depth
    usual = _plan_usual(depth)
    part = min(1.0, max(0, left) / max(1, sum(usual)))
    return [max(1, int(n * part)) for n in usual]


def _plan_usual(depth: int) -> list[int]:
    usual = [n for n, n_steps in _CANDIDATES for _ in range(n_steps)][:depth]
    return usual + usual[-1:] * (depth - len(usual))


def _choose_candidates(present: Array, promise: Floats, n: int) -> Integers:
    """The features left that promise most, and promise anything."""
    speaks_for = present & (promise > _ROUNDING * np.abs(promise).max())
    order = np.argsort(np.where(speaks_for, -promise, np.inf), kind="stable")
    return order[: min(n, int(speaks_for.sum()))]
