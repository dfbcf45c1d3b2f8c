"""How well few masks rank words: `jansen` (the paper's, N = 32) against `flip`.

    python -m benchmarks.estimators.convergence

`flip` is given as many forward passes as `jansen` had distinct masks. Printed are the masks
of the design, the distinct ones among them, and the Spearman correlation with the
converged total index, all as means over the seeds.
"""

import argparse
import warnings
from dataclasses import dataclass

import numpy as np
from scipy.stats import spearmanr

from benchmarks.estimators.word_models import Model, word_models
from benchmarks.tables import markdown
from textsobol.sobol import sobol_indices
from textsobol.sobol.arrays import Floats

PAPER_MASKS = 32


@dataclass(frozen=True)
class Outcome:
    """Means over seeds."""

    masks: float
    distinct: float
    correlation: float

    def __str__(self) -> str:
        return f"{self.masks:,.0f}, {self.distinct:,.0f}, {self.correlation:.3f}"


def outcome(model: Model, truth: Floats, n_seeds: int, **settings: str | float | int) -> Outcome:
    """Cost and rank correlation of one way to estimate."""
    found = []
    for seed in range(n_seeds):
        result = sobol_indices(model, len(truth), seed=seed, **settings)  # type: ignore[arg-type]
        correlation = spearmanr(result.total, truth).statistic
        found.append((result.n_masks, result.n_distinct, correlation))
    return Outcome(*np.mean(found, axis=0))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20, help="designs (default 20)")
    parser.add_argument(
        "--converged", type=int, default=2000, help="base masks of the converged index (2000)"
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for n_words in (60, 230):
        for name, model in word_models(n_words).items():
            for keep in (0.5, 0.9, 0.95):
                truth = sobol_indices(
                    model, n_words, keep=keep, base_masks=arguments.converged, seed=10_000
                ).total
                rivals = [
                    outcome(
                        model,
                        truth,
                        arguments.seeds,
                        estimator="jansen",
                        design=design,
                        keep=keep,
                        base_masks=PAPER_MASKS,
                    )
                    for design in ("sobol", "latin")
                ]
                budget = max(n_words + 1, round(rivals[0].distinct))
                ours = outcome(model, truth, arguments.seeds, keep=keep, budget=budget)
                lines.append([str(n_words), name, str(keep), *map(str, [*rivals, ours])])
    header = ["words", "model", "keep", "jansen, sobol", "jansen, latin", "flip, latin"]
    print(markdown(header, lines))


if __name__ == "__main__":
    main()
