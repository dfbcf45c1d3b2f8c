"""What a benchmark measured: the numbers of every variant, for every model."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reading import Reading
from benchmarks.reporting import (
    Estimate,
    Results,
    Variant,
    by_variant,
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


@dataclass(frozen=True)
class Summary:
    """A variant in numbers.

    Attributes:
        variant: what the numbers are of.
        cost: mean forward passes, in the unit of the benchmark.
        metrics: by name; ``None`` where no line tells it.
        differences: of deletion to what it is compared with, by name.
    """

    variant: Variant
    cost: float
    metrics: Mapping[str, Estimate | None]
    differences: Mapping[str, Estimate | None]

    @property
    def deletion(self) -> Estimate:
        """The metric of the paper."""
        found = self.metrics["deletion"]
        assert found is not None  # every line tells it
        return found


@dataclass(frozen=True)
class Run:
    """All results of one model."""

    reading: Reading
    settings: Mapping[str, Any]
    commands: Sequence[str]
    summaries: Sequence[Summary]

    @property
    def model(self) -> str:
        """Its name."""
        return str(self.settings["model"])

    @property
    def variants(self) -> list[Variant]:
        """All variants, in the order of the table."""
        return [summary.variant for summary in self.summaries]

    @property
    def n_inputs(self) -> int:
        """How many inputs at least one variant has seen."""
        return len({one for variant in self.variants for one in variant.lines})

    @property
    def accuracy(self) -> float:
        """How often the model is right on these inputs, before anything is left out."""
        # The same in every variant, but some may not have seen all inputs yet.
        right = {
            one: self.reading.is_right(line)
            for variant in self.variants
            for one, line in variant.lines.items()
        }
        return float(np.mean(list(right.values())))


def load(paths: Iterable[Path], reading: Reading) -> list[Run]:
    """Read result files and summarise them, one run for every model.

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
    lines = (line for results in files for line in results.lines)
    variants = by_variant(lines, of=reading.of, asked=reading.asked)
    if not variants:
        raise ValueError(f"{model}: no results yet")
    commands = dict.fromkeys(command for results in files for command in results.commands)
    return Run(reading, files[-1].settings, list(commands), summarise(variants, reading))


def on_common_inputs(run: Run) -> Run:
    """The same run, of the inputs that every variant has seen: all figures can be compared."""
    common = set.intersection(*(set(variant.lines) for variant in run.variants))
    if not common:
        raise ValueError(f"{run.model}: no {run.reading.of} was seen by all variants")
    return _of(
        run,
        [
            replace(v, lines={one: line for one, line in v.lines.items() if one in common})
            for v in run.variants
        ],
    )


def most_seen(run: Run) -> Run:
    """The same run; of what differs in the number of passes only, what has seen the most inputs."""
    most: dict[tuple[Any, ...], int] = {}
    for v in run.variants:
        most[series_of(v)] = max(len(v.lines), most.get(series_of(v), 0))
    return _of(run, [v for v in run.variants if len(v.lines) == most[series_of(v)]])


def over_passes(run: Run) -> Run | None:
    """Usual variants with several numbers of passes, and what they are drawn with.

    On the inputs that all of these have seen; ``None`` where no number of passes was varied.
    """
    drawing = run.reading.drawing
    usual = [v for v in run.variants if drawing.is_usual(v)]
    asked: dict[tuple[Any, ...], set[float | None]] = {}
    for v in usual:
        asked.setdefault(series_of(v), set()).add(v.asked)
    varied = [v for v in usual if len(asked[series_of(v)]) > 1]
    if not varied:
        return None
    references = [v for v in run.variants if v.method in drawing.references]
    return on_common_inputs(_of(run, [*varied, *references]))


def _of(run: Run, variants: Sequence[Variant]) -> Run:
    return replace(run, summaries=summarise(variants, run.reading))


def summarise(variants: Sequence[Variant], reading: Reading) -> list[Summary]:
    """The numbers of every variant, ordered as in the table.

    White box, black box, then searches and baselines; within them as they come, but what differs
    in the number of passes only stands together.
    """
    compared = {name: find(variants, *wanted) for name, wanted in reading.compared.items()}
    compared["best"] = _best(variants, reading)
    kinds, series = list(GROUPS), list(dict.fromkeys(map(series_of, variants)))
    ordered = sorted(
        variants,
        key=lambda v: (kinds.index(v.kind), series.index(series_of(v)), v.asked or 0),
    )
    return [_summary(variant, compared, reading) for variant in ordered]


def _best(variants: Sequence[Variant], reading: Reading) -> Variant | None:
    """The attribution with the lowest deletion, of those that have seen the most inputs."""
    attributions = [variant for variant in variants if variant.is_attribution]
    most = max((len(variant.lines) for variant in attributions), default=0)
    return min(
        (variant for variant in attributions if len(variant.lines) == most),
        key=lambda variant: float(np.mean(list(_values(variant, "deletion", reading).values()))),
        default=None,
    )


def series_of(variant: Variant) -> tuple[Any, ...]:
    """What variants that differ in the number of passes only have in common."""
    return variant.method, variant.title, variant.score, variant.keep


def _summary(variant: Variant, compared: Mapping[str, Variant | None], reading: Reading) -> Summary:
    metrics = {name: list(_values(variant, name, reading).values()) for name in reading.values}
    return Summary(
        variant,
        float(np.mean([reading.cost(line) for line in variant.lines.values()])),
        {name: mean_with_interval(found) if found else None for name, found in metrics.items()},
        {name: _difference(variant, other, reading) for name, other in compared.items()},
    )


def _difference(variant: Variant, other: Variant | None, reading: Reading) -> Estimate | None:
    """Of deletion, on the inputs that both have seen; a variant has none to itself."""
    if other is None or other is variant or not variant.lines.keys() & other.lines.keys():
        return None
    a, b = (_values(each, "deletion", reading) for each in (variant, other))
    return paired_difference(a, b)


def _values(variant: Variant, metric: str, reading: Reading) -> dict[str, float]:
    """A metric of every input whose line tells it."""
    told = {one: reading.values[metric].of(line) for one, line in variant.lines.items()}
    return {one: value for one, value in told.items() if value is not None}


def find(variants: Iterable[Variant], method: str, name: str | None = None) -> Variant | None:
    """A method's variant of that name or, without a name, the one with its own passes."""
    found = [v for v in variants if v.method == method and name in (None, v.name)]
    return min(found, key=lambda v: v.asked is not None, default=None)
