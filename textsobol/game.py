"""A classifier and one input: all that is asked of them goes through here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, Self

import numpy as np

from textsobol.inference import Cost
from textsobol.labels import checked_label, chosen_labels, disambiguate
from textsobol.methods.contract import Attribution, Decision, Differentiable, Game, Method
from textsobol.outputs import analysed, probabilities
from textsobol.sobol import BlackBoxError
from textsobol.sobol.arrays import Array, Floats, Integers


class ClassifierGame:
    """Masks of an input's features to scores and to probabilities.

    Attributes:
        n_features: number of features that can be left out.
        labels: the labels that are analysed.
        probabilities: what the classifier says of the whole input, for all labels.
        cost: what was forwarded so far.
    """

    def __init__(
        self,
        outputs: Callable[[Array], Floats],
        n_features: int,
        cost: Cost,
        *,
        activation: str,
        score: str,
        names: Callable[[int], list[str]],
        labels: Sequence[str] | int | None,
        label: str | None = None,
    ) -> None:
        """Ask for the whole input.

        Args:
            outputs: masks ``(rows, features)`` to raw outputs ``(rows, all labels)``.
            n_features: number of features.
            cost: account of what ``outputs`` forwards.
            activation: how outputs become probabilities; see `outputs.probabilities`.
            score: what is analysed; see `outputs.analysed`.
            names: of that many labels.
            labels: labels to analyse by name, or so many of the likeliest; by default all.
            label: one to analyse together with the likeliest.
        """
        self.n_features = n_features
        self.cost = cost
        self._outputs = outputs
        self._activation = activation
        self._score = score
        self._whole = whole = self._checked_outputs(np.ones((1, n_features), dtype=bool))
        if whole.shape[1] == 1 and activation == "softmax":
            self._activation = activation = "sigmoid"  # a single output says yes or no
        every = disambiguate(names(whole.shape[1]))
        shares = probabilities(whole, activation)[0]
        self.probabilities = dict(zip(every, shares.tolist(), strict=True))
        if isinstance(labels, int):
            labels = sorted(every, key=lambda label: -self.probabilities[label])[: max(1, labels)]
            labels += [label] if label is not None and label not in labels else []
        self._chosen = chosen_labels(labels, every)
        self.labels = [every[k] for k in self._chosen]

    @property
    def prediction(self) -> str:
        """The label with the highest probability."""
        return max(self.probabilities, key=lambda label: self.probabilities[label])

    @property
    def is_no(self) -> bool:
        """Whether a single output, which says yes or no, says no: it lies below one half."""
        is_single = len(self.probabilities) == 1 and self._activation == "sigmoid"
        return is_single and self.probabilities[self.prediction] < 0.5

    @property
    def whole(self) -> Floats:
        """Scores of the whole input ``(analysed labels,)``."""
        return np.asarray(analysed(self._whole, self._activation, self._score, self._chosen)[0])

    def looked_at(self, label: str) -> Self:
        """The same game, with one label analysed; what is known to one is known to both."""
        checked_label(label, list(self.probabilities), self.probabilities)
        other = copy(self)
        other._chosen = [list(self.probabilities).index(label)]
        other.labels = [label]
        return other

    def scores(self, masks: Array) -> Floats:
        """What is analysed: masks ``(rows, features)`` to scores ``(rows, analysed labels)``."""
        return analysed(self._known_outputs(masks), self._activation, self._score, self._chosen)

    def _known_outputs(self, masks: Array) -> Floats:
        """Outputs; that of the whole input was asked for at first, and is not asked for again."""
        if masks.dtype != bool or not (is_whole := masks.all(axis=1)).any():
            return self._outputs(masks)
        outputs = np.repeat(self._whole, len(masks), axis=0)
        if not is_whole.all():
            outputs[~is_whole] = self._outputs(masks[~is_whole])
        return outputs

    def shares(self, masks: Array) -> Floats:
        """What is shown: masks ``(rows, features)`` to probabilities ``(rows, all labels)``."""
        return probabilities(self._checked_outputs(masks), self._activation)

    def for_methods(self, label: str | None = None) -> Game:
        """The game as attribution methods see it, who are to look at a label."""
        return Game(
            self.scores,
            self.n_features,
            self.differentiable(),
            self.plane(),
            target=0 if label is None else self.labels.index(label),
            levels=self.levels(),
            decision=self.decision(),
        )

    def decision(self) -> Decision | None:
        """What is decided and how masks change it, where asking again costs nothing."""
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

        def score(masks: Array) -> Floats:
            outputs = self._known_outputs(masks)
            return sign * analysed(outputs, self._activation, "logit", [label])[:, 0]

        def margin(masks: Array) -> Floats:
            if is_single and not has_sides:
                return np.ones(len(masks))
            outputs = self._known_outputs(masks)
            shares = probabilities(outputs, self._activation)
            if is_single:
                ahead, is_kept = sign * outputs[:, 0], sign * (shares[:, 0] - 0.5) >= 0
            else:
                ahead = outputs[:, label] - np.delete(outputs, label, axis=1).max(axis=1)
                is_kept = shares[:, label] == shares.max(axis=1)
            # Probabilities that rounding has made equal are a tie, too.
            return np.asarray(np.where(is_kept, np.maximum(ahead, 0.0), ahead))

        is_analysed = sign > 0 and self._score == "logit" and label in self._chosen
        return Decision(score, margin, self._chosen.index(label) if is_analysed else None)

    def attributed(
        self, method: Method, label: str, *, budget: int | None, seed: int, **options: Any
    ) -> Attribution:
        """What a method finds of a label; an error of the classifier tells on which input."""
        try:
            return method.attribute(self.for_methods(label), budget=budget, seed=seed, **options)
        except BlackBoxError as error:
            raise self.named(error) from error

    def staged(
        self, method: Method, label: str, *, budget: int, seed: int, **options: Any
    ) -> Iterator[Attribution]:
        """The same, with all that the method knows on its way."""
        assert method.stages is not None
        try:
            yield from method.stages(self.for_methods(label), budget=budget, seed=seed, **options)
        except BlackBoxError as error:
            raise self.named(error) from error

    def differentiable(self) -> Callable[[], Differentiable] | None:
        """The same with gradients, where the model has them."""
        return None

    def plane(self) -> tuple[int, int] | None:
        """Features down and across, where they lie side by side."""
        return None

    def levels(self) -> Sequence[Integers]:
        """Groups of features that belong together ``(features,)``, the largest first."""
        return ()

    def named(self, error: BlackBoxError) -> BlackBoxError:
        """The same error, with a word on the input that caused it."""
        return error

    def _checked_outputs(self, masks: Array) -> Floats:
        """Outputs ``(rows, labels)`` of masks that do not go through the core's evaluator."""
        try:
            values = self._outputs(masks)
        except Exception as error:
            failure = BlackBoxError(
                f"the classifier failed: {type(error).__name__}: {error}", masks[0]
            )
            raise self.named(failure) from error
        wrong = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if wrong.size:
            said = f"the classifier returned {values[wrong[0]]}; scores must be finite"
            raise self.named(BlackBoxError(said, masks[wrong[0]]))
        return values
