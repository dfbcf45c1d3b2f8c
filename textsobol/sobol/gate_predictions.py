"""What derivatives with respect to gates say of every feature, calibrated by real flips.

One backward pass gives dF/dg_i for all features at once, where F is the score as a function of
gates between 0 (absent) and 1 (present). At a mask, with absent features not quite shut and present
ones not quite open, it hints at D_i, the effect of feature i there. Derivatives of present features
are too small (a gate that is nearly open is saturated) and those of absent ones too large, so that
each kind gets a coefficient:

    E D_i  ~  a P_i + b A_i

with P_i and A_i the mean derivatives over the masks in which feature i was present and absent. D_i
does not depend on whether i itself is present, so that both say something of the same number. The
coefficients are fitted for every text and label, by flips that were really scored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from textsobol.sobol.arrays import Array, Floats
from textsobol.sobol.moderated import count_effective

# Where derivatives are taken: gates of present and of absent features. These numbers and those
# below were chosen on training reviews: benchmarks/gates/NOTES.md.
PRESENT, ABSENT = 0.7, 0.05
_USUAL_A, _USUAL_B = 0.7, 0.3  # coefficients of P and A that the fit is pulled towards
_RATIO_PULL, _SCALE_PULL = 3.0, 1.0  # weights of their usual ratio and scale, in squared sizes
_FLOOR = 0.1  # of the mean predicted square: features interact more than derivatives show
_OWN = 0.5  # variance of one flip, and
_SHARED = 0.15  # of what its masks have in common, relative to the feature's mean square
_EVEN = 0.2  # of the mask factors is the same for all masks
_KURTOSIS = 4.0  # of squared flips over what was expected of them, at least, and
_OVER_LEADERS = 2.5  # times that of the leaders: flips of small features vary more
_LEAST_FREEDOM = 2.0
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Prediction:
    """What derivatives say of every feature for one label.

    Attributes:
        effects: predicted mean D ``(features,)``.
        squares: predicted mean D^2 ``(features,)``.
        effects_per_mask: values whose mean is ``effects`` ``(masks, features)``.
        squares_per_mask: values whose mean is ``squares`` ``(masks, features)``.
        assumed: part of ``squares`` that no derivative shows ``(features,)``.
        doubt: standard error of the logarithm of the sum of ``squares``.
        scale_error: relative standard error of the scale of ``effects``.
        sampling: relative variance of all predictions, since few masks stand for all.
        freedom: degrees of freedom of ``sampling``.
    """

    effects: Floats
    squares: Floats
    effects_per_mask: Floats
    squares_per_mask: Floats
    assumed: Floats
    doubt: float
    scale_error: float
    sampling: float
    freedom: float


@dataclass(frozen=True)
class Flips:
    """Flips that were scored, for one label.

    Attributes:
        differences: D_i(z_j) ``(masks, features)``; NaN where a feature was not flipped.
        chances: with which each flip of the sample was drawn ``(masks, features)``; 0 elsewhere.
        is_leading: features that were flipped at all masks ``(features,)``.
    """

    differences: Floats
    chances: Floats
    is_leading: Array


def guess_sizes(masks: Array, slopes: Floats) -> Floats:
    """About how much every feature matters, before any flip: mean squares ``(features, labels)``.

    Example:
        >>> slopes = np.array([[[1.0], [0.0]], [[1.0], [0.0]]])
        >>> guess_sizes(np.array([[True, True], [True, False]]), slopes).ravel().round(2)
        array([0.49, 0.  ])
    """
    weights = np.where(masks, _USUAL_A, _USUAL_B)[:, :, None]
    return np.asarray(((weights * slopes) ** 2).mean(axis=0))


def predict(masks: Array, slopes: Floats, flips: Flips) -> Prediction:
    """Effects and mean squares of all features for one label.

    Args:
        masks: where derivatives were taken ``(masks, features)``.
        slopes: the derivatives ``(masks, features)``.
        flips: to calibrate them; of other masks.
    """
    n_masks, n_present = len(masks), masks.sum(axis=0)
    n_absent = n_masks - n_present
    present = (slopes * masks).sum(axis=0) / np.maximum(n_present, 1)
    absent = (slopes * ~masks).sum(axis=0) / np.maximum(n_absent, 1)
    # A feature that was present (or absent) in all masks has one kind of derivative only.
    present = np.where(n_present == 0, absent * _USUAL_B / _USUAL_A, present)
    absent = np.where(n_absent == 0, present * _USUAL_A / _USUAL_B, absent)
    a, b, scale_error = _fit_coefficients(present, absent, flips.differences)
    effects = a * present + b * absent
    scaled = slopes * np.where(masks, a, b)
    scale, floor, doubt = _calibrate_squares(scaled**2, flips)
    squares_per_mask = scale * scaled**2 + floor
    seen = squares_per_mask.mean(axis=0) - floor
    # No mean square is below the square of the mean.
    squares = np.maximum(seen + floor, effects**2)
    squares_per_mask += squares - squares_per_mask.mean(axis=0)
    # Each kind has the weight of its mean, whatever the number of its masks.
    weights = np.where(masks, n_masks / np.maximum(n_present, 1), n_masks / np.maximum(n_absent, 1))
    effects_per_mask = scaled * weights
    effects_per_mask += effects - effects_per_mask.mean(axis=0)
    assumed = np.where(
        squares > 0, 1 - np.maximum(seen, effects**2) / np.maximum(squares, 1e-300), 0
    )
    sampling, freedom = _measure_sampling((scaled**2).sum(axis=1), _sum_leaders(flips))
    return Prediction(
        effects=effects,
        squares=squares,
        effects_per_mask=effects_per_mask,
        squares_per_mask=squares_per_mask,
        assumed=assumed,
        doubt=doubt,
        scale_error=scale_error,
        sampling=sampling,
        freedom=freedom,
    )


def _fit_coefficients(
    present: Floats, absent: Floats, differences: Floats
) -> tuple[float, float, float]:
    """Coefficients of P and A, and the relative error of their scale.

    By weighted least squares, pulled towards the usual ones.

    Example:
        >>> differences = np.array([[7.0, 14.0, np.nan]])
        >>> present, absent = np.array([1.0, 2.0, 9.0]), np.array([21.0, 42.1, 0.0])
        >>> tuple(round(c, 1) for c in _fit_coefficients(present, absent, differences))
        (0.7, 0.3, 0.0)
    """
    n_flips = np.count_nonzero(~np.isnan(differences), axis=0)
    known = n_flips > 0
    means = np.nansum(differences[:, known], axis=0) / n_flips[known]
    # In units of the usual prediction: both unknowns are 1 where the usual coefficients are right.
    usual = np.stack([_USUAL_A * present, _USUAL_B * absent], axis=1)[known]
    size = float(np.sqrt((usual.sum(axis=1) ** 2).mean())) if known.any() else 1.0
    size = size or 1.0
    weights = np.sqrt(1 / (_SHARED + _OWN / n_flips[known]))
    pull_ratio = np.sqrt(_RATIO_PULL) * size * np.array([1.0, -1.0])
    pull_scale = np.sqrt(_SCALE_PULL) * size * np.array([0.5, 0.5])
    equations = np.vstack([usual * weights[:, None], pull_ratio, pull_scale])
    wanted = np.concatenate([means * weights, [0.0, np.sqrt(_SCALE_PULL) * size]])
    found, *_ = np.linalg.lstsq(equations, wanted, rcond=None)
    fitted = equations @ found
    explained = (fitted**2).sum()
    # Errors are as large as the features, so that a few of these decide (White 1980).
    squares = ((wanted - fitted) ** 2 * fitted**2).sum()
    error = np.sqrt(squares) / explained if explained > 0 else 1.0
    return float(found[0] * _USUAL_A), float(found[1] * _USUAL_B), float(error)


def _calibrate_squares(expected: Floats, flips: Flips) -> tuple[float, float, float]:
    """What expected squares ``(masks, features)`` are multiplied by, and what is added to them.

    At a mask where the model is undecided all flips are large, so what is expected of a flip is a
    feature's mean square times a factor of the mask. It gets a scale, from all flips of the sample,
    which those of the largest features decide; then all features get the same amount on top, so
    that the sum is right: the sample's surplus, weighted by its chances (the difference estimator
    of sampling theory; Horvitz & Thompson 1952).

    Returns:
        Scale, floor, and the standard error of the logarithm of the sum of all predictions.
    """
    is_predicted = ~flips.is_leading
    is_drawn = ~np.isnan(flips.differences) & (flips.chances > 0) & is_predicted
    is_used = is_drawn if is_drawn.any() else ~np.isnan(flips.differences)
    factors = find_mask_factors(_sum_leaders(flips))
    kurtosis = max(_KURTOSIS, _OVER_LEADERS * _measure_kurtosis(flips, factors))
    means = expected.mean(axis=0) * factors[:, None]
    found, means, n = flips.differences[is_used] ** 2, means[is_used], max(1, int(is_used.sum()))
    # Flips are drawn mostly at masks where they are large: each counts for all masks.
    weights = np.ones(n)
    if is_drawn.any():
        weights = (flips.chances.sum(axis=0) / np.where(is_drawn, flips.chances, 1.0))[is_used]
    in_means = float((weights * means).sum())
    scale = float((weights * found).sum()) / in_means if in_means > 0 else 1.0
    least = _FLOOR * scale * float(expected[:, is_predicted].mean()) if is_predicted.any() else 0.0
    if not is_drawn.any():  # all features were flipped, or none
        return scale, least, float(np.sqrt(kurtosis / n))
    surplus = (found - scale * means) / flips.chances[is_drawn] / len(flips.differences)
    floor = max(least, float(surplus.sum()) / int(is_predicted.sum()))
    in_all = float((scale * expected[:, is_predicted].mean(axis=0) + floor).sum())
    spread = n * float((surplus**2).sum()) / max(in_all**2, 1e-300)
    return scale, floor, float(np.sqrt(max(spread, kurtosis) / n))


def find_mask_factors(leading_squares: Floats) -> Floats:
    """How large flips are at each mask, relative to the mean ``(masks,)``.

    Derivatives do not show it: without leaders all factors are 1.

    Args:
        leading_squares: sum of the leaders' squared flips at each mask ``(masks,)``.

    Example:
        >>> find_mask_factors(np.array([3.0, 1.0])), find_mask_factors(np.zeros(2))
        (array([1.4, 0.6]), array([1., 1.]))
    """
    mean = leading_squares.mean()
    if mean <= 0:
        return np.ones(len(leading_squares))
    return np.asarray((1 - _EVEN) * leading_squares / mean + _EVEN)


def _measure_kurtosis(flips: Flips, factors: Floats) -> float:
    """Mean square of the leaders' squared flips, each relative to the mean of its feature.

    It is about 1 if all flips of a feature are equally large, apart from the factors of their
    masks, and 0 without leaders. A few sampled flips cannot show it, as they mostly miss the
    largest ones; n flips of each leader show at most about n.

    Example:
        >>> leaders = np.array([[1.0, 2.0], [1.0, 0.0]])
        >>> flips = Flips(leaders, np.zeros((2, 2)), np.array([True, True]))
        >>> _measure_kurtosis(flips, np.ones(2))  # 1 and 2, times 2 / (2 - 1)
        3.0
    """
    squares = flips.differences[:, flips.is_leading] ** 2 / factors[:, None]
    means = squares.mean(axis=0)
    n_masks, moved = len(squares), means > 0
    if n_masks < 2 or not moved.any():
        return 0.0
    relative = squares[:, moved] / means[moved]
    return float((relative**2).mean()) * n_masks / (n_masks - 1)


def _sum_leaders(flips: Flips) -> Floats:
    """The sum of the leaders' squares at each mask ``(masks,)``; 0 without leaders."""
    return np.asarray((flips.differences[:, flips.is_leading] ** 2).sum(axis=1))


def _measure_sampling(at_gates: Floats, at_base: Floats) -> tuple[float, float]:
    """Relative variance of mean squares from few masks, and its degrees of freedom.

    All features share the masks. If squares vary so much between n masks that these say no more
    than m equal ones (Kish 1965), the relative variance of their mean is 1 / m - 1 / n. Derivatives
    are taken at some masks and calibrated at others: the variances of both add up, and their
    degrees of freedom are those of a sum (Welch 1947), at least one for each.

    Args:
        at_gates: expected squares at the masks of the derivatives ``(masks,)``.
        at_base: the leaders' squares at as many base masks ``(masks,)``. Without leaders they are
            0, and base masks are taken to vary as much as the others.

    Example:
        >>> sampling, freedom = _measure_sampling(np.array([1.0, 1.0, 1.0, 0.0]), np.zeros(4))
        >>> round(sampling, 3), round(freedom, 3)
        (0.167, 4.0)
    """
    n_masks = len(at_gates)
    at_base = at_base if at_base.any() else at_gates
    effective = np.array([count_effective(at_gates), count_effective(at_base)])
    variances, freedoms = 1 / effective - 1 / n_masks, np.maximum(effective - 1, 1.0)
    sampling = float(variances.sum())
    if sampling < _ROUNDING:  # the same at all masks
        return 0.0, 2.0 * (n_masks - 1)
    return sampling, max(_LEAST_FREEDOM, sampling**2 / float((variances**2 / freedoms).sum()))
