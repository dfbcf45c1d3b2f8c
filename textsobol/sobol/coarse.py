"""Coarse to fine: with fewer rows than features, groups are opened only where that matters.

Every group of a hierarchy, such as the sentences of a paragraph, first comes and goes as a whole.
Those whose coming and going changes the score most are opened, and their parts looked at in turn,
until the rows are spent. What one group holds can cancel out; then it looks as if it did not
matter. That is the price of not looking at every feature.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.sobol.designs import Design

MOST_PARTS = 8  # of a group


def hierarchy(
    n_features: int, levels: Sequence[Integers] = (), *, most: int = MOST_PARTS
) -> list[Integers]:
    """Levels from coarse to fine in which no group has more than ``most`` parts.

    Args:
        n_features: number of features; the last level is the features themselves.
        levels: groups of neighbours that belong together ``(features,)``, the largest first.
            Where one has too many parts, runs of neighbours stand between the two.
        most: parts of a group, 2 at least.

    Returns:
        The group of every feature, for every level.

    Example:
        >>> [level.tolist() for level in hierarchy(5, most=2)]
        [[0, 0, 0, 0, 1], [0, 0, 1, 1, 2], [0, 1, 2, 3, 4]]
    """
    coarse = np.zeros(n_features, dtype=np.int64)
    found = []
    for level in [*levels, np.arange(n_features)]:
        between = [_numbered(coarse, level)]
        while (parts := _place_within(coarse, between[0])).max() >= most:
            between.insert(0, _numbered(coarse, parts // most))
        found += [each for each in between if not np.array_equal(each, coarse)]
        coarse = between[-1]
    return found or [coarse]


def open_groups(
    score: Callable[[Array], Floats],
    levels: Sequence[Integers],
    *,
    rows: int,
    most_units: int,
    keep: float,
    seed: int,
) -> Integers:
    """What should come and go as one, so that few rows tell most.

    Args:
        score: masks ``(rows, features)`` to scores ``(rows,)`` of one label.
        levels: of the `hierarchy`.
        rows: masks that may be scored.
        most_units: units that there may be in the end.
        keep: probability that a unit is present where others are looked at.
        seed: of the masks.

    Returns:
        The unit of every feature ``(features,)``: a group that was not opened, or itself.

    Example:
        Two of a hundred features matter; 40 rows are enough to find them:

        >>> def score(masks):
        ...     return 2.0 * masks[:, 10] + 1.0 * masks[:, 77]
        >>> units = open_groups(score, hierarchy(100), rows=40, most_units=40, keep=0.5, seed=0)
        >>> np.bincount(units)[units[[10, 77]]]
        array([1, 1])
    """
    n_features = len(levels[0])
    group_at = np.stack(levels)
    level_of = np.zeros(n_features, dtype=np.int64)
    sizes: dict[tuple[int, int], float] = {}  # of effects, by level and group
    each_time = max(MOST_PARTS, rows // len(levels))
    while True:
        groups = group_at[level_of, np.arange(n_features)]
        names, unit_of = np.unique(np.stack([level_of, groups]), axis=1, return_inverse=True)
        unit_of = unit_of.reshape(-1)  # NumPy 2.0 gives another shape
        units = [(int(level), int(group)) for level, group in names.T]
        new = [place for place, unit in enumerate(units) if unit not in sizes]
        if len(new) + 1 > rows:
            return unit_of
        effects = _effects(score, unit_of, np.array(new), keep=keep, seed=seed + len(sizes))
        sizes.update(
            {units[place]: abs(effect) for place, effect in zip(new, effects, strict=True)}
        )
        rows -= len(new) + 1
        n_units, n_more = len(units), 0
        for place in sorted(range(n_units), key=lambda place: -sizes[units[place]]):
            members = unit_of == place
            level, n_parts = _next_level(levels, units[place][0], members)
            room = n_more + n_parts <= each_time and n_units + n_parts - 1 <= most_units
            if n_parts == 1 or not room:
                continue
            level_of[members] = level
            n_more += n_parts
            n_units += n_parts - 1
        if not n_more:
            return unit_of


def _next_level(levels: Sequence[Integers], level: int, members: Array) -> tuple[int, int]:
    """The next level at which a group has several parts, if there is one, and their number."""
    for finer in range(level + 1, len(levels)):
        n_parts = len(np.unique(levels[finer][members]))
        if n_parts > 1:
            return finer, n_parts
    return level, 1


def _effects(
    score: Callable[[Array], Floats],
    unit_of: Integers,
    looked_at: Integers,
    *,
    keep: float,
    seed: int,
) -> Floats:
    """Effects of some units, where about as many of the others are present as ``keep`` says."""
    n_units = int(unit_of.max()) + 1
    base, _ = Design("latin", n_units, keep=keep, seed=seed).take(1)
    rows = np.repeat(base, 1 + len(looked_at), axis=0)
    rows[1 + np.arange(len(looked_at)), looked_at] ^= True
    scores = score(rows[:, unit_of])
    sign = np.where(base[0, looked_at], 1.0, -1.0)
    return np.asarray(sign * (scores[0] - scores[1:]))


def _numbered(coarse: Integers, fine: Integers) -> Integers:
    """Groups that lie in one group of both, numbered from 0."""
    _, numbers = np.unique(np.stack([coarse, fine]), axis=1, return_inverse=True)
    return np.asarray(numbers, dtype=np.int64).reshape(-1)


def _place_within(coarse: Integers, fine: Integers) -> Integers:
    """The how-manieth part of its coarse group every feature's fine group is, from 0."""
    first_part = np.full(int(coarse.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first_part, coarse, fine)
    return np.asarray(fine - first_part[coarse])
