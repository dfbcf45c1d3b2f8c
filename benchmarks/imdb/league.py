"""The league: every black box at the same numbers of forward passes, against our scores.

Searches, our own path among them, are listed apart: they find deletions and score nothing.

Made by ``python -m benchmarks.imdb league``. Methods have not all seen the same reviews, for some
take minutes for one. So every figure is that of the reviews which the methods of its column share,
and differences to ours are taken review by review, on those that both have seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.curves import passes_figure, png_of
from benchmarks.imdb.reading import load
from benchmarks.imdb.ways import PATH
from benchmarks.report import Plot, Report
from benchmarks.reporting import (
    Cell,
    Estimate,
    Table,
    decimal,
    interval,
    places,
)
from benchmarks.summary import Run, Variant, on_common_inputs

OURS = "sobol"
ATTRIBUTIONS, OTHERS = "attributions", "searches, and a random order"
_MOST_OF_THEM = 0.9
_FEWEST = 2  # reviews of a column; a single one has no interval
TITLE = "The league: word deletion at the same number of forward passes"
_METRICS = {"deletion": "Deletion", "insertion": "Insertion", "comprehensiveness": "AOPC"}
HOW_TO_READ = (
    "Rows: different masked texts that were forwarded for each word, the whole text included. "
    "Deletion: the probability of the predicted label after 0 to 20 deletions, the strongest word "
    "first, mean over the deletions (lower is better). Insertion: with only the 0 to 20 strongest "
    "words (higher is better). AOPC, comprehensiveness: how much the probability falls without a "
    "share of the words, the strongest (higher is better). Means over reviews; 95 % intervals from "
    "10,000 bootstrap resamples of the reviews. The way is the share of the distance from "
    "occlusion (0 %) to greedy search (100 %), which looks at every word after every deletion. "
    "Differences are those of deletion to our scores with the same rows, on the same reviews: "
    "above 0 is worse than ours, and where the interval holds 0 no difference is shown. "
    "Attributions give every word a score. Searches only look for deletions: they are listed apart "
    "and not marked."
)


def write_league(paths: Sequence[Path], out: Path) -> None:
    """Write ``report.md``, ``.html``, ``.csv`` and ``league.png``.

    Args:
        paths: files of results, of one model or several.
        out: the directory to write to, made if it is not there.
    """
    from benchmarks.tables import csv_of

    runs = [_black_boxes(run) for run in load(paths)]
    tables: list[tuple[Table, Sequence[str]]] = []
    for run in runs:
        columns = columns_of(run)
        tables.append((_table(run, columns, "deletion"), run.commands))
        tables.append((differences_table(run), ()))
        tables += [
            (_table(run, columns, metric), ()) for metric in _METRICS if metric != "deletion"
        ]
    drawn = [_drawn(run) for run in runs]
    caption = "Deletion against forward passes a word, with 95 % intervals"
    plot = Plot("league.png", "Deletion against rows", caption, png_of(passes_figure(drawn)))
    Report(TITLE, HOW_TO_READ, tables, [plot], []).write(out, csv_of(runs))


def columns_of(run: Run) -> dict[float, Run]:
    """For every number of rows ours and the others, on the reviews that all of them have seen.

    What has seen far fewer reviews than most would take theirs away, and is left out; so are
    numbers of rows that few reviews were explained with.
    """
    found = {}
    for asked in sorted({v.asked for v in run.variants if v.asked is not None}):
        ours = [v for v in run.variants if v.asked == asked and v.method == OURS]
        others = [v for v in run.variants if v.asked in (asked, None) and v.method != OURS]
        most = max((len(v) for v in others if v.asked == asked), default=0)
        full = [v for v in others if len(v) >= _MOST_OF_THEM * most]
        if not ours or not full:
            continue
        column = on_common_inputs(run.of([*ours, *full]))
        if column.n_inputs >= _FEWEST:
            found[asked] = column
    return found


def differences_table(run: Run) -> Table:
    """Deletion minus that of ours with the same rows, on the reviews that both have seen."""
    asked = sorted({v.asked for v in run.variants if v.asked is not None})
    ours = {v.asked: v for v in run.variants if v.method == OURS}
    titles = [title for title in _titles(run) if title not in _own_titles(run)]
    rows: dict[str, list[Cell]] = {}
    for title in titles:
        cells = []
        for number in asked:
            theirs = [v for v in run.variants if v.title == title and v.asked in (number, None)]
            cells.append(_difference(theirs[0], ours.get(number)) if theirs else Cell(""))
        rows[title] = [Cell(title), *cells]
    return Table(
        f"{run.model}: difference to our scores",
        "Deletion minus that of our scores with the same rows, on the reviews that both have seen "
        "(n). Occlusion and greedy search have rows of their own.",
        ["method", *(f"{number:g}" for number in asked)],
        _grouped(run, rows),
    )


def _difference(theirs: Variant, ours: Variant | None) -> Cell:
    found = theirs.difference(ours)
    if found is None:
        return Cell("")
    after = f"{interval(found, sign=True)}, n = {found.n}"
    return Cell(decimal(found.mean, sign=True), after=after)


def way(variant: Variant, column: Run) -> float | None:
    """Share of the distance from occlusion to greedy search that a method has come."""
    by_method = {v.method: v.deletion.mean for v in column.variants}
    if not {"occlusion", "greedy"} <= by_method.keys():
        return None
    far = by_method["occlusion"] - by_method["greedy"]
    return (by_method["occlusion"] - variant.deletion.mean) / far if far else None


def _table(run: Run, columns: dict[float, Run], metric: str) -> Table:
    value = run.reading.values[metric]
    seen = {v.title for column in columns.values() for v in column.variants}
    titles = [title for title in _titles(run) if title in seen]
    rows: list[list[Cell]] = [[Cell(title)] for title in titles]
    counts = [Cell("reviews")]
    for column in columns.values():
        by_title = {v.title: v for v in column.variants}
        found = [by_title.get(title) for title in titles]
        estimates = [v.metrics[metric] if v else None for v in found]
        ranks = places(
            [estimate.mean if estimate else 0.0 for estimate in estimates],
            higher_is_better=value.higher_is_better,
            eligible=[v is not None and v.asked is not None and v.is_attribution for v in found],
        )
        for row, variant, estimate, place in zip(rows, found, estimates, ranks, strict=True):
            row.append(_cell(variant, estimate, place, column if metric == "deletion" else None))
        counts.append(Cell(f"{column.n_inputs}"))
    settings = run.settings
    caption = (
        f"Model {run.model}, {settings['data']}{run.reading.described(settings)}, accuracy "
        f"{100 * run.accuracy:.1f} % on these reviews, seed {settings['seed']}."
        + (" In brackets the interval, then the way." if metric == "deletion" else "")
    )
    header = ["method", *(f"{number:g} rows" for number in columns)]
    groups = _grouped(run, dict(zip(titles, rows, strict=True)))
    return Table(f"{run.model}: {_METRICS[metric]}", caption, header, [*groups, ("", [counts])])


def _grouped(run: Run, rows: Mapping[str, list[Cell]]) -> list[tuple[str, list[list[Cell]]]]:
    """Rows by title, those of attributions apart from the others."""
    scored = {variant.title for variant in run.variants if variant.is_attribution}
    groups = {
        ATTRIBUTIONS: [row for title, row in rows.items() if title in scored],
        OTHERS: [row for title, row in rows.items() if title not in scored],
    }
    return [(name, found) for name, found in groups.items() if found]


def _cell(
    variant: Variant | None, estimate: Estimate | None, place: int, column: Run | None
) -> Cell:
    if variant is None or estimate is None:
        return Cell("")
    if column is None:
        return Cell(decimal(estimate.mean), place)
    share = way(variant, column)
    after = [interval(estimate), *([] if share is None else [f"{100 * share:.0f} %"])]
    return Cell(decimal(estimate.mean), place, ", ".join(after))


def _titles(run: Run) -> list[str]:
    """Ours first, then the others as they come."""
    titles = dict.fromkeys(v.title for v in run.variants)
    return sorted(titles, key=lambda title: title not in _own_titles(run))


def _own_titles(run: Run) -> set[str]:
    return {variant.title for variant in run.variants if variant.method == OURS}


def _drawn(run: Run) -> Run:
    """The numbers of rows that most reviews were explained with, on the same reviews."""
    columns = columns_of(run)
    most = max((column.n_inputs for column in columns.values()), default=0)
    full = {
        v.name for c in columns.values() if c.n_inputs >= _MOST_OF_THEM * most for v in c.variants
    }
    return on_common_inputs(run.of([v for v in run.variants if v.name in full]))


def _black_boxes(run: Run) -> Run:
    """Without gradients, which are no black boxes, and the kinds of score that rank nothing.

    Ours comes first, so that it has the same colour in all panels of the plot.
    """
    drawing = run.reading.drawing

    def is_listed(variant: Variant) -> bool:
        return variant.method == PATH or drawing.is_usual(variant)

    reading = replace(run.reading, drawing=replace(drawing, is_usual=is_listed))
    found = [v for v in run.variants if v.kind != "white box" and is_listed(v)]
    ordered = sorted(found, key=lambda variant: variant.method != OURS)
    return replace(run, reading=reading).of(ordered)
