"""Rivals in a Python of their own, for packages that this one cannot have.

shapiq since 1.5 needs Python 3.12. Make an environment with it (torch is not needed), and name its
interpreter:

    python3.12 -m venv rivals && rivals/bin/pip install "shapiq>=1.6" xgboost
    export TEXTSOBOL_RIVALS=rivals/bin/python

The other process asks for scores of masks and is sent them, as lines of JSON.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rivals.callback import Callback, Scored
from textsobol.methods import Attribution
from textsobol.sobol.arrays import Floats

PYTHON = "TEXTSOBOL_RIVALS"
_SCRIPT = Path(__file__).with_name("shapiq_apart.py")


def interpreter() -> str | None:
    """The interpreter of the rivals, if one is named."""
    return os.environ.get(PYTHON)


@dataclass(frozen=True)
class Apart:
    """One method of the other process, as a function for `Callback`."""

    method: str

    def __call__(self, game: Scored, *, budget: int, seed: int) -> Attribution:
        """Scores of all labels, one after another; repeated masks cost nothing more."""
        python = interpreter()
        if python is None:
            raise SystemExit(f"{self.method} needs {PYTHON}: see benchmarks/rivals/apart.py")
        asked = {"method": self.method, "features": game.n_features, "budget": budget, "seed": seed}
        n_labels = game.score(np.ones((1, game.n_features), dtype=bool)).shape[1]
        found = [_serve(_process(python), asked, game, label) for label in range(n_labels)]
        return Attribution(np.stack(found, axis=1), settings={"samples": budget})


@cache
def _process(python: str) -> subprocess.Popen[str]:
    """The process; it ends with this one."""
    process = subprocess.Popen(
        [python, str(_SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(process.communicate)  # closes its input, and waits
    return process


def _serve(
    process: subprocess.Popen[str], asked: Mapping[str, Any], game: Scored, label: int
) -> Floats:
    assert process.stdin is not None
    assert process.stdout is not None
    sent = asked
    while True:
        print(json.dumps(sent), file=process.stdin, flush=True)
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of {asked['method']} has ended")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{asked['method']}: {answer['error']}")
        if "found" in answer:
            return np.array(answer["found"])
        sent = {"scores": game.score(np.array(answer["masks"], dtype=bool))[:, label].tolist()}


# OddSHAP needs ten masks for every term that it looks for.
APART = {
    name: Callback(name, title, Apart(name), least)
    for name, title, least in (
        ("oddshap", "OddSHAP, shapiq", lambda d: min(1 << d, 11)),
        ("regression_msr", "RegressionMSR, shapiq", lambda d: 4),
        ("proxyshap", "ProxySHAP, shapiq", lambda d: 4),
    )
}
