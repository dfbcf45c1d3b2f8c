"""One run of `Sobol` on a model with gates: derivatives, the flips that pay, and the path."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from textsobol.methods.contract import Attribution, FoundPath, Problem
from textsobol.methods.path import find_path
from textsobol.search.gated_path import count_gated_path_passes
from textsobol.sobol import SobolIndices
from textsobol.sobol.gated import LEAST_BASE_MASKS, GatedScores
from textsobol.sobol.gated_steps import GatedPlan, ask_flips, ask_gates, flip_leaders, make_indices
from textsobol.steps import Steps, map_results

if TYPE_CHECKING:
    from textsobol.methods.sobol import Sobol

# benchmarks/gates/NOTES.md says how these numbers were chosen.
MOST_GATED_PASSES = 449  # of a text, whatever its length
LEAST_KEEP, MOST_KEEP = 0.2, 0.8  # further out, gates were not tried
NOTHING_SAVED = "gates save nothing at this length and budget"
BLOCK = 4  # base masks of a balanced block
_BASE_MASKS, _MOST_BASE_MASKS = 12, 32
_LEAST_LEADERS, _MANY_LEADERS = 4, 60
_SAMPLED = 24  # flips of other features
_PATH_PART = 0.45  # of the passes go to the path, at most
_THOROUGH = 2  # times the default budget buy a path of more candidates
_MOST_TO_PROPOSE = 8  # what a row of gates may cost, in forward passes, to propose deletions
_FLIP_PASSES = 24  # to make the flip set irreducible


class GatedBudget(NamedTuple):
    """What indices, path and flip set may cost."""

    plan: GatedPlan
    path: int
    flip: int


def divide_gated(
    left: int, n_features: int, *, passes_per_gates: int, has_path: bool
) -> GatedBudget | None:
    """Divide a budget if gates pay: if it does not buy eight base masks with flips of all features.

    Args:
        left: forward passes, after the whole input.
        n_features: number of features.
        passes_per_gates: what a row of gates costs, in forward passes.
        has_path: whether to search for a path.

    Returns:
        ``None`` if the budget is too small for gates, or so large that they are not needed.

    Example:
        >>> divide_gated(448, 230, passes_per_gates=3, has_path=True)
        GatedBudget(plan=GatedPlan(n_base=12, n_leaders=16, n_sampled=24), path=152, flip=24)
        >>> divide_gated(448, 30, passes_per_gates=3, has_path=True)
    """
    path = flip = 0
    if has_path:
        flip = min(_FLIP_PASSES, left // 16)
        path = min(count_gated_path_passes(n_features), int(_PATH_PART * left) - flip)
    rest = left - path - flip
    if rest >= LEAST_BASE_MASKS * (n_features + 1):
        return None
    if has_path and left >= _THOROUGH * (MOST_GATED_PASSES - 1):
        wanted = count_gated_path_passes(n_features, is_thorough=True)
        path = min(wanted, int(_PATH_PART * left) - flip)
        rest = left - path - flip

    def plan(n_base: int) -> GatedPlan:
        n_leaders = (rest - _SAMPLED) // n_base - 1 - passes_per_gates
        return GatedPlan(n_base, min(n_leaders, n_features), _SAMPLED)

    found = plan(_BASE_MASKS)
    if found.n_leaders < _LEAST_LEADERS:
        found = plan(LEAST_BASE_MASKS)
    while found.n_leaders > _MANY_LEADERS and found.n_base < _MOST_BASE_MASKS:
        found = plan(found.n_base + BLOCK)
    return None if found.n_leaders < _LEAST_LEADERS else GatedBudget(found, path, flip)


@dataclass(frozen=True)
class GatedRun:
    """One run of the method.

    Attributes:
        method: the options.
        problem: what to explain; its model has gates.
        divided: how the passes are divided.
        budget: in masks.
        seed: of the design.
    """

    method: Sobol
    problem: Problem
    divided: GatedBudget
    budget: int
    seed: int

    def run(self) -> Steps[Attribution]:
        """Derivatives, flips, path; yields what is found on the way."""
        problem, plan = self.problem, self.divided.plan
        assert self.method.keep is not None
        asking = ask_gates(
            problem.n_features, plan, keep=self.method.keep, design=self._design, seed=self.seed
        )
        base = yield from problem.serve(asking)
        if problem.is_streamed:
            yield self._attribute(base.scores)
        scores = yield from problem.serve(ask_flips(base, plan, self.seed))
        found = self._attribute(scores)
        if not self.divided.path:
            return found
        yield found
        path = yield from self._find_path(found)
        # What the path has left buys more leaders.
        n_more = (self.budget - problem.n_spent) // plan.n_base
        if n_more > 0:
            leaders = base.order[: plan.n_leaders + n_more]
            scores = yield from problem.serve(flip_leaders(scores, leaders))
        return replace(self._attribute(scores), path=path)

    @property
    def _design(self) -> str:
        return self.method.design or "latin"

    def _attribute(self, scores: GatedScores) -> Attribution:
        indices = make_indices(scores, design=self._design, seed=self.seed, sign=self.method.sign)
        return make_gated_attribution(
            self.problem, scores, indices, is_signed=self.method.sign is not None
        )

    def _find_path(self, found: Attribution) -> Steps[FoundPath]:
        problem = self.problem
        assert found.indices is not None
        search = find_path(
            problem, np.arange(problem.n_features), found.indices, passes=self.divided.path,
            for_flip=self.divided.flip,
            uses_gates=problem.model.passes_per_gates(is_decision=True) <= _MOST_TO_PROPOSE,
        )  # fmt: skip
        return map_results(search, lambda path: replace(found, path=path))


def make_gated_attribution(
    problem: Problem, scores: GatedScores, indices: SobolIndices, *, is_signed: bool = True
) -> Attribution:
    """What was found with gates."""
    is_screened = ~scores.is_leading
    n_distinct = problem.n_scored
    settings: dict[str, Any] = {
        "estimator": "gates" if is_screened.all() else "flip",
        "gates": True,
        "design": indices.settings.design,
        "keep": scores.keep,
        "base_masks": len(scores.base),
        "leader_masks": 0,
        "leaders": int(scores.is_leading.sum()),
        "sampled_flips": int(scores.is_flipped[:, is_screened].sum()),
        "sign": indices.settings.sign,
    }
    return Attribution(
        indices.signed,
        is_signed=is_signed,
        settings=settings,
        indices=indices,
        mask_counts=(n_distinct, n_distinct),
        is_screened=is_screened,
    )
