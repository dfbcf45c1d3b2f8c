"""Which flips are worth a forward pass: the leading features', and a sample of the others'."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from textsobol.sobol.arrays import Array, Floats, Integers


def rank_features(sizes: Floats) -> Integers:
    """Features in the order of how much they matter for any label, most first.

    Args:
        sizes: expected mean squares ``(features, labels)``.

    Example:
        >>> rank_features(np.array([[3.0, 0.0], [1.0, 0.0], [0.5, 2.0]]))
        array([2, 0, 1])
    """
    return np.argsort(-largest_fractions(sizes), kind="stable")


def draw_flips(
    sizes: Floats,
    leaders: Integers,
    n_masks: int,
    n: int,
    seed: int | Sequence[int],
    mask_chances: Floats | None = None,
) -> tuple[Array, Floats]:
    """A sample of flips of the other features, and the chance of each flip ``(masks, features)``.

    Features that seem to matter are drawn more often, but every feature can be drawn: half of the
    chances are equal, so that what the sizes miss is found in proportion to its frequency.

    Args:
        sizes: expected mean squares ``(features, labels)``.
        leaders: features that are flipped anyway.
        n_masks: number of base masks.
        n: number of flips, each of another feature; fewer if there are fewer features.
        seed: of the draws.
        mask_chances: of each mask, for every flip ``(masks,)``; by default all are equal.

    Example:
        >>> is_drawn, chances = draw_flips(np.ones((6, 1)), np.array([0, 1]), 2, 4, seed=0)
        >>> is_drawn.sum(axis=0), chances[0]
        (array([0, 0, 1, 1, 1, 1]), array([0. , 0. , 0.5, 0.5, 0.5, 0.5]))
    """
    rng = np.random.default_rng(seed)
    others = np.setdiff1d(np.arange(len(sizes)), leaders)
    n = min(n, len(others))
    is_drawn = np.zeros((n_masks, len(sizes)), dtype=bool)
    chances = np.zeros((n_masks, len(sizes)))
    if not n:
        return is_drawn, chances
    fractions = largest_fractions(sizes)[others]
    in_all = fractions.sum()
    even = 1 / len(others)
    inclusion = _cap_inclusion(
        (fractions / in_all + even) / 2 if in_all > 0 else even + fractions, n
    )
    order = rng.permutation(len(others))
    # Systematic sampling: one draw in every unit of the cumulated inclusion probabilities.
    ends = np.cumsum(inclusion[order])
    hits = np.searchsorted(ends, rng.random() + np.arange(n)).clip(max=len(others) - 1)
    drawn = others[order[np.unique(hits)]]
    if mask_chances is None:
        masks, mask_chances = rng.integers(n_masks, size=len(drawn)), np.full(n_masks, 1 / n_masks)
    else:
        masks = rng.choice(n_masks, size=len(drawn), p=mask_chances)
    is_drawn[masks, drawn] = True
    chances[:, others] = mask_chances[:, None] * inclusion
    return is_drawn, chances


def _cap_inclusion(wanted: Floats, n: int) -> Floats:
    """Inclusion probabilities that sum to n, about proportional to what is wanted, at most 1."""
    inclusion = np.ones_like(wanted)
    is_open = np.ones(len(wanted), dtype=bool)
    while is_open.any():
        inclusion[is_open] = wanted[is_open] * (n - (~is_open).sum()) / wanted[is_open].sum()
        too_large = is_open & (inclusion > 1)
        if not too_large.any():
            break
        inclusion[too_large] = 1.0
        is_open &= ~too_large
    return inclusion


def largest_fractions(sizes: Floats) -> Floats:
    """Each feature's fraction of all sizes of a label; the largest over labels ``(features,)``.

    Example:
        >>> largest_fractions(np.array([[9.0, 0.0], [1.0, 0.1], [0.0, 0.0]]))
        array([0.9, 1. , 0. ])
    """
    in_all = sizes.sum(axis=0)
    return np.asarray((sizes / np.where(in_all > 0, in_all, 1.0)).max(axis=1))
