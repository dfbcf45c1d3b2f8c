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
from textsobol.sobol.rows import without_each

DEPTH = 20  # deletions
WEIGHT = 0.55  # of the last look; the rest is what was known before. See benchmarks/imdb/NOTES.md
_HAIR = 1e-4  # of the strongest; what lies closer together a page cannot tell apart


@dataclass(frozen=True)
class Focus:
    """What the search has found so far, for one label.

    Attributes:
        order: the features that were deleted, in that order.
        estimates: effect of each feature, the later looks on the path weighing more.
    """

    order: Integers
    estimates: Floats

    @property
    def scores(self) -> Floats:
        """Effects ``(features,)`` that rank features in the order in which they should go.

        They are the estimates, but what was deleted never has less than what went after it or
        stayed: it had to go before others showed what they can do.

        Example:
            >>> Focus(np.array([2, 0]), np.array([3.0, 0.5, 1.0])).scores
            array([3.    , 0.5   , 3.0003])
        """
        scores = self.estimates.copy()
        hair = _HAIR * np.abs(scores).max()
        least = np.delete(scores, self.order).max(initial=-np.inf)
        for feature in self.order[::-1]:
            least = scores[feature] = max(scores[feature], least + hair)
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
        >>> last.order
        array([1, 0, 2])
        >>> last.scores.round(2)
        array([1.4, 1.4, 0.5, 0. ])
    """
    estimates = np.array(effects, dtype=float)
    n_features = len(estimates)
    present = np.ones(n_features, dtype=bool)
    (before,) = score(present[None])
    order: list[int] = []
    yield Focus(np.array([], dtype=np.int64), estimates.copy())
    while len(order) < min(depth, n_features) and rows > 0:
        left = np.flatnonzero(present)
        # The path will not be longer than there are features that speak for the label.
        n_steps = min(depth - len(order), int((estimates[left] > 0).sum()))
        n_looks = max(1, rows // max(1, n_steps))
        ahead = left[np.argsort(-estimates[left], kind="stable")][:n_looks]
        rows -= len(ahead)
        seen = before - score(without_each(present, ahead))
        estimates[ahead] += weight * (seen - estimates[ahead])
        best = int(np.argmax(estimates[ahead]))
        if speaks_for := estimates[ahead[best]] > 0:
            order.append(int(ahead[best]))
            present[order[-1]] = False
            before -= seen[best]
        yield Focus(np.array(order, dtype=np.int64), estimates.copy())
        if not speaks_for:
            return
