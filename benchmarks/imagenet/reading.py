"""How the results of the ImageNet benchmark are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.imagenet.run import SCORE_IN_WORDS, TOLERANCE
from benchmarks.reading import Drawing, Reading, Value
from benchmarks.reporting import Line
from benchmarks.summary import Run
from benchmarks.summary import load as load_runs
from textsobol.metrics.faithfulness import METRICS
from textsobol.metrics.pixels import compute_area

_DRAWN = 40  # % of the pixels


def load(paths: Iterable[Path]) -> list[Run]:
    """Read result files and summarise them, one run for every model."""
    return load_runs(paths, READING)


def _area(field: str) -> Callable[[Line], float]:
    return lambda line: compute_area(line[field])


def _pointing(field: str) -> Callable[[Line], float | None]:
    """Whether a map points at the thing, where the model has seen it, and it is in sight."""

    def pointing(line: Line) -> float | None:
        return float(line[field]) if line["right"] and line[field] is not None else None

    return pointing


def _value(of: Callable[[Line], float | None], metric: str, title: str) -> Value:
    return Value(of, METRICS[metric].higher_is_better, with_interval=True, title=title)


def _drawn_shares(n_points: int) -> list[float]:
    """Deleted pixels in %, as far as methods differ: without any pixel all are the same again."""
    return [share for share in np.linspace(0, 100, n_points).tolist() if share <= _DRAWN]


def _described(settings: Mapping[str, Any]) -> str:
    down, across = settings["grid"]
    analysed = SCORE_IN_WORDS[settings["score"]]
    return f", {down} x {across} cells, analysed {analysed}, {settings['steps']} steps"


READING = Reading(
    of="image",
    asked="passes_asked",
    cost=lambda line: float(line["rows"]),
    cost_name="passes",
    cost_digits=0,
    keeps=False,
    values={
        "deletion": _value(_area("deletion"), "pixel_deletion", "deletion"),
        "insertion": _value(_area("insertion"), "pixel_insertion", "insertion"),
        "pointing": _value(_pointing("points_at"), "pointing_game", "pointing game"),
        "pointing_15": _value(
            _pointing("points_at_15"), "pointing_game", f"pointing game, {TOLERANCE} pixels"
        ),
    },
    compared={
        "rise": ("rise", "rise-8000"),
        "occlusion": ("occlusion", None),
        "random": ("random", None),
    },
    differences={
        "rise": "difference to RISE",
        "occlusion": "difference to occlusion",
        "random": "difference to random",
    },
    is_right=lambda line: bool(line["right"]),
    same=("data", "images", "weights", "seed", "grid", "score", "steps"),
    described=_described,
    shows_n=True,
    drawing=Drawing(
        x_label="deleted pixels in %",
        x_of=_drawn_shares,
        passes_label="forward passes",
        passes_in_words=lambda number: f"{number:,g} pass{'' if number == 1 else 'es'}",
        references=("occlusion", "random"),
        is_usual=lambda variant: variant.score != "first",
    ),
)
