"""Indices from gates: derivatives of all features at some masks, flips of a few at others.

Leading features are flipped at all base masks: their indices are those of the estimator ``flip``.
All other features are screened out: their indices are predictions from derivatives
(`gate_predictions`), with wide intervals. Derivatives are taken at masks of their own, so that the
choice of the leading features does not depend on what is then measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from scipy.special import stdtrit

from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.sobol.flip import clip_to_efron_stein, compute_indices, flip_variance
from textsobol.sobol.gate_predictions import Flips, Prediction, predict
from textsobol.sobol.index_table import PairIndices
from textsobol.sobol.masks import flip_some
from textsobol.sobol.moderated import Moderated, moderate
from textsobol.sobol.scores import Score, subtract_labels
from textsobol.sobol.uncertainty import Estimate, Samples

LEAST_BASE_MASKS = 8  # for the variance
# Chosen on training reviews: benchmarks/gates/NOTES.md.
# Standard deviations, beside what flips and masks of the text itself show, of
_SPREAD = 0.5  # the logarithm of a feature's true over its predicted mean square
_DOUBT = 0.35  # a predicted effect, relative to the feature's root mean square
_WIDER = 1.2  # errors of leaders' totals: these few are moderated by each other only
_TINY = 1e-300
_END = 0.975  # upper end of a 95 % interval


@dataclass(frozen=True)
class GatedScores:
    """Derivatives at some masks, scores of others, and flips of these.

    Attributes:
        gate_masks: where derivatives were taken ``(masks, features)``.
        slopes: the derivatives ``(masks, features, labels)``.
        base: base masks ``(masks, features)``, as many.
        blocks: block of each base mask ``(masks,)``.
        keep: the keep rate.
        f_base: scores of the base masks ``(masks, labels)``.
        differences: D_i(z_j) ``(masks, features, labels)``; NaN where a feature was not flipped.
        chances: with which each flip of the sample was drawn ``(masks, features)``; 0 elsewhere.
    """

    gate_masks: Array
    slopes: Floats
    base: Array
    blocks: Integers
    keep: float
    f_base: Floats
    differences: Floats
    chances: Floats

    @property
    def is_leading(self) -> Array:
        """Whether a feature was flipped at all base masks ``(features,)``."""
        return np.asarray(~np.isnan(self.differences[..., 0]).any(axis=0))

    @property
    def is_flipped(self) -> Array:
        """Which flips were scored ``(masks, features)``."""
        return np.asarray(~np.isnan(self.differences[..., 0]))

    def estimate(self) -> Estimate:
        """Indices of the features."""
        return estimate_gated(self)

    def estimate_pairs(self, _: Estimate, *, is_scalar: bool) -> PairIndices | None:
        """None: gates say nothing of pairs."""
        return None

    def predict(self) -> list[Prediction]:
        """What derivatives say of every feature, for each label."""
        return [
            predict(
                self.gate_masks,
                self.slopes[..., label],
                Flips(self.differences[..., label], self.chances, self.is_leading),
            )
            for label in range(self.f_base.shape[1])
        ]

    def predicted_total(self, variance: Floats) -> tuple[Floats, Floats]:
        """Sum of the predicted total indices, and the upper end of its 95 % interval ``(labels,)``.

        The sum is bounded better than each of its parts: the flips of the sample were drawn for it.
        """
        weight, found = self.keep * (1 - self.keep), self.predict()
        squares = _mean_squares(self, found)
        in_all = squares[~self.is_leading].sum(axis=0)
        total = weight * in_all / np.where(variance > 0, variance, np.inf)
        t = stdtrit(np.array([each.freedom for each in found]), _END)
        return total, total * np.exp(t * _find_share_errors(found, squares, self.is_leading))

    def contrast(self, a: int, b: int) -> GatedScores:
        """Score of label a minus that of label b; derivatives are linear in the score."""
        return replace(
            self,
            f_base=subtract_labels(self.f_base, a, b),
            slopes=subtract_labels(self.slopes, a, b),
            differences=subtract_labels(self.differences, a, b),
        )

    def score_again(self, score: Score) -> GatedScores:
        """The same masks with another score.

        Its derivatives are not known. Those of the first label take their place: flips, which are
        scored again, calibrate them.
        """
        flips = flip_some(self.base, self.is_flipped)
        found = score(np.concatenate([self.base, flips]))
        found = found.reshape(len(self.base) + len(flips), -1)
        f_base, f_flips = found[: len(self.base)], found[len(self.base) :]
        return replace(
            self,
            f_base=f_base,
            slopes=np.repeat(self.slopes[..., :1], found.shape[1], axis=2),
            differences=enter_flips(self.base, self.is_flipped, f_base, f_flips),
        )


def enter_flips(base: Array, is_flipped: Array, f_base: Floats, f_flips: Floats) -> Floats:
    """D_i(z_j), present minus absent ``(masks, features, labels)``; NaN where not flipped.

    Args:
        base: base masks ``(masks, features)``.
        is_flipped: which flips were scored ``(masks, features)``.
        f_base: scores of the base masks ``(masks, labels)``.
        f_flips: scores of the flips in the order of `flip_some` ``(flips, labels)``.
    """
    differences = np.full((*base.shape, f_base.shape[1]), np.nan)
    masks, features = np.nonzero(is_flipped)
    sign = np.where(base[masks, features], 1.0, -1.0)
    differences[masks, features] = sign[:, None] * (f_base[masks] - f_flips)
    return differences


def estimate_gated(scores: GatedScores) -> Estimate:
    """Indices of all features: from flips for the leading ones, predicted for the others."""
    predictions = scores.predict()
    weight, leading = scores.keep * (1 - scores.keep), scores.is_leading
    effects, effects_per_mask, squares_per_mask = (
        np.stack([getattr(found, name) for found in predictions], axis=-1)
        for name in ("effects", "effects_per_mask", "squares_per_mask")
    )
    squares = _mean_squares(scores, predictions)
    differences = np.broadcast_to(effects, scores.differences.shape).copy()
    differences[:, leading] = scores.differences[:, leading]
    variance, variance_per_mask, mean = flip_variance(
        scores.base, scores.f_base, differences, scores.keep, scores.blocks
    )
    variance = clip_to_efron_stein(variance, weight * squares)
    divisor = np.where(variance > 0, variance, np.inf)
    first_per_mask = weight * effects * (2 * effects_per_mask - effects)
    samples = [
        Samples(weight * effects**2 / divisor, first_per_mask / divisor, ranked=first_per_mask),
        Samples(
            weight * squares / divisor,
            weight * squares_per_mask / divisor,
            is_square=True,
            ranked=weight * squares_per_mask,
        ),
        Samples(effects, effects_per_mask, ranked=effects_per_mask),
    ]
    if leading.any():
        own = compute_indices(
            differences[:, leading], weight, scores.blocks, variance, variance_per_mask
        )
        for each, of_leaders in zip(samples, own, strict=True):
            for name in ("value", "per_mask", "ranked"):
                getattr(each, name)[..., leading, :] = getattr(of_leaders, name)
    moderated = _moderate(scores, differences, squares, variance, variance_per_mask, predictions)
    first, total, effect = samples
    return Estimate(first, total, effect, variance, mean, variance_per_mask, moderated)


def _mean_squares(scores: GatedScores, predictions: Sequence[Prediction]) -> Floats:
    """E[D_i^2], measured of the leading features and predicted of the others."""
    squares = np.stack([found.squares for found in predictions], axis=-1)
    leading = scores.is_leading
    squares[leading] = (scores.differences[:, leading] ** 2).mean(axis=0)
    return squares


def _find_share_errors(
    predictions: Sequence[Prediction], squares: Floats, leading: Array
) -> Floats:
    """Standard error of the logarithm of the sum of all predicted shares ``(labels,)``.

    V is made of all squares. Were all of them predicted, V would be off by the same factor as each
    of them; so only the measured fraction of V lets the error from few masks into shares.
    """
    doubts, sampling = np.transpose([(each.doubt, each.sampling) for each in predictions])
    measured = squares[leading].sum(axis=0) / np.maximum(squares.sum(axis=0), _TINY)
    return np.asarray(np.hypot(doubts, measured * np.sqrt(sampling)))


def _moderate(
    scores: GatedScores,
    differences: Floats,
    squares: Floats,
    variance: Floats,
    variance_per_mask: Floats,
    predictions: Sequence[Prediction],
) -> Moderated:
    """Errors of all features: moderated ones of the leaders, those of predictions for the others.

    A prediction is off by what is the feature's own, by the error of the calibration, and by what
    few masks say of all masks (`gate_predictions`); the last is shared by all features.
    """
    weight, leading, n_masks = scores.keep * (1 - scores.keep), scores.is_leading, len(scores.base)
    effects = differences.mean(axis=0)
    divisor = np.where(variance > 0, variance, np.inf)
    total = weight * squares / divisor
    additive = np.minimum(1.0, weight * (effects**2).sum(axis=0) / divisor)
    scale_errors, sampling, freedom = (
        np.array([getattr(each, name) for each in predictions])
        for name in ("scale_error", "sampling", "freedom")
    )
    spread = np.hypot(_SPREAD, _find_share_errors(predictions, squares, leading))
    t = stdtrit(freedom, _END)
    everywhere = {
        "first_of": weight / divisor,
        "freedom": freedom,
        "unseen": np.zeros_like(variance),
        "additive": additive,
        "additive_error": 0.5 * additive / np.sqrt(n_masks),
        "variance_error": variance_per_mask.std(axis=0, ddof=1) / np.sqrt(n_masks) / divisor,
        "interacting_error": np.sqrt(2 / (n_masks - 2)) * (1 - additive),
    }
    columns = {name: np.tile(value, (len(effects), 1)) for name, value in everywhere.items()} | {
        "effect": effects,
        "effect_error": np.sqrt((_DOUBT**2 + sampling) * squares + (scale_errors * effects) ** 2),
        "total": total,
        "total_error": total * np.sinh(t * spread) / t,
        "assumed": np.stack([each.assumed for each in predictions], axis=1),
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
        # V has a part 2 c.E[D] - c.c, with predicted effects c: no flip shows how far off they are.
        predicted = weight * (effects[~leading] ** 2).sum(axis=0) / divisor
        own = columns["interacting_error"][leading]
        columns["interacting_error"][leading] = np.hypot(own, 2 * np.sqrt(sampling) * predicted)
    return Moderated(**columns)
