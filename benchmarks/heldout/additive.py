"""The additive model that a method's scores stand for, and what it predicts of masks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from textsobol.methods import Attribution, Method
from textsobol.sobol import SobolIndices
from textsobol.sobol.arrays import Array, Floats, Integers

_SHAPLEY = ("Shapley value", "Owen value")


@dataclass(frozen=True)
class Additive:
    """A baseline and what every present feature adds.

    Attributes:
        weights: of the features ``(features,)``.
        baseline: log-odds without any feature; ``None`` where the method has none, so that only
            the order of what is predicted means something.
        pairs: features of pairs ``(pairs, 2)``, or ``None``.
        effects: of the pairs ``(pairs,)``, beyond the weights, around the keep rate.
        keep: the keep rate.
    """

    weights: Floats
    baseline: float | None = None
    pairs: Integers | None = None
    effects: Floats | None = None
    keep: float = 0.5

    def predict(self, masks: Array) -> Floats:
        """Log-odds of masks ``(masks,)``, or what stands for them without a baseline."""
        return masks @ self.weights + (self.baseline or 0.0)

    def predict_with_pairs(self, masks: Array) -> Floats:
        """Log-odds of masks with what pairs of features add."""
        assert self.pairs is not None
        assert self.effects is not None
        around = masks - self.keep
        return self.predict(masks) + np.prod(around[:, self.pairs], axis=2) @ self.effects


def additive_of(method: Method, found: Attribution, empty: float) -> Additive:
    """The additive model of a method, as the method defines it.

    Sobol: the mean over masks, and effects around the keep rate. Shapley and Owen values: the score
    of the empty text, and the values. Regressions: the fitted line. Others have no baseline.

    Args:
        method: that made the scores.
        found: for one label.
        empty: the label's score of the empty text.
    """
    scores = found.scores[:, 0]
    if found.indices is not None:
        return _of_indices(found.indices, found.units, len(scores))
    if method.quantity in _SHAPLEY:
        return Additive(scores, empty)
    if "intercept" in found.settings:
        return Additive(scores, found.settings["intercept"][0])
    return Additive(scores)


def _of_indices(indices: SobolIndices, units: Integers | None, n_features: int) -> Additive:
    """The words of a unit share its effect equally."""
    keep = indices.settings.keep
    assert keep is not None
    of_unit = np.arange(n_features) if units is None else units
    weights = indices.effect[:, 0][of_unit] / np.bincount(of_unit)[of_unit]
    baseline = float(indices.mean[0] - keep * weights.sum())
    pairs = indices.pairs
    if pairs is None:
        return Additive(weights, baseline, keep=keep)
    return Additive(weights, baseline, pairs.pairs, pairs.effect[:, 0], keep)


def banzhaf_of(method: Method, found: Attribution) -> Floats | None:
    """What a method says of the Banzhaf values; ``None`` where it estimates something else."""
    if found.indices is not None:
        model = _of_indices(found.indices, found.units, len(found.scores))
        return model.weights if model.keep == 0.5 else None
    if method.name == "rise":  # the mean with a feature minus that over all masks: half of it
        return 2 * found.scores[:, 0]
    return found.scores[:, 0] if method.name == "ridge" else None


def shapley_of(method: Method, found: Attribution) -> Floats | None:
    """The same of Shapley values."""
    return found.scores[:, 0] if method.quantity == _SHAPLEY[0] else None


def total_of(found: Attribution) -> Floats | None:
    """Total indices; of features that were masked one by one only."""
    if found.indices is None or found.units is not None:
        return None
    return np.asarray(found.indices.total[:, 0])
