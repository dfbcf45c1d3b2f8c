"""Methods of libraries that call back, as generators that the driver serves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textsobol.methods import Attribution, Method, Problem
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


@dataclass(frozen=True)
class Callback(Method):
    """A function of a `Scored`, ``budget=`` and ``seed=`` to an `Attribution`, as a method.

    Attributes:
        name: see `Method`.
        title: see `Method`.
        function: the function.
        least: masks that it needs at least; by default the whole input and the empty one.
        natural: masks that it scores, if their number cannot be chosen.
        quantity: see `Method`.
    """

    name: str
    title: str
    function: Callable[..., Attribution]
    least: Callable[[int], int] = lambda d: 2
    natural: Callable[[int], int | None] = lambda d: None
    quantity: str = "Shapley value"

    def attribute(self, problem: Problem, *, budget: int | None, seed: int) -> Steps[Attribution]:
        """See `Method.attribute`."""
        return problem.call(
            lambda score: self.function(Scored(problem.n_features, score), budget=budget, seed=seed)
        )

    def least_masks(self, n_features: int) -> int:
        """See `Method.least_masks`."""
        return self.least(n_features)

    def natural_masks(self, n_features: int) -> int | None:
        """See `Method.natural_masks`."""
        return self.natural(n_features)
