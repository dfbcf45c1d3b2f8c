"""Results of a benchmark run that never was, small enough for numbers by hand."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")

from benchmarks.imdb.reading import load
from benchmarks.reporting import Cell, Table
from benchmarks.summary import Run

SETTINGS = {
    "model": "tiny",
    "data": "some reviews",
    "seed": 7,
    "max_words": 200,
    "versions": {"numpy": "2.0"},
    "_command": "python -m benchmarks.imdb run --seed 7",
    "_started": "2026-01-31",
}


def any_line(method: str, deletion: Sequence[float], **others: Any) -> dict[str, Any]:
    """What lines of all benchmarks have."""
    return {
        "model": "tiny",
        "method": method,
        "variant": method,
        "title": method.capitalize(),
        "kind": "black box",
        "keep": None,
        "score": None,
        "deletion": deletion,
        "insertion": [1 - p for p in deletion],
        **others,
    }


def line(
    review: str, deletion: Sequence[float], method: str = "occlusion", **others: Any
) -> dict[str, Any]:
    """A line of the word-deletion benchmark."""
    usual = {
        "rows_per_word": None,
        "review": review,
        "words": 10,
        "rows": 11,
        "label": "POSITIVE",
        "true": "POSITIVE",
        "correct": [p > 0.5 for p in deletion],
        "comprehensiveness": 0.25,
        "sufficiency": 0.125,
    }
    return any_line(method, deletion, **{**usual, **others})


def written(path: Path, lines: Iterable[dict[str, Any]], **settings: Any) -> Path:
    header = {"settings": {**SETTINGS, **settings}}
    path.write_text("".join(json.dumps(row) + "\n" for row in (header, *lines)))
    return path


def run_of(folder: Path, lines: Iterable[dict[str, Any]], **settings: Any) -> Run:
    [run] = load([written(folder / "results.jsonl", lines, **settings)])
    return run


def rows_of(table: Table) -> dict[str, dict[str, Cell]]:
    """Cells by what is in the first column, then by header."""
    return {
        row[0].text: dict(zip(table.header, row, strict=True))
        for _, rows in table.groups
        for row in rows
    }


def flip(rows: int, deletion: float, review: str = "a", **others: Any) -> dict[str, Any]:
    usual = {
        "title": "Sobol signed, flip",
        "variant": f"flip-{rows}-signed",
        "keep": 0.5,
        "score": "signed",
        "rows_per_word": rows,
        "rows": rows * 11,
    }
    return line(review, [deletion], "sobol", **{**usual, **others})


def paper(review: str, deletion: Sequence[float], **others: Any) -> dict[str, Any]:
    """A line of the paper's signed Sobol."""
    usual = {
        "title": "Sobol signed, the paper's",
        "variant": "jansen-signed",
        "keep": 0.5,
        "score": "signed",
        "rows": 320,
    }
    return line(review, deletion, "sobol", **{**usual, **others})
