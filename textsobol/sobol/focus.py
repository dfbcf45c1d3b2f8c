"""Focus: which features must go for the score to fall? A search along the path of deletions.

Sobol' indices say how much a feature matters on average over all masks. Whoever deletes the
strongest features one after another soon is where few of these masks are: the first deletions
have taken what others leaned on. From the mean effects of a first round the search follows that
path. At every step it looks anew at the features that are ahead, with all that went before
absent, takes what it sees into its estimates, and deletes the best. Now and then it looks at all
that are left, with enough rows also at first: what was hidden behind others comes to light only
when they are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression

from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.sobol.rows import without_each

# What these numbers were chosen by is in benchmarks/imdb/NOTES.md.
DEPTH = 20  # deletions
WEIGHT = 0.55  # of the last look; the rest is what was known before
_FEW_WHOLE_LOOKS = 2
# Shares of the rows of a search that few and several whole looks get; the rest goes to the features
# ahead.
_SHARE_OF_FEW, _SHARE_OF_SEVERAL = 0.6, 0.7
_ROUNDING = 1e-12  # of the strongest
_HAIR = 1e-7  # of the strongest


@dataclass(frozen=True)
class Focus:
    """What the search has found so far, for one label.

    Attributes:
        order: the features that were deleted, in that order.
        estimates: effect of each feature, the later looks on the path weighing more. Looks below
            the floor of the search do not count.
        largest: size of the largest effect that was seen of each feature, above the floor: what it
            can do, also where it had lost its partner in the end.
    """

    order: Integers
    estimates: Floats
    largest: Floats

    @property
    def scores(self) -> Floats:
        """Effects ``(features,)`` that rank features in the order in which they should go.

        They are the estimates. Where one that was deleted has less than one after it, it had to go
        before the other showed what it can do: such neighbours share what they have together, so
        that scores never rise along the path (isotonic regression). What stayed comes after; where
        one would not, all of these that speak for the label are scaled down.

        Example:
            The second had to go before the third:

            >>> seen = np.array([1.0, 3.0, 4.0, 0.5])
            >>> Focus(np.array([2, 0, 1]), seen, seen).scores.round(2)
            array([2. , 2. , 4. , 0.5])
        """
        scores = self.estimates.copy()
        if not self.order.size:
            return scores
        shared = isotonic_regression(scores[self.order], increasing=False).x
        hair = _HAIR * np.abs(scores).max()
        # All that was deleted spoke for the label when it went.
        lowest = max(0.0, float(shared[-1]))
        highest = np.delete(scores, self.order).max(initial=0.0)
        if highest > lowest:
            scores[scores > 0] *= lowest / highest
        # Those that share go in their order, and before what stayed.
        least = min(highest, lowest)
        for feature, own in zip(self.order[::-1], shared[::-1], strict=True):
            least = scores[feature] = max(own, least + hair)
        return scores


def follow(
    score: Callable[[Array], Floats],
    effects: Floats,
    *,
    rows: int,
    floor: float = -np.inf,
    depth: int = DEPTH,
    weight: float = WEIGHT,
) -> Iterator[Focus]:
    """Search along the path of deletions; yields what is known at first and after every step.

    Of the features that a step looks at and that speak for the label, that whose absence takes
    most goes. Ends after ``depth`` deletions, when nothing is left that speaks for the label, or
    when the rows are spent.

    Args:
        score: masks ``(rows, features)`` to scores ``(rows,)`` of one label.
        effects: what is known of the features' effects ``(features,)``.
        rows: masks that may be scored, beside that of the whole input.
        floor: a score below which the label has lost what spoke for it. What is seen there tells
            which feature should go next, but no more what it does in the input: where little is
            left, everything matters.
        depth: most deletions.
        weight: of what is seen on the path against what was known before.

    Example:
        The second says what the first does, a little weaker; alone, neither would be missed:

        >>> def either(masks):
        ...     return np.maximum(2.0 * masks[:, 0], 1.8 * masks[:, 1]) + 0.1 * masks[:, 2]
        >>> *_, last = follow(either, np.array([1.1, 0.9, 0.1, 0.0]), rows=20)
        >>> last.order
        array([0, 1, 2])
        >>> last.scores.round(2)
        array([0.89, 0.89, 0.1 , 0.  ])
    """
    estimates = np.array(effects, dtype=float)
    above, largest = estimates.copy(), np.abs(estimates)  # what was seen above the floor
    n_features = len(estimates)
    depth = min(depth, n_features)
    present = np.ones(n_features, dtype=bool)
    (before,) = score(present[None])
    order: list[int] = []
    whole_looks = whole_look_steps(rows / n_features, depth)
    yield beginning(estimates)
    while len(order) < depth and rows > 0:
        left = np.flatnonzero(present)
        step = len(order)
        n_looks = rows
        if step not in whole_looks:
            later = [each for each in whole_looks if each > step]
            # The path will not be longer than there are features that speak for the label.
            n_steps = min(depth - step, int((estimates[left] > 0).sum())) - len(later)
            n_looks = (rows - sum(n_features - each for each in later)) // max(1, n_steps)
        ahead = left[np.argsort(-estimates[left], kind="stable")][: max(1, n_looks)]
        rows -= len(ahead)
        seen = before - score(without_each(present, ahead))
        estimates[ahead] += weight * (seen - estimates[ahead])
        if before >= floor:
            above[ahead] = estimates[ahead]
            largest[ahead] = np.maximum(largest[ahead], np.abs(seen))
        # A feature that does nothing must not go for the rounding of a difference.
        speak_for = estimates[ahead] > _ROUNDING * np.abs(estimates).max()
        if speak_for.any():
            best = int(np.argmax(np.where(speak_for, seen, -np.inf)))
            order.append(int(ahead[best]))
            present[order[-1]] = False
            before -= seen[best]
        yield Focus(np.array(order, dtype=np.int64), above.copy(), largest.copy())
        if not speak_for.any():
            return


def beginning(effects: Floats) -> Focus:
    """What is known before anything was deleted."""
    return Focus(np.array([], dtype=np.int64), effects.copy(), np.abs(effects))


def whole_look_steps(looks: float, depth: int = DEPTH) -> frozenset[int]:
    """The steps at which a search looks at all features that are left, more often at first.

    Of several the first is a look at the whole input. What it sees does not hang on the base rows
    of the first round, so that searches from other base rows go the same way. One or two come
    later, when they show more.

    Args:
        looks: rows of the search for every feature.
        depth: deletions of the search.

    Example:
        >>> [sorted(whole_look_steps(looks)) for looks in (1, 2, 4, 6, 8)]
        [[], [4], [2, 8], [0, 2, 5, 9], [0, 1, 4, 7, 10]]
    """
    n_few, n_several = int(_SHARE_OF_FEW * looks), int(_SHARE_OF_SEVERAL * looks)
    # Where the first of them would be, in looks, and by which share of the deletions they end.
    if n_few <= _FEW_WHOLE_LOOKS:
        n_whole, first, last = n_few, 0.5, 0.6
    else:
        n_whole, first, last = n_several, 0.0, 0.7
    n_whole = min(depth, n_whole)
    return frozenset(round(last * depth * ((k + first) / n_whole) ** 1.5) for k in range(n_whole))
