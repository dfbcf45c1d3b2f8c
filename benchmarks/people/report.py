"""The tables of RESULTS.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.people.run import VARIANTS
from benchmarks.reporting import (
    Line,
    decimal,
    interval,
    mean_with_interval,
    paired_difference,
    read_results,
)
from benchmarks.tables import markdown

MEASURES = {"auprc": "AUPRC", "f1": "token F1", "iou": "IOU"}
OURS = "sobol"
HEADER = (
    "method", *(f"{title} ↑" for title in MEASURES.values()),
    "the default's AUPRC minus that", "passes", "texts",
)  # fmt: skip


def make_tables(results: Path) -> Iterator[tuple[str, str]]:
    """Name and Markdown of the table of every task and model."""
    for path in sorted(results.glob("*.jsonl*")):
        lines = [line for line in read_results(path).lines if line["auprc"] is not None]
        yield path.name.split(".jsonl")[0], markdown(HEADER, list(rows(lines)))


def rows(lines: Sequence[Line]) -> Iterator[list[str]]:
    """A row for every method, on the texts which all of them have explained."""
    by_variant = {
        variant.title: {line["text"]: line for line in lines if line["variant"] == variant.name}
        for variant in VARIANTS
    }
    by_variant = {title: found for title, found in by_variant.items() if found}
    shared = set.intersection(*(set(found) for found in by_variant.values()))
    ours = next(variant.title for variant in VARIANTS if variant.name == OURS)
    for title, found in by_variant.items():
        own = [found[text] for text in sorted(shared)]
        difference = ""
        if title != ours and ours in by_variant:
            ours_by_text, by_text = (
                {text: some[text]["auprc"] for text in shared} for some in (by_variant[ours], found)
            )
            estimate = paired_difference(ours_by_text, by_text)
            difference = f"{decimal(estimate.mean, sign=True)} {interval(estimate, sign=True)}"
        yield [
            title, *(_mean(own, name) for name in MEASURES), difference,
            f"{np.mean([line['passes'] for line in own]):,.0f}", str(len(own)),
        ]  # fmt: skip


def _mean(lines: Sequence[Line], name: str) -> str:
    found = mean_with_interval([line[name] for line in lines])
    return f"{decimal(found.mean)} {interval(found)}"
