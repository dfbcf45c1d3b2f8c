"""RESULTS.md: what deletion by shares says of attributions, and of searches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.curves import Curve, labelled_panels, plain_styles, png_of
from benchmarks.curves import write_labels as label_curves
from benchmarks.deletion.measures import SHARES, Curves
from benchmarks.deletion.run import BOUNDS
from benchmarks.deletion.text import BY_LENGTH, HEADER, MEASURES, PAIRED, PLOT, Measure
from benchmarks.models import describe
from benchmarks.reporting import (
    Cell,
    Line,
    Results,
    Table,
    decimal,
    escaped,
    interval,
    mean_with_interval,
    paired_difference,
    places,
    read_results,
)
from textsobol.files import write_text

OURS = "default"
_GROUPS = {"attributions": ("black box", "white box"), "searches": ("search",),
           "a random order": ("baseline",)}  # fmt: skip


@dataclass(frozen=True)
class Run:
    """All results of one model."""

    model: str
    results: Results

    @cached_property
    def measured(self) -> pd.DataFrame:
        """Every measure of every text and method, with its length; only texts that all share."""
        lines = [_as_search(line) for line in self.results.lines]
        found = pd.DataFrame(
            {**self._names(line), **self._measures(line)}
            for line in lines
            if line["text"] in self.bounds
        )
        counts = found.groupby("text")["method"].nunique()
        return found[found["text"].map(counts) == counts.max()]

    def _names(self, line: Line) -> dict[str, object]:
        return {name: line[name] for name in ("text", "method", "title", "kind", "length", "words",
                                              "is_right", "passes")}  # fmt: skip

    def _measures(self, line: Line) -> dict[str, float]:
        whole, found = line["whole"], {}
        for kind in ("hard", "soft"):
            curves = _curves(line[kind])
            drops = curves.drops(whole)
            for name, drop, (low, high) in zip(
                ("comp", "suff"), drops, self.bounds[line["text"]], strict=True
            ):
                found[f"{kind} {name}"] = (drop - low) / (high - low) if high > low else np.nan
                found[f"{kind} {name} plain"] = drop
        for share, value in zip(SHARES, line["hard"]["without"], strict=True):
            found[f"without {share:g}"] = value
        return found

    @cached_property
    def bounds(self) -> Mapping[str, list[tuple[float, float]]]:
        """Lowest and highest comprehensiveness and sufficiency of texts.

        Of the searches for them and of every order that was measured, so that all lies between.
        """
        drops: dict[str, list[tuple[float, float]]] = {}
        searched = set()
        for line in self.results.lines:
            is_bounds = line["method"] == BOUNDS
            searched |= {line["text"]} if is_bounds else set()
            for name in ("lowest", "highest") if is_bounds else ("hard",):
                drop = _curves(line[name]).drops(line["whole"])
                drops.setdefault(line["text"], []).append(drop)
        return {
            text: [(min(each), max(each)) for each in zip(*found, strict=True)]
            for text, found in drops.items()
            if text in searched
        }

    @property
    def titles(self) -> dict[str, list[str]]:
        """Methods in the groups of the tables, ours first."""
        methods = self.measured.drop_duplicates("method")
        order = sorted(methods["method"], key=lambda name: name not in (OURS, "scores"))
        kind_of = dict(zip(methods["method"], methods["kind"], strict=True))
        return {
            group: [name for name in order if kind_of[name] in kinds]
            for group, kinds in _GROUPS.items()
        }

    def title_of(self, method: str) -> str:
        """How tables call a method."""
        return str(self.measured.loc[self.measured["method"] == method, "title"].iloc[0])

    def values(self, method: str, measure: str, length: str | None = None) -> pd.Series:
        """By text."""
        lines = self.measured[self.measured["method"] == method]
        lines = lines if length is None else lines[lines["length"] == length]
        return lines.set_index("text")[measure].dropna()


def _as_search(line: Line) -> Line:
    """The searches for bounds, as the search that they are: each curve by the one made for it."""
    if line["method"] != BOUNDS:
        return line
    best = {"without": line["lowest"]["without"], "only": line["highest"]["only"]}
    return {**line, "title": "Greedy search", "hard": best, "soft": best}


def _curves(line: Line) -> Curves:
    return Curves(np.array(line["without"]), np.array(line["only"]))


def load(paths: Iterable[Path]) -> list[Run]:
    """One run for every file."""
    results = [read_results(path) for path in paths]
    return [Run(str(found.settings["model"]), found) for found in results]


def write_report(paths: Sequence[Path], out: Path) -> None:
    """Write RESULTS.md and the plot."""
    runs = load(paths)
    out.mkdir(parents=True, exist_ok=True)
    (out / PLOT).write_bytes(draw(paths))
    parts = [HEADER, describe(run.model for run in runs), _markdown(conditions(runs))]
    commands = dict.fromkeys(command for run in runs for command in run.results.commands)
    parts += ["\n".join(f"    {command}" for command in commands)]
    for run in runs:
        parts += [_markdown(table) for table in (main_table(run), paired_table(run),
                                                 length_table(run))]  # fmt: skip
    parts += [f"![Probability against the share of deleted words]({PLOT})"]
    write_text(out / "RESULTS.md", "\n\n".join(parts) + "\n")


def _markdown(table: Table) -> str:
    return f"## {escaped(table.title)}\n\n{escaped(table.caption)}\n\n{table.markdown()}"


def conditions(runs: Sequence[Run]) -> Table:
    """What was run on what."""
    rows = []
    for run in runs:
        made, texts = run.results.settings, run.measured.drop_duplicates("text")
        words, of_length = texts["words"], texts["length"].value_counts(sort=False)
        passes = run.values(OURS, "passes").mean()
        asked = sorted({line["asked"] for line in run.results.lines if line["asked"]})
        rows.append([
            Cell(run.model), Cell(made["precision"]), Cell(made["data"]), Cell(f"{len(texts)}"),
            Cell(", ".join(f"{length}: {n}" for length, n in of_length.items())),
            Cell(f"{words.min()}, {words.median():.0f}, {words.max()}"),
            Cell(f"{100 * texts['is_right'].mean():.0f} %"),
            Cell(", ".join(f"{number:g}" for number in asked)), Cell(f"{passes:,.0f}"),
            Cell(f"{made['seed']}"),
        ])  # fmt: skip
    header = ["model", "precision", "texts", "number", "by words", "words: fewest, median, most",
              "accuracy on them", "passes a word", "passes of the default, mean",
              "seed"]  # fmt: skip
    versions = runs[0].results.settings["versions"]
    shown = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    return Table("Conditions", f"Probability of the predicted label. {shown}.", header,
                 [("", rows)])  # fmt: skip


def main_table(run: Run) -> Table:
    """Every measure of every method."""
    columns = {measure: dict(_column(run, measure)) for measure in MEASURES}
    groups = [
        (group, [[Cell(run.title_of(name)), *(columns[m][name] for m in MEASURES)]
                 for name in methods])
        for group, methods in run.titles.items()
    ]  # fmt: skip
    header = ["method", *(f"{m.title} {'↑' if m.higher_is_better else '↓'}" for m in MEASURES)]
    caption = "Means over texts, and 95 % intervals. The best attribution of a column is bold."
    return Table(run.model, caption, header, [each for each in groups if each[1]])


def _column(run: Run, measure: Measure) -> Iterator[tuple[str, Cell]]:
    names = [name for methods in run.titles.values() for name in methods]
    estimates = [mean_with_interval(run.values(name, measure.name)) for name in names]
    attributions = run.titles["attributions"]
    ranks = places(
        [estimate.mean for estimate in estimates],
        higher_is_better=measure.higher_is_better,
        eligible=[name in attributions for name in names],
    )
    for name, estimate, place in zip(names, estimates, ranks, strict=True):
        is_soft_search = measure.name.startswith("soft") and name in run.titles["searches"]
        shown = interval(estimate) if measure.has_interval else ""
        yield name, Cell("") if is_soft_search else Cell(decimal(estimate.mean), place, shown)


def paired_table(run: Run) -> Table:
    """Differences to our default on the same texts; above 0: ours is better."""
    shown = [measure for measure in MEASURES if measure.has_interval]
    rows = []
    for name in run.titles["attributions"]:
        cells = [_difference(run, name, measure) for measure in shown] if name != OURS else []
        if cells:
            rows.append([Cell(run.title_of(name)), *cells])
    header = ["our default against", *(measure.title for measure in shown)]
    return Table(f"{run.model}: paired differences", PAIRED, header, [("", rows)])


def _difference(run: Run, name: str, measure: Measure) -> Cell:
    sign = 1.0 if measure.higher_is_better else -1.0
    ours, theirs = (dict(sign * run.values(each, measure.name)) for each in (OURS, name))
    found = paired_difference(ours, theirs)
    word = "better" if found.low > 0 else "worse" if found.high < 0 else "level"
    return Cell(word, int(word == "better"),
                f"{decimal(found.mean, sign=True)} {interval(found, sign=True)}")  # fmt: skip


def length_table(run: Run) -> Table:
    """Normalised comprehensiveness by length."""
    lengths = sorted(run.measured["length"].unique(), key=lambda each: int(each.split("-")[0]))
    groups = []
    for group, methods in run.titles.items():
        rows = []
        for name in methods:
            found = [run.values(name, "hard comp", length) for length in lengths]
            cells = [
                Cell(decimal(values.mean()), 0, f"n = {len(values)}") if len(values) else Cell("")
                for values in found
            ]
            rows.append([Cell(run.title_of(name)), *cells])
        groups.append((group, rows))
    header = ["method", *(f"{length} words" for length in lengths)]
    title = f"{run.model}: comprehensiveness by length"
    return Table(title, BY_LENGTH, header, [each for each in groups if each[1]])


def draw(paths: Sequence[Path]) -> bytes:
    """The mean probability against the share of deleted words."""
    panels = []
    for run in load(paths):
        n_texts = run.measured["text"].nunique()
        panels.append((f"{run.model}, {n_texts} texts", list(_drawn(run))))
    figure, all_axes = labelled_panels(panels)
    for axes, (_, curves) in zip(all_axes, panels, strict=True):
        axes.set_xlim(0, 100 * max(SHARES))
        axes.set_xlabel("words deleted, %")
        axes.set_ylabel("mean probability of the predicted label")
        label_curves(axes, curves)
    return png_of(figure)


def _drawn(run: Run) -> Iterator[Curve]:
    styles = [(colour, dashes) for dashes in ("-", (0, (4, 1.5)), ":") for colour, _ in
              plain_styles()]  # fmt: skip
    whole = {line["text"]: line["whole"] for line in run.results.lines}
    texts = run.measured["text"].unique()
    start = float(np.mean([whole[text] for text in texts]))
    names = [name for methods in run.titles.values() for name in methods]
    for name, style in zip(names, styles, strict=False):
        y = [float(run.values(name, f"without {share:g}").mean()) for share in SHARES]
        x = [0.0, *(100 * share for share in SHARES)]
        yield Curve(run.title_of(name), x, [start, *y], *style)
