"""Checks of settings; errors say what would be right."""

import operator
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from textsobol.sobol.arrays import Integers

Pairs = int | Sequence[tuple[int, int]]


def check_precision(precision: float | None) -> None:
    """Refuse a precision outside of (0, 1)."""
    if precision is not None and not isinstance(precision, float | int | np.number):
        raise TypeError(f"precision={precision!r}: must be a number between 0 and 1, or None")
    if precision is not None and not 0 < precision < 1:
        raise ValueError(
            f"precision={precision}: must lie between 0 and 1, both excluded, for example 0.95"
        )


def check_least(name: str, number: int, least: int) -> None:
    """Refuse anything but a whole number of at least ``least``."""
    if check_whole(name, number) < least:
        raise ValueError(
            f"{name}={number}: must be {'0 or more' if least == 0 else f'at least {least}'}"
        )


def check_whole(name: str, value: object) -> int:
    """Convert a value to an int, or raise."""
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} must be a whole number, not {type(value).__name__}") from None


def require(value: str | None, known: Sequence[str | None], what: str) -> None:
    """Refuse an unknown name."""
    if value not in known:
        raise ValueError(
            f"unknown {what} {value!r}; known: {', '.join(str(name) for name in known)}"
        )


def check_groups(groups: ArrayLike | None, n_features: int) -> Integers:
    """The group of each feature ``(features,)``; without groups, its own number."""
    if groups is None:
        return np.arange(n_features)
    wanted = f"groups must be {n_features} whole numbers, the group of each feature, from 0"
    try:
        numbers = np.asarray(groups)
    except ValueError:
        raise ValueError(f"{wanted}; got lists of different lengths") from None
    if numbers.shape != (n_features,) or not np.issubdtype(numbers.dtype, np.integer):
        raise ValueError(f"{wanted}; got shape {numbers.shape} of {numbers.dtype}")
    if not np.array_equal(np.unique(numbers), np.arange(numbers.max() + 1)):
        raise ValueError("groups must be numbered 0, 1, 2, ... without a gap")
    return numbers.astype(np.int64)


def check_pairs(pairs: Pairs | None, n_indices: int) -> tuple[Integers | None, int]:
    """The pairs as an array, or the number of top features to pair."""
    if pairs is None:
        return None, 0
    if isinstance(pairs, int | np.integer):
        top = min(int(pairs), n_indices)
        if top < 2:
            raise ValueError(f"pairs={pairs}: pairs of the top features need at least 2 features")
        return None, top
    chosen = np.asarray(pairs)
    if (
        chosen.size == 0
        or chosen.ndim != 2
        or chosen.shape[1] != 2
        or not np.issubdtype(chosen.dtype, np.integer)
        or (chosen[:, 0] == chosen[:, 1]).any()
        or chosen.min() < 0
        or chosen.max() >= n_indices
    ):
        raise ValueError(
            f"pairs must be two different features each, numbered 0 to {n_indices - 1}: {pairs}"
        )
    return chosen.astype(np.int64), 0
