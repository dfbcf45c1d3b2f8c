"""Focus: which features must go for the score to fall? A search along the path of deletions.

Sobol' indices say how much a feature matters on average over all masks. Whoever deletes the
strongest features one after another soon is where few of these masks are: the first deletions
have taken what others leaned on. From the mean effects of a first round the search follows that
path. At every step it looks anew at the features that are ahead, with all that went before
absent, takes what it sees into its estimates, and deletes the best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from textsobol.sobol.arrays import Array, Floats, Integers

DEPTH = 20  # deletions
WEIGHT = 0.55  # of the last look; the rest is what was known before. See benchmarks/imdb/NOTES.md


@dataclass(frozen=True)
class Focus:
    """What the search has found so far, for one label.

    Attributes:
        order: the features that were deleted, in that order.
        drops: what each of them took from the score when it went.
        estimates: effect of each feature, the later looks on the path weighing more.
    """

    order: Integers
    drops: Floats
    estimates: Floats

    @property
    def scores(self) -> Floats:
        """Effects ``(features,)`` that rank features in the order in which they should go.

        Those that were deleted have what they took from the score; where a feature took more than
        one before it, both opened the way together and share the mean (Barlow et al. 1972), so
        that the scores of all that were deleted add up to what the deletions took. Features that
        stayed have their estimates, but never more than those that went.

        Example:
            >>> focus = Focus(np.array([2, 0]), np.array([1.0, 3.0]), np.array([3.0, 5.0, 1.0]))
            >>> focus.scores.round(6)
            array([2., 2., 2.])
            >>> np.argsort(-focus.scores)
            array([2, 0, 1])
        """
        if not len(self.order):
            return self.estimates
        from scipy.optimize import isotonic_regression

        fallen = isotonic_regression(self.drops, increasing=False).x
        # Equal scores would rank by chance: what went first is told apart by a hair.
        hair = 1e-9 * np.abs(self.estimates).max()
        scores: Floats = np.minimum(self.estimates, fallen[-1] - hair)
        scores[self.order] = fallen + hair * np.arange(len(fallen))[::-1]
        return scores


def follow(
    score: Callable[[Array], Floats],
    effects: Floats,
    *,
    rows: int,
    depth: int = DEPTH,
    weight: float = WEIGHT,
) -> Iterator[Focus]:
    """Search along the path of deletions; yields what is known at first and after every step.

    Ends after ``depth`` deletions, when nothing is left that speaks for the label, or when the
    rows are spent.

    Args:
        score: masks ``(rows, features)`` to scores ``(rows,)`` of one label.
        effects: what is known of the features' effects ``(features,)``.
        rows: masks that may be scored, beside that of the whole input.
        depth: most deletions.
        weight: of what is seen on the path against what was known before.

    Example:
        Either of the first two is enough; the third helps a little:

        >>> def either(masks):
        ...     return 2.0 * (masks[:, 0] | masks[:, 1]) + 0.5 * masks[:, 2]
        >>> *_, last = follow(either, np.array([1.5, 2.0, 0.5, 0.0]), rows=20)
        >>> last.order, last.drops
        (array([1, 0, 2]), array([0. , 2. , 0.5]))
        >>> last.scores.round(6)
        array([1. , 1. , 0.5, 0. ])
    """
    estimates = np.array(effects, dtype=float)
    n_features = len(estimates)
    present = np.ones(n_features, dtype=bool)
    (before,) = score(present[None])
    order: list[int] = []
    drops: list[float] = []
    yield Focus(np.array([], dtype=np.int64), np.array([]), estimates.copy())
    while len(order) < min(depth, n_features) and rows > 0:
        left = np.flatnonzero(present)
        # The path will not be longer than there are features that speak for the label.
        n_steps = min(depth - len(order), int((estimates[left] > 0).sum()))
        n_looks = max(1, rows // max(1, n_steps))
        ahead = left[np.argsort(-estimates[left], kind="stable")][:n_looks]
        masks = np.repeat(present[None], len(ahead), axis=0)
        masks[np.arange(len(ahead)), ahead] = False
        rows -= len(ahead)
        seen = before - score(masks)
        estimates[ahead] += weight * (seen - estimates[ahead])
        best = int(np.argmax(estimates[ahead]))
        if speaks_for := estimates[ahead[best]] > 0:
            order.append(int(ahead[best]))
            drops.append(float(seen[best]))
            present[order[-1]] = False
            before -= seen[best]
        yield Focus(np.array(order, dtype=np.int64), np.array(drops), estimates.copy())
        if not speaks_for:
            return
