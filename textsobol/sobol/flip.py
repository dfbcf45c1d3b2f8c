"""The ``flip`` estimator: base rows, and every base row with one feature flipped.

Features are present with probability p and absent with q = 1 - p, independently. With
D_i(z) = f(z with i present) - f(z with i absent) and V = Var f(z), exactly:

* total index        T_i = p q E[D_i^2] / V
* first-order index  S_i = p q (E[D_i])^2 / V

A base row z_j and its flip give D_i(z_j) whichever of the two has the feature, so N base
rows give N draws of every D_i from N(d + 1) scores. It is Jansen's estimator (Jansen 1999)
with the coin that redraws feature i integrated out: Jansen redraws the value that was
there before with probability p^2 + q^2, and such a row says nothing.
"""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.sobol.estimate import Estimate, Samples, ratio
from textsobol.sobol.moderated import Moderated, moderate

# From fewer, V is a bound made of the differences; half of them would be too few for more.
ENOUGH_FOR_VARIANCE = 8


def flip_differences(base: Array, f_base: Floats, f_flips: Floats) -> Floats:
    """D_i(z_j), present minus absent: ``(rows, features, labels)``.

    Args:
        base: masks ``(rows, features)``.
        f_base: their scores ``(rows, labels)``.
        f_flips: scores of the flipped rows ``(rows, features, labels)``.

    Example:
        >>> flip_differences(np.array([[True]]), np.array([[3.0]]), np.array([[[1.0]]])).item()
        2.0
    """
    sign = np.where(base, 1.0, -1.0)
    return sign[:, :, None] * (f_base[:, None, :] - f_flips)


def pair_differences(
    base: Array, f_base: Floats, f_flips: Floats, f_pairs: Floats, pairs: Integers
) -> Floats:
    """Second differences D_ik(z_j): ``(rows, pairs, labels)``.

    D_ik = f(both present) - f(only i) - f(only k) + f(neither).

    Args:
        base: masks ``(rows, features)``.
        f_base: their scores ``(rows, labels)``.
        f_flips: scores of the rows with one feature flipped ``(rows, features, labels)``.
        f_pairs: scores of the rows with both flipped ``(rows, pairs, labels)``.
        pairs: the two features of every pair ``(pairs, 2)``.
    """
    i, k = pairs.T
    sign = np.where(base[:, i] == base[:, k], 1.0, -1.0)
    return sign[:, :, None] * (f_base[:, None, :] - f_flips[:, i] - f_flips[:, k] + f_pairs)


def flip_estimate(
    base: Array, f_base: Floats, differences: Floats, keep: float, blocks: Integers
) -> Estimate:
    """Indices of all features from their differences.

    Args:
        base: masks ``(rows, features)``.
        f_base: their scores ``(rows, labels)``.
        differences: D_i(z_j) ``(rows, features, labels)``; NaN from the row on in which a
            feature was not flipped any more. Some were flipped in all rows.
        keep: the keep rate p.
        blocks: block of each row ``(rows,)``; rows of different blocks are independent.
    """
    weight = keep * (1 - keep)
    alike = _features_by_rows(differences)
    # Features that were not flipped in all rows: their mean differences are taken off the scores,
    # and the variance that these stand for is added again.
    always = alike[len(base)]
    slopes = np.nanmean(differences, axis=0)
    slopes[always] = 0.0
    others = weight * (slopes**2).sum(axis=0)
    variance, variance_rows, mean = flip_variance(
        base[:, always], f_base - (base - keep) @ slopes, differences[:, always], keep, blocks
    )
    variance, variance_rows = variance + others, variance_rows + others
    squares = np.empty(differences.shape[1:])
    for n, features in alike.items():
        squares[features] = (differences[:n, features] ** 2).mean(axis=0)
    variance = within_efron_stein(variance, weight * squares)
    parts = [
        indices_of(differences[:n, features], weight, blocks[:n], variance, variance_rows[:n])
        for n, features in alike.items()
    ]
    first, total, effect = (
        _joined(samples, list(alike.values()), differences.shape)
        for samples in zip(*parts, strict=True)
    )
    moderated = _moderate_groups(
        base, f_base, differences, keep, variance, variance_rows, alike, others
    )
    return Estimate(first, total, effect, variance, mean, variance_rows, moderated)


def _moderate_groups(
    base: Array,
    f_base: Floats,
    differences: Floats,
    keep: float,
    variance: Floats,
    variance_rows: Floats,
    alike: dict[int, Integers | slice],
    others: Floats,
) -> Moderated:
    """Errors of all features; those with few rows are compared with all that have these rows."""
    n_flipped = np.count_nonzero(~np.isnan(differences[..., 0]), axis=0)
    columns: dict[str, Any] = {
        field.name: np.zeros(differences.shape[1:]) for field in fields(Moderated)
    }
    for n in alike:
        pool = np.flatnonzero(n_flipped >= n)
        found = moderate(
            base[:n],
            f_base[:n],
            differences[:n, pool],
            keep=keep,
            weight=keep * (1 - keep),
            variance=variance,
            variance_rows=variance_rows[:n],
            is_most=len(base) < ENOUGH_FOR_VARIANCE,
            n_base=len(base),
            others=others if n == len(base) else None,
        )
        own = n_flipped[pool] == n
        for name, column in columns.items():
            column[pool[own]] = getattr(found, name)[own]
    columns["is_known"] = columns["is_known"] > 0
    return Moderated(**columns)


def moderate_pairs(
    base: Array,
    f_base: Floats,
    differences: Floats,
    keep: float,
    variance: Floats,
    variance_rows: Floats,
    *,
    of: Moderated | None,
) -> Moderated:
    """Errors of pairs; how far V may be off is known from single features, where there are any."""
    found = moderate(
        base,
        f_base,
        differences,
        keep=keep,
        weight=(keep * (1 - keep)) ** 2,
        variance=variance,
        variance_rows=variance_rows,
        is_most=len(base) < ENOUGH_FOR_VARIANCE,
    )
    if of is None:
        return found
    names = ("unseen", "additive", "additive_error", "variance_error", "interacting_error")
    known = {name: np.broadcast_to(getattr(of, name)[:1], found.effect.shape) for name in names}
    return replace(found, **known)


def _features_by_rows(differences: Floats) -> dict[int, Integers | slice]:
    """The features that were flipped in the first n rows and no more, by n."""
    n_flipped = np.count_nonzero(~np.isnan(differences[..., 0]), axis=0)
    numbers = np.unique(n_flipped).tolist()
    if len(numbers) == 1:
        return {numbers[0]: slice(None)}
    return {n: np.flatnonzero(n_flipped == n) for n in numbers}


def _joined(
    parts: Sequence[Samples], features: Sequence[Integers | slice], shape: tuple[int, ...]
) -> Samples:
    """The samples of all features from those of some; NaN in the rows that a part lacks."""
    if len(parts) == 1:
        return parts[0]
    value, rows, ranked = np.empty(shape[1:]), np.full(shape, np.nan), np.full(shape, np.nan)
    for part, own in zip(parts, features, strict=True):
        assert part.rows is not None
        assert part.ranked is not None
        value[own] = part.value
        rows[: len(part.rows), own] = part.rows
        ranked[: len(part.rows), own] = part.ranked
    return Samples(value, rows, parts[0].is_square, ranked)


def indices_of(
    differences: Floats, weight: float, blocks: Integers, variance: Floats, variance_rows: Floats
) -> tuple[Samples, Samples, Samples]:
    """(weight (E D)^2 / V, weight E[D^2] / V, E D) for differences of any order.

    The weight is p q for single features and (p q)^2 for pairs.
    """
    denominators = (variance_rows[:, None, :], variance[None, :])
    square, square_rows = squared_mean(differences, blocks)
    first = ratio(weight * square_rows, weight * square, *denominators)
    squares = weight * differences**2
    total = ratio(squares, squares.mean(axis=0), *denominators, is_square=True)
    return first, total, Samples(differences.mean(axis=0), differences, ranked=differences)


def squared_mean(values: Floats, blocks: Integers) -> tuple[Floats, Floats]:
    """Unbiased estimate of (E x)^2, and its jackknife pseudo-values.

    The mean product of rows j and k over all pairs of different blocks. The square of the
    mean would be too large by the variance of the mean; this is not, and so it can come
    out slightly negative where E x is near 0. With fewer than two whole blocks there are
    too few independent pairs, and the square of the mean is all there is.

    Args:
        values: x ``(rows, ...)``.
        blocks: block of each row ``(rows,)``, ascending.

    Returns:
        The estimate ``(...)`` and the pseudo-values ``(rows, ...)``.

    Example:
        >>> squared_mean(np.array([1.0, 3.0]), np.array([0, 1]))[0].item()
        3.0
    """
    n_rows = len(values)
    mean = values.mean(axis=0)
    if whole_blocks(blocks) < 2:
        return mean**2, mean * (2 * values - mean)
    starts, block, sizes = _layout(blocks)
    block_sums = np.add.reduceat(values, starts, axis=0)
    products = values * (values.sum(axis=0) - block_sums[block])
    n_partners = (n_rows - sizes)[block]
    n_products = n_partners.sum()
    square = products.sum(axis=0) / n_products
    # Leaving out row j takes its products with all partners away, twice.
    n_left = n_products - 2 * n_partners
    if n_left.min() <= 0:
        return square, square + 2 * mean * (values - mean)
    without = (products.sum(axis=0) - 2 * products) / _column(n_left, values)
    return square, n_rows * square - (n_rows - 1) * without


def whole_blocks(blocks: Integers) -> int:
    """Number of blocks that are as large as the largest; the last one may be cut short."""
    sizes = _layout(blocks)[2]
    return int(np.count_nonzero(sizes == sizes.max()))


def _layout(blocks: Integers) -> tuple[Integers, Integers, Integers]:
    """First row of every block, rank of each row's block, number of rows of every block."""
    return np.unique(blocks, return_index=True, return_inverse=True, return_counts=True)[1:]


def _column(numbers: Integers, values: Floats) -> Integers:
    """``numbers (rows,)`` with as many axes as ``values``."""
    return numbers.reshape((-1,) + (1,) * (values.ndim - 1))


def flip_variance(
    base: Array, f_base: Floats, differences: Floats, keep: float, blocks: Integers
) -> tuple[Floats, Floats, Floats]:
    """Variance V of the score, one value a row whose mean is about V, and the score's mean.

    All rows speak, through a control variate. For any c that does not depend on the rows,
    r(z) = f(z) - c.(z - p) has

        V = Var r + 2 p q c.E[D] - p q c.c,    E r = E f.

    The rows are split into two halves, and c is the mean difference in the other half,
    shrunk by the share of it that is noise (James & Stein 1961): then r has little left of
    the additive part of f. Exact for an additive f, where the base rows alone would be off
    by about sqrt(2 / N); unbiased once the design has four whole blocks.

    With fewer than eight rows a half is too small for that, and (sum S_i + sum T_i) V / 2
    stands in: exact when features interact in pairs at most, too large beyond (the
    variance that k features share is counted k times in sum T_i). Intervals know of it.

    The mean has the same control variate with c from all rows. D_i does not depend on
    column i, so that this, too, is unbiased.

    Returns:
        V ``(labels,)``, row values ``(rows, labels)``, mean ``(labels,)``.
    """
    n_rows = len(base)
    weight = keep * (1 - keep)
    centred = base - keep
    effect = differences.mean(axis=0)
    mean = (f_base - centred @ effect).mean(axis=0)
    if n_rows < ENOUGH_FOR_VARIANCE:
        rows = weight / 2 * (differences**2 + 2 * effect * differences - effect**2).sum(axis=1)
        return rows.mean(axis=0), rows, mean

    # Each half needs two whole blocks; where they are too few, let every row be a block.
    block = _layout(blocks)[1] if whole_blocks(blocks) >= 4 else np.arange(n_rows)
    variance = np.zeros(f_base.shape[1])
    rows = np.empty_like(f_base)
    for half in (block % 2 == 0, block % 2 == 1):
        share = np.count_nonzero(half) / n_rows
        slope = _shrunk_mean(differences[~half])
        rest = f_base[half] - centred[half] @ slope
        deviations = rest - rest.mean(axis=0)
        additive = 2 * weight * (differences[half] * slope).sum(axis=1)
        additive -= weight * (slope**2).sum(axis=0)
        spread = _block_variance(deviations, block[half])
        variance += share * (spread + additive.mean(axis=0))
        rows[half] = deviations**2 + additive
    return variance, rows, mean


def _shrunk_mean(differences: Floats) -> Floats:
    """Mean over the rows, shrunk towards 0 by the share of its square that is noise."""
    mean = differences.mean(axis=0)
    noise = (differences.var(axis=0, ddof=1) / len(differences)).sum(axis=0)
    square = (mean**2).sum(axis=0)
    return np.asarray(mean * np.clip(1 - noise / np.where(square > 0, square, 1.0), 0, 1))


def _block_variance(values: Floats, blocks: Integers) -> Floats:
    """Half the mean squared difference of rows of different blocks: unbiased."""
    _, block, sizes = _layout(blocks)
    n_partners = (len(values) - sizes)[block]
    squares = (_column(n_partners, values) * values**2).sum(axis=0) / n_partners.sum()
    return np.asarray(squares - squared_mean(values, blocks)[0])


def within_efron_stein(variance: Floats, total_variances: Floats) -> Floats:
    """V moved into max_i T_i V <= V <= sum_i T_i V, which hold for every f.

    The right-hand side is the Efron-Stein inequality (Efron & Stein 1981). No total index
    then exceeds 1, however few the rows. The price is bias: the bounds are estimates, too, from
    the same rows. On the games of benchmarks/estimators it is below 3 % from 20 rows at keep
    0.5 and up to 13 % at keep 0.9, while the standard deviation of V falls by up to half.

    Args:
        variance: V ``(labels,)``.
        total_variances: p q E[D_i^2] ``(features, labels)``.
    """
    most = total_variances.sum(axis=0)
    clipped = np.clip(variance, total_variances.max(axis=0), most)
    # No flip changed anything: the bound says nothing about scores that did vary.
    return np.where(most > 0, clipped, np.maximum(variance, 0.0))
