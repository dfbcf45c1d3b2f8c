"""What a way to explain finds, and the forward passes that it takes by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.ways import METHODS, Way
from textsobol.driver import run
from textsobol.masked_model import MaskedClassifier
from textsobol.methods import Attribution
from textsobol.sobol.arrays import Floats
from textsobol.steps import Steps


def explained(
    model: MaskedClassifier, way: Way, seed: int, *, label: str | None = None
) -> tuple[Attribution, int]:
    """What the way finds for a label, and the forward passes that takes, gates included.

    Passes are those that it would make by itself: what other ways have asked for before is known
    to the model, but is counted all the same.

    Args:
        model: the classifier and the input.
        way: what to do.
        seed: of the method.
        label: by default the predicted one.
    """
    budget = way.budget(model.n_features)

    def steps() -> Steps[Attribution]:
        problem = model.with_target(label or model.prediction).problem()
        yield from problem.score(problem.whole)
        model.ledger.budget = budget or None
        method: Any = replace(METHODS[way.method], **way.options)  # type: ignore[type-var]
        return (yield from method.attribute(problem, budget=budget, seed=seed))

    model.ledger.restart()
    found = run(steps())
    model.ledger.budget = None
    return found, model.ledger.n_spent + found.passes


def scores_of(found: Attribution, kind: str | None) -> Floats:
    """Scores ``(features,)`` of one kind for the one label."""
    if kind in (None, "signed"):
        return found.scores[:, 0]
    if kind == "path":
        assert found.path is not None
        scores = found.scores[:, 0].copy()  # between -1 and 1, for what the path leaves
        scores[list(found.path.order)] = 1 + np.arange(len(found.path.order), 0, -1)
        return scores
    assert found.indices is not None
    return np.asarray(getattr(found.indices, str(kind))[:, 0])
