"""LIME, by its own package, on the same masks as everything else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from textsobol.methods.contract import Attribution, Problem
from textsobol.methods.method import Method
from textsobol.sobol.arrays import Array
from textsobol.steps import Steps


@dataclass(frozen=True)
class Lime(Method):
    """A linear model of the score near the input (Ribeiro et al. 2016), by lime's own fit.

    Masks and weights are those of ``LimeTextExplainer``: any number of words is left out, each
    number equally often, and masks near the whole text weigh more.

    Attributes:
        kernel_width: how fast the weight of masks falls with their distance from the whole text.
    """

    kernel_width: float = 25.0

    name = "lime"
    title = "LIME"
    quantity = "weight in a linear model"

    def attribute(self, problem: Problem, *, budget: int | None, seed: int) -> Steps[Attribution]:
        """See `Method.attribute`."""
        assert budget is not None
        try:
            from lime.lime_base import LimeBase
        except ImportError as error:
            raise ImportError('method="lime" needs lime: pip install "textsobol[bench]"') from error
        random = np.random.RandomState(seed)
        masks = _lime_masks(random, budget, problem.n_features)
        scores = yield from problem.score(masks)
        # Cosine distance to the whole text, in hundredths as in lime.
        distances = 100 * (1 - np.sqrt(masks.mean(axis=1)))
        fit = LimeBase(
            lambda d: np.sqrt(np.exp(-(d**2) / self.kernel_width**2)), random_state=random
        )
        found = np.zeros((problem.n_features, scores.shape[1]))
        for label in range(scores.shape[1]):
            _, weights, _, _ = fit.explain_instance_with_data(
                masks.astype(float),
                scores,
                distances,
                label,
                problem.n_features,
                feature_selection="none",
            )
            for feature, weight in weights:
                found[feature, label] = weight
        return Attribution(found, settings={"samples": budget})


def _lime_masks(random: np.random.RandomState, n_rows: int, n_features: int) -> Array:
    masks = np.ones((n_rows, n_features), dtype=bool)
    sizes = random.randint(1, n_features + 1, n_rows - 1)
    for row, size in enumerate(sizes, start=1):
        masks[row, random.choice(n_features, size, replace=False)] = False
    return masks
