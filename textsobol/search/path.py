"""The path: the order of deletions that lowers the score of a label fastest.

A complete greedy search scores all remaining features after every deletion. This search starts from
the effects measured for the Sobol indices, and at most steps scores only the most promising
features. At a few steps it scores all that are left, because some features only matter once others
are deleted. A path never changes an index.
"""

from __future__ import annotations

import numpy as np

from textsobol.sobol.arrays import Floats
from textsobol.sobol.masks import without_each
from textsobol.steps import Steps

# benchmarks/imdb/NOTES.md says how these numbers were chosen.
DEPTH = 20  # deletions
_WEIGHT = 0.55  # of the latest drop in an estimate; the rest is the previous estimate
_FULL_PART = 0.6  # of the passes go to steps that score all features
_FULL_UNTIL = 0.8  # of the deletions; later steps do not score all features
_ROUNDING = 1e-12  # of the largest effect


def search_path(
    effects: Floats, spreads: Floats | None = None, *, passes: int, depth: int = DEPTH
) -> Steps[list[int]]:
    """Delete features one by one.

    Yields masks ``(masks, features)`` and is sent scores ``(masks,)`` of one label, such as its
    log-odds; after every deletion, yields the list of all features deleted so far.

    Of the features that a step scores, the one whose deletion lowers the score most is deleted. The
    search ends after ``depth`` deletions, when no feature left speaks for the label, or when the
    passes are spent.

    Args:
        effects: mean effects ``(features,)`` over base masks.
        spreads: standard deviations ``(features,)`` of these effects over base masks. Features
            whose effect depends on others are scored sooner than their mean effect alone suggests.
        passes: masks that may be scored, besides the whole input.
        depth: most deletions.

    Example:
        The second feature repeats the first, so that deleting one of them changes little:

        >>> def score(masks):
        ...     return np.maximum(2.0 * masks[:, 0], 1.8 * masks[:, 1]) + 0.1 * masks[:, 2]
        >>> from textsobol.driver import run_with
        >>> run_with(score, search_path(np.array([1.1, 0.9, 0.1, 0.0]), passes=20))
        [0, 1, 2]
    """
    estimates = np.array(effects, dtype=float)
    doubts = np.zeros_like(estimates) if spreads is None else np.array(spreads, dtype=float)
    n_features = len(estimates)
    depth = min(depth, n_features)
    full_steps = choose_full_steps(passes, n_features, depth)
    present = np.ones(n_features, dtype=bool)
    drops = np.full(n_features, -np.inf)  # of the score, where scored since the last deletion
    (current,) = yield present[None]
    path: list[int] = []
    while len(path) < depth and passes > 0:
        unscored = np.flatnonzero(present & np.isneginf(drops))
        # The path cannot be longer than there are features that speak for the label.
        n_steps = min(depth - len(path), int((estimates[present] > 0).sum()))
        n_candidates = _count_candidates(passes, n_features, len(path), n_steps, full_steps)
        promise = estimates[unscored] + doubts[unscored]
        candidates = unscored[np.argsort(-promise, kind="stable")][:n_candidates]
        passes -= len(candidates)
        drops[candidates] = current - (yield without_each(present, candidates))
        estimates[candidates] += _WEIGHT * (drops[candidates] - estimates[candidates])
        doubts[candidates] *= 1 - _WEIGHT

        # Rounding must not delete a feature that does nothing.
        least = _ROUNDING * np.abs(estimates).max()
        speaks_for = present & (np.maximum(estimates, drops) > least)
        if not speaks_for.any():
            break
        best = int(np.argmax(np.where(speaks_for, drops, -np.inf)))
        if np.isneginf(drops[best]):
            continue  # no candidate speaks for the label, but others seem to
        path.append(best)
        present[best] = False
        current -= drops[best]
        drops[:] = -np.inf
        yield list(path)
    return path


def choose_full_steps(passes: int, n_features: int, depth: int = DEPTH) -> frozenset[int]:
    """The steps that score all remaining features: every step, or some, evenly spread.

    Example:
        >>> [sorted(choose_full_steps(passes, 100)) for passes in (100, 300, 500, 800)]
        [[], [8], [3, 8, 13], [2, 6, 10, 14]]
    """
    if passes >= count_search_passes(n_features, depth):
        return frozenset(range(depth))
    n_full = min(depth, int(_FULL_PART * passes / n_features))
    return frozenset(round(_FULL_UNTIL * depth * (k + 0.5) / n_full) for k in range(n_full))


def count_search_passes(n_features: int, depth: int = DEPTH) -> int:
    """Forward passes of a greedy search that scores all remaining features at every step.

    Example:
        >>> count_search_passes(100, depth=3)
        297
    """
    depth = min(depth, n_features)
    return depth * n_features - depth * (depth - 1) // 2


def _count_candidates(
    passes: int, n_features: int, step: int, n_steps: int, full_steps: frozenset[int]
) -> int:
    """How many features a step scores, so that the passes last for ``n_steps`` more steps."""
    if step in full_steps:
        return passes
    later = [full for full in full_steps if full > step]
    free = passes - sum(n_features - full for full in later)
    return max(1, free // max(1, n_steps - len(later)))
