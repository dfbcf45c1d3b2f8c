"""Gate gradients: an approximate answer at a cost that does not grow with the number of words."""

from __future__ import annotations

from dataclasses import dataclass

from textsobol.errors import GatesError
from textsobol.methods.contract import Attribution, Problem
from textsobol.methods.division import buys_all_masks
from textsobol.methods.gated_run import (
    BLOCK,
    LEAST_KEEP,
    MOST_KEEP,
    NOTHING_SAVED,
    make_gated_attribution,
)
from textsobol.methods.method import Method, Scale
from textsobol.methods.sobol import Sobol
from textsobol.sobol.checks import check_least
from textsobol.sobol.gated import LEAST_BASE_MASKS
from textsobol.sobol.gated_steps import GatedPlan, ask_gates, make_indices
from textsobol.steps import PASSES_PER_GATES, Steps

_MOST_BASE_MASKS = 64


@dataclass(frozen=True)
class GateGradients(Method):
    """Estimates of the scores of `Sobol`, from a few backward passes.

    Derivatives at random masks say about how much each word matters; a few flips that are really
    scored set the scale. The cost does not grow with the number of words. All scores are
    predictions, with wide intervals; `Sobol` measures. A model without gates, and a text of so few
    words that all masks cost less, is analysed by `Sobol` with the same budget; the settings
    ``gates`` and ``why_no_gates`` say so.

    Attributes:
        base_masks: number of base masks, and of other masks with derivatives, at least 8; a larger
            budget buys more.
        flips: number of flips that are scored; a larger budget buys more.
        keep: probability that a word is present in a mask, from 0.2 to 0.8.
    """

    base_masks: int = 8
    flips: int = 16
    keep: float = 0.5

    name = "gates"
    title = "Gate gradients"
    quantity = "estimated share of the variance"
    has_shares = True

    def __post_init__(self) -> None:
        if not LEAST_KEEP <= self.keep <= MOST_KEEP:
            raise ValueError(
                f"keep={self.keep}: must lie between {LEAST_KEEP} and {MOST_KEEP}; "
                f"method=Sobol(keep={self.keep}) takes other keep rates"
            )
        check_least("base_masks", self.base_masks, LEAST_BASE_MASKS)
        check_least("flips", self.flips, 1)

    @property
    def may_use_gates(self) -> bool:
        """Yes."""
        return True

    def for_pictures(self, *, has_budget: bool) -> Method:
        """Refused: only texts have gates."""
        raise ValueError(f"method={self.name!r} explains texts only")

    def least_masks(self, n_features: int) -> int:
        """Base masks, derivatives for one label, and flips."""
        return self._count_passes(PASSES_PER_GATES)

    def natural_masks(self, n_features: int) -> int:
        """The same: more is not needed for an approximate answer."""
        return self.least_masks(n_features)

    def choose_budget(self, budget: int | None, scale: Scale) -> int | None:
        """See `Method.choose_budget`; a model without gates may take any budget."""
        if scale.passes_per_gates is None:
            if budget is None:
                return scale.passes * self._count_passes(PASSES_PER_GATES)
            return self._fallback.choose_budget(budget, scale)
        least = self._count_passes(scale.passes_per_gates)
        if budget is not None and budget < least:
            raise ValueError(
                f"budget={budget}: {self.title} need at least {least} forward passes, whatever "
                f"the length of the text"
            )
        return budget or least

    def attribute(self, problem: Problem, *, budget: int | None, seed: int) -> Steps[Attribution]:
        """See `Method.attribute`."""
        left = None if budget is None else budget - problem.n_spent
        is_exact = left is not None and buys_all_masks(left, problem.n_features)
        why = NOTHING_SAVED if is_exact else problem.model.gates_refusal
        if problem.model.takes_gates and not is_exact:
            try:
                return (yield from self._predict(problem, left, seed))
            except GatesError as error:
                why = str(error)  # forward passes may do where gradients do not
        found = yield from self._fallback.attribute(problem, budget=budget, seed=seed)
        return found.without_gates(why)

    def _predict(self, problem: Problem, left: int | None, seed: int) -> Steps[Attribution]:
        plan = self._plan(left, problem.model.passes_per_gates())
        steps = ask_gates(problem.n_features, plan, keep=self.keep, design="latin", seed=seed)
        base = yield from problem.serve(steps)
        indices = make_indices(base.scores, design="latin", seed=seed, sign="mean")
        return make_gated_attribution(problem, base.scores, indices)

    @property
    def _fallback(self) -> Sobol:
        return Sobol(keep=self.keep, path=False, gates=False)

    def _count_passes(self, passes_per_gates: int) -> int:
        return 1 + GatedPlan(self.base_masks, 0, self.flips).passes(passes_per_gates)

    def _plan(self, left: int | None, passes_per_gates: int) -> GatedPlan:
        """The least plan, or as many times of it as the budget buys."""
        plan = GatedPlan(self.base_masks, 0, self.flips)
        if left is None:
            return plan
        n_base = int(self.base_masks * left / plan.passes(passes_per_gates))
        n_base = max(self.base_masks, min(_MOST_BASE_MASKS, n_base - n_base % BLOCK))
        return GatedPlan(n_base, 0, self.flips * n_base // self.base_masks)
