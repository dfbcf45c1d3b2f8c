"""Screening: with fewer forward passes than features, find the features that can matter.

Groups of features, such as the paragraphs of a text, are flipped as a whole. The groups that change
the score most are split, and their parts are flipped in turn, until the passes are spent. If two
features of one group cancel each other out, screening misses both.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.sobol.designs import Design
from textsobol.sobol.flip_sample import largest_fractions
from textsobol.sobol.scores import round_constant
from textsobol.steps import Steps

MAX_PARTS = 8  # that a group is split into
_MOST_LOOKS = 2  # second looks at groups that seemed to do nothing
_LEAST_FRACTION = 1e-3  # of the squared effects, for a group to be split in a thorough screening


def build_hierarchy(
    n_features: int, levels: Sequence[Integers] = (), *, max_parts: int = MAX_PARTS
) -> list[Integers]:
    """Levels of groups, largest groups first; no group has more than ``max_parts`` parts.

    Args:
        n_features: number of features; at the last level every feature is a group of its own.
        levels: group of every feature ``(features,)`` at each level of the input, such as
            paragraphs, then sentences. Groups are runs of neighbours. Where a group has too many
            parts, levels that join neighbouring parts are added.
        max_parts: most parts of a group, at least 2.

    Example:
        >>> [level.tolist() for level in build_hierarchy(5, max_parts=2)]
        [[0, 0, 0, 0, 1], [0, 0, 1, 1, 2], [0, 1, 2, 3, 4]]
    """
    parent = np.zeros(n_features, dtype=np.int64)
    found = []
    for level in [*levels, np.arange(n_features)]:
        between = [_intersect_groups(parent, level)]
        while (parts := _number_within(parent, between[0])).max() >= max_parts:
            between.insert(0, _intersect_groups(parent, parts // max_parts))
        found += [each for each in between if not np.array_equal(each, parent)]
        parent = between[-1]
    return found or [parent]


def choose_units(
    levels: Sequence[Integers],
    *,
    passes: int,
    max_units: int,
    keep_rate: float,
    seed: int,
    is_thorough: bool = False,
) -> Steps[Integers]:
    """Merge features into units: small ones where flips change the score, large ones elsewhere.

    Yields masks ``(masks, features)`` and is sent scores ``(masks,)`` or ``(masks, labels)``. Units
    are ranked by their fraction of the squared effects on a label, the largest over all labels.

    Args:
        levels: see `build_hierarchy`.
        passes: masks that may be scored.
        max_units: most units.
        keep_rate: probability that a unit is present while another one is flipped.
        seed: seed of the masks.
        is_thorough: measure effects at two base masks that are each other's complement, for twice
            the passes. Of two features that only matter together, or only without each other, one
            mask may hide both; at one of the two each of them shows.

    Returns:
        The unit of every feature ``(features,)``, numbered from 0: a group, or the feature alone.

    Example:
        Two of a hundred features matter; 40 passes are enough to find them:

        >>> def score(masks):
        ...     return 2.0 * masks[:, 10] + 1.0 * masks[:, 77]
        >>> levels = build_hierarchy(100)
        >>> from textsobol.driver import run_with
        >>> steps = choose_units(levels, passes=40, max_units=40, keep_rate=0.5, seed=0)
        >>> units = run_with(score, steps)
        >>> np.bincount(units)[units[[10, 77]]]
        array([1, 1])
    """
    n_features = len(levels[0])
    group_at = np.stack(levels)
    level_of = np.zeros(n_features, dtype=np.int64)
    effects_of: dict[tuple[int, int], Floats] = {}  # by level and group, of all labels
    measured: set[tuple[int, int]] = set()  # and need not be measured again
    n_base = 2 if is_thorough else 1
    n_measured = n_looks = 0
    parts_per_round = max(MAX_PARTS, min(passes // n_base, max_units) // len(levels))
    while True:
        groups = group_at[level_of, np.arange(n_features)]
        names, unit_of = np.unique(np.stack([level_of, groups]), axis=1, return_inverse=True)
        unit_of = unit_of.reshape(-1)  # NumPy 2.0 gives another shape
        units = [(int(level), int(group)) for level, group in names.T]
        new = [number for number, unit in enumerate(units) if unit not in measured]
        if n_base * (len(new) + 1) > passes:
            return unit_of
        effects = yield from _measure_effects(
            unit_of, np.array(new), keep_rate=keep_rate, seed=seed + n_measured, n_base=n_base
        )
        for number, effect in zip(new, effects, strict=True):
            # What was seen at any base mask counts: others may have hidden it.
            effects_of[units[number]] = np.maximum(effect, effects_of.get(units[number], 0.0))
        measured.update(units[number] for number in new)
        passes -= n_base * (len(new) + 1)
        n_units, n_new_parts = len(units), 0
        n_measured += len(new)
        fractions = largest_fractions(np.stack([effects_of[unit] for unit in units]) ** 2)
        is_closed = np.bincount(unit_of) > 1
        # Opening what does nothing would use up the passes before single features are reached. Once
        # nothing else is left to open, all groups are measured again, and the largest are opened.
        least = _LEAST_FRACTION if is_thorough else -1.0
        if is_thorough and not (is_closed & (fractions > least)).any():
            if n_looks == _MOST_LOOKS:
                return unit_of
            n_looks, least, measured = n_looks + 1, -1.0, set()
        for number in np.argsort(-fractions, kind="stable").tolist():
            members = unit_of == number
            level, n_parts = _next_split(levels, units[number][0], members)
            n_then = n_units + n_parts - 1
            has_room = n_new_parts + n_parts <= parts_per_round and n_then <= max_units
            if n_parts > 1 and has_room and fractions[number] > least:
                level_of[members] = level
                n_new_parts += n_parts
                n_units = n_then
        if not n_new_parts:
            return unit_of


def _next_split(levels: Sequence[Integers], level: int, members: Array) -> tuple[int, int]:
    """The next level that splits a group, and the number of parts; else its own level and 1."""
    for finer in range(level + 1, len(levels)):
        n_parts = len(np.unique(levels[finer][members]))
        if n_parts > 1:
            return finer, n_parts
    return level, 1


def _measure_effects(
    unit_of: Integers, measured: Integers, *, keep_rate: float, seed: int, n_base: int
) -> Steps[Floats]:
    """Sizes of the effects of the ``measured`` units ``(measured, labels)``.

    At one base mask; at that and its complement, the root of their mean square.
    """
    n_units = int(unit_of.max()) + 1
    base, _ = Design("latin", n_units, keep=keep_rate, seed=seed).take(1)
    base = np.concatenate([base, ~base])[:n_base]
    masks = np.repeat(base, 1 + len(measured), axis=0)
    flips = np.arange(len(masks)) % (1 + len(measured)) > 0
    masks[flips, np.tile(measured, n_base)] ^= True
    scores = (yield masks[:, unit_of]).reshape(len(masks), -1)
    scores = round_constant(scores).reshape(n_base, 1 + len(measured), -1)
    return np.asarray(np.sqrt(((scores[:, :1] - scores[:, 1:]) ** 2).mean(axis=0)))


def _intersect_groups(large: Integers, small: Integers) -> Integers:
    """Number the groups of features that share their large and their small group, from 0."""
    _, numbers = np.unique(np.stack([large, small]), axis=1, return_inverse=True)
    return np.asarray(numbers, dtype=np.int64).reshape(-1)


def _number_within(large: Integers, small: Integers) -> Integers:
    """Number every feature's small group within its large group, from 0."""
    first_part = np.full(int(large.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first_part, large, small)
    return np.asarray(small - first_part[large])
