"""Indices of features or of pairs, with standard errors and intervals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from textsobol.sobol.arrays import Floats, Integers
from textsobol.sobol.moderated import Moderated
from textsobol.sobol.uncertainty import (
    Samples,
    check_level,
    interval,
    share_interval,
    standard_error,
    top_frequency,
)

_LEAST_MASKS = 8  # for intervals of the pick-freeze estimators


@dataclass(frozen=True, eq=False)
class IndexTable:
    """First-order index, total index and signed effect, each with its standard error.

    Arrays are ``(features, labels)``, or ``(features,)`` for a black box with one score per mask.
    For pairs, "features" reads "pairs" and "first" the share of the pair itself.

    Attributes:
        first: share of the variance due to the feature alone; see `SobolIndices`.
        total: share of the variance that involves the feature, alone or with others.
        effect: mean change of the score when the feature is present, signed.
        first_error: standard error of ``first``; 0 from ``exact``, infinite from one base mask.
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

        Intervals of indices lie within [0, 1]. If too little is known they are the widest possible:
        [0, 1], or all numbers for an effect. That is so with fewer than 5 base masks for ``flip``
        (more for keep rates far from 0.5; 4 for the other features, if there are leaders), fewer
        than 8 for the other estimators, and for a score that never varied. The interval of a
        feature that never changed the score has width 0 only if the others held no surprise either.

        If one feature hides others, the intervals of the hidden ones are too narrow, above all away
        from keep rate 0.5: their true coverage is below ``level`` (benchmarks/estimators).

        Args:
            level: the confidence level, between 0 and 1.
            of: ``total``, ``first`` or ``effect``; for features also ``signed``.

        Example:
            >>> from textsobol.sobol import sobol_indices
            >>> result = sobol_indices(lambda masks: masks[:, 0] * 2.0 + masks[:, 1], 2)
            >>> low, high = result.interval(0.9)
            >>> low.round(6), high.round(6)
            (array([0.8, 0.2]), array([0.8, 0.2]))
        """
        low, high = self._ends(level, of)
        return self._shape(low), self._shape(high)

    def _ends(self, level: float, of: str) -> tuple[Floats, Floats]:
        check_level(level)
        samples = self._get_samples(of)
        is_effect = of == "effect"
        if self._moderated is not None:
            low, high = self._moderated.interval(level, of)
            inside = samples.value if is_effect else np.clip(samples.value, 0, 1)
            return np.minimum(low, inside), np.maximum(high, inside)
        low, high = (interval if is_effect else share_interval)(samples, level)
        if samples.per_mask is None:
            return low, high
        never_varied = ~self._samples["total"].value.any(axis=0)
        is_unknown = never_varied | (len(samples.per_mask) < _LEAST_MASKS)
        lowest, highest = (-np.inf, np.inf) if is_effect else (0.0, 1.0)
        return np.where(is_unknown, lowest, low), np.where(is_unknown, highest, high)

    def rank_stability(
        self, k: int, *, by: str = "total", resamples: int = 1000, seed: int = 0
    ) -> Floats:
        """How often each feature is among the top ``k`` when the base masks are resampled.

        1: the feature is among the top k whichever masks are drawn. Effects are ranked by absolute
        value; a feature with index 0 is never among the top.

        Args:
            k: number of features at the top.
            by: ``total``, ``first`` or ``effect``.
            resamples: number of bootstrap resamples.
            seed: seed of the bootstrap.

        Returns:
            Frequencies shaped like ``total``.

        Example:
            >>> from textsobol.sobol import sobol_indices
            >>> sobol_indices(lambda masks: masks @ [3.0, 2.0, 1.0], 3).rank_stability(2)
            array([1., 1., 0.])
        """
        samples = self._get_samples(by)
        n_features = len(samples.value)
        if not 1 <= k <= n_features:
            raise ValueError(f"k={k}: must lie between 1 and {n_features}")
        values = samples.ranked
        if values is None:
            values, resamples = samples.value[None], 1
        elif len(values) < 2:
            raise ValueError(
                "rank_stability needs at least 2 base masks; raise base_masks or budget"
            )
        is_signed = by == "effect"
        return self._shape(
            top_frequency(values, k, resamples=resamples, seed=seed, is_signed=is_signed)
        )

    def _get_samples(self, name: str) -> Samples:
        if name not in self._samples:
            raise ValueError(f"unknown index {name!r}; known: {', '.join(self._samples)}")
        return self._samples[name]

    def _shape(self, values: Floats) -> Floats:
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


def make_columns(
    first: Samples, total: Samples, effect: Samples, moderated: Moderated | None, is_scalar: bool
) -> dict[str, Any]:
    """The fields of an `IndexTable`."""
    samples = {"first": first, "total": total, "effect": effect}
    columns: dict[str, Any] = {
        "_samples": samples,
        "_is_scalar": is_scalar,
        "_moderated": moderated,
    }
    for name, sample in samples.items():
        for column, values in ((name, sample.value), (f"{name}_error", standard_error(sample))):
            columns[column] = copy_read_only(values[:, 0] if is_scalar else values)
    return columns


def copy_read_only(values: Floats) -> Floats:
    """A copy that cannot be written to."""
    values = np.array(values)
    values.flags.writeable = False
    return values
