"""Shapley values by a newer shapiq; run by another Python, see `benchmarks.rivals.apart`.

Lines of JSON come in and go out: what is wanted, then masks to score and their scores in turn, then
the values. It imports nothing of this project.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

METHODS: dict[str, Callable[[Any, int, int], Any]] = {
    "oddshap": lambda shapiq, d, seed: shapiq.OddSHAP(n=d, random_state=seed),
    "regression_msr": lambda shapiq, d, seed: shapiq.RegressionMSR(
        n=d, index="SV", random_state=seed
    ),
    "proxyshap": lambda shapiq, d, seed: shapiq.ProxySHAP(
        n=d, index="SV", max_order=1, random_state=seed
    ),
}


def main() -> None:
    """Answer until the input ends."""
    from shapiq import approximator

    warnings.simplefilter("ignore")
    out, sys.stdout = sys.stdout, sys.stderr  # what a library prints is no answer

    def ask(masks: Any) -> Any:
        print(json.dumps({"masks": np.asarray(masks).astype(int).tolist()}), file=out, flush=True)
        return np.array(json.loads(sys.stdin.readline())["scores"])

    for line in sys.stdin:
        answer: dict[str, Any]
        try:
            answer = {"found": values(approximator, json.loads(line), ask)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=out, flush=True)


def values(shapiq: Any, asked: Mapping[str, Any], game: Callable[[Any], Any]) -> list[float]:
    """Shapley values of what is asked; a game of few masks is enumerated, as shapiq does itself."""
    d, seed = asked["features"], asked["seed"]
    made = METHODS[asked["method"]](shapiq, d, seed)
    found = made.approximate(min(asked["budget"], 2**d), game)
    return [float(value) for value in found.get_n_order_values(1)]


if __name__ == "__main__":
    main()
