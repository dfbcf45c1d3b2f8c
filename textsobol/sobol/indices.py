"""The result: indices of features and of pairs, with errors and intervals."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from textsobol.errors import ConstantScoreWarning, warn
from textsobol.sobol.arrays import Array, BlackBox, Floats, Integers
from textsobol.sobol.config import spread_of
from textsobol.sobol.estimate import Estimate, Samples
from textsobol.sobol.exact import Hoeffding
from textsobol.sobol.moderated import Moderated
from textsobol.sobol.scores import AnyScores, ExactScores, FlipScores, PairSamples
from textsobol.sobol.uncertainty import (
    check_level,
    interval,
    rows_for_stable_top,
    share_interval,
    standard_error,
    top_frequency,
)

_CLEARLY = 1e-4
_LEAST_ROWS = 8  # for intervals of jansen and its kin


@dataclass(frozen=True)
class Settings:
    """What made a result; the same settings and black box make it again, bit for bit."""

    n_features: int
    estimator: str
    design: str | None
    keep: float | None
    rows: int
    budget: int | None
    seed: int
    sign: str | None
    groups: tuple[int, ...] | None
    members: str
    pairs: int | tuple[tuple[int, int], ...] | None
    leader_rows: int
    precision: float | None
    stable_top: int
    version: str


@dataclass(frozen=True, eq=False)
class IndexTable:
    """First-order index, total index and signed effect, each with its standard error.

    Arrays are ``(features, labels)``, or ``(features,)`` for a black box with one score a
    row. For pairs, "features" reads "pairs" and "first" the share of the pair itself.

    Attributes:
        first: share of the variance due to the feature alone; see `SobolIndices`.
        total: share of the variance that involves the feature, alone or with others.
        effect: mean change of the score when the feature is present, signed.
        first_error: standard error of ``first``; 0 from ``exact``, infinite from one row.
        total_error: standard error of ``total``.
        effect_error: standard error of ``effect``.
    """

    first: Floats
    total: Floats
    effect: Floats
    first_error: Floats
    total_error: Floats
    effect_error: Floats
    _samples: dict[str, Samples] = field(repr=False)
    _is_scalar: bool = field(repr=False)
    _moderated: Moderated | None = field(repr=False)

    def interval(self, level: float = 0.95, *, of: str = "total") -> tuple[Floats, Floats]:
        """Lower and upper end of an interval that holds the true value in ``level`` of cases.

        Intervals of indices lie within [0, 1]. Where the rows are too few to say, they are the
        widest possible, [0, 1] or, for an effect, all numbers: ``flip`` below 5 base rows (more
        for keep rates far from 0.5; beside leaders, other features below 4), the others below 8,
        and a score that never varied. The interval of a feature that never changed the score has
        width 0 only when nothing else in the rows was a surprise either.

        Where one feature hides others they are too narrow for those that act, above all away
        from keep 0.5: they then hold fewer cases than ``level`` (benchmarks/estimators).

        Args:
            level: the confidence level, between 0 and 1.
            of: ``total``, ``first`` or ``effect``; of features also ``signed``.

        Example:
            >>> from textsobol.sobol import sobol_indices
            >>> result = sobol_indices(lambda masks: masks[:, 0] * 2.0 + masks[:, 1], 2)
            >>> low, high = result.interval(0.9)
            >>> low.round(6), high.round(6)
            (array([0.8, 0.2]), array([0.8, 0.2]))
        """
        low, high = self._ends(level, of)
        return self._shaped(low), self._shaped(high)

    def _ends(self, level: float, of: str) -> tuple[Floats, Floats]:
        check_level(level)
        samples = self._samples_of(of)
        is_effect = of == "effect"
        if self._moderated is not None:
            low, high = self._moderated.interval(level, of)
            inside = samples.value if is_effect else np.clip(samples.value, 0, 1)
            return np.minimum(low, inside), np.maximum(high, inside)
        low, high = (interval if is_effect else share_interval)(samples, level)
        if samples.rows is None:
            return low, high
        never_varied = ~self._samples["total"].value.any(axis=0)
        is_unknown = never_varied | (len(samples.rows) < _LEAST_ROWS)
        lowest, highest = (-np.inf, np.inf) if is_effect else (0.0, 1.0)
        return np.where(is_unknown, lowest, low), np.where(is_unknown, highest, high)

    def rank_stability(
        self, k: int, *, by: str = "total", resamples: int = 1000, seed: int = 0
    ) -> Floats:
        """How often each feature is among the top ``k`` when the base rows are resampled.

        1 means that the feature's place among the top k does not hang on the rows that
        happened to be drawn. Effects are ranked by absolute value; a feature whose index is
        0 is never among the top.

        Args:
            k: number of features at the top.
            by: ``total``, ``first`` or ``effect``.
            resamples: number of bootstrap resamples.
            seed: of the bootstrap.

        Returns:
            Frequencies shaped like ``total``.

        Example:
            >>> from textsobol.sobol import sobol_indices
            >>> sobol_indices(lambda masks: masks @ [3.0, 2.0, 1.0], 3).rank_stability(2)
            array([1., 1., 0.])
        """
        samples = self._samples_of(by)
        n_features = len(samples.value)
        if not 1 <= k <= n_features:
            raise ValueError(f"k={k}: must lie between 1 and {n_features}")
        rows = samples.value[None] if samples.ranked is None else samples.ranked
        if samples.ranked is not None and len(rows) < 2:
            raise ValueError("rank_stability needs at least 2 base rows; raise rows or budget")
        resamples = 1 if samples.ranked is None else resamples
        signed = by == "effect"
        return self._shaped(top_frequency(rows, k, resamples=resamples, seed=seed, signed=signed))

    def _samples_of(self, name: str) -> Samples:
        if name not in self._samples:
            raise ValueError(f"unknown index {name!r}; known: {', '.join(self._samples)}")
        return self._samples[name]

    def _shaped(self, values: Floats) -> Floats:
        return values[:, 0] if self._is_scalar else values


@dataclass(frozen=True, eq=False)
class PairIndices(IndexTable):
    """Indices of pairs of features; see `IndexTable`.

    ``first`` is S_ij, the share due to the two together beyond each alone; ``total`` is
    T_ij, the share of all interactions that involve both; ``effect`` is the mean second
    difference: positive when the two reinforce each other.

    Attributes:
        pairs: the two features of each pair ``(pairs, 2)``.
    """

    pairs: Integers


@dataclass(frozen=True, eq=False, repr=False)
class SobolIndices(IndexTable):
    """Sobol' indices of a black box.

    Arrays are ``(features, labels)``, or ``(features,)`` for a black box with one score a row.

    Attributes:
        first: share of the variance due to the feature alone. A ratio, and so biased like any
            ratio of estimates: by up to a fifth of the truth with 20 base rows at keep 0.9, by
            little at 0.5 (benchmarks/estimators). Below 0 at times where the truth is near 0.
        total: share of the variance that involves the feature, alone or with others. At most
            1 from ``flip`` and ``exact``. From ``jansen`` and its kin unbounded: their variance
            is that of the rows, which can come out near 0 while the score varies elsewhere.
        effect: mean change of the score when the feature is present, signed; for
            real-valued masks the slope of the score on the mask's value.
        first_error: standard error of ``first``; 0 from ``exact``, infinite from one row.
        total_error: standard error of ``total``.
        effect_error: standard error of ``effect``.
        signed: total index with the sign asked for; what ranks and colours a feature.
        variance: variance of the score ``(labels,)``, or a number. From ``flip`` it is moved
            into the Efron-Stein bounds, which makes it surer but biased (benchmarks/estimators).
        mean: mean of the score ``(labels,)``, or a number.
        n_rows: rows of the design.
        n_distinct: distinct rows among them: the forward passes that were made.
        settings: what made this result.
        pairs: indices of pairs, when asked for.
        decomposition: all interactions of any order, from ``exact``.
        stable: whether the top is as stable as ``precision`` asks; ``None`` when nothing was
            asked.
    """

    signed: Floats
    variance: Floats
    mean: Floats
    n_rows: int
    n_distinct: int
    settings: Settings
    pairs: PairIndices | None
    decomposition: Hoeffding | None
    stable: bool | None
    _scores: AnyScores = field(repr=False)
    _removal: Floats | None = field(repr=False)

    def interval(self, level: float = 0.95, *, of: str = "total") -> tuple[Floats, Floats]:
        """Lower and upper end of an interval that holds the true value in ``level`` of cases.

        As in `IndexTable.interval`, and of ``signed`` too: where the interval of the effect
        excludes 0, that of the total with its sign; elsewhere the direction is not known, and
        the interval reaches from minus the upper end of the total to plus that end.
        ``sign=None`` has no direction, and ``sign="occlusion"`` one that is known.

        Args:
            level: the confidence level, between 0 and 1.
            of: ``total``, ``first``, ``effect`` or ``signed``.

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
        return self._shaped(low), self._shaped(high)

    def contrast(self, a: int, b: int) -> SobolIndices:
        """Indices of the difference of two labels' scores, from the same rows.

        Why a and not b: shares of the variance of score a minus score b. No forward pass is
        made.

        Args:
            a: column of one label.
            b: column of the other.

        Returns:
            What the black box ``score[:, a] - score[:, b]`` would give with the same settings.

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
            removal=removal,
            settings=self.settings,
            n_rows=self.n_rows,
            n_distinct=self.n_distinct,
            is_scalar=True,
            stable=None,
        )

    def with_score(self, black_box: BlackBox) -> SobolIndices:
        """Indices of another score, from exactly the masks that were scored for these.

        Pairs are left out. Nothing is asked of the black box beside those masks, and nothing
        warned of: what costs nothing for them costs nothing here.

        Args:
            black_box: masks ``(rows, features)`` to scores ``(rows,)`` or ``(rows, labels)``.

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

        scores = self._scores.rescored(score)
        return make_result(
            scores,
            scores.estimate(),
            removal=None,
            settings=replace(made, sign=made.sign and "mean", pairs=None),
            n_rows=self.n_rows,
            n_distinct=self.n_distinct,
            is_scalar=n_axes == 1,
            stable=None,
        )

    def rows_for_stable_top(self, k: int = 5, *, column: int = 0, share: float = 0.95) -> float:
        """About how many base rows it takes until the top k features are the same every time.

        The last of the top is ahead of the first of the others by the mean of D_k^2 - D_l^2
        over the rows, whose standard error falls as one over the square root of the rows. The
        number is that at which a normal mean of this lead would be positive in ``share`` of
        designs, for the feature below that catches up last.

        Args:
            k: number of features at the top.
            column: of the label.
            share: of designs that should have the same top.

        Returns:
            Base rows in all: no more than there are where the top is that stable already, 0
            where it is all there is or has no sampling error, infinite where features are equal
            as far as the rows tell, and from a single row, which cannot tell.

        Example:
            >>> from textsobol.sobol import sobol_indices
            >>> result = sobol_indices(lambda masks: masks @ [3.0, 2.0, 1.0], 3)
            >>> result.rows_for_stable_top(2)
            0.0
        """
        if not 0 < share < 1:
            raise ValueError(f"share={share}: must lie between 0 and 1, for example 0.95")
        if k < 1:
            raise ValueError(f"k={k}: must be at least 1")
        ranked = self._samples["total"].ranked
        if ranked is None or not isinstance(self._scores, FlipScores):
            return 0.0
        return rows_for_stable_top(ranked[..., column], k, share=share)

    def __repr__(self) -> str:
        """The features with the highest total index, a line each."""
        made = self.settings
        n_labels = "" if self._is_scalar else f", {self.total.shape[1]} labels"
        lines = [
            f"SobolIndices of {len(self.total)} features{n_labels}: {made.estimator}, "
            f"keep {made.keep}, {self.n_rows} rows, {self.n_distinct} distinct"
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
    scores: AnyScores,
    estimate: Estimate,
    *,
    removal: Floats | None,
    settings: Settings,
    n_rows: int,
    n_distinct: int,
    is_scalar: bool,
    stable: bool | None,
) -> SobolIndices:
    """The result that an estimate makes.

    Args:
        scores: what the estimate was made of.
        estimate: indices of the features.
        removal: score of the full input less that without each feature ``(features, labels)``,
            for ``sign="occlusion"``.
        settings: what made it.
        n_rows: rows of the design.
        n_distinct: distinct ones.
        is_scalar: whether the black box gives one score a row.
        stable: whether the top is as stable as asked for.
    """
    signed = read_only(estimate.total.value * _direction(estimate, removal, settings))
    pairs = scores.estimate_pairs(estimate)
    return SobolIndices(
        **columns_of(
            estimate.first,
            estimate.total,
            estimate.effect,
            moderated=estimate.moderated,
            is_scalar=is_scalar,
        ),
        signed=signed[:, 0] if is_scalar else signed,
        variance=estimate.variance[0] if is_scalar else read_only(estimate.variance),
        mean=estimate.mean[0] if is_scalar else read_only(estimate.mean),
        n_rows=n_rows,
        n_distinct=n_distinct,
        settings=settings,
        pairs=None if pairs is None else _pair_indices(pairs, is_scalar=is_scalar),
        decomposition=scores.decomposition if isinstance(scores, ExactScores) else None,
        stable=stable,
        _scores=scores,
        _removal=removal,
    )


def _direction(estimate: Estimate, removal: Floats | None, settings: Settings) -> Floats:
    """+1, 0 or -1 for every index and label ``(features, labels)``."""
    if removal is not None:
        return np.asarray(np.sign(removal))
    if settings.sign is None:
        return np.ones_like(estimate.effect.value)
    least = _least_effect(estimate.total.value, estimate.variance, settings)
    return np.where(estimate.effect.value < -least, -1.0, 1.0)


def _least_effect(total: Floats, variance: Floats, settings: Settings) -> Floats:
    """Effects that are smaller all but cancel out: rounding alone would decide their sign."""
    size = np.sqrt(np.maximum(total, 0) * variance / spread_of(settings.keep))
    return np.asarray(_CLEARLY * size)


def _pair_indices(found: PairSamples, *, is_scalar: bool) -> PairIndices:
    columns = columns_of(
        found.first, found.total, found.effect, moderated=found.moderated, is_scalar=is_scalar
    )
    return PairIndices(**columns, pairs=found.pairs)


def columns_of(
    first: Samples,
    total: Samples,
    effect: Samples,
    *,
    moderated: Moderated | None,
    is_scalar: bool,
) -> dict[str, Any]:
    """The fields of an `IndexTable`."""
    samples = {"first": first, "total": total, "effect": effect}
    columns: dict[str, Any] = {
        "_samples": samples,
        "_is_scalar": is_scalar,
        "_moderated": moderated,
    }
    for name, sample in samples.items():
        error = standard_error(sample)
        columns[name] = read_only(sample.value[:, 0] if is_scalar else sample.value)
        columns[f"{name}_error"] = read_only(error[:, 0] if is_scalar else error)
    return columns


def read_only(values: Floats) -> Floats:
    """A copy that cannot be written to."""
    values = np.array(values)
    values.flags.writeable = False
    return values
