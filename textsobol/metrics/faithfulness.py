"""Is an explanation faithful? Take the words away that it names, and look at the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from textsobol.sobol.arrays import Array, Floats, Integers

STEPS = 20  # words deleted or inserted one by one, as in the paper
SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)  # of the words, for AOPC (DeYoung et al. 2020)


class Answering(Protocol):
    """What can be asked about masks: `MaskedTextModel`, for example."""

    @property
    def n_features(self) -> int:
        """Number of features."""

    @property
    def probabilities(self) -> dict[str, float]:
        """Of the whole input, by label."""

    def shares(self, masks: Array) -> Floats:
        """Masks ``(rows, features)`` to probabilities ``(rows, labels)``."""


@dataclass(frozen=True)
class Metric:
    """How a number is to be read.

    Attributes:
        title: how tables call it.
        higher_is_better: its direction.
    """

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
    "pointing_game": Metric("Pointing model", higher_is_better=True),
    "rank_correlation": Metric("Rank correlation", higher_is_better=True),
    "stability": Metric("Stability over seeds", higher_is_better=True),
}


@dataclass(frozen=True)
class Faithfulness:
    """What a model says while the words of an explanation go or come.

    Attributes:
        deletion_curve: probability of the label after 0, 1, ... deletions, the word with the
            highest score first ``(steps + 1,)``.
        predictions: numbers of the labels predicted along that curve ``(steps + 1,)``.
        insertion_curve: probability of the label when only the 0, 1, ... highest words are there.
        comprehensiveness: mean drop of the probability when a share of the words, the highest,
            is deleted.
        sufficiency: mean drop when only that share is left.
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
        """Where along the deletions the prediction is the true label ``(steps + 1,)``."""
        return np.asarray(self.predictions == true)


def faithfulness(
    model: Answering, scores: ArrayLike, label: str, *, steps: int = STEPS
) -> Faithfulness:
    """All metrics of one explanation for one label, from one batch of masks.

    Args:
        model: what was explained, such as ``explainer.masked(text)``.
        scores: of the features ``(features,)``, high where they speak for the label.
        label: whose probability is followed.
        steps: words that are deleted and inserted, at most.

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
    order = descending(scores)
    one_by_one = range(min(steps, model.n_features) + 1)
    some = [max(1, round(share * model.n_features)) for share in SHARES]
    without, only = without_and_only(model, order, [*one_by_one, *some])
    column = list(model.probabilities).index(label)
    whole, n = model.probabilities[label], len(one_by_one)
    return Faithfulness(
        deletion_curve=without[:n, column],
        predictions=without[:n].argmax(axis=1),
        insertion_curve=only[:n, column],
        comprehensiveness=float(whole - without[n:, column].mean()),
        sufficiency=float(whole - only[n:, column].mean()),
    )


def descending(scores: ArrayLike) -> Integers:
    """Numbers of the features, the highest score first; of equal ones the first."""
    values = np.asarray(scores, dtype=float)
    if not np.isfinite(values).all():
        raise ValueError("scores must be finite numbers")
    return np.argsort(-values, kind="stable")


def without_and_only(
    model: Answering, order: Integers, counts: Sequence[int]
) -> tuple[Floats, Floats]:
    """What the model says without, and with only, the first so many features of an order.

    Returns:
        Two arrays of probabilities ``(counts, labels)``, from one batch of masks.
    """
    present = prefixes(order, counts)
    without, only = np.split(model.shares(np.concatenate([~present, present])), 2)
    return without, only


def prefixes(order: Integers, counts: Sequence[int] | range) -> Array:
    """Masks with the first so many features of an order ``(counts, features)``.

    Example:
        >>> prefixes(np.array([2, 0, 1]), [0, 1, 2]).astype(int)
        array([[0, 0, 0],
               [0, 0, 1],
               [1, 0, 1]])
    """
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank[None] < np.array(list(counts))[:, None]
