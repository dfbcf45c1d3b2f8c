"""The scores behind a result, from which other results can be computed.

For example a contrast, score a minus score b: its indices follow from the scores, but not from the
indices of a and b.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.sobol.exact import Hoeffding, estimate_exact, hoeffding
from textsobol.sobol.flip import (
    compute_indices,
    estimate_flip,
    flip_differences,
    moderate_pairs,
    pair_differences,
)
from textsobol.sobol.index_table import PairIndices, make_columns
from textsobol.sobol.masks import all_masks, base_and_flips, pick_freeze
from textsobol.sobol.pick_freeze import estimate_pick_freeze, sum_moves
from textsobol.sobol.uncertainty import Estimate, Samples

_ROUNDING = 16 * np.finfo(float).eps
Score = Callable[[Array], Floats]


@dataclass(frozen=True)
class FlipScores:
    """Base masks, their scores and those of their flips.

    Attributes:
        base: masks ``(masks, features)``.
        blocks: block of each mask ``(masks,)``.
        keep: the keep rate.
        f_base: scores of the base masks ``(masks, labels)``.
        f_flips: of their flips ``(masks, features, labels)``; NaN where a feature was not flipped.
        pairs: the pairs that were flipped ``(pairs, 2)``, or ``None``.
        f_pairs: scores of the flips of pairs ``(masks, pairs, labels)``, or ``None``.
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
        return estimate_flip(self.base, self.f_base, differences, self.keep, self.blocks)

    def estimate_pairs(self, estimate: Estimate, *, is_scalar: bool) -> PairIndices | None:
        """Indices of the pairs."""
        if self.pairs is None or self.f_pairs is None:
            return None
        assert estimate.variance_per_mask is not None
        differences = pair_differences(
            self.base, self.f_base, self.f_flips, self.f_pairs, self.pairs
        )
        weight = (self.keep * (1 - self.keep)) ** 2
        variances = estimate.variance, estimate.variance_per_mask
        samples = compute_indices(differences, weight, self.blocks, *variances)
        moderated = moderate_pairs(
            self.base,
            self.f_base,
            differences,
            self.keep,
            *variances,
            of_features=estimate.moderated,
        )
        return PairIndices(**make_columns(*samples, moderated, is_scalar), pairs=self.pairs)

    def contrast(self, a: int, b: int) -> FlipScores:
        """Scores of label a minus those of label b."""
        scores = np.concatenate([self.f_base[:, None], self.f_flips], axis=1)
        scores = subtract_labels(scores, a, b)
        pairs = None if self.f_pairs is None else subtract_labels(self.f_pairs, a, b)
        return replace(self, f_base=scores[:, 0], f_flips=scores[:, 1:], f_pairs=pairs)

    def score_again(self, score: Score) -> FlipScores:
        """The same masks with another score, without the pairs."""
        found = []
        for base, is_flipped in zip(self.base, ~np.isnan(self.f_flips[..., 0]), strict=True):
            features = np.flatnonzero(is_flipped)
            scores = _score_pieces(score, base_and_flips(base[None], features))
            found.append(pad_flips(scores[None], features, len(base)))
        every = round_constant(np.concatenate(found))
        return replace(self, f_base=every[:, 0], f_flips=every[:, 1:], pairs=None, f_pairs=None)


@dataclass(frozen=True)
class ExactScores:
    """The decomposition of the scores of all masks.

    Attributes:
        decomposition: of the scores.
        groups: the group of each feature ``(features,)``.
        pairs: the requested pairs ``(pairs, 2)``, or ``None``.
    """

    decomposition: Hoeffding
    groups: Integers
    pairs: Integers | None = None

    def estimate(self) -> Estimate:
        """Indices of the features or groups."""
        return estimate_exact(self.decomposition, self.groups)

    def estimate_pairs(self, _: Estimate, *, is_scalar: bool) -> PairIndices | None:
        """Indices of the pairs."""
        if self.pairs is None:
            return None
        parts = self.decomposition
        first, total, effect = (
            Samples(np.stack([measure(pair) for pair in self.pairs.tolist()]))
            for measure in (parts.index, parts.total_interaction, parts.effect)
        )
        return PairIndices(**make_columns(first, total, effect, None, is_scalar), pairs=self.pairs)

    def contrast(self, a: int, b: int) -> ExactScores:
        """Score of label a minus that of label b; coefficients are linear in the score."""
        coefficients = self.decomposition.coefficients
        size = np.abs(coefficients[:, [a, b]]).max()
        difference = coefficients[:, [a]] - coefficients[:, [b]]
        is_rounding = np.abs(difference[1:]).max(initial=0.0) <= _ROUNDING * size
        difference[1:] *= not is_rounding
        return replace(self, decomposition=replace(self.decomposition, coefficients=difference))

    def score_again(self, score: Score) -> ExactScores:
        """All masks with another score, without the pairs."""
        scores = round_constant(_score_pieces(score, all_masks(self.decomposition.n_features)))
        return ExactScores(hoeffding(scores, keep=self.decomposition.keep), self.groups)


@dataclass(frozen=True)
class PickFreezeScores:
    """Scores of two designs and of their mixtures; see `estimate_pick_freeze`.

    Attributes:
        estimator: its name.
        scores: of A, of B and of the mixtures ``(masks, 2 + features, labels)``.
        a: the masks A ``(masks, units)``.
        b: the masks B ``(masks, units)``.
        groups: the feature that each unit belongs to ``(units,)``.
        variance: variance of the presence of one unit.
    """

    estimator: str
    scores: Floats
    a: Array
    b: Array
    groups: Integers
    variance: float

    def estimate(self) -> Estimate:
        """Indices of the features or groups."""
        f_a, f_b, f_c = self.scores[:, 0], self.scores[:, 1], self.scores[:, 2:]
        moves = sum_moves(self.a, self.b, self.groups)
        return estimate_pick_freeze(self.estimator, f_a, f_b, f_c, moves, self.variance)

    def estimate_pairs(self, _: Estimate, *, is_scalar: bool) -> PairIndices | None:
        """None: these designs have no pairs."""
        return None

    def contrast(self, a: int, b: int) -> PickFreezeScores:
        """Scores of label a minus those of label b."""
        return replace(self, scores=subtract_labels(self.scores, a, b))

    def score_again(self, score: Score) -> PickFreezeScores:
        """The same masks with another score."""
        scores = round_constant(_score_pieces(score, pick_freeze(self.a, self.b, self.groups)))
        return replace(self, scores=scores.reshape(*self.scores.shape[:2], -1))


AnyScores = FlipScores | ExactScores | PickFreezeScores


def is_constant(scores: Floats, size: float | Floats | None = None) -> Array:
    """Whether each label's scores ``(masks, ..., labels)`` differ by no more than rounding.

    Ignores NaN. ``size`` is the size of the numbers that the scores were computed from.
    """
    axes = tuple(range(scores.ndim - 1))
    low, high = np.nanmin(scores, axis=axes), np.nanmax(scores, axis=axes)
    size = np.maximum(np.abs(low), np.abs(high)) if size is None else size
    return np.asarray(high - low <= _ROUNDING * size)


def round_constant(scores: Floats, size: float | None = None) -> Floats:
    """Make the scores ``(..., labels)`` of a label equal, bit for bit, if it `is_constant`."""
    constant = is_constant(scores, size)
    if not constant.any():
        return scores
    first = scores.reshape(-1, scores.shape[-1])[0]
    return np.where(constant & ~np.isnan(scores), first, scores)


def pad_flips(scores: Floats, flipped: Integers, n_features: int) -> Floats:
    """Scores ``(masks, 1 + flipped, labels)`` with NaN for features that were not flipped."""
    padded = np.full((len(scores), 1 + n_features, scores.shape[2]), np.nan)
    padded[:, 0] = scores[:, 0]
    padded[:, 1 + flipped] = scores[:, 1:]
    return padded


def _score_pieces(score: Score, pieces: Iterable[Array]) -> Floats:
    """Scores ``(masks, labels)`` of all masks of the pieces."""
    scores = np.concatenate([score(masks) for masks in pieces])
    return scores.reshape(len(scores), -1)


def subtract_labels(scores: Floats, a: int, b: int) -> Floats:
    """Label a minus label b ``(..., 1)``; all equal where they differ only by rounding."""
    difference = scores[..., [a]] - scores[..., [b]]
    return round_constant(difference, float(np.nanmax(np.abs(scores[..., [a, b]]))))
