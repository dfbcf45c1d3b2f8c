"""Estimates and their uncertainty: standard errors, intervals, stability of a ranking."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri, stdtrit

from textsobol.sobol.arrays import Floats
from textsobol.sobol.moderated import Moderated

_CELLS = 1_000_000  # resampled means at a time


@dataclass(frozen=True)
class Samples:
    """An estimate, and what each base mask contributes to it.

    Attributes:
        value: the estimate ``(features, labels)``.
        per_mask: pseudo-values ``(base masks, features, labels)``: their mean is the estimate
            to first order, their spread its standard error. ``None`` when there is no
            sampling error; NaN in the last masks of a feature that was flipped in fewer masks.
        is_square: whether it is a mean of squares: positive and skewed to the right.
        ranked: values that rank features in a bootstrap ``(base masks, features, labels)``: before
            division by the variance that all features share.
    """

    value: Floats
    per_mask: Floats | None = None
    is_square: bool = False
    ranked: Floats | None = None


@dataclass(frozen=True)
class Estimate:
    """The result of every estimator: indices and effects of all features, and the variance.

    Attributes:
        first: first-order indices.
        total: total indices.
        effect: mean effect of presence, signed, in units of the score.
        variance: variance of the score ``(labels,)``.
        mean: mean of the score ``(labels,)``.
        variance_per_mask: values ``(base masks, labels)`` whose mean is about the variance;
            from ``flip``, for its pairs.
        moderated: from which intervals of ``flip`` are computed.
    """

    first: Samples
    total: Samples
    effect: Samples
    variance: Floats
    mean: Floats
    variance_per_mask: Floats | None = None
    moderated: Moderated | None = None


def ratio(
    numerators: Floats,
    numerator: Floats,
    denominators: Floats,
    denominator: Floats,
    *,
    is_square: bool = False,
) -> Samples:
    """A ratio of two estimates, with pseudo-values from its linearisation.

    With R = X / Y and values x_j, y_j of mask j, the pseudo-value of mask j is
    R + (x_j - mean x - R (y_j - mean y)) / Y (the delta method). The ratio is 0 if Y is
    not positive.

    Args:
        numerators: x ``(masks, features, labels)``.
        numerator: X ``(features, labels)``; not always the mean of x.
        denominators: y ``(masks, 1 or features, labels)``.
        denominator: Y ``(1 or features, labels)``.
        is_square: whether the numerators are squares.
    """
    is_usable = denominator > 0
    divisor = is_usable / (denominator + ~is_usable)
    value = numerator * divisor
    per_mask = numerators - numerators.mean(axis=0)
    per_mask -= value * (denominators - denominators.mean(axis=0))
    per_mask *= divisor
    per_mask += value
    is_shared = denominators.shape[1] == 1
    return Samples(value, per_mask, is_square, ranked=numerators if is_shared else per_mask)


def standard_error(samples: Samples) -> Floats:
    """Standard error of an estimate ``(features, labels)``.

    0 when there is no sampling error, infinite from a single base mask.
    """
    if samples.per_mask is None:
        return np.zeros_like(samples.value)
    if len(samples.per_mask) == 1:
        return np.full_like(samples.value, np.inf)
    n_masks = np.count_nonzero(~np.isnan(samples.per_mask), axis=0)
    return np.asarray(np.nanstd(samples.per_mask, axis=0, ddof=1) / np.sqrt(n_masks))


def check_level(level: float) -> None:
    """Refuse a confidence level outside of (0, 1)."""
    if not 0 < level < 1:
        raise ValueError(f"level={level}: must lie between 0 and 1, for example 0.95")


def margin(samples: Samples, level: float) -> Floats:
    """Half the width of an interval that holds the true value with probability ``level``.

    A Student interval whose degrees of freedom depend on the tails of the sample: a variance from
    N values of kurtosis k is as good as one from 2N / (k - 1) + 1 normal values (Satterthwaite
    1946), so heavy tails, which make the error itself uncertain, widen it.
    """
    check_level(level)
    error = standard_error(samples)
    if samples.per_mask is None or len(samples.per_mask) == 1:
        return error
    n_masks = np.count_nonzero(~np.isnan(samples.per_mask), axis=0)
    deviations = samples.per_mask - np.nanmean(samples.per_mask, axis=0)
    variance = np.nanmean(deviations**2, axis=0)
    fourth = np.nanmean(deviations**4, axis=0)
    # kurtosis - 1, times the squared variance; 0 when all values lie at two points
    excess = fourth - variance**2
    freedom = 2 * n_masks * variance**2 / np.where(excess > 0, excess, np.inf)
    freedom = np.where(excess > 0, freedom, np.inf)
    freedom = np.clip(freedom, np.minimum(2, n_masks - 1), n_masks - 1)
    return np.asarray(error * stdtrit(freedom, 0.5 + level / 2))


def interval(samples: Samples, level: float) -> tuple[Floats, Floats]:
    """Lower and upper end, symmetric about the estimate, or in its logarithm for squares.

    Means of squares are skewed to the right; their logarithms much less so.
    """
    value, half = samples.value, margin(samples, level)
    if not samples.is_square:
        return value - half, value + half
    is_positive = value > 0
    # No logarithm if the width or the value is 0.
    exponent = np.divide(half, value, out=np.zeros_like(value), where=is_positive & (half > 0))
    with np.errstate(over="ignore"):
        factor = np.exp(exponent)
        return value / factor, np.where(is_positive, value * factor, value + half)


def share_interval(samples: Samples, level: float) -> tuple[Floats, Floats]:
    """Interval of an index, which lies between 0 and 1.

    An estimate outside that range is clipped first, so that its interval never shrinks to a point.
    """
    inside = replace(samples, value=np.clip(samples.value, 0, 1))
    low, high = interval(inside, level)
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def masks_for_stable_top(squares: Floats, k: int, *, share: float) -> float:
    """Base masks for which the k largest means are the same ones in ``share`` of designs.

    With lead x_j = D_a^2 - D_b^2 at mask j, for a of the top and b below it, the mean lead of n
    masks is positive with probability Phi(sqrt(n) mean(x) / sd(x)), so that
    n = (z sd / mean)^2. The largest such n over all a and b counts.

    Args:
        squares: what is averaged ``(masks, features)``; NaN where a feature was not flipped.
        k: number of features at the top.
        share: fraction of designs, between 0 and 1.

    Returns:
        The number; infinite from one mask, or if features are equal as far as the masks show.

    Example:
        >>> squares = np.array([[4.0, 0.0], [2.0, 4.0], [4.0, 2.0]])
        >>> round(masks_for_stable_top(squares, 1, share=0.9), 1)
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
        # No number of masks separates features with equal means.
        masks = np.divide(z * spread, lead, out=np.full_like(lead, np.inf), where=lead > 0) ** 2
        needed = max(needed, float(masks.max()))
    return needed


def top_frequency(values: Floats, k: int, *, resamples: int, seed: int, is_signed: bool) -> Floats:
    """How often each feature is among the k largest means when base masks are resampled.

    Args:
        values: what is averaged ``(masks, features, labels)``; NaN where a feature was not
            flipped.
        k: number of features at the top.
        resamples: number of bootstrap resamples.
        seed: seed of the bootstrap.
        is_signed: whether a large negative mean counts as large.

    Returns:
        Frequencies ``(features, labels)``. A mean of 0 is never on top; ties are broken at random.
    """
    n_masks, n_features, n_labels = values.shape
    rng = np.random.default_rng(seed)
    draws = rng.multinomial(n_masks, np.full(n_masks, 1 / n_masks), size=resamples)
    counts = np.zeros((n_features, n_labels), dtype=np.int64)
    is_known = ~np.isnan(values[..., 0])
    values = np.where(is_known[..., None], values, 0.0)
    by_label = np.ascontiguousarray(np.moveaxis(values, 2, 1)).reshape(n_masks, -1)
    n_at_once = max(1, _CELLS // (n_features * n_labels))
    for start in range(0, resamples, n_at_once):
        drawn = draws[start : start + n_at_once]
        sums = (drawn @ by_label).reshape(len(drawn), n_labels, n_features)
        # The factor is 1 for features that were flipped in all masks.
        means = sums * (n_masks / np.maximum(drawn @ is_known, 1))[:, None, :]
        means = np.abs(means) if is_signed else means
        # Shuffled first, so that ties are broken at random.
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
