"""What the core costs beside the black box: time per mask and feature, and memory.

    python -m benchmarks.estimators.overhead

The black box returns zeros but for one column, so that almost all of the time is ours; its
own time is measured and taken off. Memory is the growth of the process's peak.
"""

import time
import warnings

import numpy as np

from benchmarks.measuring import peak_megabytes
from benchmarks.tables import markdown
from textsobol.sobol import sobol_indices
from textsobol.sobol.arrays import Array, Floats


class TimedBox:
    """Scores the first feature, and counts the seconds that takes."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self, masks: Array) -> Floats:
        """Scores ``(masks,)``."""
        start = time.perf_counter()
        scores = masks[:, 0].astype(float)
        self.seconds += time.perf_counter() - start
        return scores


def seconds_beside(n_features: int, n_base: int, estimator: str) -> tuple[int, float]:
    """Rows, and seconds spent outside the black box."""
    box = TimedBox()
    start = time.perf_counter()
    result = sobol_indices(box, n_features, base_masks=n_base, estimator=estimator)
    return result.n_masks, time.perf_counter() - start - box.seconds


def main() -> None:
    """Print the two tables."""
    warnings.simplefilter("ignore")
    seconds_beside(10, 4, "flip")  # imports and first-use costs
    before = peak_megabytes()
    n_masks, _ = seconds_beside(1000, 256, "flip")
    growth = peak_megabytes() - before
    lines = []
    for estimator in ("flip", "jansen"):
        runs = [seconds_beside(230, 32, estimator) for _ in range(20)]
        best, median = np.min([s for _, s in runs]), np.median([s for _, s in runs])
        cells = runs[0][0] * 230
        lines.append(
            [
                estimator,
                f"{runs[0][0]:,}",
                f"{1e9 * best / cells:.1f}",
                f"{1e9 * median / cells:.1f}",
            ]
        )
    print(
        markdown(
            ["d = 230, N = 32", "masks", "ns per mask and feature, best of 20", "median"], lines
        )
    )
    print()
    print(
        markdown(
            ["d = 1,000, N = 256, flip", "masks", "MB above the start"],
            [["", f"{n_masks:,}", f"{growth:.0f}"]],
        )
    )


if __name__ == "__main__":
    main()
