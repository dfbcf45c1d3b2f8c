"""What a benchmark measured: the numbers of every variant, for every model."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.reading import Reading
from benchmarks.reporting import (
    Estimate,
    Line,
    Results,
    mean_with_interval,
    paired_difference,
    read_results,
)

# Kinds in the order of the table, and how it calls them.
GROUPS = {
    "white box": "white box",
    "black box": "black box",
    "search": "search and baseline",
    "baseline": "search and baseline",
}


@dataclass(frozen=True, eq=False)
class Variant:
    """A method with its settings, and what it came to on every input.

    Attributes:
        asked: passes, where a method can choose.
        values: a row for every input: metrics, ``cost``, ``is_right`` and the deletion ``curve``.
    """

    method: str
    name: str
    title: str
    kind: str
    keep: float | None
    asked: float | None
    score: str | None
    values: pd.DataFrame

    def __len__(self) -> int:
        """Inputs that it has seen."""
        return len(self.values)

    @property
    def is_attribution(self) -> bool:
        """Whether it explains, rather than marks what the best or the worst could be."""
        return self.kind not in ("search", "baseline")

    @property
    def series(self) -> tuple[Any, ...]:
        """What variants that differ in the number of passes only have in common."""
        return self.method, self.title, self.score, self.keep

    @property
    def cost(self) -> float:
        """Mean forward passes, in the unit of the benchmark."""
        return float(self.values["cost"].mean())

    @cached_property
    def metrics(self) -> Mapping[str, Estimate | None]:
        """By name; ``None`` where no line tells it."""
        names = self.values.columns.drop(["cost", "is_right", "curve"])
        known = {name: self.values[name].dropna() for name in names}
        return {name: mean_with_interval(v) if len(v) else None for name, v in known.items()}

    @property
    def deletion(self) -> Estimate:
        """The metric of the paper."""
        found = self.metrics["deletion"]
        assert found is not None  # every line tells it
        return found

    def difference(self, other: Variant | None) -> Estimate | None:
        """Of deletion, on the inputs that both have seen; a variant has none to itself."""
        if other is None or other is self or not set(self.values.index) & set(other.values.index):
            return None
        return paired_difference(self.values["deletion"], other.values["deletion"])


@dataclass(frozen=True, eq=False)
class Run:
    """All results of one model, its variants in the order of the table."""

    reading: Reading
    settings: Mapping[str, Any]
    commands: Sequence[str]
    variants: Sequence[Variant]

    @property
    def model(self) -> str:
        """Its name."""
        return str(self.settings["model"])

    @property
    def n_inputs(self) -> int:
        """How many inputs at least one variant has seen."""
        return len({one for variant in self.variants for one in variant.values.index})

    @property
    def accuracy(self) -> float:
        """How often the model is right on these inputs, before anything is left out."""
        # The same in every variant, but some may not have seen all inputs yet.
        right = pd.concat([variant.values["is_right"] for variant in self.variants])
        return float(right[~right.index.duplicated()].mean())

    @property
    def compared(self) -> dict[str, Variant | None]:
        """What deletion is compared with, by name."""
        found = {name: find(self.variants, *asked) for name, asked in self.reading.compared.items()}
        attributions = [variant for variant in self.variants if variant.is_attribution]
        most = max(map(len, attributions), default=0)
        full = [variant for variant in attributions if len(variant) == most]
        best = min(full, key=lambda variant: variant.values["deletion"].mean(), default=None)
        return {**found, "best": best}

    def of(self, variants: Sequence[Variant]) -> Run:
        """The same run with other variants, ordered as in the table.

        White box, black box, then searches and baselines; within them as they come, but what
        differs in the number of passes only stands together.
        """
        kinds, series = list(GROUPS), list(dict.fromkeys(v.series for v in variants))
        ordered = sorted(
            variants, key=lambda v: (kinds.index(v.kind), series.index(v.series), v.asked or 0)
        )
        return replace(self, variants=ordered)


def load(paths: Iterable[Path], reading: Reading) -> list[Run]:
    """Read result files, one run for every model.

    Raises:
        ValueError: if files of one model were not made with the same settings.
    """
    files: dict[str, list[Results]] = {}
    for path in paths:
        results = read_results(path)
        if not all({"variant", reading.of} <= line.keys() for line in results.lines[:1]):
            print(f"{path} holds other results: left out", file=sys.stderr)
            continue
        files.setdefault(str(results.settings["model"]), []).append(results)
    if not files:
        raise ValueError(f"no results of {reading.of}s in these files")
    return [_run(model, found, reading) for model, found in files.items()]


def _run(model: str, files: Sequence[Results], reading: Reading) -> Run:
    for name in reading.same:
        values = {str(results.settings.get(name)) for results in files}
        if len(values) > 1:
            raise ValueError(f"{model}: files with different {name}: {', '.join(sorted(values))}")
    variants = by_variant((line for results in files for line in results.lines), reading)
    if not variants:
        raise ValueError(f"{model}: no results yet")
    commands = dict.fromkeys(command for results in files for command in results.commands)
    return Run(reading, files[-1].settings, list(commands), []).of(variants)


def by_variant(lines: Iterable[Line], reading: Reading) -> list[Variant]:
    """Group lines by method and variant, in the order in which they come first.

    Raises:
        ValueError: if an input comes twice for a variant.
    """
    grouped: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        grouped.setdefault((line["method"], line["variant"]), []).append(line)
    return [_variant(found, reading) for found in grouped.values()]


def _variant(lines: Sequence[Line], reading: Reading) -> Variant:
    first = lines[0]
    numbers = {name: value.of for name, value in reading.values.items()}
    numbers |= {"cost": reading.cost, "is_right": reading.is_right}
    values = pd.DataFrame(
        {name: [of(line) for line in lines] for name, of in numbers.items()},
        index=[line[reading.of] for line in lines],
        dtype=float,
    ).assign(curve=[line["deletion"] for line in lines])
    if twice := values.index[values.index.duplicated()].tolist():
        raise ValueError(f"{first['variant']}: two results for {twice[0]}")
    return Variant(
        method=first["method"],
        name=first["variant"],
        title=first["title"],
        kind=first["kind"],
        keep=first.get("keep"),
        asked=first.get(reading.asked),
        score=first.get("score"),
        values=values,
    )


def by_series(variants: Iterable[Variant]) -> list[list[Variant]]:
    """Variants that differ in the number of passes only, together."""
    found: dict[tuple[Any, ...], list[Variant]] = {}
    for variant in variants:
        found.setdefault(variant.series, []).append(variant)
    return list(found.values())


def on_common_inputs(run: Run) -> Run:
    """The same run, of the inputs that every variant has seen: all figures can be compared."""
    common = set.intersection(*(set(variant.values.index) for variant in run.variants))
    if not common:
        raise ValueError(f"{run.model}: no {run.reading.of} was seen by all variants")
    return run.of([replace(v, values=v.values[v.values.index.isin(common)]) for v in run.variants])


def most_seen(run: Run) -> Run:
    """The same run; of what differs in the number of passes only, what has seen the most inputs."""
    return run.of(
        [v for found in by_series(run.variants) for v in found if len(v) == max(map(len, found))]
    )


def over_passes(run: Run) -> Run | None:
    """Usual variants with several numbers of passes, and what they are drawn with.

    On the inputs that all of these have seen; ``None`` where no number of passes was varied.
    """
    drawing = run.reading.drawing
    varied = varied_series(run)
    if not varied:
        return None
    references = [v for v in run.variants if v.method in drawing.references]
    return on_common_inputs(run.of([*(v for found in varied for v in found), *references]))


def varied_series(run: Run) -> list[list[Variant]]:
    """Usual variants with several numbers of passes."""
    series = by_series(v for v in run.variants if run.reading.drawing.is_usual(v))
    return [found for found in series if len({v.asked for v in found}) > 1]


def find(variants: Iterable[Variant], method: str, name: str | None = None) -> Variant | None:
    """A method's variant of that name or, without a name, the one with its own passes."""
    found = [v for v in variants if v.method == method and name in (None, v.name)]
    return min(found, key=lambda v: v.asked is not None, default=None)
