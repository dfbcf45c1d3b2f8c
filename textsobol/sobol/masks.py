"""From base rows to the rows that are scored, streamed in pieces.

Every generator yields mask arrays ``(some rows, features)`` of at most about
`PIECE_CELLS` cells, so that memory grows with a piece and never with rows times
features squared.
"""

from collections.abc import Iterator

import numpy as np

from textsobol.sobol.arrays import Array, Integers
from textsobol.steps import PIECE_CELLS


def piece_rows(n_features: int) -> int:
    """Number of rows that make a piece."""
    return max(1, PIECE_CELLS // n_features)


def base_and_flips(base: Array, features: Integers | None = None) -> Iterator[Array]:
    """Each base row, followed by itself with one feature flipped: N(d + 1) rows.

    Args:
        base: masks ``(N, features)``.
        features: those that are flipped, one after another; all by default.
    """
    n_features = base.shape[1]
    features = np.arange(n_features) if features is None else features
    step = piece_rows(n_features)
    for row in base:
        yield row[None]
        for start in range(0, len(features), step):
            yield _with_flipped(row, features[start : start + step, None])


def pair_flips(base: Array, pairs: Integers) -> Iterator[Array]:
    """Each base row with both features of pair 0, 1, ... flipped: N * pairs rows."""
    step = piece_rows(base.shape[1])
    for row in base:
        for start in range(0, len(pairs), step):
            yield _with_flipped(row, pairs[start : start + step])


def _with_flipped(row: Array, features: Integers) -> Array:
    """Copies of a binary ``row``, copy k with the features ``features[k]`` flipped."""
    masks = np.repeat(row[None], len(features), axis=0)
    which = np.arange(len(features))[:, None]
    masks[which, features] = ~masks[which, features]
    return masks


def pick_freeze(a: Array, b: Array, groups: Integers) -> Iterator[Array]:
    """For each j: A_j, B_j, then A_j with the columns of group 0, 1, ... from B_j: N(G + 2) rows.

    Args:
        a: base rows ``(N, features)``.
        b: base rows ``(N, features)``.
        groups: the group of each feature ``(features,)``, numbered from 0.
    """
    step = piece_rows(a.shape[1])
    n_groups = int(groups.max()) + 1
    for row_a, row_b in zip(a, b, strict=True):
        yield np.stack([row_a, row_b])
        for start in range(0, n_groups, step):
            moved = np.arange(start, min(start + step, n_groups))
            yield np.where(moved[:, None] == groups, row_b, row_a)


def all_masks(n_features: int) -> Iterator[Array]:
    """All 2^d masks; bit i of a row's number says whether feature i is present."""
    for start in range(0, 2**n_features, piece_rows(n_features)):
        stop = min(start + piece_rows(n_features), 2**n_features)
        numbers = np.arange(start, stop)[:, None]
        yield (numbers >> np.arange(n_features)) & 1 == 1


def without_each(present: Array, features: Integers) -> Array:
    """The mask ``(features,)`` with one more feature absent, a row for each of those given.

    Example:
        >>> without_each(np.array([True, False, True]), np.array([2, 0])).astype(int)
        array([[1, 0, 0],
               [0, 0, 1]])
    """
    masks = np.repeat(present[None], len(features), axis=0)
    masks[np.arange(len(features)), features] = False
    return masks


def all_present_and_without_each(groups: Integers, *, binary: bool) -> Iterator[Array]:
    """The full mask, then the full mask without group 0, 1, ...: G + 1 rows.

    Args:
        groups: the group of each feature ``(features,)``.
        binary: whether masks are boolean; else they are floats.
    """
    full = np.ones((1, len(groups)), dtype=bool if binary else float)
    yield full
    yield from list(pick_freeze(full, np.zeros_like(full), groups))[1:]
