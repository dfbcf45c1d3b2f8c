"""One text to explain by one method: what is known before the method begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textsobol.estimate import Estimate
from textsobol.labels import choose_target
from textsobol.methods import Method, Scale
from textsobol.steps import Steps
from textsobol.text.inputs import default_budget
from textsobol.text.masked_model import MaskedTextModel


@dataclass(frozen=True)
class Task:
    """A text that was classified, and what a method may spend on it.

    Attributes:
        model: the masked text; the labels to analyse are chosen.
        method: the method.
        target: the label that is explained.
        budget: forward passes; ``None``: as many as the method's options need.
        n_masks: the same in masks.
    """

    model: MaskedTextModel
    method: Method
    target: str
    budget: int | None
    n_masks: int | None

    @property
    def most_masks(self) -> int:
        """Most masks that the method will score, the whole text included."""
        if self.n_masks is not None:
            return max(1, self.n_masks)
        return self.method.expected_masks(self.model.n_features, has_path=True)

    @property
    def most_passes(self) -> int:
        """The same in forward passes."""
        return self.model.passes * self.most_masks

    def announce(self, seconds: float) -> str:
        """What the explanation costs, when its first passes have shown how long it takes."""
        cost = self.model.cost
        tokens = cost.tokens * self.most_passes // max(1, cost.passes)
        return str(Estimate(self.most_passes, is_most=True, tokens=tokens, seconds=seconds))


def begin(
    model: MaskedTextModel,
    method: Method,
    *,
    budget: int | None,
    target: str | None,
    targets: Sequence[str] | int | None,
) -> Steps[Task]:
    """Classify the text; choose the labels and the budget."""
    if model.answer is not None:  # it is the first label, and its parts are the others
        target, targets = model.answer, None
    yield from model.predict(targets, target)
    target = choose_target(target, model.labels, model.probabilities)
    if method.kind == "search":  # takes far too long for several labels
        model = model.with_target(target)
    n_words, passes = model.n_features, model.passes
    has_gates = method.may_use_gates and model.takes_gates
    scale = Scale(
        n_words, "words", default_budget(n_words), passes, has_groups=True,
        passes_per_gates=model.passes_per_gates() if has_gates else None,
    )  # fmt: skip
    budget = method.choose_budget(budget, scale)
    model.ledger.budget = None if budget is None else budget // passes
    return Task(model, method, target, budget, model.ledger.budget)
