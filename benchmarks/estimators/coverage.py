"""Do 90 % intervals hold the truth 90 times in 100? And how wide are they?

    python -m benchmarks.estimators.coverage

The truth is exact: 14 words, all 16,384 masks.
"""

import argparse
import warnings
from dataclasses import dataclass

import numpy as np

from benchmarks.estimators.word_models import word_models
from benchmarks.tables import markdown
from textsobol.sobol import sobol_indices
from textsobol.sobol.arrays import Array
from textsobol.sobol.rows import all_masks

N_WORDS = 14
# (model, keep rate) whose variance sits in masks that 30 rows hardly meet.
RARE_MASKS = {("saturated", 0.9), ("keywords", 0.9)}
INDICES = ("total", "first", "effect")
ROUNDING = 1e-12


@dataclass(frozen=True)
class Coverage:
    """How often intervals hold the truth: over all words, for the worst word, and how wide."""

    held: float
    worst: float
    width: float

    def __str__(self) -> str:
        return f"{100 * self.held:.1f} % / {100 * self.worst:.0f} % ({self.width:.4f})"


def coverage(
    name: str, keep: float, *, n_base: int, n_seeds: int, level: float = 0.9
) -> dict[str, Coverage]:
    """Coverage of the intervals of each index."""
    model = word_models(N_WORDS)[name]
    truth = sobol_indices(model, N_WORDS, estimator="exact", keep=keep)
    # All 2^d masks have just been scored: look the scores up.
    table = np.concatenate([model(masks) for masks in all_masks(N_WORDS)])
    bits = 1 << np.arange(N_WORDS)
    held: dict[str, list[Array]] = {index: [] for index in INDICES}
    widths: dict[str, list[float]] = {index: [] for index in INDICES}
    for seed in range(n_seeds):
        result = sobol_indices(
            lambda masks: table[masks @ bits], N_WORDS, keep=keep, rows=n_base, seed=seed
        )
        for index in INDICES:
            low, high = result.interval(level, of=index)
            true = getattr(truth, index)
            held[index].append((low - ROUNDING <= true) & (true <= high + ROUNDING))
            widths[index].append((high - low).mean())
    found = {}
    for index in INDICES:
        by_word = np.mean(held[index], axis=0)
        found[index] = Coverage(
            float(by_word.mean()), float(by_word.min()), float(np.mean(widths[index]))
        )
    return found


def variance_in_rare_masks(name: str, keep: float) -> float:
    """Share of the variance that lies in the 1 % of masks (by probability) furthest out."""
    model = word_models(N_WORDS)[name]
    masks = np.concatenate(list(all_masks(N_WORDS)))
    chances = np.where(masks, keep, 1 - keep).prod(axis=1)
    scores = model(masks)
    squares = (scores - chances @ scores) ** 2
    order = np.argsort(-squares)
    rare = np.cumsum(chances[order]) <= 0.01
    parts = (chances * squares)[order]
    return float(parts[rare].sum() / parts.sum())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=30, help="base rows (default 30)")
    parser.add_argument("--seeds", type=int, default=400, help="designs (default 400)")
    parser.add_argument("--level", type=float, default=0.9, help="of the intervals (default 0.9)")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for keep in (0.5, 0.9):
        for name in word_models(N_WORDS):
            found = coverage(
                name, keep, n_base=arguments.rows, n_seeds=arguments.seeds, level=arguments.level
            )
            rare = f"{100 * variance_in_rare_masks(name, keep):.0f} %"
            lines.append([f"{keep}", name, rare, *map(str, found.values())])
    print(markdown(["keep", "model", "rare", *INDICES], lines))


if __name__ == "__main__":
    main()
