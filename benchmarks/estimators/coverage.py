"""Do 90 % intervals hold the truth 90 times in 100? And how wide are they?

    python -m benchmarks.estimators.coverage

The truth is exact: 14 words, all 16,384 masks.
"""

import argparse
import warnings

import numpy as np

from benchmarks.estimators.tables import markdown
from benchmarks.estimators.word_models import word_models
from textsobol.sobol import sobol_indices
from textsobol.sobol.rows import all_masks

N_WORDS = 14
INDICES = ("total", "first", "effect")
ROUNDING = 1e-12


def coverage(
    name: str, keep: float, *, n_base: int, n_seeds: int, level: float = 0.9
) -> dict[str, tuple[float, float]]:
    """Share of (seed, word) whose interval holds the truth, and mean width, by index."""
    model = word_models(N_WORDS)[name]
    truth = sobol_indices(model, N_WORDS, estimator="exact", keep=keep)
    # All 2^d masks have just been scored: look the scores up.
    table = np.concatenate([model(masks) for masks in all_masks(N_WORDS)])
    bits = 1 << np.arange(N_WORDS)
    held: dict[str, list[float]] = {index: [] for index in INDICES}
    widths: dict[str, list[float]] = {index: [] for index in INDICES}
    for seed in range(n_seeds):
        result = sobol_indices(
            lambda masks: table[masks @ bits], N_WORDS, keep=keep, rows=n_base, seed=seed
        )
        for index in INDICES:
            low, high = result.interval(level, of=index)
            true = getattr(truth, index)
            inside = (low - ROUNDING <= true) & (true <= high + ROUNDING)
            held[index].append(inside.mean())
            widths[index].append((high - low).mean())
    return {
        index: (float(np.mean(held[index])), float(np.mean(widths[index]))) for index in INDICES
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=30, help="base rows (default 30)")
    parser.add_argument("--seeds", type=int, default=400, help="designs (default 400)")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for keep in (0.5, 0.9):
        for name in word_models(N_WORDS):
            found = coverage(name, keep, n_base=arguments.rows, n_seeds=arguments.seeds)
            cells = [f"{100 * share:.1f} % ({width:.4f})" for share, width in found.values()]
            lines.append([f"{keep}", name, *cells])
    print(markdown(["keep", "model", *(f"{index}: held (width)" for index in INDICES)], lines))


if __name__ == "__main__":
    main()
