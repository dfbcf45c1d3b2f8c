"""Tables: in Markdown, of what a benchmark measured, beside a paper's numbers, as CSV."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

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
from benchmarks.summary import GROUPS, Run, Variant, by_series, find
from textsobol.files import neutralise_formula, write_text

PaperRow = tuple[str, str, str | None]
"""A method of a paper: how it is called there, our method, and its variant or ``None`` for any."""


def markdown(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def fill_marks(path: Path, tables: Mapping[str, str]) -> None:
    """Put tables into a file of Markdown, each between its marks; what is around them stays.

    The marks of a table are the comments ``<!-- name -->`` and ``<!-- end of name -->``.
    """
    text = path.read_text(encoding="utf-8")
    for name, table in tables.items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
        made = f"{begin}\n{table}\n{end}".replace("\\", "\\\\")
        text = pattern.sub(made, text)
    write_text(path, text)


def table_of_file(
    path: Path, header: Sequence[str], rows: Callable[[Sequence[Line]], Iterable[Sequence[str]]]
) -> str:
    """What a file of results comes to, as a Markdown table."""
    return markdown(header, list(rows(read_results(path).lines)))


def table_of(run: Run, title: str = "") -> Table:
    """A run as a table, with the best and second best of every metric marked.

    A variant that has not seen all inputs is shown, but not marked: its inputs may be easier.
    """
    reading, compared = run.reading, run.compared
    takes_part = [v.is_attribution for v in run.variants]
    columns = [
        _column([v.metrics[name] for v in run.variants], name, reading, takes_part)
        for name in reading.values
    ]
    groups: dict[str, list[list[Cell]]] = {}
    for v, (deletion, *others) in zip(run.variants, zip(*columns, strict=True), strict=True):
        keep = Cell("" if v.keep is None else f"{v.keep:g}")
        row = [
            Cell(v.title),
            *([keep] if reading.keeps else []),
            Cell(f"{v.cost:,.{reading.cost_digits}f}"),
            deletion,
            *(_signed(v.difference(compared[name]), reading) for name in reading.differences),
            *others,
            Cell(f"{len(v):,}"),
        ]
        groups.setdefault(GROUPS[v.kind], []).append(row)
    first, *rest = [
        f"{value.title or name} {'↑' if value.higher_is_better else '↓'}"
        for name, value in reading.values.items()
    ]
    before = ["method", *(["keep"] if reading.keeps else []), reading.cost_name]
    header = [*before, first, *reading.differences.values(), *rest, f"{reading.of}s"]
    return Table(title or run.model, _caption(run), header, list(groups.items()))


def passes_table(run: Run) -> Table:
    """Deletion of every method, by the passes that were asked for; see `over_passes`."""
    reading, series = run.reading, by_series(run.variants)
    by_asked = [{v.asked: v.deletion for v in found} for found in series]
    asked = sorted({v.asked for v in run.variants if v.asked is not None})
    columns = [
        _column(
            [found.get(number) for found in by_asked], "deletion", reading, [True] * len(series)
        )
        for number in asked
    ]
    alone = [Cell(decimal(found[None].mean) if None in found else "") for found in by_asked]
    rows = [
        [Cell(found[0].title), own, *cells]
        for found, own, *cells in zip(series, alone, *columns, strict=True)
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
        Cell(decimal(e.mean), place, _after(e, reading, value.with_interval)) if e else Cell("")
        for e, place in zip(estimates, found, strict=True)
    ]


def _signed(difference: Estimate | None, reading: Reading) -> Cell:
    if difference is None:
        return Cell("")
    after = _after(difference, reading, with_interval=True, sign=True)
    return Cell(decimal(difference.mean, sign=True), after=after)


def _after(estimate: Estimate, reading: Reading, with_interval: bool, *, sign: bool = False) -> str:
    """What stands beside a figure: its interval, and the number of inputs."""
    shown = [interval(estimate, sign=sign)] if with_interval else []
    shown += [f"n = {estimate.n:,}"] if reading.shows_n else []
    return ", ".join(part for part in shown if part)


def _caption(run: Run) -> str:
    """What was run; the commands stand below it."""
    settings, inputs = run.settings, f"{run.reading.of}s"
    said = [
        f"Model {run.model}",
        f"data {settings.get('data')}",
        f"{run.n_inputs:,} {inputs}{run.reading.described(settings)}",
        f"accuracy {100 * run.accuracy:.1f} % on these {inputs}",
        f"seed {settings.get('seed')}",
        *(f"{name} {version}" for name, version in (settings.get("versions") or {}).items()),
    ]
    caption = ", ".join(said) + "."
    if len(set(map(len, run.variants))) > 1:
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
    """A paper's numbers, means over n inputs or ``None``, beside the same of ours."""
    columns: list[list[Estimate | None]] = [
        [None if value is None else Estimate(value, math.nan, math.nan, n) for value in values]
        for values in paper.values()
    ]
    for run in runs:
        found = [find(run.variants, method, name) for _, method, name in rows]
        columns.append([variant.metrics[metric] if variant else None for variant in found])
    takes_part = [method != "random" for _, method, _ in rows]
    cells = [_column(column, metric, runs[0].reading, takes_part) for column in columns]
    made = [[Cell(name), *row] for (name, _, _), *row in zip(rows, *cells, strict=True)]
    return Table(title, caption, ["method", *paper, *(run.model for run in runs)], [("", made)])


def csv_of(runs: Sequence[Run]) -> str:
    """Every number of every variant, unrounded, with the intervals of all metrics."""
    found = (_csv_row(run, variant) for run in runs for variant in run.variants)
    rows = [{name: neutralise_formula(cell) for name, cell in row.items()} for row in found]
    return str(pd.DataFrame(rows, dtype=object).to_csv(index=False, lineterminator="\n"))


def _csv_row(run: Run, variant: Variant) -> dict[str, Any]:
    reading = run.reading
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
        cost: variant.cost,
        f"{reading.of}s": len(variant),
    }
    differences = {
        f"difference_to_{name}": variant.difference(other) for name, other in run.compared.items()
    }
    ends = {"": "mean", "_low": "low", "_high": "high"} | ({"_n": "n"} if reading.shows_n else {})
    for name, found in {**variant.metrics, **differences}.items():
        row |= {f"{name}{end}": getattr(found, field, None) for end, field in ends.items()}
    return row
