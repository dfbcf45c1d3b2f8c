"""A classifier and one input: masks of its features in, outputs, scores and probabilities out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from copy import copy
from typing import Any, Self

import numpy as np

from textsobol.driver import run
from textsobol.errors import BlackBoxError
from textsobol.labels import checked_label, chosen_labels, disambiguate
from textsobol.ledger import Cost, Ledger
from textsobol.methods.contract import Decision, Differentiable, Problem
from textsobol.outputs import compute_probabilities, compute_scores
from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.steps import Ask, Engine, Steps


class MaskedClassifier:
    """What the driver serves and what methods ask about; `predict` must come first.

    Attributes:
        n_features: number of features that can be left out.
        ledger: what is known of this input.
        labels: the labels that are analysed.
        probabilities: what the classifier says of the whole input, for all labels.
    """

    def __init__(
        self,
        n_features: int,
        *,
        activation: str,
        score: str,
        names: Callable[[int], list[str]],
        cost: Cost | None = None,
    ) -> None:
        """Prepare an input; the model is not run.

        Args:
            n_features: number of features.
            activation: how outputs become probabilities; see `outputs.compute_probabilities`.
            score: what is analysed; see `outputs.compute_scores`.
            names: of that many labels.
            cost: account of what will be forwarded.
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
        """What the model is given for each of the masks ``(rows, features)``."""
        raise NotImplementedError

    def keys(self, given: Sequence[Any], mask_keys: Sequence[bytes]) -> Sequence[Hashable]:
        """Every mask is another input, unless a subclass knows better."""
        return mask_keys

    def predict(
        self, targets: Sequence[str] | int | None = None, target: str | None = None
    ) -> Steps[Self]:
        """Ask about the whole input, and choose the labels to analyse.

        Args:
            targets: labels to analyse by name, or so many of the likeliest; by default all.
            target: one to analyse together with the likeliest.
        """
        whole = yield Ask(self, np.ones((1, self.n_features), dtype=bool))
        if whole.shape[1] == 1 and self._activation == "softmax":
            self._activation = "sigmoid"  # a single output says yes or no
        every = disambiguate(self._names(whole.shape[1]))
        if len(every) != whole.shape[1]:
            raise ValueError(
                f"{len(every)} labels are named, but there are {whole.shape[1]} scores"
            )
        shares = compute_probabilities(whole, self._activation)[0]
        self.probabilities = dict(zip(every, shares.tolist(), strict=True))
        if isinstance(targets, int):
            targets = sorted(every, key=lambda name: -self.probabilities[name])[: max(1, targets)]
            targets += [target] if target is not None and target not in targets else []
        self._chosen = chosen_labels(targets, every)
        self.labels = [every[k] for k in self._chosen]
        return self

    @property
    def cost(self) -> Cost:
        """What was forwarded so far."""
        return self.ledger.cost

    @property
    def prediction(self) -> str:
        """The label with the highest probability."""
        return max(self.probabilities, key=lambda label: self.probabilities[label])

    @property
    def is_no(self) -> bool:
        """Whether a single output, which says yes or no, says no: it lies below one half."""
        is_single = len(self.probabilities) == 1 and self._activation == "sigmoid"
        return is_single and self.probabilities[self.prediction] < 0.5

    def with_target(self, label: str) -> Self:
        """The same input, with one label analysed; what is known to one is known to both."""
        checked_label(label, list(self.probabilities), self.probabilities)
        other = copy(self)
        other._chosen = [list(self.probabilities).index(label)]
        other.labels = [label]
        return other

    def to_scores(self, outputs: Floats) -> Floats:
        """What is analysed of outputs ``(rows, all labels)``: scores ``(rows, labels)``."""
        return compute_scores(outputs, self._activation, self._score, self._chosen)

    def to_probabilities(self, outputs: Floats) -> Floats:
        """What is shown of outputs ``(rows, all labels)``."""
        return compute_probabilities(outputs, self._activation)

    def scores(self, masks: Array) -> Floats:
        """Scores of masks ``(rows, analysed labels)``."""
        return self.to_scores(self._outputs(masks))

    def shares(self, masks: Array) -> Floats:
        """Probabilities of masks ``(rows, all labels)``."""
        return self.to_probabilities(self._outputs(masks))

    def _outputs(self, masks: Array) -> Floats:
        def steps() -> Steps[Floats]:
            outputs: Floats = yield Ask(self, masks)
            return outputs

        return run(steps())

    def problem(self, target: str | None = None, *, is_streamed: bool = False) -> Problem:
        """What attribution methods see, which are to explain a label."""
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
        """What is decided and how masks change it, where a path makes sense."""
        return None

    def _decision(self) -> Decision:
        """The predicted label against all others; of a single output, the side of 0.5 it is on.

        The prediction changes when another label is strictly ahead: a tie keeps it. A single
        output that is no probability decides nothing: its margin never changes.
        """
        label = list(self.probabilities).index(self.prediction)
        is_single = len(self.probabilities) == 1
        has_sides = is_single and self._activation == "sigmoid"
        sign = -1.0 if self.is_no else 1.0

        def score(outputs: Floats) -> Floats:
            return sign * compute_scores(outputs, self._activation, "logit", [label])[:, 0]

        def margin(outputs: Floats) -> Floats:
            if is_single and not has_sides:
                return np.ones(len(outputs))
            shares = self.to_probabilities(outputs)
            if is_single:
                ahead, is_kept = sign * outputs[:, 0], sign * (shares[:, 0] - 0.5) >= 0
            else:
                ahead = outputs[:, label] - np.delete(outputs, label, axis=1).max(axis=1)
                is_kept = shares[:, label] == shares.max(axis=1)
            # Probabilities that rounding has made equal are a tie, too.
            return np.asarray(np.where(is_kept, np.maximum(ahead, 0.0), ahead))

        is_analysed = sign > 0 and self._score == "logit" and label in self._chosen
        return Decision(score, margin, self._chosen.index(label) if is_analysed else None)

    def differentiable(self) -> Callable[[], Differentiable] | None:
        """The same with gradients, where the model has them."""
        return None

    def plane(self) -> tuple[int, int] | None:
        """Features down and across, where they lie side by side."""
        return None

    def levels(self) -> Sequence[Integers]:
        """Groups of features that belong together ``(features,)``, the largest first."""
        return ()

    def name_error(self, error: BlackBoxError) -> BlackBoxError:
        """The same error, with a word on the input that caused it."""
        return error
