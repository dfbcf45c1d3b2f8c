"""Gate gradients: an approximate answer in about the time of 25 forward passes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from textsobol.methods.contract import Attribution, Problem
from textsobol.methods.gated_run import BLOCK, make_gated_attribution
from textsobol.methods.method import Method, Scale, check_keep
from textsobol.methods.sobol import Sobol
from textsobol.sobol.checks import check_least
from textsobol.sobol.gated import LEAST_BASE_MASKS
from textsobol.sobol.gated_steps import GatedPlan, ask_gates, make_indices
from textsobol.steps import Steps

_MOST_BASE_MASKS = 64


@dataclass(frozen=True)
class GateGradients(Method):
    """Estimates of the scores of `Sobol`, from one backward pass per base mask.

    Derivatives at every base mask say what each of its flips would do; a few flips that are really
    scored set the scale. The cost does not grow with the number of words. All scores are
    predictions, with wide intervals; `Sobol` measures. A model without gates is analysed by
    `Sobol` with the same number of forward passes; the setting ``gates`` says which was done.

    Attributes:
        base_masks: number of base masks, at least 8; a larger budget buys more.
        flips: number of flips that are scored.
        keep: probability that a word is present in a mask.
    """

    base_masks: int = 8
    flips: int = 16
    keep: float = 0.5

    name = "gates"
    title = "Gate gradients"
    quantity = "estimated share of the variance"
    has_shares = True

    def __post_init__(self) -> None:
        check_keep(self.keep)
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
        """Base masks, their derivatives for one label, and flips."""
        return 1 + GatedPlan(self.base_masks, 0, self.flips).passes(3)

    def natural_masks(self, n_features: int) -> int:
        """The same: more is not needed for an approximate answer."""
        return self.least_masks(n_features)

    def choose_budget(self, budget: int | None, scale: Scale) -> int | None:
        """See `Method.choose_budget`; a model without gates may take any budget."""
        if scale.passes_per_gates is None:
            fallback = self._fallback
            usual = min(scale.usual, self.least_masks(scale.n_features))
            return fallback.choose_budget(budget, replace(scale, usual=usual))
        least = 1 + GatedPlan(self.base_masks, 0, self.flips).passes(scale.passes_per_gates)
        if budget is not None and budget < least:
            raise ValueError(
                f"budget={budget}: {self.title} need at least {least} forward passes, whatever "
                f"the length of the text"
            )
        return budget or least

    @property
    def _fallback(self) -> Sobol:
        return Sobol(keep=self.keep, path=False, gates=False)

    def attribute(self, problem: Problem, *, budget: int | None, seed: int) -> Steps[Attribution]:
        """See `Method.attribute`."""
        n_left = None if budget is None else budget - problem.n_spent
        is_exact = n_left is not None and 2 ** min(problem.n_features, 60) <= n_left + 1
        if is_exact or not problem.model.takes_gates:
            found = yield from self._fallback.attribute(problem, budget=budget, seed=seed)
            return replace(found, settings={**found.settings, "gates": False})
        plan = self._plan(budget, problem)
        steps = ask_gates(problem.n_features, plan, keep=self.keep, design="latin", seed=seed)
        base = yield from problem.serve(steps)
        indices = make_indices(base.scores, design="latin", seed=seed, sign="mean")
        return make_gated_attribution(problem, base.scores, indices)

    def _plan(self, budget: int | None, problem: Problem) -> GatedPlan:
        n_base = self.base_masks
        if budget is not None:
            per_base = 1 + problem.model.passes_per_gates()
            affordable = (budget - problem.n_spent - self.flips) // per_base
            n_base = max(n_base, min(_MOST_BASE_MASKS, affordable - affordable % BLOCK))
        return GatedPlan(n_base, 0, self.flips)
