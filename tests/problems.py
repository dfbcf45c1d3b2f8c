"""Problems for attribution methods, made of functions of masks, and what methods find in them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from textsobol.driver import run
from textsobol.methods import Attribution, Problem
from textsobol.sobol.black_box import BlackBoxModel
from textsobol.steps import Ask, MaskedModel, Steps


def problem_of(
    black_box: Callable[..., Any], n_features: int, differentiable: Any = None, **details: Any
) -> Problem:
    """A problem whose whole input is known, as it is when an explainer calls a method."""
    model = BlackBoxModel(black_box, n_features)
    n_labels = run(_whole(model)).shape[1]
    return Problem(model, lambda outputs: outputs, n_labels, differentiable, **details)


def attribution(
    method: Callable[..., Steps[Attribution]], problem: Problem, *, budget: int | None, **how: Any
) -> Attribution:
    """What a method finds within a budget."""
    problem.model.ledger.restart()
    run(_whole(problem.model))
    problem.model.ledger.budget = budget or None
    return run(method(problem, budget=budget, **how))


def _whole(model: MaskedModel) -> Steps[Any]:
    return (yield Ask(model, np.ones((1, model.n_features), dtype=bool)))


def black_box_of(problem: Problem) -> Callable[..., Any]:
    """The function of masks that a problem was made of."""
    assert isinstance(problem.model, BlackBoxModel)
    return problem.model._black_box
