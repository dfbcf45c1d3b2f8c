"""Do default intervals hold the truth for the few words that act, among many that do nothing?

python -m benchmarks.estimators.active
"""

import argparse
import sys
import warnings
from collections.abc import Callable

import numpy as np

from benchmarks.tables import markdown
from textsobol import ConstantScoreWarning
from textsobol.driver import run
from textsobol.methods import Attribution, Problem, Sobol
from textsobol.methods.contract import Decision
from textsobol.sobol import sobol_indices
from textsobol.sobol.arrays import Array, Floats
from textsobol.sobol.black_box import BlackBoxModel
from textsobol.steps import Steps
from textsobol.text.inputs import default_budget

_LENGTHS, _KEEPS = (20, 60), (0.5, 0.8)
_ROUNDING = 1e-9
_WEIGHTS = np.array([4.0, 3.0, 2.0, 1.0])


def _largest_of(n_active: int) -> Callable[[Array], Floats]:
    """The largest of n, ..., 2, 1, of the words that are there; else 0."""
    weights = np.arange(n_active, 0.0, -1.0)
    return lambda masks: np.asarray((masks[:, :n_active] * weights).max(axis=1))


# By name: the score and the number of words that act, the first ones.
GAMES: dict[str, tuple[Callable[[Array], Floats], int]] = {
    "max(4 a, 3 b, 2 c, d)": (_largest_of(4), 4),
    "max(8 a, 7 b, ..., h)": (_largest_of(8), 8),
    "sigmoid(3 (4 a + 3 b + 2 c + d) - 4.5)": (
        lambda masks: 1 / (1 + np.exp(4.5 - 3 * (masks[:, :4] @ _WEIGHTS))),
        4,
    ),
    "min(4 a + 3 b + 2 c + d, 4)": (lambda masks: np.minimum(masks[:, :4] @ _WEIGHTS, 4.0), 4),
    "a or b or c or d": (lambda masks: masks[:, :4].any(axis=1).astype(float), 4),
    "a and b and c": (lambda masks: masks[:, :3].all(axis=1).astype(float), 3),
    "4 a + 3 b + 2 c + d": (lambda masks: masks[:, :4] @ _WEIGHTS, 4),
}


def held(name: str, keep: float, *, n_words: int, n_seeds: int) -> float:
    """How often the default interval of ``total`` of a word that acts holds the truth."""
    score, n_active = GAMES[name]
    truth = sobol_indices(score, n_active, estimator="exact", keep=keep).total
    hits = []
    for seed in range(n_seeds):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstantScoreWarning)  # then there is no interval
            found = run(_steps(score, n_words, seed=seed, keep=keep))
        assert found.indices is not None
        low, high = (end[:n_active, 0] for end in found.indices.interval(0.95))
        hits.append((low - _ROUNDING <= truth) & (truth <= high + _ROUNDING))
    return float(np.mean(hits))


def _steps(
    score: Callable[[Array], Floats], n_words: int, *, seed: int, keep: float
) -> Steps[Attribution]:
    """The default explanation of a black box whose decision is the sign of its score."""
    model = BlackBoxModel(lambda masks: score(masks)[:, None], n_words)
    decision = Decision(_only_column, _only_column, 0)
    problem = Problem(model, lambda outputs: outputs, 1, decision=decision)
    yield from problem.score(problem.whole)
    budget = model.ledger.budget = default_budget(n_words)
    return (yield from Sobol(keep=keep).attribute(problem, budget=budget, seed=seed))


def _only_column(outputs: Floats) -> Floats:
    return outputs[:, 0]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    n_seeds = parser.parse_args().seeds
    columns = [(keep, n_words) for keep in _KEEPS for n_words in _LENGTHS]
    rows = [
        [
            f"`{name}`",
            *(f"{100 * held(name, k, n_words=n, n_seeds=n_seeds):.0f}" for k, n in columns),
        ]
        for name in GAMES
    ]
    header = ["game", *(f"keep {keep}, {n_words} words" for keep, n_words in columns)]
    sys.stdout.write(markdown(header, rows) + "\n")


if __name__ == "__main__":
    main()
