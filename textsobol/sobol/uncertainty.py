"""How sure: standard errors, intervals and the stability of a ranking, over base rows."""

import math
from dataclasses import replace

import numpy as np
from scipy.special import ndtri, stdtrit

from textsobol.sobol.arrays import Floats, Integers
from textsobol.sobol.estimate import Samples

_CELLS = 1_000_000  # of resampled means at a time


def standard_error(samples: Samples) -> Floats:
    """Standard error of an estimate ``(features, labels)``.

    0 when there is no sampling error, infinite when a single base row cannot tell.
    """
    if samples.rows is None:
        return np.zeros_like(samples.value)
    if len(samples.rows) == 1:
        return np.full_like(samples.value, np.inf)
    return np.asarray(np.nanstd(samples.rows, axis=0, ddof=1) / np.sqrt(_n_rows(samples.rows)))


def _n_rows(rows: Floats) -> Integers:
    """Rows of each feature and label: some features may have fewer than others."""
    return np.asarray(np.count_nonzero(~np.isnan(rows), axis=0))


def check_level(level: float) -> None:
    """Refuse a confidence level that is none."""
    if not 0 < level < 1:
        raise ValueError(f"level={level}: must lie between 0 and 1, for example 0.95")


def margin(samples: Samples, level: float) -> Floats:
    """Half the width of an interval that holds the true value with probability ``level``.

    A Student interval whose degrees of freedom follow the tails of the sample: a variance
    from N rows of kurtosis k is as good as one from 2N / (k - 1) + 1 normal rows
    (Satterthwaite 1946), so heavy tails, where the error itself is uncertain, widen it.
    """
    check_level(level)
    error = standard_error(samples)
    if samples.rows is None or len(samples.rows) == 1:
        return error
    n_rows = _n_rows(samples.rows)
    deviations = samples.rows - np.nanmean(samples.rows, axis=0)
    variance = np.nanmean(deviations**2, axis=0)
    fourth = np.nanmean(deviations**4, axis=0)
    # kurtosis - 1, times the squared variance; 0 when all rows lie at two points
    excess = fourth - variance**2
    freedom = 2 * n_rows * variance**2 / np.where(excess > 0, excess, np.inf)
    freedom = np.clip(np.where(excess > 0, freedom, np.inf), np.minimum(2, n_rows - 1), n_rows - 1)
    return np.asarray(error * stdtrit(freedom, 0.5 + level / 2))


def interval(samples: Samples, level: float) -> tuple[Floats, Floats]:
    """Lower and upper end, symmetric about the estimate, or in its logarithm for squares.

    Means of squares are skewed to the right; their logarithms much less so.
    """
    value, half = samples.value, margin(samples, level)
    if not samples.is_square:
        return value - half, value + half
    positive = value > 0
    # A width of 0, or a value of 0, has no use for the logarithm.
    exponent = np.divide(half, value, out=np.zeros_like(value), where=positive & (half > 0))
    with np.errstate(over="ignore"):
        factor = np.exp(exponent)
        return value / factor, np.where(positive, value * factor, value + half)


def share_interval(samples: Samples, level: float) -> tuple[Floats, Floats]:
    """Interval of an index, which lies between 0 and 1.

    An estimate outside of that range is first moved to its edge, so that the interval
    never shrinks to a point because of it.
    """
    inside = replace(samples, value=np.clip(samples.value, 0, 1))
    low, high = interval(inside, level)
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def rows_for_stable_top(squares: Floats, k: int, *, share: float) -> float:
    """Base rows at which the k largest means would be the same ones in ``share`` of designs.

    With lead x_j = D_a^2 - D_b^2 in row j, for a the last of the top and b below it, the mean lead
    of n rows is positive with probability Phi(sqrt(n) mean(x) / sd(x)), so that
    n = (z sd / mean)^2. The largest such n over all features below counts, and over all of the
    top in the place of a.

    Args:
        squares: what is averaged ``(rows, features)``; NaN where a feature has fewer rows.
        k: number of features at the top.
        share: of designs, between 0 and 1.

    Returns:
        The number; infinite where features are equal as far as the rows tell, and from one row.

    Example:
        >>> squares = np.array([[4.0, 0.0], [2.0, 4.0], [4.0, 2.0]])
        >>> round(rows_for_stable_top(squares, 1, share=0.9), 1)
        8.6
    """
    means = np.nanmean(squares, axis=0)
    order = np.argsort(-means, kind="stable")
    top, below = order[:k], order[k:]
    top = top[means[top] > 0]
    if not len(below) or not len(top):
        return 0.0
    if len(squares) < 2:
        return math.inf
    z = float(ndtri(share))
    needed = 0.0
    for feature in top:
        leads = squares[:, [feature]] - squares[:, below]
        lead, spread = np.nanmean(leads, axis=0), np.nanstd(leads, axis=0, ddof=1)
        # Shuffled rows of equal features would never tell them apart.
        rows = np.divide(z * spread, lead, out=np.full_like(lead, np.inf), where=lead > 0) ** 2
        needed = max(needed, float(rows.max()))
    return needed


def top_frequency(rows: Floats, k: int, *, resamples: int, seed: int, signed: bool) -> Floats:
    """How often each feature is among the k largest means when base rows are resampled.

    Args:
        rows: what is averaged ``(rows, features, labels)``; the largest means are on top. NaN
            where a feature has fewer rows than others.
        k: number of features at the top.
        resamples: number of bootstrap resamples.
        seed: of the bootstrap.
        signed: whether a large negative mean counts as large.

    Returns:
        Frequencies ``(features, labels)``. A mean of 0 is never on top; ties go to chance.
    """
    n_rows, n_features, n_labels = rows.shape
    rng = np.random.default_rng(seed)
    draws = rng.multinomial(n_rows, np.full(n_rows, 1 / n_rows), size=resamples)
    counts = np.zeros((n_features, n_labels), dtype=np.int64)
    is_known = ~np.isnan(rows[..., 0])
    rows = np.where(is_known[..., None], rows, 0.0)
    by_label = np.ascontiguousarray(np.moveaxis(rows, 2, 1)).reshape(n_rows, -1)
    n_at_once = max(1, _CELLS // (n_features * n_labels))
    for start in range(0, resamples, n_at_once):
        drawn = draws[start : start + n_at_once]
        sums = (drawn @ by_label).reshape(len(drawn), n_labels, n_features)
        # 1 for features with all rows
        means = sums * (n_rows / np.maximum(drawn @ is_known, 1))[:, None, :]
        means = np.abs(means) if signed else means
        # Shuffled first: which of equal means comes first is then a matter of chance.
        order = rng.permuted(np.tile(np.arange(n_features), (len(drawn), 1)), axis=1)[:, None]
        order = np.broadcast_to(order, means.shape)
        shuffled = np.take_along_axis(means, order, axis=2)
        top = np.argsort(-shuffled, axis=2, kind="stable")[:, :, :k]
        is_hit = np.take_along_axis(shuffled, top, axis=2) > 0
        features = np.take_along_axis(order, top, axis=2)
        for label in range(n_labels):
            hit = features[:, label][is_hit[:, label]]
            counts[:, label] += np.bincount(hit, minlength=n_features)
    return counts / resamples
