"""What the word-deletion benchmark measured: the numbers of every variant, for every model."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reporting import (
    Estimate,
    Line,
    Results,
    Variant,
    by_variant,
    mean_with_interval,
    paired_difference,
    read_results,
)

# The metrics of a line, in the order of the table; which are better high, METRICS knows.
VALUES: dict[str, Callable[[Line], float]] = {
    "deletion": lambda line: float(np.mean(line["deletion"])),
    "accuracy": lambda line: float(np.mean(line["correct"])),
    "insertion": lambda line: float(np.mean(line["insertion"])),
    "comprehensiveness": lambda line: float(line["comprehensiveness"]),
    "sufficiency": lambda line: float(line["sufficiency"]),
}
# Kinds in the order of the table, and how it calls them.
GROUPS = {
    "white box": "white box",
    "black box": "black box",
    "search": "search and baseline",
    "baseline": "search and baseline",
}
# What deletion is compared with, review by review: method, variant (None: any).
COMPARED: dict[str, tuple[str, str | None]] = {
    "occlusion": ("occlusion", None),
    "paper_sobol": ("sobol", "jansen-signed"),
}
_SAME_IN_A_TABLE = ("data", "max_words", "seed")


@dataclass(frozen=True)
class Summary:
    """A variant in numbers; differences are those of its deletion, by the names of `COMPARED`."""

    variant: Variant
    rows_per_word: float
    metrics: Mapping[str, Estimate]
    differences: Mapping[str, Estimate | None]

    @property
    def deletion(self) -> Estimate:
        """The metric of the paper."""
        return self.metrics["deletion"]


@dataclass(frozen=True)
class Run:
    """All results of one model."""

    settings: Mapping[str, Any]
    commands: Sequence[str]
    summaries: Sequence[Summary]

    @property
    def model(self) -> str:
        """Its name."""
        return str(self.settings["model"])

    @property
    def n_reviews(self) -> int:
        """How many reviews at least one variant has seen."""
        return len({review for s in self.summaries for review in s.variant.lines})

    @property
    def accuracy(self) -> float:
        """How often the model is right on these reviews, before any deletion."""
        # The same in every variant, but some may not have seen all reviews yet.
        right = {
            review: line["correct"][0]
            for summary in self.summaries
            for review, line in summary.variant.lines.items()
        }
        return float(np.mean(list(right.values())))


def load(paths: Iterable[Path]) -> list[Run]:
    """Read result files and summarise them, one run for every model.

    Raises:
        ValueError: if files of one model were not made with the same data, length and seed.
    """
    files: dict[str, list[Results]] = {}
    for path in paths:
        results = read_results(path)
        files.setdefault(str(results.settings["model"]), []).append(results)
    return [_run(model, found) for model, found in files.items()]


def _run(model: str, files: Sequence[Results]) -> Run:
    for name in _SAME_IN_A_TABLE:
        values = {str(results.settings.get(name)) for results in files}
        if len(values) > 1:
            raise ValueError(f"{model}: files with different {name}: {', '.join(sorted(values))}")
    variants = by_variant((line for results in files for line in results.lines), of="review")
    if not variants:
        raise ValueError(f"{model}: no results yet")
    commands = dict.fromkeys(command for results in files for command in results.commands)
    return Run(files[-1].settings, list(commands), summarise(variants))


def summarise(variants: Sequence[Variant]) -> list[Summary]:
    """The numbers of every variant, ordered as in the table.

    White box, black box, then searches and baselines; within them as they come, but what differs
    in the number of rows only stands together.
    """
    compared = {name: find(variants, *wanted) for name, wanted in COMPARED.items()}
    compared["best"] = _best(variants)
    kinds, series = list(GROUPS), list(dict.fromkeys(map(series_of, variants)))
    ordered = sorted(
        variants,
        key=lambda v: (kinds.index(v.kind), series.index(series_of(v)), v.rows_per_word or 0),
    )
    return [_summary(variant, compared) for variant in ordered]


def _best(variants: Sequence[Variant]) -> Variant | None:
    """The attribution with the lowest deletion, of those that have seen the most reviews."""
    attributions = [variant for variant in variants if variant.is_attribution]
    most = max((len(variant.lines) for variant in attributions), default=0)
    return min(
        (variant for variant in attributions if len(variant.lines) == most),
        key=lambda variant: float(np.mean(list(values_of(variant, "deletion").values()))),
        default=None,
    )


def series_of(variant: Variant) -> tuple[Any, ...]:
    """What variants that differ in the number of rows only have in common."""
    return variant.method, variant.title, variant.score, variant.keep


def _summary(variant: Variant, compared: Mapping[str, Variant | None]) -> Summary:
    return Summary(
        variant,
        float(np.mean([line["rows"] / line["words"] for line in variant.lines.values()])),
        {name: mean_with_interval(list(values_of(variant, name).values())) for name in VALUES},
        {name: _difference(variant, other) for name, other in compared.items()},
    )


def _difference(variant: Variant, other: Variant | None) -> Estimate | None:
    """Of deletion, on the reviews that both have seen; a variant has none to itself."""
    if other is None or other is variant or not variant.lines.keys() & other.lines.keys():
        return None
    return paired_difference(values_of(variant, "deletion"), values_of(other, "deletion"))


def values_of(variant: Variant, metric: str) -> dict[str, float]:
    """A metric of every review."""
    return {review: VALUES[metric](line) for review, line in variant.lines.items()}


def find(variants: Iterable[Variant], method: str, name: str | None = None) -> Variant | None:
    """A method's variant of that name or, without a name, the one with its natural rows."""
    found = [v for v in variants if v.method == method and name in (None, v.name)]
    return min(found, key=lambda v: v.rows_per_word is not None, default=None)
