"""Base masks in rounds, until the top k features are stable.

The mean of the squared differences D_i^2 ranks features by total index. If the k highest are the
same in nearly all bootstrap resamples of the masks, the rounds end. Features that surely are not
among the top k are no longer flipped, and the saved passes go to more base masks.
"""

import math

import numpy as np

from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.sobol.config import Config
from textsobol.sobol.designs import Design
from textsobol.sobol.flip import flip_differences
from textsobol.sobol.masks import base_and_flips
from textsobol.sobol.scores import FlipScores, is_constant, pad_flips, round_constant
from textsobol.sobol.uncertainty import Samples, interval
from textsobol.steps import Steps, ask

LEAST_MASKS = 8  # before any decision: fewer say too little about their own spread
_GROWTH = 1.5  # of the base masks, from round to round
_SURE = 0.999  # level of the intervals that decide which features surely are not on top
_RESAMPLES = 1000
_ROUNDING = 1e-9  # of a mean square: less than single precision can resolve


def score_in_rounds(config: Config, design: Design) -> Steps[tuple[FlipScores, float]]:
    """Ask for base masks and flips in rounds until the top is stable or the passes are spent.

    Returns:
        The scores, and the lowest stability of the top over all labels; see `top_stability`.
    """
    assert config.keep is not None
    assert config.precision is not None
    flipped = np.arange(config.n_units)
    passes = config.passes
    pieces: list[tuple[Array, Integers, Floats]] = []
    n_masks = 0
    while True:
        n_more = min(
            _count_masks_after_next_round(n_masks, design.block_size) - n_masks,
            passes // (1 + len(flipped)),
            passes if config.most_base is None else config.most_base - n_masks,
        )
        if n_more < 1:
            break
        base, blocks = design.take(n_more)
        found = yield from ask(base_and_flips(base, flipped))
        found = found.reshape(n_more, 1 + len(flipped), -1)
        pieces.append((base, blocks, pad_flips(found, flipped, config.n_units)))
        passes -= n_more * (1 + len(flipped))
        n_masks += n_more
        base, blocks, scores = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
        squares = flip_differences(base, scores[:, 0], scores[:, 1:]) ** 2
        squares[..., is_constant(scores)] = 0.0
        stability = float(
            top_stability(squares, flipped, config.stable_top, seed=config.seed).min()
        )
        if n_masks >= LEAST_MASKS:
            if stability >= config.precision:
                break
            flipped = flipped[~find_surely_below(squares[:, flipped], config.stable_top)]
    scores = round_constant(scores)
    found_scores = FlipScores(base, blocks, config.keep, scores[:, 0], scores[:, 1:])
    return found_scores, stability if n_masks >= LEAST_MASKS else 0.0


def _count_masks_after_next_round(n_masks: int, block_size: int) -> int:
    """Base masks after the next round, in whole blocks: 8, 12, 20, 32, 48, 72 with blocks of 4."""
    wanted = max(LEAST_MASKS, _GROWTH * n_masks, n_masks + 1)
    return math.ceil(wanted / block_size) * block_size


def top_stability(squares: Floats, flipped: Integers, top: int, *, seed: int) -> Floats:
    """Fraction of bootstrap resamples of the masks with the same features on top.

    A feature with mean 0 is never on top, so that there may be fewer than ``top``. A tie between
    the last of the top and the first of the others counts as a different top.

    Args:
        squares: D_i(z_j)^2 ``(masks, features, labels)``; NaN where a feature was not flipped.
        flipped: the features that were flipped in all masks.
        top: number of features at the top.
        seed: seed of the bootstrap.

    Returns:
        Fractions ``(labels,)``.

    Example:
        >>> squares = np.array([[[4.0], [1.0], [1.0]], [[6.0], [1.0], [1.0]]])
        >>> top_stability(squares, np.arange(3), 1, seed=0).item()
        1.0
        >>> top_stability(squares, np.arange(3), 2, seed=0).item()
        0.0
    """
    n_masks, _, n_labels = squares.shape
    if n_masks == 1:
        return np.zeros(n_labels)
    rng = np.random.default_rng(seed)
    # One draw fewer than masks: the variance of n draws would be (n - 1) / n of the truth.
    n_draws = n_masks - 1
    drawn = rng.multinomial(n_draws, np.full(n_masks, 1 / n_masks), size=_RESAMPLES) / n_draws
    others = np.delete(squares, flipped, axis=1)
    stable = np.empty(n_labels)
    for label in range(n_labels):
        own = squares[:, flipped, label]
        means = own.mean(axis=0)
        least = _ROUNDING * means.max()
        order = np.argsort(-means, kind="stable")
        is_top = np.zeros(len(flipped), dtype=bool)
        is_top[order[:top]] = True
        is_top &= means > least
        resampled = drawn @ own
        # Features that are no longer flipped are not resampled: their means hardly change.
        rest = max(least, np.nanmean(others[..., label], axis=0).max(initial=0.0))
        lowest = resampled[:, is_top].min(axis=1, initial=np.inf)
        highest = resampled[:, ~is_top].max(axis=1, initial=rest)
        stable[label] = (lowest > highest * (1 + _ROUNDING)).mean()
    return stable


def find_surely_below(squares: Floats, top: int) -> Array:
    """Which features surely are not among the top k for any label ``(features,)``.

    The upper end of their 99.9 % interval lies below the lower ends of k others. What the masks may
    have missed is added to the upper end: an event in less than about 7 / n of all masks is absent
    from n masks with a probability above 1 / 1000, and is assumed to be as large as the mean square
    of the k-th feature.

    Args:
        squares: D_i(z_j)^2 ``(masks, features, labels)``.
        top: number of features at the top.

    Example:
        >>> squares = np.tile([[[4.0], [4.0], [0.01]]], (16, 1, 1))
        >>> find_surely_below(squares, 2)
        array([False, False,  True])
    """
    n_masks, n_features, _ = squares.shape
    if top >= n_features:
        return np.zeros(n_features, dtype=bool)
    means = squares.mean(axis=0)
    low, high = interval(Samples(means, squares, is_square=True), _SURE)
    missed = min(1.0, -math.log(1 - _SURE) / n_masks)
    kth_mean, kth_low = (np.sort(values, axis=0)[-top] for values in (means, low))
    return np.asarray((high + missed * kth_mean < kth_low).all(axis=1))
