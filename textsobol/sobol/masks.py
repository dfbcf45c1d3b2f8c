"""From base masks to the masks that are scored, in pieces.

Every generator yields arrays ``(masks, features)`` of at most about `PIECE_CELLS` cells, so that
memory does not grow with base masks times features squared.
"""

from collections.abc import Iterator

import numpy as np

from textsobol.sobol.arrays import Array, Integers
from textsobol.steps import PIECE_CELLS


def count_masks_per_piece(n_features: int) -> int:
    """Number of masks per piece."""
    return max(1, PIECE_CELLS // n_features)


def base_and_flips(base: Array, features: Integers | None = None) -> Iterator[Array]:
    """Each base mask, followed by its flips: N(d + 1) masks.

    Args:
        base: masks ``(N, features)``.
        features: which to flip, one per mask; by default all.
    """
    n_features = base.shape[1]
    features = np.arange(n_features) if features is None else features
    step = count_masks_per_piece(n_features)
    for mask in base:
        yield mask[None]
        for start in range(0, len(features), step):
            yield _flip_each(mask, features[start : start + step, None])


def pair_flips(base: Array, pairs: Integers) -> Iterator[Array]:
    """Each base mask with both features of pair 0, 1, ... flipped: N * pairs masks."""
    step = count_masks_per_piece(base.shape[1])
    for mask in base:
        for start in range(0, len(pairs), step):
            yield _flip_each(mask, pairs[start : start + step])


def _flip_each(mask: Array, features: Integers) -> Array:
    """Copies of a binary mask; in copy k the features ``features[k]`` are flipped."""
    masks = np.repeat(mask[None], len(features), axis=0)
    which = np.arange(len(features))[:, None]
    masks[which, features] = ~masks[which, features]
    return masks


def flip_some(base: Array, is_flipped: Array) -> Array:
    """For every chosen flip, in the order of masks: the mask with that feature turned over.

    Example:
        >>> flip_some(np.array([[True, False]]), np.array([[False, True]]))
        array([[ True,  True]])
    """
    rows, features = np.nonzero(is_flipped)
    masks = base[rows]
    masks[np.arange(len(rows)), features] ^= True
    return masks


def pick_freeze(a: Array, b: Array, groups: Integers) -> Iterator[Array]:
    """For each j: A_j, B_j, then A_j with the columns of group 0, 1, ... from B_j: N(G + 2) masks.

    ``groups (features,)`` is the group of each feature, numbered from 0.
    """
    step = count_masks_per_piece(a.shape[1])
    n_groups = int(groups.max()) + 1
    for mask_a, mask_b in zip(a, b, strict=True):
        yield np.stack([mask_a, mask_b])
        for start in range(0, n_groups, step):
            moved = np.arange(start, min(start + step, n_groups))
            yield np.where(moved[:, None] == groups, mask_b, mask_a)


def all_masks(n_features: int) -> Iterator[Array]:
    """All 2^d masks; bit i of a mask's number says whether feature i is present."""
    for start in range(0, 2**n_features, count_masks_per_piece(n_features)):
        stop = min(start + count_masks_per_piece(n_features), 2**n_features)
        yield (np.arange(start, stop)[:, None] >> np.arange(n_features)) & 1 == 1


def without_each(present: Array, features: Integers) -> Array:
    """Copies of the mask ``(features,)``, each without one of ``features``.

    Example:
        >>> without_each(np.array([True, False, True]), np.array([2, 0])).astype(int)
        array([[1, 0, 0],
               [0, 0, 1]])
    """
    masks = np.repeat(present[None], len(features), axis=0)
    masks[np.arange(len(features)), features] = False
    return masks


def all_present_and_without_each(groups: Integers, *, is_binary: bool) -> Iterator[Array]:
    """The full mask, then the full mask without group 0, 1, ...: G + 1 masks."""
    full = np.ones((1, len(groups)), dtype=bool if is_binary else float)
    yield full
    yield from list(pick_freeze(full, np.zeros_like(full), groups))[1:]
