"""The flip set: a short set of features whose deletion changes the prediction.

It is irreducible if putting any one of them back restores the prediction. Both functions need
margins: how far the predicted label is ahead of the best other one, for example in log-odds. Below
0 the prediction has changed; a tie keeps it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.steps import Steps


@dataclass(frozen=True)
class FlipSet:
    """Features whose deletion changes the prediction, in the order of deletion.

    ``is_irreducible``: checked that putting any one back restores the prediction.
    """

    features: tuple[int, ...]
    is_irreducible: bool


def find_flip_set(path: Sequence[int], n_features: int, *, passes: int) -> Steps[FlipSet | None]:
    """Reduce the shortest start of a path that changes the prediction to the features it needs.

    Each feature that may not be needed is put back alone. Of those that are not needed, the one
    that leaves the lowest margin is put back for good, and the others are tried again. A needed
    feature is usually still needed then, and is tried again only at the end.

    Yields masks ``(masks, features)`` and is sent margins ``(masks,)``. The first masks are those
    along the path, which the search has scored already.

    Args:
        path: features in the order of their deletion.
        n_features: number of features.
        passes: masks that may be scored besides those along the path.

    Returns:
        The flip set, or ``None`` if no start of the path changes the prediction.

    Example:
        The prediction holds as long as the first two features or the third are there:

        >>> def margin(masks):
        ...     return np.where(masks[:, :2].all(axis=1) | masks[:, 2], 1.0, -1.0)
        >>> from textsobol.driver import run_with
        >>> run_with(margin, find_flip_set([0, 1, 2], 3, passes=10))
        FlipSet(features=(1, 2), is_irreducible=True)
    """
    along = _masks_along(path, n_features)
    flipped = np.flatnonzero((yield along) < 0)
    if not flipped.size or flipped[0] == 0:
        return None
    absent = np.array(path[: flipped[0]], dtype=np.int64)
    # The last feature is needed: one deletion earlier, the prediction still held.
    needed, maybe = absent[-1:], absent[:-1]
    while maybe.size and passes >= len(maybe):
        passes -= len(maybe)
        margins = yield _with_each_back(absent, maybe, n_features)
        needless = margins < 0
        if needless.any():
            back = maybe[margins.argmin()]
            absent = absent[absent != back]
            maybe = maybe[needless & (maybe != back)]
            needed = absent[:0]
        else:
            needed, maybe = np.concatenate([needed, maybe]), maybe[:0]
        if not maybe.size:
            maybe = np.setdiff1d(absent, needed)
    return FlipSet(tuple(absent.tolist()), is_irreducible=not maybe.size)


def find_smallest_flip_set(
    masks: Array, margins: Floats, sizes: Integers | None = None
) -> FlipSet | None:
    """The smallest flip set, from the margins of all 2^d masks; of several, the lowest margin.

    Args:
        masks: all masks ``(2^features, features)``, in any order.
        margins: their margins ``(2^features,)``.
        sizes: number of words of each feature ``(features,)``, if some are groups; by default 1.

    Example:
        >>> masks = np.array([[1, 1], [0, 1], [1, 0], [0, 0]], dtype=bool)
        >>> find_smallest_flip_set(masks, np.array([2.0, -1.0, -3.0, -4.0]))
        FlipSet(features=(1,), is_irreducible=True)
    """
    flipped = np.flatnonzero(margins < 0)
    if not flipped.size:
        return None
    n_absent = (~masks[flipped]) @ (np.ones(masks.shape[1]) if sizes is None else sizes)
    smallest = flipped[np.lexsort((margins[flipped], n_absent))[0]]
    return FlipSet(tuple(np.flatnonzero(~masks[smallest]).tolist()), is_irreducible=True)


def _masks_along(path: Sequence[int], n_features: int) -> Array:
    """The masks after 0, 1, 2, ... deletions."""
    masks = np.ones((len(path) + 1, n_features), dtype=bool)
    for n_deleted, feature in enumerate(path, start=1):
        masks[n_deleted:, feature] = False
    return masks


def _with_each_back(absent: Integers, features: Integers, n_features: int) -> Array:
    """Masks without ``absent``, each with one of ``features`` put back."""
    masks = np.ones((len(features), n_features), dtype=bool)
    masks[:, absent] = False
    masks[np.arange(len(features)), features] = True
    return masks
