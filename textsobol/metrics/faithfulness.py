"""Whether an explanation is faithful: how the model reacts when its top words are deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from textsobol.sobol.arrays import Array, Floats, Integers

STEPS = 20  # words deleted or inserted one by one, as in the paper
FRACTIONS = (0.01, 0.05, 0.1, 0.2, 0.5)  # of the words, for AOPC (DeYoung et al. 2020)


class MaskScorer(Protocol):
    """Predicts probabilities for masks, such as `MaskedTextModel`."""

    @property
    def n_features(self) -> int:
        """Number of features."""

    @property
    def probabilities(self) -> dict[str, float]:
        """Of the whole input, by label."""

    def predict_masks(self, masks: Array) -> Floats:
        """Masks ``(masks, features)`` to probabilities ``(masks, labels)``."""


@dataclass(frozen=True)
class Metric:
    """Title and direction of a metric, for tables."""

    title: str
    higher_is_better: bool


METRICS = {
    "deletion": Metric("Word deletion", higher_is_better=False),
    "accuracy": Metric("Accuracy under deletion", higher_is_better=False),
    "insertion": Metric("Word insertion", higher_is_better=True),
    "comprehensiveness": Metric("AOPC comprehensiveness", higher_is_better=True),
    "sufficiency": Metric("AOPC sufficiency", higher_is_better=False),
    "pixel_deletion": Metric("Deletion", higher_is_better=False),
    "pixel_insertion": Metric("Insertion", higher_is_better=True),
    "pointing_game": Metric("Pointing game", higher_is_better=True),
    "rank_correlation": Metric("Rank correlation", higher_is_better=True),
    "stability": Metric("Stability over seeds", higher_is_better=True),
}


@dataclass(frozen=True)
class Faithfulness:
    """Predictions while words are deleted or inserted, highest score first.

    Attributes:
        deletion_curve: probability of the label after 0, 1, ... deletions ``(steps + 1,)``.
        predictions: predicted labels along that curve, by number ``(steps + 1,)``.
        insertion_curve: probability of the label with only the first 0, 1, ... words present.
        comprehensiveness: mean drop of the probability without the top words (`FRACTIONS`).
        sufficiency: mean drop with only these words.
    """

    deletion_curve: Floats
    predictions: Integers
    insertion_curve: Floats
    comprehensiveness: float
    sufficiency: float

    @property
    def deletion(self) -> float:
        """Mean probability over the deletions."""
        return float(self.deletion_curve.mean())

    @property
    def insertion(self) -> float:
        """Mean probability over the insertions."""
        return float(self.insertion_curve.mean())

    def correct(self, true: int) -> Array:
        """Whether the prediction is the true label, after each deletion ``(steps + 1,)``."""
        return np.asarray(self.predictions == true)


def faithfulness(
    model: MaskScorer, scores: ArrayLike, label: str, *, steps: int = STEPS
) -> Faithfulness:
    """All metrics of one explanation for one label.

    Args:
        model: the explained model and input, such as ``explainer.masked(text)``.
        scores: of the features ``(features,)``, high if they support the label.
        label: whose probability is measured.
        steps: most words to delete and to insert.

    Example:
        >>> from textsobol import TextExplainer
        >>> def praise(texts):
        ...     return [text.count("good") / 2 for text in texts]
        >>> explainer = TextExplainer(praise, label_names=["praise"])
        >>> model = explainer.masked("a good film with good music")
        >>> found = faithfulness(model, [0, 3, 1, 1, 2, 0], "praise", steps=3)
        >>> found.deletion_curve.tolist(), found.insertion_curve.tolist()
        ([1.0, 0.5, 0.0, 0.0], [0.0, 0.5, 1.0, 1.0])
    """
    order = rank(scores)
    one_by_one = range(min(steps, model.n_features) + 1)
    some = [max(1, round(part * model.n_features)) for part in FRACTIONS]
    without, only = score_without_and_only(model, order, [*one_by_one, *some])
    column = list(model.probabilities).index(label)
    whole, n = model.probabilities[label], len(one_by_one)
    return Faithfulness(
        deletion_curve=without[:n, column],
        predictions=without[:n].argmax(axis=1),
        insertion_curve=only[:n, column],
        comprehensiveness=float(whole - without[n:, column].mean()),
        sufficiency=float(whole - only[n:, column].mean()),
    )


def rank(scores: ArrayLike) -> Integers:
    """Features by number, highest score first; ties in the order given."""
    values = np.asarray(scores, dtype=float)
    if not np.isfinite(values).all():
        raise ValueError("scores must be finite numbers")
    return np.argsort(-values, kind="stable")


def score_without_and_only(
    model: MaskScorer, order: Integers, counts: Sequence[int]
) -> tuple[Floats, Floats]:
    """Probabilities ``(counts, labels)`` without the first features, and with only these."""
    present = make_prefixes(order, counts)
    without, only = np.split(model.predict_masks(np.concatenate([~present, present])), 2)
    return without, only


def make_prefixes(order: Integers, counts: Sequence[int] | range) -> Array:
    """Masks ``(counts, features)`` in which only the first ``count`` features are present.

    Example:
        >>> make_prefixes(np.array([2, 0, 1]), [0, 1, 2]).astype(int)
        array([[0, 0, 0],
               [0, 0, 1],
               [1, 0, 1]])
    """
    return np.argsort(order)[None] < np.array(list(counts))[:, None]
