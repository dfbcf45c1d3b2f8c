"""Problems for attribution methods, made of functions of masks, and what methods find in them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from textsobol.driver import run
from textsobol.methods import Attribution, Method, Problem, Sobol
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
    method: Method, problem: Problem, *, budget: int | None, seed: int, **options: Any
) -> Attribution:
    """What a method finds within a budget."""
    method = replace(method, **options)  # type: ignore[type-var]
    problem.model.ledger.restart()
    run(_whole(problem.model))
    problem.model.ledger.budget = budget or None
    return run(method.attribute(problem, budget=budget, seed=seed))


def _whole(model: MaskedModel) -> Steps[Any]:
    return (yield Ask(model, np.ones((1, model.n_features), dtype=bool)))


def black_box_of(problem: Problem) -> Callable[..., Any]:
    """The function of masks that a problem was made of."""
    assert isinstance(problem.model, BlackBoxModel)
    return problem.model._black_box


def arguments(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of an explainer: options of `Sobol` go into ``method=``, others stay."""
    options = {name: value for name, value in settings.items() if name in Sobol().options()}
    others = {name: value for name, value in settings.items() if name not in options}
    return {"method": Sobol(**options), **others} if options else others
