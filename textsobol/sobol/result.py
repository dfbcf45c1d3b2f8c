"""The result: Sobol' indices of a black box, and what follows from the same scores."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from textsobol.errors import ConstantScoreWarning, warn
from textsobol.sobol.arrays import Array, BlackBox, Floats
from textsobol.sobol.config import presence_variance
from textsobol.sobol.exact import Hoeffding
from textsobol.sobol.gated import GatedScores
from textsobol.sobol.index_table import IndexTable, PairIndices, copy_read_only, make_columns
from textsobol.sobol.scores import AnyScores, ExactScores, FlipScores
from textsobol.sobol.uncertainty import Estimate, masks_for_stable_top

_CLEARLY = 1e-4


@dataclass(frozen=True)
class Settings:
    """The settings of a result; with the same black box they reproduce it, bit for bit."""

    n_features: int
    estimator: str
    design: str | None
    keep: float | None
    base_masks: int
    budget: int | None
    seed: int
    sign: str | None
    groups: tuple[int, ...] | None
    members: str
    pairs: int | tuple[tuple[int, int], ...] | None
    leader_masks: int
    precision: float | None
    stable_top: int
    version: str


@dataclass(frozen=True, eq=False, repr=False)
class SobolIndices(IndexTable):
    """Sobol' indices of a black box.

    Arrays are ``(features, labels)``, or ``(features,)`` for a black box with one score per
    mask. Standard errors are those of `IndexTable`.

    Attributes:
        first: share of the variance due to the feature alone. As a ratio of estimates it is biased:
            by up to 20 % with 20 base masks at keep rate 0.9, by little at 0.5
            (benchmarks/estimators). Can be below 0 if the true value is near 0.
        total: share of the variance that involves the feature, alone or with others. At most
            1 from ``flip`` and ``exact``. From ``jansen`` and the other pick-freeze estimators
            unbounded: they divide by the variance over the base masks, which can be near 0
            while the score varies elsewhere.
        effect: mean change of the score when the feature is present, signed; for
            real-valued masks the slope of the score on the mask's value.
        signed: total index with the chosen sign; ranks and colours a feature.
        variance: variance of the score ``(labels,)``, or a number. From ``flip`` it is clipped to
            the Efron-Stein bounds: less noise, some bias (benchmarks/estimators).
        mean: mean of the score ``(labels,)``, or a number.
        n_masks: masks of the design, flips included.
        n_distinct: distinct masks among them: the forward passes made.
        settings: the settings.
        pairs: indices of pairs, if requested.
        decomposition: interactions of all orders, from ``exact``.
        stable: whether the top is as stable as ``precision`` requires; ``None`` without it.
    """

    signed: Floats
    variance: Floats
    mean: Floats
    n_masks: int
    n_distinct: int
    settings: Settings
    pairs: PairIndices | None
    decomposition: Hoeffding | None
    stable: bool | None
    _scores: AnyScores | GatedScores = field(repr=False)
    _removal: Floats | None = field(repr=False)

    def interval(self, level: float = 0.95, *, of: str = "total") -> tuple[Floats, Floats]:
        """Lower and upper end of an interval that holds the true value in ``level`` of cases.

        See `IndexTable.interval`. The interval of ``signed`` is that of the total with the sign of
        the effect, if the interval of the effect excludes 0. Otherwise the direction is unknown,
        and it reaches from minus the upper end of the total to plus that end. ``sign=None`` has no
        direction; with ``sign="occlusion"`` it is always known.

        Example:
            >>> from textsobol.sobol import sobol_indices
            >>> result = sobol_indices(lambda masks: masks[:, 0] - 2.0 * masks[:, 1], 2)
            >>> low, high = result.interval(of="signed")
            >>> low.round(6), high.round(6)
            (array([ 0.2, -0.8]), array([ 0.2, -0.8]))
        """
        if of != "signed":
            return super().interval(level, of=of)
        low, high = self._ends(level, "total")
        if self.settings.sign is not None:
            if self.settings.sign == "occlusion":
                signed = self.signed[:, None] if self._is_scalar else self.signed
                is_negative, is_positive = signed < 0, signed >= 0
            else:
                effect_low, effect_high = self._ends(level, "effect")
                least = _least_effect(self._samples["total"].value, self.variance, self.settings)
                is_positive, is_negative = effect_low > least, effect_high < -least
            low, high = (
                np.select([is_positive, is_negative], [low, -high], -high),
                np.select([is_positive, is_negative], [high, -low], high),
            )
        return self._shape(low), self._shape(high)

    def contrast(self, a: int, b: int) -> SobolIndices:
        """Indices of the difference of two labels' scores, from the same scores.

        Why a and not b: shares of the variance of score a minus score b. Takes no forward pass.

        Args:
            a: column of one label.
            b: column of the other.

        Returns:
            The result for the black box ``score[:, a] - score[:, b]`` with the same settings.

        Example:
            >>> from textsobol.sobol import sobol_indices
            >>> def score(masks):
            ...     return np.stack([masks[:, 0] * 2.0, masks[:, 1] * 1.0], axis=1)
            >>> sobol_indices(score, 2).contrast(0, 1).signed.round(6)
            array([ 0.8, -0.2])
        """
        n_labels = 1 if self._is_scalar else self.total.shape[1]
        for label in (a, b):
            if not 0 <= label < n_labels:
                raise ValueError(f"label {label}: must lie between 0 and {n_labels - 1}")
        if a == b:
            raise ValueError(f"a contrast needs two different labels, not {a} twice")
        removal = None if self._removal is None else self._removal[:, [a]] - self._removal[:, [b]]
        scores = self._scores.contrast(a, b)
        estimate = scores.estimate()
        if not estimate.variance.any():
            warn(
                f"labels {a} and {b} differ by the same score for every mask: all indices are 0",
                ConstantScoreWarning,
            )
        return make_result(
            scores,
            estimate,
            self.settings,
            removal=removal,
            counts=(self.n_masks, self.n_distinct),
            is_scalar=True,
        )

    def with_score(self, black_box: BlackBox) -> SobolIndices:
        """Indices of another score on the same masks, without pairs and without warnings.

        Args:
            black_box: masks ``(masks, features)`` to scores ``(masks,)`` or ``(masks, labels)``.

        Example:
            >>> from textsobol.sobol import sobol_indices
            >>> result = sobol_indices(lambda masks: masks[:, 0] - 2.0 * masks[:, 1], 2)
            >>> result.with_score(lambda masks: 3.0 * masks[:, 1]).effect
            array([0., 3.])
        """
        made = self.settings
        units = np.arange(made.n_features)
        if made.groups is not None and made.members == "together":
            units = np.array(made.groups)
        n_axes = 1

        def score(masks: Array) -> Floats:
            nonlocal n_axes
            scores = np.asarray(black_box(masks[:, units]), dtype=float)
            n_axes = scores.ndim
            return scores

        scores = self._scores.score_again(score)
        return make_result(
            scores,
            scores.estimate(),
            replace(made, sign=made.sign and "mean", pairs=None),
            counts=(self.n_masks, self.n_distinct),
            is_scalar=n_axes == 1,
        )

    def masks_for_stable_top(self, k: int = 5, *, column: int = 0, share: float = 0.95) -> float:
        """About how many base masks make the top k features stable.

        An extrapolation; see `textsobol.sobol.uncertainty.masks_for_stable_top`.

        Args:
            k: number of features at the top.
            column: column of the label.
            share: fraction of designs that should have the same top.

        Returns:
            Total number of base masks: no more than were used if the top is stable already, 0
            without other features or sampling error, infinite with a single base mask or if
            features are equal as far as the masks show.

        Example:
            >>> from textsobol.sobol import sobol_indices
            >>> result = sobol_indices(lambda masks: masks @ [3.0, 2.0, 1.0], 3)
            >>> result.masks_for_stable_top(2)
            0.0
        """
        if not 0 < share < 1:
            raise ValueError(f"share={share}: must lie between 0 and 1, for example 0.95")
        if k < 1:
            raise ValueError(f"k={k}: must be at least 1")
        ranked = self._samples["total"].ranked
        if ranked is None or not isinstance(self._scores, FlipScores | GatedScores):
            return 0.0
        return masks_for_stable_top(ranked[..., column], k, share=share)

    def predicted_total(self) -> tuple[Floats, Floats]:
        """Sum of ``total`` over the features that gates predict, and its 95 % upper end.

        Both ``(labels,)``, and 0 if all features were flipped.
        """
        if isinstance(self._scores, GatedScores):
            return self._scores.predicted_total(np.atleast_1d(self.variance))
        none = np.zeros(1 if self._is_scalar else self.total.shape[1])
        return none, none

    def __repr__(self) -> str:
        """The features with the highest total index, a line each."""
        made = self.settings
        n_labels = "" if self._is_scalar else f", {self.total.shape[1]} labels"
        lines = [
            f"SobolIndices of {len(self.total)} features{n_labels}: {made.estimator}, "
            f"keep {made.keep}, {self.n_masks} masks, {self.n_distinct} distinct"
        ]
        for label in range(1 if self._is_scalar else self.total.shape[1]):
            total, error, signed = (
                values if self._is_scalar else values[:, label]
                for values in (self.total, self.total_error, self.signed)
            )
            lines += [] if self._is_scalar else [f"label {label}"]
            for feature in np.argsort(-total, kind="stable")[:5]:
                sign = "-" if signed[feature] < 0 else "+"
                lines.append(f"  {feature:4}  {sign}{total[feature]:.3f} ± {error[feature]:.3f}")
        return "\n".join(lines)


def make_result(
    scores: AnyScores | GatedScores,
    estimate: Estimate,
    settings: Settings,
    *,
    counts: tuple[int, int],
    is_scalar: bool,
    removal: Floats | None = None,
    stable: bool | None = None,
) -> SobolIndices:
    """Make a result from an estimate.

    Args:
        scores: that the estimate was made from.
        estimate: indices of the features.
        settings: the settings.
        counts: masks of the design, and distinct ones among them.
        is_scalar: whether the black box gives one score per mask, without labels.
        removal: score of the full input minus that without each feature ``(features, labels)``,
            for ``sign="occlusion"``.
        stable: see `SobolIndices`.
    """
    signed = copy_read_only(estimate.total.value * _choose_signs(estimate, removal, settings))
    indices = estimate.first, estimate.total, estimate.effect
    return SobolIndices(
        **make_columns(*indices, estimate.moderated, is_scalar),
        signed=signed[:, 0] if is_scalar else signed,
        variance=estimate.variance[0] if is_scalar else copy_read_only(estimate.variance),
        mean=estimate.mean[0] if is_scalar else copy_read_only(estimate.mean),
        n_masks=counts[0],
        n_distinct=counts[1],
        settings=settings,
        pairs=scores.estimate_pairs(estimate, is_scalar=is_scalar),
        decomposition=scores.decomposition if isinstance(scores, ExactScores) else None,
        stable=stable,
        _scores=scores,
        _removal=removal,
    )


def _choose_signs(estimate: Estimate, removal: Floats | None, settings: Settings) -> Floats:
    """+1, 0 or -1 for every index and label ``(features, labels)``."""
    if removal is not None:
        return np.asarray(np.sign(removal))
    if settings.sign is None:
        return np.ones_like(estimate.effect.value)
    least = _least_effect(estimate.total.value, estimate.variance, settings)
    return np.where(estimate.effect.value < -least, -1.0, 1.0)


def _least_effect(total: Floats, variance: Floats, settings: Settings) -> Floats:
    """The size below which an effect counts as cancelled out: its sign would be rounding."""
    size = np.sqrt(np.maximum(total, 0) * variance / presence_variance(settings.keep))
    return np.asarray(_CLEARLY * size)
