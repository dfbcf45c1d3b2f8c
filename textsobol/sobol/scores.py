"""The scores a result was made of, as plain arrays: enough to make another result of them.

A contrast, score a minus score b, is a score like any other. Its indices do not follow from
those of a and b, but they do from the scores, and those are at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.sobol.estimate import Estimate, Samples
from textsobol.sobol.exact import Hoeffding, exact_estimate, hoeffding
from textsobol.sobol.flip import (
    flip_differences,
    flip_estimate,
    indices_of,
    moderate_pairs,
    pair_differences,
)
from textsobol.sobol.masks import all_masks, base_and_flips, pick_freeze
from textsobol.sobol.moderated import Moderated
from textsobol.sobol.pick_freeze import moves_between, pick_freeze_estimate

_ROUNDING = 16 * np.finfo(float).eps


@dataclass(frozen=True)
class PairSamples:
    """Indices of pairs, and what their intervals are made of.

    Attributes:
        pairs: the two features of each ``(pairs, 2)``.
        first: see `PairIndices`, like ``total`` and ``effect``.
        moderated: of the ``flip`` estimator.
    """

    pairs: Integers
    first: Samples
    total: Samples
    effect: Samples
    moderated: Moderated | None = None


@dataclass(frozen=True)
class FlipScores:
    """Base masks, their scores and those of their flips.

    Attributes:
        base: masks ``(rows, features)``.
        blocks: block of each row ``(rows,)``.
        keep: the keep rate.
        f_base: scores of the base masks ``(rows, labels)``.
        f_flips: of their flips ``(rows, features, labels)``; NaN where a feature was not flipped.
        pairs: the pairs that were flipped ``(pairs, 2)``, or ``None``.
        f_pairs: scores of the flips of pairs ``(rows, pairs, labels)``, or ``None``.
    """

    base: Array
    blocks: Integers
    keep: float
    f_base: Floats
    f_flips: Floats
    pairs: Integers | None = None
    f_pairs: Floats | None = None

    def estimate(self) -> Estimate:
        """Indices of the features."""
        differences = flip_differences(self.base, self.f_base, self.f_flips)
        return flip_estimate(self.base, self.f_base, differences, self.keep, self.blocks)

    def estimate_pairs(self, estimate: Estimate) -> PairSamples | None:
        """Indices of the pairs."""
        if self.pairs is None or self.f_pairs is None:
            return None
        assert estimate.variance_rows is not None
        differences = pair_differences(
            self.base, self.f_base, self.f_flips, self.f_pairs, self.pairs
        )
        weight = (self.keep * (1 - self.keep)) ** 2
        variances = estimate.variance, estimate.variance_rows
        samples = indices_of(differences, weight, self.blocks, *variances)
        moderated = moderate_pairs(
            self.base, self.f_base, differences, self.keep, *variances, of=estimate.moderated
        )
        return PairSamples(self.pairs, *samples, moderated)

    def contrast(self, a: int, b: int) -> FlipScores:
        """Scores of label a minus those of label b."""
        scores = np.concatenate([self.f_base[:, None], self.f_flips], axis=1)
        difference = _difference(scores, a, b)
        pairs = None if self.f_pairs is None else _difference(self.f_pairs, a, b)
        return replace(self, f_base=difference[:, 0], f_flips=difference[:, 1:], f_pairs=pairs)

    def rescored(self, score: Callable[[Array], Floats]) -> FlipScores:
        """The same masks with another score, without the pairs."""
        is_flipped = ~np.isnan(self.f_flips[..., 0])
        rows = []
        for base, own in zip(self.base, is_flipped, strict=True):
            features = np.flatnonzero(own)
            scores = _scored(score, base_and_flips(base[None], features))
            row = np.full((1 + len(own), scores.shape[1]), np.nan)
            row[np.concatenate([[0], 1 + features])] = scores
            rows.append(row)
        every = np.stack(rows)
        every = flattened(every, is_constant(every))
        return replace(self, f_base=every[:, 0], f_flips=every[:, 1:], pairs=None, f_pairs=None)


@dataclass(frozen=True)
class ExactScores:
    """The decomposition of the scores of all masks.

    Attributes:
        decomposition: of the scores.
        groups: the group of each feature ``(features,)``.
        pairs: the pairs asked for ``(pairs, 2)``, or ``None``.
    """

    decomposition: Hoeffding
    groups: Integers
    pairs: Integers | None = None

    def estimate(self) -> Estimate:
        """Indices of the features or groups."""
        return exact_estimate(self.decomposition, self.groups)

    def estimate_pairs(self, _: Estimate) -> PairSamples | None:
        """Indices of the pairs."""
        if self.pairs is None:
            return None
        parts = self.decomposition
        of = (parts.index, parts.total_interaction, parts.effect)
        first, total, effect = (
            Samples(np.stack([part(pair) for pair in self.pairs.tolist()])) for part in of
        )
        return PairSamples(self.pairs, first, total, effect)

    def contrast(self, a: int, b: int) -> ExactScores:
        """Score of label a minus that of label b; coefficients are linear in the score."""
        coefficients = self.decomposition.coefficients
        size = np.abs(coefficients[:, [a, b]]).max()
        difference = coefficients[:, [a]] - coefficients[:, [b]]
        is_rounding = np.abs(difference[1:]).max(initial=0.0) <= _ROUNDING * size
        difference[1:] *= not is_rounding
        return replace(self, decomposition=replace(self.decomposition, coefficients=difference))

    def rescored(self, score: Callable[[Array], Floats]) -> ExactScores:
        """All masks with another score, without the pairs."""
        scores = _scored(score, all_masks(self.decomposition.n_features))
        scores = flattened(scores, is_constant(scores))
        return ExactScores(hoeffding(scores, keep=self.decomposition.keep), self.groups)


@dataclass(frozen=True)
class PickFreezeScores:
    """Scores of two designs and of their mixtures; see `pick_freeze_estimate`.

    Attributes:
        estimator: its name.
        f_a: scores of A ``(rows, labels)``.
        f_b: of B ``(rows, labels)``.
        f_c: of the mixtures ``(rows, features, labels)``.
        a: the masks A ``(rows, units)``.
        b: the masks B ``(rows, units)``.
        groups: the feature that each unit belongs to ``(units,)``.
        move_variance: variance of one unit's mask.
    """

    estimator: str
    f_a: Floats
    f_b: Floats
    f_c: Floats
    a: Array
    b: Array
    groups: Integers
    move_variance: float

    def estimate(self) -> Estimate:
        """Indices of the features or groups."""
        moves = moves_between(self.a, self.b, self.groups)
        return pick_freeze_estimate(
            self.estimator, self.f_a, self.f_b, self.f_c, moves, self.move_variance
        )

    def estimate_pairs(self, _: Estimate) -> PairSamples | None:
        """None: these designs hold no pairs."""
        return None

    def contrast(self, a: int, b: int) -> PickFreezeScores:
        """Scores of label a minus those of label b."""
        scores = np.concatenate([self.f_a[:, None], self.f_b[:, None], self.f_c], axis=1)
        scores = _difference(scores, a, b)
        return replace(self, f_a=scores[:, 0], f_b=scores[:, 1], f_c=scores[:, 2:])

    def rescored(self, score: Callable[[Array], Floats]) -> PickFreezeScores:
        """The same masks with another score."""
        scores = _scored(score, pick_freeze(self.a, self.b, self.groups))
        scores = flattened(scores, is_constant(scores))
        scores = scores.reshape(*self.f_c.shape[:1], 2 + self.f_c.shape[1], -1)
        return replace(self, f_a=scores[:, 0], f_b=scores[:, 1], f_c=scores[:, 2:])


AnyScores = FlipScores | ExactScores | PickFreezeScores


def is_constant(scores: Floats, size: float | Floats | None = None) -> Array:
    """Labels whose scores ``(rows, ..., labels)`` differ by no more than rounding; NaN is none.

    Args:
        scores: the scores.
        size: of the numbers that they come from; their own by default.
    """
    axes = tuple(range(scores.ndim - 1))
    low, high = np.nanmin(scores, axis=axes), np.nanmax(scores, axis=axes)
    size = np.maximum(np.abs(low), np.abs(high)) if size is None else size
    return np.asarray(high - low <= _ROUNDING * size)


def flattened(scores: Floats, constant: Array) -> Floats:
    """Scores with those of constant labels ``(labels,)`` all the same, to the last bit."""
    if not constant.any():
        return scores
    first = scores.reshape(-1, scores.shape[-1])[0]
    return np.where(constant & ~np.isnan(scores), first, scores)


def _scored(score: Callable[[Array], Floats], pieces: Iterable[Array]) -> Floats:
    """Scores ``(rows, labels)`` of all masks of the pieces."""
    scores = np.concatenate([score(masks) for masks in pieces])
    return scores.reshape(len(scores), -1)


def _difference(scores: Floats, a: int, b: int) -> Floats:
    """Label a minus label b ``(..., 1)``; equal ones to the last bit where rounding differs."""
    difference = scores[..., [a]] - scores[..., [b]]
    size = float(np.nanmax(np.abs(scores[..., [a, b]])))
    return flattened(difference, is_constant(difference, size))
