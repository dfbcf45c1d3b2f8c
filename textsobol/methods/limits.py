"""Two bounds for attribution methods: a random order, and a search for the best deletions."""

from dataclasses import dataclass

import numpy as np

from textsobol.methods.contract import Attribution, Problem
from textsobol.methods.method import MasklessMethod, Method
from textsobol.sobol.masks import without_each
from textsobol.steps import Steps


@dataclass(frozen=True)
class Random(MasklessMethod):
    """A random order: what every method has to beat."""

    name = "random"
    title = "Random"
    quantity = "random number"
    kind = "baseline"

    def attribute(self, problem: Problem, *, budget: int | None, seed: int) -> Steps[Attribution]:
        """See `Method.attribute`."""
        yield from ()
        drawn = np.random.default_rng(seed).uniform(size=(problem.n_features, 1))
        return Attribution(np.repeat(drawn, problem.n_labels, axis=1), is_signed=False)


@dataclass(frozen=True)
class Greedy(Method):
    """A greedy search for the most harmful deletions: all words are tried again after each one.

    Not an attribution, but close to the best that deletion can reach. The word deleted first has
    the highest score; words that are not deleted have 0. Every label has its own search, with fewer
    deletions if the budget is small.

    Attributes:
        deletions: most deletions.
    """

    deletions: int = 20

    name = "greedy"
    title = "Greedy search"
    quantity = "rank of deletion"
    kind = "search"

    def attribute(self, problem: Problem, *, budget: int | None, seed: int) -> Steps[Attribution]:
        """See `Method.attribute`."""
        assert budget is not None
        n_features, n_labels = problem.n_features, problem.n_labels
        found = np.zeros((n_features, n_labels))
        n_deletions = min(self.deletions, n_features)
        while n_deletions > 1 and _count_masks(n_features, n_labels, n_deletions) > budget:
            n_deletions -= 1
        for label in range(n_labels):
            order = yield from _search_greedily(problem, label, n_deletions)
            for place, feature in enumerate(order):
                found[feature, label] = 1 - place / n_deletions
        return Attribution(found, is_signed=False, settings={"deletions": n_deletions})

    def least_masks(self, n_features: int) -> int:
        """One deletion."""
        return n_features + 1

    def natural_masks(self, n_features: int) -> int:
        """All deletions for one label."""
        return 1 + min(self.deletions, n_features) * n_features


def _count_masks(n_features: int, n_labels: int, n_deletions: int) -> int:
    """The whole input, the first deletion and, for every label, the other deletions."""
    return 1 + n_features + n_labels * sum(n_features - k for k in range(1, n_deletions))


def _search_greedily(problem: Problem, label: int, n_deletions: int) -> Steps[list[int]]:
    present = np.ones(problem.n_features, dtype=bool)
    order: list[int] = []
    while len(order) < n_deletions:
        left = np.flatnonzero(present)
        scores = yield from problem.score(without_each(present, left))
        order.append(int(left[np.argmin(scores[:, label])]))
        present[order[-1]] = False
    return order
