"""The path by gates alone, without the indices that the default finds first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from textsobol.methods import Attribution, Method, Problem
from textsobol.search.gated_path import count_gated_path_passes, search_gated_path
from textsobol.steps import Steps, map_results


@dataclass(frozen=True)
class GatePath(Method):
    """Delete words one by one: derivatives propose, real deletions decide.

    Attributes:
        is_thorough: whether every step scores many deletions, not only the first ones.
    """

    is_thorough: bool = False

    name = "gate_path"
    title = "Path by gates"
    quantity = "rank of deletion"
    kind = "search"

    def attribute(self, problem: Problem, *, budget: int | None, seed: int) -> Steps[Attribution]:
        """The word deleted first has the highest score."""
        assert problem.decision is not None
        search = search_gated_path(
            problem.n_features,
            passes=count_gated_path_passes(problem.n_features, is_thorough=self.is_thorough),
            passes_per_gates=problem.model.passes_per_gates(is_decision=True),
        )

        def rank(order: list[int]) -> Attribution:
            scores = np.zeros((problem.n_features, problem.n_labels))
            scores[order] = np.linspace(1, 0, len(order), endpoint=False)[:, None]
            return Attribution(scores, is_signed=False)

        served = problem.serve_decision(search, problem.decision.score)
        return rank((yield from map_results(served, rank)))

    def natural_masks(self, n_features: int) -> int:
        """Those of a whole path, and the whole text."""
        return 1 + count_gated_path_passes(n_features, is_thorough=self.is_thorough)
