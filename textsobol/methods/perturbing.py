"""Methods that only look at what the model says of masked inputs."""

import numpy as np

from textsobol.methods.contract import Attribution, Problem
from textsobol.sobol.masks import without_each
from textsobol.steps import Steps

GREEDY_DELETIONS = 20


def random_scores(problem: Problem, *, budget: int, seed: int) -> Steps[Attribution]:
    """A random order: what every method has to beat."""
    yield from ()
    draw = np.random.default_rng(seed).uniform(size=(problem.n_features, 1))
    return Attribution(np.repeat(draw, problem.n_labels, axis=1))


def occlusion(problem: Problem, *, budget: int, seed: int) -> Steps[Attribution]:
    """What the score loses when a feature alone is left out (Zeiler & Fergus 2014)."""
    without = ~np.eye(problem.n_features, dtype=bool)
    scores = yield from problem.score(np.concatenate([problem.whole, without]))
    return Attribution(scores[0] - scores[1:])


def greedy(problem: Problem, *, budget: int, seed: int) -> Steps[Attribution]:
    """A search for the deletions that hurt most: all words are tried anew after each one.

    Not an attribution, but about the best that deletion allows. The word that went first has the
    highest score; words that stayed have none. Every label has a search of its own, with fewer
    deletions where the budget does not allow more.
    """
    n_features, n_labels = problem.n_features, problem.n_labels
    found = np.zeros((n_features, n_labels))
    n_deletions = min(GREEDY_DELETIONS, n_features)
    while n_deletions > 1 and _greedy_rows(n_features, n_labels, n_deletions) > budget:
        n_deletions -= 1
    for label in range(n_labels):
        order = yield from _greedy_order(problem, label, n_deletions)
        for place, feature in enumerate(order):
            found[feature, label] = 1 - place / n_deletions
    return Attribution(found, settings={"deletions": n_deletions})


def _greedy_rows(n_features: int, n_labels: int, n_deletions: int) -> int:
    """Rows of the whole input, of the first deletion and, for every label, of the others."""
    return 1 + n_features + n_labels * sum(n_features - k for k in range(1, n_deletions))


def _greedy_order(problem: Problem, label: int, n_deletions: int) -> Steps[list[int]]:
    present = np.ones(problem.n_features, dtype=bool)
    order: list[int] = []
    while len(order) < n_deletions:
        left = np.flatnonzero(present)
        scores = yield from problem.score(without_each(present, left))
        order.append(int(left[np.argmin(scores[:, label])]))
        present[order[-1]] = False
    return order
