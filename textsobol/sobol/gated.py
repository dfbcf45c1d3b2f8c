"""Indices from gate gradients, calibrated by real flips.

One backward pass gives dF/dg_i for all features at once, where F is the score as a function of
gates between 0 (absent) and 1 (present). At a base mask z_j, with absent features not quite shut
and present ones not quite open, it hints at D_i(z_j), the effect of feature i there. Derivatives
of present features are too small (a gate that is nearly open is saturated) and those of absent ones
too large, so that each kind gets a coefficient:

    D_i  ~  a P_i + b A_i

with P_i and A_i the mean derivatives over the masks in which feature i was present and absent. D_i
does not depend on whether i itself is present, so that both say something of the same number. The
coefficients are fitted for every text and label, by flips that were really scored: those of the
leading features, in all base masks, and a sample of the other ones, each drawn with a probability
about proportional to what it is expected to contribute (sampling theory: Horvitz & Thompson 1952).

Leading features have indices from their real flips, as from the estimator ``flip``. All other ones
were screened out: their indices are predictions, with wide intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.sobol.flip import clip_to_efron_stein, compute_indices, flip_variance
from textsobol.sobol.index_table import PairIndices
from textsobol.sobol.moderated import Moderated, moderate
from textsobol.sobol.scores import Score, subtract_labels
from textsobol.sobol.uncertainty import Estimate, Samples

# Where derivatives are taken: gates of present and of absent features. These numbers and those
# below were chosen on training reviews: benchmarks/gates/NOTES.md.
PRESENT, ABSENT = 0.7, 0.05
LEAST_BASE_MASKS = 8
_USUAL_A, _USUAL_B = 0.7, 0.3  # coefficients of P and A that the fit is pulled towards
_RATIO_PULL, _SCALE_PULL = 3.0, 1.0  # weights of their usual ratio and scale, in squared sizes
_FLOOR = 0.1  # of the mean predicted square: features interact more than derivatives show
_SPREAD = 1.0  # standard deviation of the logarithm of true over predicted mean squares
_DOUBT = 0.4  # standard deviation of an effect, relative to the feature's root mean square
_OWN = 0.5  # variance of one flip, and
_SHARED = 0.15  # of what its masks have in common, relative to the feature's mean square
_KURTOSIS = 4.0  # of squared flips over what was expected of them, at least
_WIDER = 1.3  # errors of leaders' totals: moderated by other leaders only, they come out too small
_NORMAL = 1.96  # half the width of a 95 % interval, in standard errors
_CERTAIN = 60.0  # degrees of freedom of predictions


@dataclass(frozen=True)
class GatedScores:
    """Scores of base masks, derivatives at all of them, and some flips.

    Attributes:
        base: masks ``(masks, features)``.
        blocks: block of each mask ``(masks,)``.
        keep: the keep rate.
        f_base: scores of the base masks ``(masks, labels)``.
        slopes: derivatives ``(masks, features, labels)``.
        differences: D_i(z_j) ``(masks, features, labels)``; NaN where a feature was not flipped.
        chances: with which each flip of the sample was drawn ``(masks, features)``; 0 elsewhere.
    """

    base: Array
    blocks: Integers
    keep: float
    f_base: Floats
    slopes: Floats
    differences: Floats
    chances: Floats

    @property
    def is_leading(self) -> Array:
        """Whether a feature was flipped in all base masks ``(features,)``."""
        return np.asarray(~np.isnan(self.differences[..., 0]).any(axis=0))

    def estimate(self) -> Estimate:
        """Indices of the features."""
        return estimate_gated(self)

    def estimate_pairs(self, _: Estimate, *, is_scalar: bool) -> PairIndices | None:
        """None: gates say nothing of pairs."""
        return None

    def predicted_total(self, variance: Floats) -> tuple[Floats, Floats]:
        """Sum of the predicted total indices, and the upper end of its 95 % interval ``(labels,)``.

        The sum is bounded better than each of its parts: the flips of the sample were drawn for it.
        """
        weight, is_predicted = self.keep * (1 - self.keep), ~self.is_leading
        found = [_predict(self, label) for label in range(self.f_base.shape[1])]
        squares = np.array([each.squares[is_predicted].sum() for each in found])
        doubts = np.array([each.doubt for each in found])
        total = weight * squares / np.where(variance > 0, variance, np.inf)
        return total, total * np.exp(_NORMAL * doubts)

    def contrast(self, a: int, b: int) -> GatedScores:
        """Score of label a minus that of label b; derivatives are linear in the score."""
        return replace(
            self,
            f_base=subtract_labels(self.f_base, a, b),
            slopes=subtract_labels(self.slopes, a, b),
            differences=subtract_labels(self.differences, a, b),
        )

    def score_again(self, score: Score) -> GatedScores:
        """Not possible: another score has other derivatives."""
        raise ValueError("indices from gates cannot be computed for another score")


@dataclass(frozen=True)
class Prediction:
    """What gates say of every feature for one label.

    Attributes:
        effects: predicted mean D ``(features,)``.
        squares: predicted mean D^2 ``(features,)``.
        effects_per_mask: values whose mean is ``effects`` ``(masks, features)``.
        squares_per_mask: values whose mean is ``squares`` ``(masks, features)``.
        doubt: standard error of the logarithm of the scale of ``squares``.
        scale_error: relative standard error of the scale of ``effects``.
    """

    effects: Floats
    squares: Floats
    effects_per_mask: Floats
    squares_per_mask: Floats
    doubt: float
    scale_error: float


def guess_sizes(base: Array, slopes: Floats) -> Floats:
    """About how much every feature matters, before any flip ``(features, labels)``: mean squares.

    Example:
        >>> slopes = np.array([[[1.0], [0.0]], [[1.0], [0.0]]])
        >>> guess_sizes(np.array([[True, True], [True, False]]), slopes).ravel().round(2)
        array([0.49, 0.  ])
    """
    weights = np.where(base, _USUAL_A, _USUAL_B)[:, :, None]
    return np.asarray(((weights * slopes) ** 2).mean(axis=0))


def choose_leaders(sizes: Floats, n: int) -> Integers:
    """The n features that matter most for any label, ascending.

    Example:
        >>> choose_leaders(np.array([[3.0, 0.0], [1.0, 0.0], [0.5, 2.0]]), 2)
        array([0, 2])
    """
    return np.sort(np.argsort(-_largest_fractions(sizes), kind="stable")[:n])


def draw_flips(
    sizes: Floats, leaders: Integers, n_masks: int, n: int, seed: int
) -> tuple[Array, Floats]:
    """A sample of flips of the other features, and the chance of each flip ``(masks, features)``.

    Features that seem to matter are drawn more often, but every feature can be drawn: half of the
    chances are equal, so that a mistake of the gates is found in proportion to its frequency.

    Args:
        sizes: see `guess_sizes`.
        leaders: features that are flipped anyway.
        n_masks: number of base masks.
        n: number of flips, each of another feature while there are enough.
        seed: of the draws.

    Example:
        >>> is_drawn, chances = draw_flips(np.ones((6, 1)), np.array([0, 1]), 2, 4, seed=0)
        >>> is_drawn.sum(axis=0), chances[0]
        (array([0, 0, 1, 1, 1, 1]), array([0. , 0. , 0.5, 0.5, 0.5, 0.5]))
    """
    rng = np.random.default_rng(seed)
    shares = _largest_fractions(sizes)
    shares[leaders] = 0.0
    others = np.setdiff1d(np.arange(len(shares)), leaders)
    n = min(n, len(others))
    is_drawn = np.zeros((n_masks, len(shares)), dtype=bool)
    chances = np.zeros((n_masks, len(shares)))
    if not n:
        return is_drawn, chances
    in_all = shares.sum()
    even = np.full(len(others), 1 / len(others))
    wanted = (shares[others] / in_all + even) / 2 if in_all > 0 else even
    inclusion = _cap_inclusion(wanted, n)
    order = rng.permutation(len(others))
    # Systematic sampling: one draw in every unit of the cumulated inclusion probabilities.
    ends = np.cumsum(inclusion[order])
    hits = np.searchsorted(ends, rng.random() + np.arange(n)).clip(max=len(others) - 1)
    drawn = others[order[np.unique(hits)]]
    is_drawn[rng.integers(n_masks, size=len(drawn)), drawn] = True
    chances[:, others] = inclusion / n_masks
    return is_drawn, chances


def _cap_inclusion(wanted: Floats, n: int) -> Floats:
    """Inclusion probabilities that sum to n, about proportional to what is wanted, at most 1."""
    inclusion = np.zeros_like(wanted)
    is_open = np.ones(len(wanted), dtype=bool)
    while True:
        inclusion[is_open] = wanted[is_open] * (n - (~is_open).sum()) / wanted[is_open].sum()
        too_large = is_open & (inclusion > 1)
        if not too_large.any():
            return inclusion
        inclusion[too_large] = 1.0
        is_open &= ~too_large
        if not is_open.any():
            return inclusion


def _largest_fractions(sizes: Floats) -> Floats:
    """Each feature's fraction of all sizes of a label; the largest over labels ``(features,)``."""
    in_all = sizes.sum(axis=0)
    return np.asarray((sizes / np.where(in_all > 0, in_all, 1.0)).max(axis=1))


def estimate_gated(scores: GatedScores) -> Estimate:
    """Indices of all features: from flips for the leading ones, predicted for the others."""
    n_labels = scores.f_base.shape[1]
    by_label = [_predict(scores, label) for label in range(n_labels)]
    weight = scores.keep * (1 - scores.keep)
    leading = scores.is_leading
    effects, squares, effects_per_mask, squares_per_mask = (
        np.stack([getattr(found, name) for found in by_label], axis=-1)
        for name in ("effects", "squares", "effects_per_mask", "squares_per_mask")
    )
    differences = np.broadcast_to(effects, effects_per_mask.shape).copy()
    differences[:, leading] = scores.differences[:, leading]
    variance, variance_per_mask, mean = flip_variance(
        scores.base, scores.f_base, differences, scores.keep, scores.blocks
    )
    squares[leading] = (differences[:, leading] ** 2).mean(axis=0)
    variance = clip_to_efron_stein(variance, weight * squares)
    divisor = np.where(variance > 0, variance, np.inf)
    first = Samples(
        weight * effects**2 / divisor,
        weight * effects * (2 * effects_per_mask - effects) / divisor,
        ranked=weight * effects * (2 * effects_per_mask - effects) / divisor,
    )
    total = Samples(
        weight * squares / divisor, weight * squares_per_mask / divisor, True, squares_per_mask
    )
    effect = Samples(effects, effects_per_mask, ranked=effects_per_mask)
    if leading.any():
        own = compute_indices(
            differences[:, leading], weight, scores.blocks, variance, variance_per_mask
        )
        for samples, of_leaders in zip((first, total, effect), own, strict=True):
            for array, theirs in (
                (samples.value, of_leaders.value),
                (samples.per_mask, of_leaders.per_mask),
                (samples.ranked, of_leaders.ranked),
            ):
                assert array is not None
                assert theirs is not None
                array[..., leading, :] = theirs
        # What ranks features must be comparable: squares, not yet divided by the variance.
        assert total.ranked is not None
        total.ranked[:, leading] = differences[:, leading] ** 2
    moderated = _moderate(scores, differences, squares, variance, variance_per_mask, by_label)
    return Estimate(first, total, effect, variance, mean, variance_per_mask, moderated)


def _predict(scores: GatedScores, label: int) -> Prediction:
    base, slopes = scores.base, scores.slopes[..., label]
    differences = scores.differences[..., label]
    n_masks = len(base)
    n_present = base.sum(axis=0)
    n_absent = n_masks - n_present
    present = (slopes * base).sum(axis=0) / np.maximum(n_present, 1)
    absent = (slopes * ~base).sum(axis=0) / np.maximum(n_absent, 1)
    # A feature that was present (or absent) in all masks has one kind of derivative only.
    present = np.where(n_present == 0, absent * _USUAL_B / _USUAL_A, present)
    absent = np.where(n_absent == 0, present * _USUAL_A / _USUAL_B, absent)
    a, b, scale_error = _fit_coefficients(present, absent, differences)
    effects = a * present + b * absent
    scaled = slopes * np.where(base, a, b)
    squares, doubt = _calibrate_squares(scores, differences, scaled**2)
    # Each kind has the weight of its mean, whatever the number of its masks.
    weights = np.where(base, n_masks / np.maximum(n_present, 1), n_masks / np.maximum(n_absent, 1))
    per_mask = scaled * weights
    per_mask += effects - per_mask.mean(axis=0)
    # No mean square is below the square of the mean.
    mean_squares = np.maximum(squares.mean(axis=0), effects**2)
    squares = squares + (mean_squares - squares.mean(axis=0))
    return Prediction(effects, mean_squares, per_mask, squares, doubt, scale_error)


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
    weights = np.sqrt(1 / (_SHARED + _OWN / n_flips[known]))
    pull_ratio = np.sqrt(_RATIO_PULL) * (size or 1.0) * np.array([1.0, -1.0])
    pull_scale = np.sqrt(_SCALE_PULL) * (size or 1.0) * np.array([0.5, 0.5])
    rows = np.vstack([usual * weights[:, None], pull_ratio, pull_scale])
    wanted = np.concatenate([means * weights, [0.0, np.sqrt(_SCALE_PULL) * (size or 1.0)]])
    found, *_ = np.linalg.lstsq(rows, wanted, rcond=None)
    fitted = rows @ found
    explained = (fitted**2).sum()
    residual = ((wanted - fitted) ** 2).sum() / max(1, len(rows) - 2)
    error = np.sqrt(residual / explained) if explained > 0 else 1.0
    return float(found[0] * _USUAL_A), float(found[1] * _USUAL_B), float(error)


def _calibrate_squares(
    scores: GatedScores, differences: Floats, expected: Floats
) -> tuple[Floats, float]:
    """Predicted D^2 ``(masks, features)``, and the standard error of the logarithm of their sum.

    Expected squares get a scale, from all flips of the sample, which those of the largest features
    decide; then all features get the same amount on top, so that the sum is right: the sample's
    surplus, weighted by its chances (the difference estimator of sampling theory).
    """
    is_drawn = ~np.isnan(differences) & (scores.chances > 0)
    means = np.broadcast_to(expected.mean(axis=0), differences.shape)
    if not is_drawn.any():
        # All features were flipped, or none: there is no sum to be made right.
        is_known = ~np.isnan(differences)
        n, of_all = max(1, int(is_known.sum())), float(means[is_known].sum())
        scale = float((differences[is_known] ** 2).sum()) / of_all if of_all > 0 else 1.0
        return scale * (expected + _FLOOR * expected.mean()), float(np.sqrt(_KURTOSIS / n))
    found, means, n = differences[is_drawn] ** 2, means[is_drawn], int(is_drawn.sum())
    scale = float(found.sum() / means.sum()) if means.sum() > 0 else 1.0
    surplus = (found - scale * means) / scores.chances[is_drawn] / len(scores.base)
    is_predicted = ~scores.is_leading
    least = _FLOOR * scale * float(expected[:, is_predicted].mean())
    floor = max(least, float(surplus.sum()) / int(is_predicted.sum()))
    squares = scale * expected + floor
    in_all = float(squares[:, is_predicted].mean(axis=0).sum())
    spread = n * float((surplus**2).sum()) / max(in_all**2, 1e-300)
    return squares, float(np.sqrt(max(spread, _KURTOSIS) / n))


def _moderate(
    scores: GatedScores,
    differences: Floats,
    squares: Floats,
    variance: Floats,
    variance_per_mask: Floats,
    by_label: Sequence[Prediction],
) -> Moderated:
    """Errors of all features: moderated ones of the leaders, constant ones of predictions."""
    weight = scores.keep * (1 - scores.keep)
    leading = scores.is_leading
    n_masks = len(scores.base)
    effects = differences.mean(axis=0)
    divisor = np.where(variance > 0, variance, np.inf)
    total = weight * squares / divisor
    additive = np.minimum(1.0, weight * (effects**2).sum(axis=0) / divisor)
    spread = np.hypot(_SPREAD, np.array([each.doubt for each in by_label]))
    scale_errors = np.array([each.scale_error for each in by_label])
    everywhere = {
        "first_of": weight / divisor,
        "freedom": np.full_like(variance, _CERTAIN),
        "unseen": np.zeros_like(variance),
        "additive": additive,
        "additive_error": 0.5 * additive / np.sqrt(n_masks),
        "variance_error": variance_per_mask.std(axis=0, ddof=1) / np.sqrt(n_masks) / divisor,
        "interacting_error": np.sqrt(2 / (n_masks - 2)) * (1 - additive),
    }
    columns = {name: np.tile(value, (len(effects), 1)) for name, value in everywhere.items()} | {
        "effect": effects,
        "effect_error": np.hypot(_DOUBT * np.sqrt(squares), scale_errors * effects),
        "total": total,
        "total_error": total * np.sinh(_NORMAL * spread) / _NORMAL,
        "is_known": np.broadcast_to(variance > 0, effects.shape).copy(),
    }
    if leading.any():
        of_leaders = moderate(
            scores.base,
            scores.f_base,
            differences[:, leading],
            keep=scores.keep,
            variance=variance,
            variance_per_mask=variance_per_mask,
            n_base=n_masks,
            other_variance=weight * (effects[~leading] ** 2).sum(axis=0),
        )
        for field in fields(Moderated):
            columns[field.name][leading] = getattr(of_leaders, field.name)
        columns["total_error"][leading] *= _WIDER
    return Moderated(**columns)
