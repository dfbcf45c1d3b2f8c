"""Base rows in rounds, until it is clear which features are the top k.

After every round two questions are asked of the squared differences D_i^2 so far, whose mean
ranks features by total index. Is the set of the k highest the same in nearly all bootstrap
resamples of the rows? Then it is time to stop. Which features surely are not among them? They
are not flipped any more, and what that saves buys more base rows.
"""

import math
from dataclasses import dataclass

import numpy as np

from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.sobol.designs import Design
from textsobol.sobol.estimate import Samples
from textsobol.sobol.flip import flip_differences
from textsobol.sobol.masks import base_and_flips
from textsobol.sobol.scores import is_constant
from textsobol.sobol.uncertainty import interval
from textsobol.steps import Steps, ask

LEAST_ROWS = 8  # before anything is decided: fewer say too little about their own spread
_GROWTH = 1.5  # of the rows, from round to round
_SURE = 0.999  # level of the intervals that decide what is surely not on top
_RESAMPLES = 1000
_ROUNDING = 1e-9  # of a mean square: less than single precision can tell


@dataclass(frozen=True)
class Race:
    """Base rows, their scores, and how sure the top is.

    Attributes:
        base: masks ``(rows, features)``.
        blocks: block of each row ``(rows,)``.
        scores: of each row and of its flips ``(rows, 1 + features, labels)``; NaN where a
            feature was not flipped any more.
        stability: see `top_stability`; the lowest of all labels.
    """

    base: Array
    blocks: Integers
    scores: Floats
    stability: float


def race(
    design: Design,
    n_features: int,
    *,
    precision: float,
    top: int,
    passes: int,
    most_rows: int | None,
    seed: int,
) -> Steps[Race]:
    """Ask for base rows and flips in rounds until the top is stable or the passes are spent.

    Args:
        design: where base rows come from.
        n_features: number of features.
        precision: least stability of the top, for every label.
        top: number of features at the top.
        passes: rows that may be scored, flips included.
        most_rows: most base rows, or ``None``.
        seed: of the bootstrap.
    """
    flipped = np.arange(n_features)
    pieces: list[tuple[Array, Integers, Floats]] = []
    n_rows = 0
    while True:
        n_more = min(
            _rows_of_next_round(n_rows, design.block_rows) - n_rows,
            passes // (1 + len(flipped)),
            passes if most_rows is None else most_rows - n_rows,
        )
        if n_more < 1:
            break
        base, blocks = design.take(n_more)
        found = yield from ask(base_and_flips(base, flipped))
        found = found.reshape(n_more, 1 + len(flipped), -1)
        pieces.append((base, blocks, padded(found, flipped, n_features)))
        passes -= n_more * (1 + len(flipped))
        n_rows += n_more
        base, blocks, scores = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
        squares = flip_differences(base, scores[:, 0], scores[:, 1:]) ** 2
        squares[..., is_constant(scores)] = 0.0
        stability = float(top_stability(squares, flipped, top, seed=seed).min())
        if n_rows >= LEAST_ROWS:
            if stability >= precision:
                break
            flipped = flipped[~surely_below(squares[:, flipped], top)]
    return Race(base, blocks, scores, stability if n_rows >= LEAST_ROWS else 0.0)


def _rows_of_next_round(n_rows: int, block_rows: int) -> int:
    """Base rows after the next round, in whole blocks: 8, 12, 20, 32, 48, 72 with blocks of 4."""
    wanted = max(LEAST_ROWS, _GROWTH * n_rows, n_rows + 1)
    return math.ceil(wanted / block_rows) * block_rows


def padded(scores: Floats, flipped: Integers, n_features: int) -> Floats:
    """Scores ``(rows, 1 + flipped, labels)`` with NaN for features that were not flipped."""
    found = np.full((len(scores), 1 + n_features, scores.shape[2]), np.nan)
    found[:, 0] = scores[:, 0]
    found[:, 1 + flipped] = scores[:, 1:]
    return found


def top_stability(squares: Floats, flipped: Integers, top: int, *, seed: int) -> Floats:
    """Share of bootstrap resamples of the rows that have the same features on top.

    A feature of mean 0 is never on top, so that there may be fewer than ``top``. A resample
    in which the last of the top and the first of the others tie counts as different.

    Args:
        squares: D_i(z_j)^2 ``(rows, features, labels)``; NaN where a feature was not flipped.
        flipped: the features that were flipped in all rows.
        top: number of features at the top.
        seed: of the bootstrap.

    Returns:
        Shares ``(labels,)``.

    Example:
        >>> squares = np.array([[[4.0], [1.0], [1.0]], [[6.0], [1.0], [1.0]]])
        >>> top_stability(squares, np.arange(3), 1, seed=0).item()
        1.0
        >>> top_stability(squares, np.arange(3), 2, seed=0).item()
        0.0
    """
    n_rows, _, n_labels = squares.shape
    if n_rows == 1:
        return np.zeros(n_labels)
    rng = np.random.default_rng(seed)
    # A draw less than there are rows: the variance of n draws would be (n - 1) / n of the truth.
    drawn = rng.multinomial(n_rows - 1, np.full(n_rows, 1 / n_rows), size=_RESAMPLES) / (n_rows - 1)
    others = np.delete(squares, flipped, axis=1)
    shares = np.empty(n_labels)
    for label in range(n_labels):
        own = squares[:, flipped, label]
        means = own.mean(axis=0)
        least = _ROUNDING * means.max()
        order = np.argsort(-means, kind="stable")
        is_top = np.zeros(len(flipped), dtype=bool)
        is_top[order[:top]] = True
        is_top &= means > least
        resampled = drawn @ own
        # Those that are out of the race hardly move: their mean stands for them.
        rest = max(least, np.nanmean(others[..., label], axis=0).max(initial=0.0))
        lowest = resampled[:, is_top].min(axis=1, initial=np.inf)
        highest = resampled[:, ~is_top].max(axis=1, initial=rest)
        shares[label] = (lowest > highest * (1 + _ROUNDING)).mean()
    return shares


def surely_below(squares: Floats, top: int) -> Array:
    """Which features surely are not among the top k for any label ``(features,)``.

    The upper end of a strict interval of their mean lies below the lower ends of k others. To
    the upper end is added what the rows may have missed: something that happens in less than
    about 7 / n of all masks can be absent from n rows (with probability 1 / 1000), and it is
    taken to be as large as the mean square of the k-th feature.

    Args:
        squares: D_i(z_j)^2 ``(rows, features, labels)``.
        top: number of features at the top.

    Example:
        >>> squares = np.tile([[[4.0], [4.0], [0.01]]], (16, 1, 1))
        >>> surely_below(squares, 2)
        array([False, False,  True])
    """
    n_rows, n_features, _ = squares.shape
    if top >= n_features:
        return np.zeros(n_features, dtype=bool)
    means = squares.mean(axis=0)
    low, high = interval(Samples(means, squares, is_square=True), _SURE)
    missed = min(1.0, -math.log(1 - _SURE) / n_rows)
    kth_mean, kth_low = (np.sort(values, axis=0)[-top] for values in (means, low))
    return np.asarray((high + missed * kth_mean < kth_low).all(axis=1))
