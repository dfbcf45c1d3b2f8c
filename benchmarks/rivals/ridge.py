"""Ridge regression on random masks: the plainest model of a score, and one hard to beat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from textsobol.methods import Attribution, Method, Problem
from textsobol.methods.method import check_keep
from textsobol.steps import Steps

_PENALTIES = np.logspace(-3, 3, 25)


@dataclass(frozen=True)
class Ridge(Method):
    """Weights of a linear model of the score, fitted to independent random masks.

    A datamodel of words (Ilyas et al. 2022), by scikit-learn. The penalty is the one with the
    smallest leave-one-out error on the same masks. At keep rate 0.5 the weights estimate Banzhaf
    values.

    Attributes:
        keep: probability that a feature is present.
    """

    keep: float = 0.5

    name = "ridge"
    title = "Ridge regression"
    quantity = "weight in a linear model"

    def __post_init__(self) -> None:
        check_keep(self.keep)

    def attribute(self, problem: Problem, *, budget: int | None, seed: int) -> Steps[Attribution]:
        """See `Method.attribute`."""
        from sklearn.linear_model import RidgeCV

        assert budget is not None
        coins = np.random.default_rng(seed)
        # One mask of the budget is the whole input, which is always scored.
        masks = coins.random((budget - 1, problem.n_features)) < self.keep
        scores = yield from problem.score(masks)
        fits = [RidgeCV(_PENALTIES).fit(masks.astype(float), own) for own in scores.T]
        return Attribution(
            np.stack([fit.coef_ for fit in fits], axis=1),
            settings={"samples": budget - 1, "intercept": [float(fit.intercept_) for fit in fits]},
        )

    def least_masks(self, n_features: int) -> int:
        """Two masks of its own."""
        return 3
