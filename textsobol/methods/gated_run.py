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
from textsobol.sobol.gated_steps import GatedPlan, ask_gates, flip_leaders, make_indices
from textsobol.steps import Steps, map_results

if TYPE_CHECKING:
    from textsobol.methods.sobol import Sobol

# benchmarks/gates/NOTES.md says how these numbers were chosen.
MOST_GATED_PASSES = 449  # of a text, whatever its length
_BASE_MASKS, _MOST_BASE_MASKS = 12, 32
BLOCK = 4  # base masks of a balanced block
_LEAST_LEADERS, _MANY_LEADERS = 4, 60
_MOST_LEADING = 2 / 3  # of the features; else all of them are flipped, without gates
_SAMPLED = 24  # flips of other features
_PATH_PART = 0.45  # of the passes go to the path, at most
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
    """Divide a budget if gates pay: if a third of the features or more would not be flipped.

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
        >>> divide_gated(448, 20, passes_per_gates=3, has_path=True)
    """
    path = flip = 0
    if has_path:
        complete = count_gated_path_passes(n_features)
        flip = min(_FLIP_PASSES, left // 16)
        path = min(complete, int(_PATH_PART * left) - flip)
    n_base = _BASE_MASKS
    rest = left - path - flip - _SAMPLED

    def count_leaders() -> int:
        return rest // n_base - 1 - passes_per_gates

    if count_leaders() < _LEAST_LEADERS:
        n_base = LEAST_BASE_MASKS
    while count_leaders() > _MANY_LEADERS and n_base < _MOST_BASE_MASKS:
        n_base += BLOCK
    n_leaders = count_leaders()
    if n_leaders < _LEAST_LEADERS or n_leaders > _MOST_LEADING * n_features:
        return None
    return GatedBudget(GatedPlan(n_base, n_leaders, _SAMPLED), path, flip)


@dataclass(frozen=True)
class GatedRun:
    """One run of the method.

    Attributes:
        method: the options.
        problem: what to explain; its model has gates.
        budget: how the passes are divided.
        seed: of the design.
    """

    method: Sobol
    problem: Problem
    budget: GatedBudget
    seed: int

    def run(self) -> Steps[Attribution]:
        """Derivatives, flips, path; yields what is found on the way."""
        method, problem = self.method, self.problem
        design = method.design or "latin"
        assert method.keep is not None

        def attribute(scores: GatedScores, path: FoundPath | None = None) -> Attribution:
            indices = make_indices(scores, design=design, seed=self.seed, sign=method.sign)
            return make_gated_attribution(
                problem, scores, indices, is_signed=method.sign is not None, path=path
            )

        asking = ask_gates(
            problem.n_features, self.budget.plan, keep=method.keep, design=design, seed=self.seed
        )
        base = yield from problem.serve(asking)
        if problem.is_streamed:
            yield attribute(base.scores)
        scores = yield from problem.serve(flip_leaders(base))
        found = attribute(scores)
        if not self.budget.path:
            return found
        yield found
        assert found.indices is not None
        search = find_path(
            problem, np.arange(problem.n_features), found.indices, passes=self.budget.path,
            for_flip=self.budget.flip,
            uses_gates=problem.model.passes_per_gates(is_decision=True) <= _MOST_TO_PROPOSE,
        )  # fmt: skip
        path = yield from map_results(search, lambda path: replace(found, path=path))
        n_distinct = problem.n_scored
        return replace(found, path=path, mask_counts=(n_distinct, n_distinct))


def make_gated_attribution(
    problem: Problem,
    scores: GatedScores,
    indices: SobolIndices,
    *,
    is_signed: bool = True,
    path: FoundPath | None = None,
) -> Attribution:
    """What was found with gates."""
    is_screened = ~scores.is_leading
    settings: dict[str, Any] = {
        "estimator": "flip" if scores.is_leading.any() else "gates",
        "gates": True,
        "design": indices.settings.design,
        "keep": scores.keep,
        "base_masks": len(scores.base),
        "leader_masks": 0,
        "leaders": int(scores.is_leading.sum()),
        "sampled_flips": int(np.count_nonzero(~np.isnan(scores.differences[:, is_screened, 0]))),
        "sign": indices.settings.sign,
    }
    n_distinct = problem.n_scored
    return Attribution(
        indices.signed,
        is_signed=is_signed,
        settings=settings,
        indices=indices,
        mask_counts=(n_distinct, n_distinct),
        path=path,
        is_screened=is_screened,
    )
