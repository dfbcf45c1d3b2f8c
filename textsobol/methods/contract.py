"""What every attribution method keeps to: a problem, a budget and a seed in, scores out.

A method is a generator that asks the driver for what it wants to know; see `textsobol.driver`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from textsobol.sobol import SobolIndices
from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.steps import Ask, Call, MaskedModel, Steps, translate

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

T = TypeVar("T")


@dataclass(frozen=True)
class Differentiable:
    """The model of a problem, seen from the layer that its input first becomes numbers in.

    Attributes:
        forward: inputs ``(rows, positions, ...)`` to scores ``(rows, labels)``, with gradients.
        inputs: those of the whole input ``(1, positions, ...)``.
        owners: the feature that a position belongs to, -1 for none ``(positions,)``.
        size: height and width, where positions are the pixels of a picture, row by row.
        network: what ``forward`` runs, for methods that look at its layers.
        through: ``forward`` by a copy of the network: the copy and inputs to scores.
    """

    forward: Callable[[Tensor], Tensor]
    inputs: Tensor
    owners: Integers
    size: tuple[int, int] | None = None
    network: Module | None = None
    through: Callable[[Module, Tensor], Tensor] | None = None


@dataclass(frozen=True)
class Decision:
    """What the model decides for the whole input, and how masks change that.

    Attributes:
        score: outputs ``(rows, all labels)`` to how much speaks for the decision ``(rows,)``: the
            log-odds of the predicted label.
        margin: outputs to how far the predicted label is ahead of the best other one ``(rows,)``:
            below 0 where something else is predicted. A tie, 0, keeps the prediction.
        column: the label whose analysed score is ``score``, or ``None`` if it was not analysed.
    """

    score: Callable[[Floats], Floats]
    margin: Callable[[Floats], Floats]
    column: int | None


@dataclass(frozen=True)
class Problem:
    """What is to be explained, as a method sees it.

    Attributes:
        model: the model and the input, whose masks the driver scores.
        to_scores: outputs of the model ``(rows, all labels)`` to scores ``(rows, labels)``.
        n_labels: number of labels that are analysed.
        differentiable: the same scores with gradients, or ``None`` for a true black box.
        plane: features down and across, where they lie side by side on a picture.
        target: column of the label that is explained.
        levels: groups of features that belong together ``(features,)``, the largest first.
        decision: what is decided; ``None`` where no path can be searched for.
        is_streamed: whether somebody reads intermediate results.
    """

    model: MaskedModel
    to_scores: Callable[[Floats], Floats]
    n_labels: int
    differentiable: Callable[[], Differentiable] | None = None
    plane: tuple[int, int] | None = None
    target: int = 0
    levels: Sequence[Integers] = ()
    decision: Decision | None = None
    is_streamed: bool = False

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return self.model.n_features

    @property
    def n_scored(self) -> int:
        """Distinct masks that were scored so far."""
        return self.model.ledger.n_distinct

    def score(self, masks: Array) -> Steps[Floats]:
        """Ask for the scores ``(rows, labels)`` of masks ``(rows, features)``."""
        return self.to_scores((yield Ask(self.model, masks)))

    def serve(self, steps: Steps[T]) -> Steps[T]:
        """Steps that yield masks and are sent scores, as steps that the driver serves."""
        return translate(steps, lambda masks: Ask(self.model, masks), self.to_scores)

    def call(self, function: Callable[[Callable[[Array], Floats]], T]) -> Steps[T]:
        """Run a library that calls back: from a function of masks to scores, to anything."""

        def with_scores(outputs: Callable[[Array], Floats]) -> T:
            return function(lambda masks: self.to_scores(outputs(masks)))

        result: T = yield Call(self.model, with_scores)
        return result

    @property
    def whole(self) -> Array:
        """The mask of the whole input ``(1, features)``."""
        return np.ones((1, self.n_features), dtype=bool)


@dataclass(frozen=True)
class FoundPath:
    """The deletions that a search found to bring the decision down soonest.

    Attributes:
        order: the features that were deleted, in order; units where `Attribution.units` are given.
        flip: the features of the shortest set found that changes the decision, ascending.
        is_irreducible: whether it was checked that none of them can be put back.
        is_smallest: whether all masks were scored, so that no smaller set of them exists. Of
            units neither says anything about the features within one.
    """

    order: tuple[int, ...]
    flip: tuple[int, ...] | None = None
    is_irreducible: bool = False
    is_smallest: bool = False


@dataclass(frozen=True)
class Attribution:
    """What a method found.

    Attributes:
        scores: ``(features, labels)``.
        is_signed: whether scores tell for from against, or only how much a feature matters.
        settings: what made the scores, for the record.
        passes: forward passes beside those of the black box.
        indices: errors and intervals, if the method has them.
        rows: masks asked for and distinct ones, those of the path and the whole input included, if
            it has a design.
        path: the deletions that bring the decision down soonest, where they were searched for.
        units: what came and went as one ``(features,)``, where the budget was too small to mask
            every feature; indices and path are then those of the units.
    """

    scores: Floats
    is_signed: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)
    passes: int = 0
    indices: SobolIndices | None = None
    rows: tuple[int, int] | None = None
    path: FoundPath | None = None
    units: Integers | None = None
