"""A classifier and one input: masks of its features in, outputs, scores and probabilities out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import copy
from typing import Any, Self

import numpy as np

from textsobol.driver import run
from textsobol.errors import BlackBoxError
from textsobol.labels import choose_labels, choose_target, disambiguate
from textsobol.ledger import Cost, Ledger
from textsobol.methods.contract import Decision, Differentiable, Problem
from textsobol.outputs import compute_probabilities, compute_scores
from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.steps import PASSES_PER_GATES, Ask, Engine, Steps


class MaskedClassifier:
    """A classifier applied to masks of one input; call `predict` first.

    Attributes:
        n_features: number of features that can be left out.
        ledger: known outputs and cost.
        labels: the labels that are analysed.
        probabilities: of all labels, for the whole input.
        is_answer: whether the first label is an answer that is explained, and the others are parts
            of it, which do not compete with it.
    """

    is_answer = False

    def __init__(
        self,
        n_features: int,
        *,
        activation: str,
        score: str,
        names: Callable[[int], list[str]],
        cost: Cost | None = None,
    ) -> None:
        """Prepare an input, without running the model.

        Args:
            n_features: number of features.
            activation: how outputs become probabilities; see `outputs.compute_probabilities`.
            score: what is analysed; see `outputs.compute_scores`.
            names: from the number of labels to their names.
            cost: counts what is forwarded.
        """
        self.n_features = n_features
        self.ledger = Ledger(cost=cost)
        self.labels: list[str] = []
        self.probabilities: dict[str, float] = {}
        self._activation = activation
        self._score = score
        self._names = names
        self._chosen: list[int] = []

    @property
    def engine(self) -> Engine:
        """Runs the model."""
        raise NotImplementedError

    def inputs(self, masks: Array) -> Sequence[Any]:
        """The model's input for each of the masks ``(masks, features)``."""
        raise NotImplementedError

    @property
    def takes_gates(self) -> bool:
        """Whether `slopes` can be asked for."""
        return False

    @property
    def gates_refusal(self) -> str | None:
        """See `steps.MaskedModel`."""
        return None

    def passes_per_gates(self, *, is_decision: bool = False) -> int:
        """A forward pass, and for every backward pass about two more."""
        if is_decision:
            return PASSES_PER_GATES
        is_softmax = self._activation == "softmax" and self._score != "output"
        are_opposite = is_softmax and len(self.probabilities) == 2
        n_backward = 1 if are_opposite else len(self._chosen)
        return PASSES_PER_GATES + (PASSES_PER_GATES - 1) * (n_backward - 1)

    def slopes(self, gates: Floats, *, is_decision: bool) -> Floats:
        """Derivatives of the analysed scores with respect to all gates; see `steps.AskGates`."""
        raise NotImplementedError

    def keys(self, given: Sequence[Any], mask_keys: Sequence[bytes]) -> Sequence[Hashable]:
        """By default every mask is a different input."""
        return mask_keys

    def predict(
        self, targets: Sequence[str] | int | None = None, target: str | None = None
    ) -> Steps[Self]:
        """Score the whole input, and choose the labels to analyse.

        Args:
            targets: names of the labels, or how many of the likeliest; by default all.
            target: a label to analyse besides the likeliest.
        """
        whole = yield Ask(self, np.ones((1, self.n_features), dtype=bool))
        if whole.shape[1] == 1 and self._activation == "softmax":
            self._activation = "sigmoid"  # a single output says yes or no
        every = disambiguate(self._names(whole.shape[1]))
        if len(every) != whole.shape[1]:
            raise ValueError(
                f"{len(every)} labels are named, but there are {whole.shape[1]} scores"
            )
        values = compute_probabilities(whole, self._activation)[0]
        self.probabilities = dict(zip(every, values.tolist(), strict=True))
        if isinstance(targets, int):
            targets = sorted(every, key=lambda name: -self.probabilities[name])[: max(1, targets)]
            targets += [target] if target is not None and target not in targets else []
        self._chosen = choose_labels(targets, every)
        self.labels = [every[k] for k in self._chosen]
        return self

    @property
    def cost(self) -> Cost:
        """Forward passes and tokens so far."""
        return self.ledger.cost

    @property
    def prediction(self) -> str:
        """The label with the highest probability, or the answer."""
        return self.choose_prediction(self.probabilities)

    def choose_prediction(self, probabilities: Mapping[str, float]) -> str:
        """The likeliest label; a tie keeps that of the whole input. An answer is never replaced."""
        if self.is_answer:
            return next(iter(probabilities))
        whole = self.probabilities
        first = max(whole, key=lambda label: whole[label])
        return max(probabilities, key=lambda label: (probabilities[label], label == first))

    @property
    def is_no(self) -> bool:
        """Whether a single sigmoid output is below 0.5: the model says no."""
        is_single = len(self.probabilities) == 1 and self._activation == "sigmoid"
        return is_single and self.probabilities[self.prediction] < 0.5

    @property
    def _decided(self) -> int:
        """Number of the predicted label."""
        return list(self.probabilities).index(self.prediction)

    def with_target(self, label: str) -> Self:
        """A copy that analyses one label; both share known outputs."""
        choose_target(label, list(self.probabilities), self.probabilities)
        other = copy(self)
        other._chosen = [list(self.probabilities).index(label)]
        other.labels = [label]
        return other

    def to_scores(self, outputs: Floats) -> Floats:
        """Outputs ``(masks, all labels)`` to analysed scores ``(masks, labels)``."""
        return compute_scores(outputs, self._activation, self._score, self._chosen)

    def to_probabilities(self, outputs: Floats) -> Floats:
        """Outputs to probabilities ``(masks, all labels)``."""
        return compute_probabilities(outputs, self._activation)

    def score_masks(self, masks: Array) -> Floats:
        """Scores ``(masks, analysed labels)``."""
        return self.to_scores(self._outputs(masks))

    def predict_masks(self, masks: Array) -> Floats:
        """Probabilities ``(masks, all labels)``."""
        return self.to_probabilities(self._outputs(masks))

    def _outputs(self, masks: Array) -> Floats:
        def steps() -> Steps[Floats]:
            outputs: Floats = yield Ask(self, masks)
            return outputs

        return run(steps())

    def problem(self, target: str | None = None, *, is_streamed: bool = False) -> Problem:
        """The problem that an attribution method solves to explain a label."""
        return Problem(
            model=self,
            to_scores=self.to_scores,
            n_labels=len(self.labels),
            differentiable=self.differentiable(),
            plane=self.plane(),
            target=0 if target is None else self.labels.index(target),
            levels=self.levels(),
            decision=self.decision(),
            is_streamed=is_streamed,
        )

    def decision(self) -> Decision | None:
        """The decision that a path tries to change; ``None`` without a path."""
        return None

    def _decision(self) -> Decision:
        """The predicted label against all others; for a single output, its side of 0.5.

        The prediction changes when another label is strictly ahead: a tie keeps it. A single
        output that is not a probability decides nothing: its margin is constant.
        """
        label = self._decided
        is_single = len(self.probabilities) == 1 or self.is_answer
        has_sides = is_single and self._activation == "sigmoid"
        sign = -1.0 if self.is_no else 1.0

        def score(outputs: Floats) -> Floats:
            return sign * compute_scores(outputs, self._activation, "logit", [label])[:, 0]

        def margin(outputs: Floats) -> Floats:
            if is_single and not has_sides:
                return np.ones(len(outputs))
            likely = self.to_probabilities(outputs)
            if is_single:
                ahead, is_kept = sign * outputs[:, 0], sign * (likely[:, 0] - 0.5) >= 0
            else:
                ahead = outputs[:, label] - np.delete(outputs, label, axis=1).max(axis=1)
                is_kept = likely[:, label] == likely.max(axis=1)
            # Probabilities that are equal after rounding are a tie, too.
            return np.asarray(np.where(is_kept, np.maximum(ahead, 0.0), ahead))

        is_analysed = sign > 0 and self._score == "logit" and label in self._chosen
        return Decision(score, margin, self._chosen.index(label) if is_analysed else None)

    def differentiable(self) -> Callable[[], Differentiable] | None:
        """The scores with gradients, if the model has them."""
        return None

    def plane(self) -> tuple[int, int] | None:
        """Number of features down and across, if they form a grid."""
        return None

    def levels(self) -> Sequence[Integers]:
        """The group of each feature ``(features,)`` at each level, largest groups first."""
        return ()

    def name_error(self, error: BlackBoxError) -> BlackBoxError:
        """Add to the error the input that caused it."""
        return error
