"""The result: indices of features and of pairs, with errors and intervals."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtri

from textsobol.sobol.arrays import Floats, Integers
from textsobol.sobol.estimate import Samples
from textsobol.sobol.evaluator import ScoredMasks
from textsobol.sobol.exact import Hoeffding
from textsobol.sobol.plan import MOST_ROWS
from textsobol.sobol.uncertainty import (
    interval,
    share_interval,
    standard_error,
    top_frequency,
)


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

    def interval(self, level: float = 0.95, *, of: str = "total") -> tuple[Floats, Floats]:
        """Lower and upper end of an interval that holds the true value in ``level`` of cases.

        Intervals of indices lie within [0, 1]. A feature that never changed the score in
        any row has an interval of width 0: the rows hold no trace of rarer events.

        Args:
            level: the confidence level, between 0 and 1.
            of: ``total``, ``first`` or ``effect``.

        Example:
            >>> from textsobol.sobol import sobol_indices
            >>> result = sobol_indices(lambda masks: masks[:, 0] * 2.0 + masks[:, 1], 2)
            >>> low, high = result.interval(0.9)
            >>> low.round(6), high.round(6)
            (array([0.8, 0.2]), array([0.8, 0.2]))
        """
        make = interval if of == "effect" else share_interval
        low, high = make(self._samples_of(of), level)
        return self._shaped(low), self._shaped(high)

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
        first: share of the variance due to the feature alone. An unbiased estimate once
            the design has two whole blocks (``latin``: 8 rows at keep 0.5, 20 at 0.9), and so
            below 0 at times where the truth is near 0; too large from fewer rows.
        total: share of the variance that involves the feature, alone or with others.
        effect: mean change of the score when the feature is present, signed; for
            real-valued masks the slope of the score on the mask's value.
        first_error: standard error of ``first``; 0 from ``exact``, infinite from one row.
        total_error: standard error of ``total``.
        effect_error: standard error of ``effect``.
        signed: total index with the sign asked for; what ranks and colours a feature.
        variance: variance of the score ``(labels,)``, or a number.
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
    stable: bool | None = None
    scored: ScoredMasks | None = field(default=None, repr=False)

    def interval(self, level: float = 0.95, *, of: str = "total") -> tuple[Floats, Floats]:
        """Lower and upper end of an interval; see `IndexTable.interval`.

        That of ``signed`` spans 0 where the sign of the effect is not settled.

        Example:
            >>> from textsobol.sobol import sobol_indices
            >>> result = sobol_indices(lambda masks: masks[:, 1] - 2.0 * masks[:, 0], 2)
            >>> low, high = result.interval(of="signed")
            >>> low.round(6), high.round(6)
            (array([-0.8,  0.2]), array([-0.8,  0.2]))
        """
        if of != "signed":
            return super().interval(level, of=of)
        low, high = super().interval(level, of="total")
        sign = np.sign(self.signed)
        ends = np.sort([sign * low, sign * high], axis=0)
        if self.settings.sign == "mean":
            effect_low, effect_high = super().interval(level, of="effect")
            is_open = (effect_low <= 0) & (effect_high >= 0) & (effect_low < effect_high)
            ends = np.where(is_open, [-high, high], ends)
        return ends[0], ends[1]

    def contrast(self, label: int, other: int) -> "SobolIndices":
        """Indices of the difference of two labels' scores, from the masks scored already.

        Args:
            label: column of the score that counts as positive.
            other: column of the score that is taken off.

        Example:
            >>> from textsobol.sobol import sobol_indices
            >>> result = sobol_indices(lambda masks: masks[:, :2] * [3.0, 1.0], 3)
            >>> result.contrast(0, 1).effect.ravel()
            array([ 3., -1.,  0.])
        """
        from textsobol.sobol.analysis import sobol_indices

        made = self.settings
        if self.scored is None or made.precision is not None:
            raise ValueError(
                "contrast needs the same number of base masks for every feature: leave out "
                "precision"
            )
        scored = self.scored
        together = made.groups is not None and made.members == "together"
        return sobol_indices(
            lambda masks: scored(masks)[:, [label]] - scored(masks)[:, [other]],
            len(self.total) if together else made.n_features,
            estimator=made.estimator, design=made.design, keep=made.keep, rows=made.rows or None,
            seed=made.seed, sign=made.sign, groups=None if together else made.groups,
            members=made.members,
        )  # fmt: skip

    def rows_for_stable_top(
        self, k: int = 5, *, column: int = 0, share: float = 0.95
    ) -> int | None:
        """About how many base masks would settle which features are the top k.

        The squared differences of the last of the top and of the first of the others differ by g
        on average, with a standard error that falls as 1 / sqrt(N): it must fall to g / z.

        Args:
            k: number of features at the top.
            column: of the label.
            share: how sure the top should be.

        Returns:
            A number of base masks, at most 64, where ``precision`` ends as well; ``None`` when the
            top is settled already, or cannot be told.
        """
        squares = self._samples["total"].ranked
        if squares is None or len(squares) < 2 or k >= squares.shape[1]:
            return None
        own = squares[:, :, column]
        if np.isnan(own).any():
            return None
        means = own.mean(axis=0)
        order = np.argsort(-means, kind="stable")
        last, next_one = order[k - 1], order[k]
        if means[last] <= 0:
            return None
        n_base = len(own)
        gap = means[last] - means[next_one]
        error = (own[:, last] - own[:, next_one]).std(ddof=1) / np.sqrt(n_base)
        z = float(ndtri(share))
        if gap >= z * error:
            return None
        needed = MOST_ROWS if gap <= 0 else math.ceil(n_base * (z * error / gap) ** 2)
        return None if n_base >= MOST_ROWS else min(MOST_ROWS, max(needed, n_base + 1))

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


def columns_of(
    first: Samples, total: Samples, effect: Samples, *, is_scalar: bool
) -> dict[str, Any]:
    """The fields of an `IndexTable`."""
    samples = {"first": first, "total": total, "effect": effect}
    columns: dict[str, Any] = {"_samples": samples, "_is_scalar": is_scalar}
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
