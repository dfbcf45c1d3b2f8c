"""Tables: in Markdown, of what a benchmark measured, beside a paper's numbers, as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.reading import Reading
from benchmarks.reporting import (
    Cell,
    Estimate,
    Line,
    Table,
    decimal,
    interval,
    places,
    read_results,
)
from benchmarks.summary import GROUPS, Run, Summary, find, series_of

PaperRow = tuple[str, str, str | None]
"""A method of a paper: how it is called there, our method, and its variant or ``None`` for any."""


def markdown(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def table_of_file(
    path: Path, header: Sequence[str], rows: Callable[[Sequence[Line]], Iterable[Sequence[str]]]
) -> str:
    """What a file of results comes to, as a Markdown table."""
    return markdown(header, list(rows(read_results(path).lines)))


def table_of(run: Run, title: str = "") -> Table:
    """A run as a table, with the best and second best of every metric marked.

    A variant that has not seen all inputs is shown, but not marked: its inputs may be easier.

    Args:
        run: what to show.
        title: by default the name of the model.
    """
    reading = run.reading
    takes_part = [s.variant.is_attribution for s in run.summaries]
    columns = [
        _column([s.metrics[name] for s in run.summaries], name, reading, takes_part)
        for name in reading.values
    ]
    groups: dict[str, list[list[Cell]]] = {}
    for s, (deletion, *others) in zip(run.summaries, zip(*columns, strict=True), strict=True):
        keep = Cell("" if s.variant.keep is None else f"{s.variant.keep:g}")
        row = [
            Cell(s.variant.title),
            *([keep] if reading.keeps else []),
            Cell(f"{s.cost:,.{reading.cost_digits}f}"),
            deletion,
            *(_signed(s.differences[name], reading) for name in reading.differences),
            *others,
            Cell(f"{len(s.variant.lines):,}"),
        ]
        groups.setdefault(GROUPS[s.variant.kind], []).append(row)
    first, *rest = [
        f"{value.title or name} {'↑' if value.higher_is_better else '↓'}"
        for name, value in reading.values.items()
    ]
    keep_header = ["keep"] if reading.keeps else []
    before = ["method", *keep_header, reading.cost_name]
    header = [*before, first, *reading.differences.values(), *rest, f"{reading.of}s"]
    return Table(title or run.model, _caption(run), header, list(groups.items()))


def passes_table(run: Run) -> Table:
    """Deletion of every method, by the passes that were asked for; see `over_passes`."""
    reading = run.reading
    series: dict[tuple[Any, ...], dict[float | None, Estimate]] = {}
    for s in run.summaries:
        series.setdefault(series_of(s.variant), {})[s.variant.asked] = s.deletion
    asked = sorted({s.variant.asked for s in run.summaries if s.variant.asked is not None})
    columns = [
        _column(
            [found.get(number) for found in series.values()],
            "deletion",
            reading,
            [True] * len(series),
        )
        for number in asked
    ]
    alone = [Cell(decimal(f[None].mean) if None in f else "") for f in series.values()]
    rows = [
        [Cell(title), own, *cells]
        for (_, title, *_), own, *cells in zip(series, alone, *columns, strict=True)
    ]
    header = ["method", "its own number", *(f"{number:g}" for number in asked)]
    inputs = f"{run.n_inputs:,} {reading.of}s"
    caption = f"Deletion by {reading.cost_name}, on the {inputs} that all have seen."
    return Table(f"{run.model}: {reading.cost_name}", caption, header, [("", rows)])


def _column(
    estimates: Sequence[Estimate | None], metric: str, reading: Reading, takes_part: Sequence[bool]
) -> list[Cell]:
    """A metric of several variants; what has not been run is empty."""
    value = reading.values[metric]
    # Inputs seen, by those that can be marked.
    seen = [e.n if takes and e else -1 for takes, e in zip(takes_part, estimates, strict=True)]
    found = places(
        [estimate.mean if estimate else 0.0 for estimate in estimates],
        higher_is_better=value.higher_is_better,
        eligible=[n >= 0 and n == max(seen) for n in seen],
    )
    return [
        Cell(decimal(estimate.mean), place, _after(estimate, reading, value.with_interval))
        if estimate
        else Cell("")
        for estimate, place in zip(estimates, found, strict=True)
    ]


def _signed(difference: Estimate | None, reading: Reading) -> Cell:
    if difference is None:
        return Cell("")
    after = _after(difference, reading, with_interval=True, sign=True)
    return Cell(decimal(difference.mean, sign=True), after=after)


def _after(estimate: Estimate, reading: Reading, with_interval: bool, *, sign: bool = False) -> str:
    """What stands beside a figure: its interval, and the number of inputs."""
    told = [interval(estimate, sign=sign)] if with_interval else []
    told += [f"n = {estimate.n:,}"] if reading.shows_n else []
    return ", ".join(part for part in told if part)


def _caption(run: Run) -> str:
    """What was run; the commands stand below it."""
    settings, inputs = run.settings, f"{run.reading.of}s"
    versions = settings.get("versions") or {}
    said = [
        f"Model {run.model}",
        f"data {settings.get('data')}",
        f"{run.n_inputs:,} {inputs}{run.reading.described(settings)}",
        f"accuracy {100 * run.accuracy:.1f} % on these {inputs}",
        f"seed {settings.get('seed')}",
        *(f"{name} {version}" for name, version in versions.items()),
    ]
    caption = ", ".join(said) + "."
    if len({len(variant.lines) for variant in run.variants}) > 1:
        caption += f" Variants that have not seen all {inputs} are not marked."
    return caption


def beside_the_paper(
    title: str,
    caption: str,
    rows: Sequence[PaperRow],
    paper: Mapping[str, Sequence[float | None]],
    runs: Sequence[Run],
    *,
    metric: str = "deletion",
    n: int = 0,
) -> Table:
    """A paper's numbers beside the same of ours.

    Args:
        title: of the table.
        caption: what is said below the title.
        rows: the methods.
        paper: columns of the paper's numbers, one for each row; ``None`` for what is only ours.
        runs: columns of ours; at least one.
        metric: what is compared.
        n: inputs that the paper's numbers are means over.
    """
    columns: list[list[Estimate | None]] = [
        [None if value is None else Estimate(value, math.nan, math.nan, n) for value in values]
        for values in paper.values()
    ]
    columns += [[_metric_of(run, metric, method, name) for _, method, name in rows] for run in runs]
    takes_part = [method != "random" for _, method, _ in rows]
    cells = [_column(column, metric, runs[0].reading, takes_part) for column in columns]
    made = [[Cell(name), *row] for (name, _, _), *row in zip(rows, *cells, strict=True)]
    return Table(title, caption, ["method", *paper, *(run.model for run in runs)], [("", made)])


def _metric_of(run: Run, metric: str, method: str, name: str | None) -> Estimate | None:
    found = find(run.variants, method, name)
    return next((s.metrics[metric] for s in run.summaries if s.variant is found), None)


def csv_of(runs: Sequence[Run]) -> str:
    """Every number of every variant, unrounded, with the intervals of all metrics."""
    rows = [_csv_row(run, summary) for run in runs for summary in run.summaries]
    file = io.StringIO()
    writer = csv.DictWriter(file, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _csv_row(run: Run, summary: Summary) -> dict[str, Any]:
    variant, reading = summary.variant, run.reading
    cost = reading.cost_name.replace(" ", "_")
    row: dict[str, Any] = {
        "model": run.model,
        "method": variant.method,
        "variant": variant.name,
        "title": variant.title,
        "kind": variant.kind,
        "score": variant.score,
        "keep": variant.keep,
        f"{cost}_asked": variant.asked,
        cost: summary.cost,
        f"{reading.of}s": len(variant.lines),
    }
    differences = {f"difference_to_{name}": found for name, found in summary.differences.items()}
    for name, found in {**summary.metrics, **differences}.items():
        row[name] = found.mean if found else None
        row[f"{name}_low"] = found.low if found else None
        row[f"{name}_high"] = found.high if found else None
        if reading.shows_n:
            row[f"{name}_n"] = found.n if found else None
    return row
