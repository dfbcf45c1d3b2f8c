"""How the results of the word-deletion benchmark are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reading import Drawing, Reading, Value
from benchmarks.reporting import Line
from benchmarks.summary import Run, Variant
from benchmarks.summary import load as load_runs
from textsobol.metrics.faithfulness import METRICS


def load(paths: Iterable[Path]) -> list[Run]:
    """Read result files and summarise them, one run for every model."""
    return load_runs(paths, READING)


def _value(metric: str, field: str = "", *, with_interval: bool = False) -> Value:
    """The mean of a field, which may be a single number; by default that of the same name."""

    def value(line: Line) -> float:
        return float(np.mean(line[field or metric]))

    return Value(value, METRICS[metric].higher_is_better, with_interval)


def _rows_in_words(number: float) -> str:
    return f"{number:g} row{'' if number == 1 else 's'} a word"


def _is_usual(variant: Variant) -> bool:
    """Of Sobol the signed scores at keep 0.5 only: our estimator's and the paper's."""
    return variant.score in (None, "signed") and variant.keep in (None, 0.5)


def _described(settings: Mapping[str, Any]) -> str:
    n_words = settings.get("max_words")
    return f" of at most {n_words} words" if n_words else ""


READING = Reading(
    of="review",
    asked="rows_per_word",
    cost=lambda line: float(line["rows"] / line["words"]),
    cost_name="rows per word",
    cost_digits=1,
    keeps=True,
    values={
        "deletion": _value("deletion", with_interval=True),
        "accuracy": _value("accuracy", "correct"),
        "insertion": _value("insertion"),
        "comprehensiveness": _value("comprehensiveness"),
        "sufficiency": _value("sufficiency"),
    },
    compared={"occlusion": ("occlusion", None), "paper_sobol": ("sobol", "jansen-signed")},
    differences={
        "occlusion": "difference to occlusion",
        "paper_sobol": "difference to the paper's Sobol",
        "best": "difference to the best",
    },
    is_right=lambda line: bool(line["correct"][0]),
    same=("data", "max_words", "seed"),
    described=_described,
    shows_n=False,
    drawing=Drawing(
        x_label="deleted words",
        x_of=range,
        passes_label="rows per word",
        passes_in_words=_rows_in_words,
        references=("occlusion", "greedy"),
        is_usual=_is_usual,
    ),
)
