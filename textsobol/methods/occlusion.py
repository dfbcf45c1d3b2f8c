"""Occlusion: leave out one feature at a time."""

from dataclasses import dataclass

import numpy as np

from textsobol.methods.contract import Attribution, Problem
from textsobol.methods.method import Method
from textsobol.steps import Steps


@dataclass(frozen=True)
class Occlusion(Method):
    """What the score loses when a feature alone is left out (Zeiler & Fergus 2014)."""

    name = "occlusion"
    title = "Occlusion"
    quantity = "loss when left out"

    def attribute(self, problem: Problem, *, budget: int | None, seed: int) -> Steps[Attribution]:
        """See `Method.attribute`."""
        without = ~np.eye(problem.n_features, dtype=bool)
        scores = yield from problem.score(np.concatenate([problem.whole, without]))
        return Attribution(scores[0] - scores[1:])

    def least_masks(self, n_features: int) -> int:
        """The whole input, and the input without each feature."""
        return n_features + 1

    def natural_masks(self, n_features: int) -> int:
        """The same."""
        return n_features + 1
