"""The report of the prompt benchmark: tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.imdb.reading import READING
from benchmarks.report import Report
from benchmarks.reporting import (
    Cell,
    Table,
    decimal,
    interval,
    mean_with_interval,
    paired_difference,
    read_results,
)
from benchmarks.summary import load
from benchmarks.tables import csv_of, markdown, table_of

_READING = replace(
    READING,
    compared={
        "occlusion": ("occlusion", None),
        "captum_kernel_shap": ("captum_llm_kernel_shap", None),
        "captum_ablation": ("captum_llm_ablation", None),
    },
    differences={
        "occlusion": "difference to occlusion",
        "captum_kernel_shap": "difference to captum's KernelSHAP",
        "captum_ablation": "difference to captum's FeatureAblation",
    },
)
_HOW_TO_READ = (
    "Means over sentences, with 95 % intervals (10,000 bootstrap resamples). Deletion: the "
    "probability of the predicted label after 0, 1, ... deletions, the strongest word first, mean "
    "over the deletions; insertion: with only the strongest 0, 1, ... words. Differences are those "
    "of deletion on the same sentences: below 0, the method of the row is better, and where the "
    "interval holds 0 no difference is shown. Rows per word: masked prompts that were scored. The "
    "best is bold, the second best underlined; the path is a search and not marked."
)


def write_report(results: Sequence[Path], out: Path) -> None:
    """Write ``report.md``, ``.html`` and ``.csv`` of files that ``run`` has written."""
    runs = load(results, _READING)
    tables = [(table_of(run), run.commands) for run in runs]
    tables += [(insertion_table(path), ()) for path in results]
    Report("Explaining prompts", _HOW_TO_READ, tables, (), ()).write(out, csv_of(runs))


def insertion_table(path: Path) -> Table:
    """Insertion against others on the same sentences."""
    found: dict[str, dict[str, float]] = {}
    titles: dict[str, str] = {}
    for line in read_results(path).lines:
        name = line["variant"]
        titles[name] = line["title"]
        found.setdefault(name, {})[line["review"]] = float(np.mean(line["insertion"]))
    others = {
        title: next(name for name in found if name.startswith(method))
        for title, (method, _) in zip(
            _READING.differences.values(), _READING.compared.values(), strict=True
        )
    }
    rows = []
    for name, own in found.items():
        mean = mean_with_interval(list(own.values()))
        row = [Cell(f"{titles[name]} ({name})"), Cell(decimal(mean.mean), after=interval(mean))]
        for other in others.values():
            difference = paired_difference(own, found[other])
            shown = "" if name == other else decimal(difference.mean, sign=True)
            row.append(Cell(shown, after=interval(difference, sign=True) if shown else ""))
        rows.append(row)
    caption = "Differences on the same sentences: above 0, the method of the row is better."
    return Table(f"Insertion, {path.name}", caption, ["method", "insertion", *others], [("", rows)])


def accuracy_table(path: Path) -> str:
    """How often each prompt is right, and how often it says "positive"."""
    lines = read_results(path).lines
    rows = []
    for name in dict.fromkeys(line["prompt"] for line in lines):
        own = [line for line in lines if line["prompt"] == name]
        right = mean_with_interval([float(line["label"] == line["true"]) for line in own])
        positive = mean_with_interval([float(line["label"] == "positive") for line in own])
        rows.append([name, str(right.n), f"{decimal(right.mean, 2)} {interval(right)}",
                     decimal(positive.mean, 2)])  # fmt: skip
    return markdown(["prompt", "sentences", "accuracy", 'says "positive"'], rows)
