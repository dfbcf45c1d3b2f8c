"""Methods that only look at what the model says of masked inputs."""

from collections.abc import Callable

import numpy as np

from textsobol.methods.contract import Attribution, Game
from textsobol.sobol.arrays import Array, Floats
from textsobol.sobol.rows import without_each

GREEDY_DELETIONS = 20


def random_scores(game: Game, *, budget: int, seed: int) -> Attribution:
    """A random order: what every method has to beat."""
    n_labels = game.scorer()(_everything(game)).shape[1]
    draw = np.random.default_rng(seed).uniform(size=(game.n_features, 1))
    return Attribution(np.repeat(draw, n_labels, axis=1))


def occlusion(game: Game, *, budget: int, seed: int) -> Attribution:
    """What the score loses when a feature alone is left out (Zeiler & Fergus 2014)."""
    without_each = ~np.eye(game.n_features, dtype=bool)
    scores = game.scorer(budget)(np.concatenate([_everything(game), without_each]))
    return Attribution(scores[0] - scores[1:])


def greedy(game: Game, *, budget: int, seed: int) -> Attribution:
    """A search for the deletions that hurt most: all words are tried anew after each one.

    Not an attribution, but about the best that deletion allows. The word that went first has the
    highest score; words that stayed have none. Every label has a search of its own, with fewer
    deletions where the budget does not allow more.
    """
    score = game.scorer(budget)
    n_labels = score(_everything(game)).shape[1]
    found = np.zeros((game.n_features, n_labels))
    n_deletions = min(GREEDY_DELETIONS, game.n_features)
    while n_deletions > 1 and _greedy_rows(game.n_features, n_labels, n_deletions) > budget:
        n_deletions -= 1
    for label in range(n_labels):
        for place, feature in enumerate(_greedy_order(score, game.n_features, label, n_deletions)):
            found[feature, label] = 1 - place / n_deletions
    return Attribution(found, settings={"deletions": n_deletions})


def _everything(game: Game) -> Array:
    """The mask of the whole input ``(1, features)``."""
    return np.ones((1, game.n_features), dtype=bool)


def _greedy_rows(n_features: int, n_labels: int, n_deletions: int) -> int:
    """Rows of the whole input, of the first deletion and, for every label, of the others."""
    return 1 + n_features + n_labels * sum(n_features - k for k in range(1, n_deletions))


def _greedy_order(
    score: Callable[[Array], Floats], n_features: int, label: int, n_deletions: int
) -> list[int]:
    present = np.ones(n_features, dtype=bool)
    order: list[int] = []
    while len(order) < n_deletions:
        left = np.flatnonzero(present)
        scores = score(without_each(present, left))[:, label]
        order.append(int(left[np.argmin(scores)]))
        present[order[-1]] = False
    return order
