"""RESULTS.md: who is first at each number of passes, and every measure of every method."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.curves import Curve, against_passes, labelled_panels, plain_styles, png_of
from benchmarks.curves import write_labels as label_curves
from benchmarks.heldout.text import (
    HEADER,
    MEASURES,
    NO_MODEL,
    NOT_RUN,
    PAIRS,
    SPEX,
    SUMMARY,
    Measure,
)
from benchmarks.heldout.ways import OURS
from benchmarks.models import describe
from benchmarks.reporting import (
    Cell,
    Estimate,
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

PLOT = "heldout.png"
_LOWEST = -1.0  # of R², so that one failure does not decide a mean
_MOST_OF_THEM = 0.9
_MOST_METHODS = 0.7  # of a text; in the shortest texts some do not fit
_SHOWN = ("scores", "default")
_WORDS = ("first", "level", "behind")
_NEVER = "0 · 0 · 0"  # of what ours does not estimate
_FAMILY = {*OURS, "gates"} - {"jansen"}
_DRAWN = ("scores", "default", "ridge", "lime", "occlusion", "permutation_shap", "kernel_shap",
          "oddshap", "proxyshap", "regression_msr", "jansen")  # fmt: skip


@dataclass(frozen=True)
class Run:
    """All results of one model: a row for every text and variant."""

    model: str
    files: Sequence[Results]
    lines: pd.DataFrame

    def column(self, measure: Measure, asked: int, texts: str | None = None) -> pd.DataFrame:
        """Values of methods with so many passes a word ``(texts, methods)``, on common texts.

        A text that a run has not finished is left out, and so is what has seen far fewer texts than
        most, or has no such value.
        """
        lines = self.lines[self.lines["asked"].isna() | (self.lines["asked"] == asked)]
        if measure.name not in lines or lines[measure.name].isna().all():
            return pd.DataFrame()
        if texts is not None:
            lines = lines[lines["name"] == texts]
        wide = lines.pivot_table(
            index=["name", "text"], columns="method", values=measure.name, aggfunc="first"
        )
        n_methods = wide.count(axis=1)
        wide = wide[n_methods >= _MOST_METHODS * n_methods.max()]
        wide = wide.loc[:, wide.count() >= _MOST_OF_THEM * wide.count().max()].dropna()
        return wide.clip(lower=_LOWEST) if measure.is_r2 else wide

    @property
    def asked(self) -> list[int]:
        """Numbers of passes a word."""
        return sorted(int(number) for number in self.lines["asked"].dropna().unique())

    @property
    def titles(self) -> dict[str, str]:
        """Methods as tables call them, ours first."""
        found = dict(zip(self.lines["method"], self.lines["title"], strict=True))
        return dict(sorted(found.items(), key=lambda each: each[0] not in OURS))


def load(paths: Iterable[Path]) -> list[Run]:
    """One run for every model."""
    files: dict[str, list[Results]] = {}
    for path in paths:
        found = read_results(path)
        files.setdefault(str(found.settings["model"]), []).append(found)
    return [
        Run(model, some, pd.concat(_frame(results) for results in some).reset_index(drop=True))
        for model, some in files.items()
    ]


def _frame(results: Results) -> pd.DataFrame:
    return pd.DataFrame(results.lines).assign(name=results.settings["name"])


def write_report(paths: Sequence[Path], out: Path) -> None:
    """Write RESULTS.md and the plot."""
    runs = load(paths)
    out.mkdir(parents=True, exist_ok=True)
    (out / PLOT).write_bytes(draw(paths))
    parts = [
        HEADER,
        describe(run.model for run in runs),
        NOT_RUN,
        _markdown(conditions(runs)),
        *_commands(runs),
    ]
    verdicts = {ours: {run.model: verdicts_of(run, ours) for run in runs} for ours in _SHOWN}
    parts += [_markdown(summary_table(verdicts["scores"]))]
    for ours, of_models in verdicts.items():
        parts += [_markdown(first_table(run, ours, of_models[run.model])) for run in runs]
    parts += [f"![R² of fresh masks against forward passes, below 0 drawn as 0]({PLOT})"]
    parts += [_markdown(spex_table(runs)), _markdown(pairs_table(runs))]
    for run in runs:
        parts += [_markdown(table) for table in measure_tables(run)]
    write_text(out / "RESULTS.md", "\n\n".join(part for part in parts if part) + "\n")


def _markdown(table: Table) -> str:
    if not any(rows for _, rows in table.groups):
        return ""
    return f"## {escaped(table.title)}\n\n{escaped(table.caption)}\n\n{table.markdown()}"


def conditions(runs: Sequence[Run]) -> Table:
    """What was run on what."""
    rows = []
    for run in runs:
        for results in run.files:
            made, lines = results.settings, _frame(results)
            texts = lines.drop_duplicates("text")
            words = texts["words"]
            rows.append([
                Cell(run.model), Cell(made["precision"]), Cell(f"{made['name']} ({made['data']})"),
                Cell(f"{len(texts)}"),
                Cell(f"{words.min()}, {words.median():.0f}, {words.max()}"),
                Cell(f"{100 * texts['is_right'].mean():.0f} %"),
                Cell(f"{made['masks']}"), Cell(f"{made['base_masks']}"),
                Cell(f"{100 * texts['is_exact'].mean():.0f} %"), Cell(f"{made['seed']}"),
            ])  # fmt: skip
    header = ["model", "precision", "texts", "number", "words: fewest, median, most",
              "accuracy on them", "fresh masks of each kind", "base masks of the truth",
              "truth from all masks", "seed"]  # fmt: skip
    versions = runs[0].files[-1].settings["versions"]
    shown = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    return Table("Conditions", f"Log-odds of the predicted label. {shown}.", header, [("", rows)])


def _commands(runs: Sequence[Run]) -> Iterator[str]:
    commands = (command for run in runs for results in run.files for command in results.commands)
    yield "\n".join(f"    {command}" for command in dict.fromkeys(commands))


Verdicts = Mapping[str, Sequence[Cell]]
"""By measure, ours against the best rival at every number of passes."""


def verdicts_of(run: Run, ours: str) -> Verdicts:
    """Those of one model, for one of ours."""
    own = {measure.title: (measure, ours) for measure in MEASURES}
    own |= {f"{m.title}, ours with keep 0.9": (m, "flip-0.9") for m in MEASURES if m.is_near}
    return {
        title: [_verdict(run, measure, asked, name) for asked in run.asked]
        for title, (measure, name) in own.items()
    }


def summary_table(of_models: Mapping[str, Verdicts]) -> Table:
    """How often ours, without a path, is first, level and behind with two passes a word or more."""
    rows = []
    for title in next(iter(of_models.values())):
        row = [Cell(title)]
        for verdicts in of_models.values():
            words = [cell.text for cell in verdicts[title][1:]]
            row.append(Cell(" · ".join(str(words.count(word)) for word in _WORDS)))
        if any(cell.text != _NEVER for cell in row[1:]):
            rows.append(row)
    return Table("Summary", SUMMARY, ["measure", *of_models], [("", rows)])


def first_table(run: Run, ours: str, verdicts: Verdicts) -> Table:
    """Ours against the best rival of every measure, at every number of passes."""
    rows = [
        [Cell(title), *cells]
        for title, cells in verdicts.items()
        if any(cell.text for cell in cells)
    ]
    title = f"{run.model}: {run.titles.get(ours, ours)}, against the best rival"
    caption = (
        "First: better than every rival; level: the 95 % interval of the difference to the best "
        "rival holds 0; else behind. Then that difference (above 0: ours is better), its interval, "
        "and the rival. Columns: forward passes a word."
    )
    return Table(title, caption, ["measure", *map(str, run.asked)], [("", rows)])


def _verdict(run: Run, measure: Measure, asked: int, ours: str) -> Cell:
    values = run.column(measure, asked)
    rivals = [name for name in values.columns if name not in _FAMILY]
    if ours not in values.columns or not rivals or len(values) < 2:
        return Cell("")
    sign = 1.0 if measure.higher_is_better else -1.0
    best = (sign * values[rivals].mean()).idxmax()
    found = paired_difference(dict(sign * values[ours]), dict(sign * values[best]))
    word = "first" if found.low > 0 else "behind" if found.high < 0 else "level"
    after = f"{decimal(found.mean, sign=True)} {interval(found, sign=True)} {run.titles[best]}"
    return Cell(word, place=int(word == "first"), after=after)


def measure_tables(run: Run) -> Iterator[Table]:
    """Every measure: methods by passes."""
    for measure in (*MEASURES, *NO_MODEL):
        columns = {asked: run.column(measure, asked) for asked in run.asked}
        titles = {
            method: title
            for method, title in run.titles.items()
            if any(method in values for values in columns.values())
        }
        if not titles:
            continue
        cells = [_column(values, measure, titles) for values in columns.values()]
        rows = [
            [Cell(title), *(column[place] for column in cells)]
            for place, title in enumerate(titles.values())
        ]
        counts = [Cell("texts"), *(Cell(f"{len(values)}") for values in columns.values())]
        header = ["method", *map(str, run.asked)]
        direction = "Higher" if measure.higher_is_better else "Lower"
        caption = f"{measure.said} {direction} is better."
        yield Table(f"{run.model}: {measure.title}", caption, header, [("", rows), ("", [counts])])


def _column(values: pd.DataFrame, measure: Measure, titles: Mapping[str, str]) -> list[Cell]:
    estimates = [mean_with_interval(values[m]) if m in values else None for m in titles]
    ranks = places(
        [estimate.mean if estimate else 0.0 for estimate in estimates],
        higher_is_better=measure.higher_is_better,
        eligible=[estimate is not None for estimate in estimates],
    )
    return [
        _cell(estimate, place, with_interval=measure.has_interval)
        for estimate, place in zip(estimates, ranks, strict=True)
    ]


def _cell(estimate: Estimate | None, place: int, *, with_interval: bool) -> Cell:
    if estimate is None:
        return Cell("")
    return Cell(decimal(estimate.mean), place, interval(estimate) if with_interval else "")


def _asked(runs: Sequence[Run]) -> list[int]:
    return sorted({number for run in runs for number in run.asked})


def spex_table(runs: Sequence[Run]) -> Table:
    """The texts of SPEX: R² beside what was published of another model."""
    measure = MEASURES[0]
    shown = ("scores", "pairs", "ridge", "lime", "permutation_shap")
    asked = _asked(runs)
    rows = []
    for run in runs:
        if "spex" not in set(run.lines["name"]):
            continue
        columns = [run.column(measure, number, "spex") for number in asked]
        for method in (name for name in shown if name in run.titles):
            cells = [
                _cell(mean_with_interval(v[method]), 0, with_interval=True)
                if method in v
                else Cell("")
                for v in columns
            ]
            rows.append([Cell(f"{run.model}: {run.titles[method]}"), *cells])
        passes = run.lines[(run.lines["name"] == "spex") & (run.lines["method"] == "scores")]
        means = passes.groupby("asked")["passes"].mean()
        rows.append(
            [Cell(f"{run.model}: masks, mean"), *(Cell(f"{means.get(a, 0):,.0f}") for a in asked)]
        )
    return Table("The texts of SPEX", SPEX, ["model, method", *map(str, asked)], [("", rows)])


def pairs_table(runs: Sequence[Run]) -> Table:
    """What pairs add to the R² of the same explanation."""
    asked = _asked(runs)
    rows = []
    for run in runs:
        lines = run.lines[run.lines["method"] == "pairs"]
        for name in ("keep 0.5", "keep 0.9", "deletions"):
            cells = []
            for number in asked:
                own = lines.loc[lines["asked"] == number, [f"r2 {name}", f"pairs {name}"]].dropna()
                values = own.sum(axis=1).clip(lower=_LOWEST) - own.iloc[:, 0].clip(lower=_LOWEST)
                found = mean_with_interval(values) if len(values) else None
                after = f"{interval(found, sign=True)}" if found else ""
                cells.append(Cell(decimal(found.mean, sign=True) if found else "", 0, after))
            rows.append([Cell(f"{run.model}, {name}"), *cells])
    return Table("What pairs add", PAIRS, ["model, masks", *map(str, asked)], [("", rows)])


def draw(paths: Sequence[Path]) -> bytes:
    """R² of fresh masks at keep rate 0.5, a panel for every model."""
    panels = [(f"{run.model}, {_n_texts(run)} texts", list(_curves(run))) for run in load(paths)]
    figure, all_axes = labelled_panels(panels)
    for axes, (_, curves) in zip(all_axes, panels, strict=True):
        against_passes(axes, curves)
        axes.set_ylim(max(axes.get_ylim()[0], 0.0), 1.0)
        axes.set_xlabel("forward passes a word")
        axes.set_ylabel("R² of fresh masks, keep 0.5")
        label_curves(axes, curves)
    return png_of(figure)


def _n_texts(run: Run) -> int:
    return len(run.lines.drop_duplicates(["name", "text"]))


def _curves(run: Run) -> Iterator[Curve]:
    columns = {asked: run.column(MEASURES[0], asked) for asked in run.asked}
    dashed = partial(map, lambda style: (style[0], (0, (4, 1.5))))
    styles = iter([*plain_styles(), *dashed(plain_styles())])
    for method in _DRAWN:
        found = {asked: v[method] for asked, v in columns.items() if method in v}
        if not found:
            continue
        means = [float(values.mean()) for values in found.values()]
        yield Curve(run.titles[method], list(found), np.clip(means, 0, 1).tolist(), *next(styles))
