"""How far are the means of estimates from the truth, and is it the bounds of the variance?

    python -m benchmarks.estimators.bias

The truth is exact: 12 words, all 4,096 masks. Means over designs, for the strongest word.
"""

import argparse
import warnings
from functools import partial

import numpy as np

from benchmarks.estimators.coverage import N_WORDS, score_table
from benchmarks.tables import markdown
from textsobol.sobol import Design, sobol_indices
from textsobol.sobol.arrays import Array, Floats
from textsobol.sobol.flip import estimate_flip, flip_differences, flip_variance
from textsobol.sobol.masks import base_and_flips

NAMES = ("and", "or3", "majority", "xor", "lookup", "negation", "keywords")


def estimates(table: Floats, keep: float, n_base: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """First-order and total indices; the variance within its bounds and without them."""
    base, blocks = Design("latin", N_WORDS, keep=keep, seed=seed).take(n_base)
    masks = np.concatenate(list(base_and_flips(base)))
    scores = _look_up(table, masks).reshape(n_base, 1 + N_WORDS, 1)
    differences = flip_differences(base, scores[:, 0], scores[:, 1:])
    found = estimate_flip(base, scores[:, 0], differences, keep, blocks)
    free = flip_variance(base, scores[:, 0], differences, keep, blocks)[0]
    variances = np.array([found.variance.item(), free.item()])
    return found.first.value[:, 0], found.total.value[:, 0], variances


def _look_up(table: Floats, masks: Array) -> Floats:
    return np.asarray(table[masks @ (1 << np.arange(N_WORDS))])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=300, help="designs (default 300)")
    n_seeds = parser.parse_args().seeds
    warnings.simplefilter("ignore")
    lines = []
    for keep in (0.5, 0.9):
        for name in NAMES:
            table = score_table(name)
            truth = sobol_indices(partial(_look_up, table), N_WORDS, estimator="exact", keep=keep)
            strongest = int(np.argmax(truth.total))
            for n_base in (5, 8, 20):
                found = [estimates(table, keep, n_base, seed) for seed in range(n_seeds)]
                first, total, variances = (np.array(part) for part in zip(*found, strict=True))
                ratios = variances / truth.variance
                off = 100 * (ratios.mean(axis=0) - 1)
                errors = 100 * ratios.std(axis=0) / np.sqrt(n_seeds)
                lines.append(
                    [
                        f"{keep}",
                        name,
                        f"{n_base}",
                        f"{first[:, strongest].mean():.3f} ({truth.first[strongest]:.3f})",
                        f"{total[:, strongest].mean():.3f} ({truth.total[strongest]:.3f})",
                        *(f"{o:+.0f} % ± {e:.0f}" for o, e in zip(off, errors, strict=True)),
                    ]
                )
    header = ["keep", "model", "base masks", "first", "total", "variance", "without bounds"]
    print(markdown(header, lines))


if __name__ == "__main__":
    main()
