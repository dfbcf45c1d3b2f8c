"""LIME, through the lime package."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from textsobol.methods.contract import Attribution, Problem
from textsobol.methods.method import Method
from textsobol.sobol.arrays import Array
from textsobol.steps import Steps


@dataclass(frozen=True)
class Lime(Method):
    """A linear model of the score near the input (Ribeiro et al. 2016), fitted by lime.

    Masks and weights are those of ``LimeTextExplainer``: all numbers of absent words are equally
    likely, and masks near the whole text weigh more.

    Attributes:
        kernel_width: how slowly weights fall with the distance from the whole text.
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
        masks = _draw_masks(random, budget, problem.n_features)
        scores = yield from problem.score(masks)
        # Cosine distance to the whole text, in hundredths as in lime.
        distances = 100 * (1 - np.sqrt(masks.mean(axis=1)))
        fit = LimeBase(
            lambda d: np.sqrt(np.exp(-(d**2) / self.kernel_width**2)), random_state=random
        )
        found = np.zeros((problem.n_features, scores.shape[1]))
        intercepts = []
        for label in range(scores.shape[1]):
            intercept, weights, _, _ = fit.explain_instance_with_data(
                masks.astype(float),
                scores,
                distances,
                label,
                problem.n_features,
                feature_selection="none",
            )
            intercepts.append(float(intercept))
            for feature, weight in weights:
                found[feature, label] = weight
        return Attribution(found, settings={"samples": budget, "intercept": intercepts})


def _draw_masks(random: np.random.RandomState, n_masks: int, n_features: int) -> Array:
    masks = np.ones((n_masks, n_features), dtype=bool)
    sizes = random.randint(1, n_features + 1, n_masks - 1)
    for number, size in enumerate(sizes, start=1):
        masks[number, random.choice(n_features, size, replace=False)] = False
    return masks
