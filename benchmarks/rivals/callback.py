"""Methods of libraries that call back, as generators that the driver serves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textsobol.methods.contract import Attribution, Problem
from textsobol.sobol.arrays import Array, Floats
from textsobol.steps import Steps


@dataclass(frozen=True)
class Scored:
    """A problem whose masks can be scored at any time.

    Attributes:
        n_features: number of features d.
        score: masks ``(rows, features)`` to scores ``(rows, labels)``.
    """

    n_features: int
    score: Callable[[Array], Floats]


def called_back(
    function: Callable[..., Attribution],
) -> Callable[..., Steps[Attribution]]:
    """The steps of a function from a `Scored`, ``budget=`` and ``seed=`` to an `Attribution`."""

    def steps(problem: Problem, *, budget: int, seed: int) -> Steps[Attribution]:
        return problem.call(
            lambda score: function(Scored(problem.n_features, score), budget=budget, seed=seed)
        )

    return steps
