"""The contract of attribution methods: a problem, a budget and a seed in, scores out.

A method is a generator that asks the driver for outputs; see `textsobol.steps`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from textsobol.sobol import SobolIndices
from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.steps import Ask, AskGates, Call, Gates, MaskedModel, Steps, relay

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

T = TypeVar("T")


@dataclass(frozen=True)
class Differentiable:
    """The model as a differentiable function of embeddings (texts) or pixels (pictures).

    Attributes:
        forward: inputs ``(inputs, positions, ...)`` to scores ``(inputs, labels)``, with gradients.
        inputs: the whole input ``(1, positions, ...)``.
        owners: the feature of each position, or -1 ``(positions,)``.
        size: height and width, if positions are the pixels of a picture, row by row.
        network: the network of ``forward``, for methods that need its layers.
        through: ``forward`` with a copy of the network: the copy and inputs to scores.
    """

    forward: Callable[[Tensor], Tensor]
    inputs: Tensor
    owners: Integers
    size: tuple[int, int] | None = None
    network: Module | None = None
    through: Callable[[Module, Tensor], Tensor] | None = None


@dataclass(frozen=True)
class Decision:
    """The prediction for the whole input, and how to see whether a mask changes it.

    Attributes:
        score: outputs ``(masks, all labels)`` to log-odds of the predicted label ``(masks,)``.
        margin: outputs to how far the predicted label is ahead of the best other one ``(masks,)``:
            below 0 where another label is predicted. A tie, 0, keeps the prediction.
        column: the analysed label whose score is ``score``, or ``None``.
    """

    score: Callable[[Floats], Floats]
    margin: Callable[[Floats], Floats]
    column: int | None


@dataclass(frozen=True)
class Problem:
    """What a method explains.

    Attributes:
        model: the masked model, which the driver runs.
        to_scores: outputs ``(masks, all labels)`` to scores ``(masks, labels)``.
        n_labels: number of analysed labels.
        differentiable: makes the same scores with gradients; ``None`` for a black box.
        plane: number of features down and across, if they are the cells of a picture.
        target: column of the target among the labels.
        levels: the group of each feature ``(features,)`` at each level, largest groups first.
        decision: the prediction that a path tries to change; ``None`` without a path.
        is_streamed: whether intermediate results are used.
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
        """Number of distinct masks scored so far."""
        return self.model.ledger.n_distinct

    @property
    def n_spent(self) -> int:
        """What was spent of the budget so far: distinct masks, and gates."""
        return self.model.ledger.n_spent

    def score(self, masks: Array) -> Steps[Floats]:
        """Ask for the scores ``(masks, labels)`` of masks ``(masks, features)``."""
        return self.to_scores((yield Ask(self.model, masks)))

    def serve(self, steps: Steps[T]) -> Steps[T]:
        """Wrap a generator that yields masks or gates, so that the driver can run it."""

        def answer(asked: Any) -> Steps[Any]:
            if isinstance(asked, Gates):
                return (yield AskGates(self.model, asked.values))
            if isinstance(asked, np.ndarray):
                return self.to_scores((yield Ask(self.model, asked)))
            return (yield asked)

        return relay(steps, answer)

    def serve_decision(self, steps: Steps[T], quantity: Callable[[Floats], Floats]) -> Steps[T]:
        """Wrap a generator that asks about the decision; ``quantity`` is made of the outputs."""

        def answer(asked: Any) -> Steps[Any]:
            if isinstance(asked, Gates):
                slopes = yield AskGates(self.model, asked.values, is_decision=True)
                return slopes[:, :, 0]
            if isinstance(asked, np.ndarray):
                return quantity((yield Ask(self.model, asked)))
            return (yield asked)

        return relay(steps, answer)

    def call(self, function: Callable[[Callable[[Array], Floats]], T]) -> Steps[T]:
        """Run a library that calls the model itself; it gets a function from masks to scores."""

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
    """A path and its flip set, of features, or of units if `Attribution.units` are given.

    Attributes:
        order: the deleted features, in order.
        flip: the features of the flip set, ascending; ``None`` if none was found.
        is_irreducible: whether it was checked that none of them can be put back.
        is_smallest: whether all masks were scored, so that no smaller flip set exists.
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
        is_signed: whether the sign of a score says for or against the label.
        settings: further settings of the explanation.
        passes: forward passes that the driver did not count.
        indices: Sobol indices with intervals, if the method has them.
        mask_counts: requested masks and distinct ones, all included, if the method has a design.
        path: the path, if one was searched for.
        units: the unit of each feature ``(features,)``, if the budget was too small to mask every
            feature by itself; indices and path are then those of the units.
        is_screened: which features were screened out ``(features,)``: their indices are predictions
            of gate gradients. ``None`` if none were.
        is_intermediate: whether the method goes on.
    """

    scores: Floats
    is_signed: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)
    passes: int = 0
    indices: SobolIndices | None = None
    mask_counts: tuple[int, int] | None = None
    path: FoundPath | None = None
    units: Integers | None = None
    is_screened: Array | None = None
    is_intermediate: bool = False

    def without_gates(self, why: str | None) -> Attribution:
        """The same, with a record of why gates were not used, if there is a reason."""
        if why is None:
            return self
        return replace(self, settings={**self.settings, "gates": False, "why_no_gates": why})
