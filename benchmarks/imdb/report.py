"""Tables, plots and a page of the word-deletion benchmark, beside the paper's numbers.

    python -m benchmarks.imdb.report results/*.jsonl --out report

Results of the same model go into one table.
"""

import argparse
import base64
import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
from scipy.optimize import isotonic_regression

from benchmarks.reporting import (
    Cell,
    Estimate,
    Line,
    Results,
    Table,
    Variant,
    by_variant,
    decimal,
    escaped,
    interval,
    mean_curve,
    mean_with_interval,
    paired_difference,
    places,
    read_results,
)
from textsobol.metrics.faithfulness import METRICS

# The metrics of a line, in the order of the table; which are better high, METRICS knows.
VALUES: dict[str, Callable[[Line], float]] = {
    "deletion": lambda line: float(np.mean(line["deletion"])),
    "accuracy": lambda line: float(np.mean(line["correct"])),
    "insertion": lambda line: float(np.mean(line["insertion"])),
    "comprehensiveness": lambda line: float(line["comprehensiveness"]),
    "sufficiency": lambda line: float(line["sufficiency"]),
}
TITLE = "Word deletion on IMDB"
READING = (
    "Means over reviews, with 95 % intervals (10,000 bootstrap resamples of the reviews). "
    "Deletion: the probability of the predicted label after 0 to 20 deletions, the strongest word "
    "first, mean over the deletions. Accuracy: how often the prediction is the true label, over "
    "the same deletions. Insertion: the probability with only the 0 to 20 strongest words. "
    "Comprehensiveness and sufficiency: how much the probability falls without, and with only, a "
    "share of the words, the strongest. Arrows say whether low or high is better. The best is "
    "bold, the second best underlined; searches and random orders are no attributions and are not "
    "marked. The difference to occlusion is that of deletion on the same reviews; below 0 is "
    "better."
)

# In this order.
_GROUPS = {
    "white box": "white box",
    "black box": "black box",
    "search": "search and baseline",
    "baseline": "search and baseline",
}
_SAME_IN_A_TABLE = ("data", "max_words", "seed")

# The paper, Fel et al. 2021, table 3: title, method, variant (None: any), BERT, LSTM.
_PAPER = (
    ("Saliency", "saliency", None, 0.684, 0.541),
    ("Gradient-Input", "gradient_input", None, 0.682, 0.529),
    ("SmoothGrad", "smoothgrad", None, 0.682, 0.541),
    ("Integrated gradients", "integrated_gradients", None, 0.689, 0.538),
    ("Occlusion", "occlusion", None, 0.531, 0.440),
    ("Sobol total", "sobol", "jansen-total", 0.662, 0.523),
    ("Sobol signed", "sobol", "jansen-signed", 0.598, 0.461),
)
# Its appendix, "Word Deletion": title, method, variant, BERT.
_PAPER_THRESHOLDS = (
    ("Sobol signed, 50 % kept", "sobol", "jansen-signed", 0.598),
    ("Sobol signed, 90 % kept", "sobol", "jansen-signed-0.9", 0.553),
    ("Sobol signed, 95 % kept", "sobol", "jansen-signed-0.95", 0.527),
    ("Occlusion", "occlusion", None, 0.531),
)
_OTHER_MODELS = (
    "Word deletion, lower is better. The models and reviews are not the paper's: the order can be "
    "compared, the height cannot."
)

# Okabe and Ito's colours without yellow, which is pale on white.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
_GREY, _INK = "#6e6e6e", "#1b1f24"
# A kind has lines of its own, so that colours need to differ within a kind only. The second is for
# more curves than there are colours.
_DASHES: dict[str, tuple[Any, Any]] = {
    "black box": ("-", (0, (6, 1.5, 1, 1.5))),
    "white box": ((0, (4, 1.5)), (0, (1.5, 1))),
    "search": (":", ":"),
    "baseline": (":", ":"),
}
_REFERENCES = ("occlusion", "greedy")

# Inches, but for the size of letters, which is in points.
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 4.6, 3.4, 0.75, 0.15, 0.4, 0.6
_LETTERS = 9.0
_LINE, _CHARACTER, _LEADER = _LETTERS * 1.3 / 72, _LETTERS * 0.53 / 72, 0.3


@dataclass(frozen=True)
class Summary:
    """A variant in numbers; the difference is that of its deletion to occlusion's."""

    variant: Variant
    rows_per_word: float
    metrics: Mapping[str, Estimate]
    difference: Estimate | None


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


@dataclass(frozen=True)
class Curve:
    """A line of a plot, which is labelled where it ends."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    colour: str
    dashes: Any
    errors: Sequence[tuple[float, float]] = ()  # intervals of y
    is_level: bool = False  # a height to compare with, from rim to rim


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
    commands = dict.fromkeys(str(results.settings.get("command", "")) for results in files)
    return Run(
        files[-1].settings, [command for command in commands if command], summarise(variants)
    )


def summarise(variants: Sequence[Variant]) -> list[Summary]:
    """The numbers of every variant, ordered as in the table.

    White box, black box, then searches and baselines; within them as they come, but what differs
    in the number of rows only stands together.
    """
    occlusion = _find(variants, "occlusion")
    compared = {} if occlusion is None else values_of(occlusion, "deletion")
    kinds, series = list(_GROUPS), list(dict.fromkeys(map(_series, variants)))
    ordered = sorted(
        variants,
        key=lambda v: (kinds.index(v.kind), series.index(_series(v)), v.rows_per_word or 0),
    )
    return [_summary(variant, {} if variant is occlusion else compared) for variant in ordered]


def _series(variant: Variant) -> tuple[Any, ...]:
    """What variants that differ in the number of rows only have in common."""
    return variant.method, variant.title, variant.score, variant.keep


def _summary(variant: Variant, compared: Mapping[str, float]) -> Summary:
    values = {name: values_of(variant, name) for name in VALUES}
    deletion = values["deletion"]
    return Summary(
        variant,
        float(np.mean([line["rows"] / line["words"] for line in variant.lines.values()])),
        {name: mean_with_interval(list(found.values())) for name, found in values.items()},
        paired_difference(deletion, compared) if deletion.keys() & compared.keys() else None,
    )


def values_of(variant: Variant, metric: str) -> dict[str, float]:
    """A metric of every review."""
    return {review: VALUES[metric](line) for review, line in variant.lines.items()}


def _find(variants: Iterable[Variant], method: str, name: str | None = None) -> Variant | None:
    """A method's variant of that name or, without a name, the one with its natural rows."""
    found = [v for v in variants if v.method == method and name in (None, v.name)]
    return min(found, key=lambda v: v.rows_per_word is not None, default=None)


def table_of(run: Run) -> Table:
    """A run as a table, with the best and second best of every metric marked.

    A variant that has not seen all reviews is shown, but not marked: its reviews may be easier.
    """
    columns = [
        _column(
            [s.metrics[name] for s in run.summaries],
            name,
            takes_part=[s.variant.is_attribution for s in run.summaries],
        )
        for name in VALUES
    ]
    groups: dict[str, list[list[Cell]]] = {}
    for s, (deletion, *others) in zip(run.summaries, zip(*columns, strict=True), strict=True):
        row = [
            Cell(s.variant.title),
            Cell("" if s.variant.keep is None else f"{s.variant.keep:g}"),
            Cell(decimal(s.rows_per_word, 1)),
            deletion,
            _signed(s.difference),
            *others,
            Cell(f"{len(s.variant.lines):,}"),
        ]
        groups.setdefault(_GROUPS[s.variant.kind], []).append(row)
    first, *rest = [f"{name} {'↑' if METRICS[name].higher_is_better else '↓'}" for name in VALUES]
    header = ["method", "keep", "rows per word", first, "difference to occlusion", *rest, "reviews"]
    return Table(run.model, _caption(run), header, list(groups.items()))


def _column(
    estimates: Sequence[Estimate | None], metric: str, takes_part: Sequence[bool]
) -> list[Cell]:
    """A metric of several variants; what has not been run is empty."""
    # Reviews seen, by those that can be marked.
    seen = [e.n if takes and e else -1 for takes, e in zip(takes_part, estimates, strict=True)]
    found = places(
        [estimate.mean if estimate else 0.0 for estimate in estimates],
        higher_is_better=METRICS[metric].higher_is_better,
        eligible=[n >= 0 and n == max(seen) for n in seen],
    )
    return [
        Cell(decimal(estimate.mean), place, interval(estimate) if metric == "deletion" else "")
        if estimate
        else Cell("")
        for estimate, place in zip(estimates, found, strict=True)
    ]


def _signed(difference: Estimate | None) -> Cell:
    if difference is None:
        return Cell("")
    return Cell(decimal(difference.mean, sign=True), after=interval(difference, sign=True))


def _caption(run: Run) -> str:
    """What was run; the commands stand below it."""
    settings = run.settings
    reviews = f"{run.n_reviews:,}"
    if run.n_reviews < settings.get("reviews", 0):  # still running, or stopped
        reviews += f" of {settings['reviews']:,}"
    reviews += " reviews"
    if settings.get("max_words"):
        reviews += f" of at most {settings['max_words']} words"
    versions = settings.get("versions") or {}
    said = [
        f"Model {run.model}",
        f"data {settings.get('data')}",
        reviews,
        f"seed {settings.get('seed')}",
        *(f"{name} {version}" for name, version in versions.items()),
    ]
    caption = ", ".join(said) + "."
    if len({len(s.variant.lines) for s in run.summaries}) > 1:
        caption += " Variants that have not seen all reviews are not marked."
    return caption


def paper_table(runs: Sequence[Run]) -> Table:
    """The paper's table 3 beside the same methods on our models."""
    return _beside_the_paper(
        "The paper's table 3",
        [(title, method, name) for title, method, name, _, _ in _PAPER],
        {
            "paper, BERT": [bert for *_, bert, _ in _PAPER],
            "paper, LSTM": [lstm for *_, lstm in _PAPER],
        },
        runs,
    )


def paper_threshold_table(runs: Sequence[Run]) -> Table:
    """The paper's table of how many words stay, beside the same on our models."""
    return _beside_the_paper(
        "The paper's thresholds",
        [(title, method, name) for title, method, name, _ in _PAPER_THRESHOLDS],
        {"paper, BERT": [bert for *_, bert in _PAPER_THRESHOLDS]},
        runs,
    )


def _beside_the_paper(
    title: str,
    methods: Sequence[tuple[str, str, str | None]],
    paper: Mapping[str, Sequence[float]],
    runs: Sequence[Run],
) -> Table:
    columns: list[list[Estimate | None]] = [
        [Estimate(value, math.nan, math.nan, 0) for value in values] for values in paper.values()
    ]
    columns += [[_deletion_of(run, method, name) for _, method, name in methods] for run in runs]
    cells = [_column(column, "deletion", takes_part=[True] * len(methods)) for column in columns]
    rows = [[Cell(name), *row] for (name, _, _), *row in zip(methods, *cells, strict=True)]
    return Table(title, _OTHER_MODELS, ["method", *paper, *(r.model for r in runs)], [("", rows)])


def _deletion_of(run: Run, method: str, name: str | None) -> Estimate | None:
    found = _find([s.variant for s in run.summaries], method, name)
    return next((_deletion(s) for s in run.summaries if s.variant is found), None)


def csv_of(runs: Sequence[Run]) -> str:
    """Every number of every variant, unrounded, with the intervals of all metrics."""
    rows = [_csv_row(run, summary) for run in runs for summary in run.summaries]
    file = io.StringIO()
    writer = csv.DictWriter(file, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _csv_row(run: Run, summary: Summary) -> dict[str, Any]:
    variant = summary.variant
    row: dict[str, Any] = {
        "model": run.model,
        "method": variant.method,
        "variant": variant.name,
        "title": variant.title,
        "kind": variant.kind,
        "score": variant.score,
        "keep": variant.keep,
        "rows_per_word_asked": variant.rows_per_word,
        "rows_per_word": summary.rows_per_word,
        "reviews": len(variant.lines),
    }
    for name, found in {**summary.metrics, "difference_to_occlusion": summary.difference}.items():
        row[name] = found.mean if found else None
        row[f"{name}_low"] = found.low if found else None
        row[f"{name}_high"] = found.high if found else None
    return row


def drawn_by_default(summaries: Sequence[Summary]) -> list[Summary]:
    """Of every method the variant with the lowest deletion."""
    best: dict[str, Summary] = {}
    for summary in summaries:
        before = best.get(summary.variant.method)
        if before is None or _deletion(summary).mean < _deletion(before).mean:
            best[summary.variant.method] = summary
    return list(best.values())


def deletion_figure(runs: Sequence[Run], draw: Sequence[str] = ()) -> Figure:
    """The mean probability against the number of deleted words, a panel for every run.

    Args:
        runs: what to draw.
        draw: names of variants; by default the best of every method.
    """
    unknown = set(draw) - {s.variant.name for run in runs for s in run.summaries}
    if unknown:
        raise ValueError(f"no results of {', '.join(sorted(unknown))}")
    panels = []
    for run in runs:
        named = [s for s in run.summaries if s.variant.name in draw]
        panels.append(
            (run.model, _deletion_curves(named if draw else drawn_by_default(run.summaries)))
        )
    figure, all_axes = _figure(panels)
    for axes, (_, curves) in zip(all_axes, panels, strict=True):
        axes.set_xlabel("deleted words")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylabel("mean probability of the predicted label")
        axes.set_xlim(0, max([1, *(len(curve.x) - 1 for curve in curves)]))
        _label(axes, curves)
    return figure


def _deletion_curves(summaries: Sequence[Summary]) -> list[Curve]:
    variants = [summary.variant for summary in summaries]
    curves = []
    for variant, (colour, dashes) in zip(variants, _styles(variants), strict=True):
        y = mean_curve([line["deletion"] for line in variant.lines.values()])
        label = _described(variant)
        if variant.rows_per_word is not None:
            label += f", {_rows(variant.rows_per_word)}"
        curves.append(Curve(label, range(len(y)), y.tolist(), colour, dashes))
    return curves


def passes_figure(runs: Sequence[Run]) -> Figure:
    """Deletion against rows per word, a panel for every run.

    A line joins what differs in the number of rows only: the same method, title, score and keep.
    Occlusion and the greedy search, whose rows cannot be chosen, are levels.
    """
    panels = [(run.model, _passes_curves(run.summaries)) for run in runs]
    figure, all_axes = _figure(panels)
    for axes, (_, curves) in zip(all_axes, panels, strict=True):
        axes.set_xscale("log", base=2)
        rows = [x for curve in curves if not curve.is_level for x in curve.x] or [1.0, 16.0]
        axes.set_xlim(min(rows) * 2**-0.25, max(rows) * 2**0.25)
        axes.xaxis.set_major_locator(FixedLocator([2.0**k for k in range(-4, 16)]))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_xlabel("rows per word")
        axes.set_ylabel("deletion (lower is better)")
        _label(axes, curves)
    return figure


def _passes_curves(summaries: Sequence[Summary]) -> list[Curve]:
    series: dict[tuple[Any, ...], list[Summary]] = {}
    for summary in summaries:
        if summary.variant.rows_per_word is not None:
            series.setdefault(_series(summary.variant), []).append(summary)
    several = [found for found in series.values() if len(found) > 1]
    firsts = [found[0].variant for found in several]
    curves = []
    for found, first, (colour, dashes) in zip(several, firsts, _styles(firsts), strict=True):
        ordered = sorted(found, key=lambda summary: summary.rows_per_word)
        x = [summary.rows_per_word for summary in ordered]
        y = [_deletion(summary).mean for summary in ordered]
        errors = [(_deletion(summary).low, _deletion(summary).high) for summary in ordered]
        curves.append(Curve(_described(first), x, y, colour, dashes, errors))
    return curves + [_level(s) for s in summaries if s.variant.method in _REFERENCES]


def _level(summary: Summary) -> Curve:
    label = f"{_described(summary.variant)} ({_rows(round(summary.rows_per_word))})"
    dashes = "--" if summary.variant.is_attribution else ":"
    return Curve(label, (), (_deletion(summary).mean,), _GREY, dashes, is_level=True)


def _rows(number: float) -> str:
    return f"{number:g} row{'' if number == 1 else 's'} a word"


def _deletion(summary: Summary) -> Estimate:
    return summary.metrics["deletion"]


def _described(variant: Variant) -> str:
    return variant.title if variant.keep is None else f"{variant.title}, keep {variant.keep:g}"


def _styles(variants: Sequence[Variant]) -> list[tuple[str, Any]]:
    """Colours and dashes that differ; grey for what is no attribution."""
    seen: dict[str, int] = {}
    styles = []
    for variant in variants:
        number = seen.get(variant.kind, 0)
        seen[variant.kind] = number + 1
        colour = _COLOURS[number % len(_COLOURS)] if variant.is_attribution else _GREY
        styles.append((colour, _DASHES[variant.kind][number >= len(_COLOURS)]))
    return styles


def _figure(panels: Sequence[tuple[str, Sequence[Curve]]]) -> tuple[Figure, list[Axes]]:
    """Panels one below the other with their curves, and room for labels on the right."""
    longest = max((len(curve.label) for _, curves in panels for curve in curves), default=0)
    most = max((len(curves) for _, curves in panels), default=0)
    inner = max(_HEIGHT, _LINE * most)
    height = (inner + _TOP + _BOTTOM) * max(len(panels), 1)
    width = _LEFT + _WIDTH + _LEADER + _CHARACTER * longest + _RIGHT
    figure = Figure(figsize=(width, height))
    drawn = []
    for number, (title, curves) in enumerate(panels):
        bottom = height - (number + 1) * (inner + _TOP + _BOTTOM) + _BOTTOM
        place = (_LEFT / width, bottom / height, _WIDTH / width, inner / height)
        axes = figure.add_axes(place)
        axes.set_title(title, fontsize=11, loc="left", parse_math=False)
        axes.grid(color=_INK, alpha=0.12, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        for curve in curves:
            _draw(axes, curve)
        drawn.append(axes)
    return figure, drawn


def _draw(axes: Axes, curve: Curve) -> None:
    style = {"color": curve.colour, "linestyle": curve.dashes, "linewidth": 1.8}
    if curve.is_level:
        axes.axhline(curve.y[0], **style)
    elif curve.errors:
        axes.plot(curve.x, curve.y, marker="o", markersize=4.5, **style)
        low, high = zip(*curve.errors, strict=True)
        axes.vlines(curve.x, low, high, color=curve.colour, linewidth=1, alpha=0.6)
    else:
        axes.plot(curve.x, curve.y, **style)


def _label(axes: Axes, curves: Sequence[Curve]) -> None:
    """Write every curve's label to the right of where it ends, joined to it by a thin line."""
    if not curves:
        return
    low, high = axes.get_ylim()
    axes.set_ylim(low, high)  # what is written outside must not change it
    rim = axes.get_xlim()[1]
    height = axes.get_window_extent().height / axes.figure.dpi
    ends = [(curve.y[-1] - low) / (high - low) for curve in curves]
    for curve, end, place in zip(curves, ends, spread(ends, _LINE / height), strict=True):
        # A curve may end before the rim, at the last number of rows tried.
        x = axes.transAxes.inverted().transform(
            axes.transData.transform((rim if curve.is_level else curve.x[-1], low))
        )[0]
        right = 1 + _LEADER / _WIDTH
        axes.plot(
            [x, 1 + (right - 1) * 0.15, right - 0.012],
            [end, end, place],
            transform=axes.transAxes,
            color=curve.colour,
            linewidth=0.8,
            alpha=0.8,
            clip_on=False,
            label="_leader",
        )
        axes.text(
            right,
            place,
            curve.label,
            transform=axes.transAxes,
            va="center",
            fontsize=_LETTERS,
            color=_INK,
            parse_math=False,
        )


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Places between 0 and 1, at least a gap apart, as near as can be to those wanted.

    Example:
        >>> [round(place, 2) for place in spread([0.5, 0.5, 0.9], 0.1)]
        [0.45, 0.55, 0.9]
    """
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(order))
    # Minus the steps, "a gap apart" is "not falling": a least-squares problem with a known solver.
    level = isotonic_regression(np.asarray(wanted, dtype=float)[order] - steps).x
    found = np.empty(len(order))
    found[order] = np.clip(level, 0, max(1 - gap * (len(order) - 1), 0)) + steps
    return [float(place) for place in found]


def png_of(figure: Figure) -> bytes:
    """A figure as the bytes of a PNG file."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=150, facecolor="white")
    return file.getvalue()


def markdown_of(runs: Sequence[Run]) -> str:
    """The report with its tables; plots are beside it."""
    parts = [f"# {TITLE}", READING]
    for run in runs:
        table = table_of(run)
        parts += [f"## {escaped(table.title)}", escaped(table.caption)]
        parts += [f"    {' '.join(command.split())}" for command in run.commands]
        parts.append(table.markdown())
    parts += ["![Deletion curves](deletion.png)", "![Deletion against rows](passes.png)"]
    for table in (paper_table(runs), paper_threshold_table(runs)):
        parts += [f"## {escaped(table.title)}", escaped(table.caption), table.markdown()]
    return "\n\n".join(parts) + "\n"


def html_of(runs: Sequence[Run], deletion_png: bytes, passes_png: bytes) -> str:
    """The report as one page that fetches nothing."""
    environment = Environment(
        loader=PackageLoader("benchmarks.imdb"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    plots = [
        ("Mean probability of the predicted label while words are deleted", deletion_png),
        ("Deletion against rows per word, with 95 % intervals", passes_png),
    ]
    return environment.get_template("report.html.j2").render(
        title=TITLE,
        reading=READING,
        tables=[(table_of(run), run.commands) for run in runs],
        paper=[paper_table(runs), paper_threshold_table(runs)],
        plots=[(text, base64.b64encode(png).decode("ascii")) for text, png in plots],
    )


def write_report(paths: Sequence[Path], out: Path, draw: Sequence[str] = ()) -> None:
    """Write ``report.md``, ``.csv`` and ``.html``, ``deletion.png`` and ``passes.png``.

    Args:
        paths: files of results, of one model or several.
        out: the directory to write to, made if it is not there.
        draw: names of the variants in the deletion curves; by default the best of every method.
    """
    runs = load(paths)
    deletion, passes = png_of(deletion_figure(runs, draw)), png_of(passes_figure(runs))
    out.mkdir(parents=True, exist_ok=True)
    (out / "deletion.png").write_bytes(deletion)
    (out / "passes.png").write_bytes(passes)
    (out / "report.md").write_text(markdown_of(runs), encoding="utf-8")
    (out / "report.csv").write_text(csv_of(runs), encoding="utf-8")
    (out / "report.html").write_text(html_of(runs, deletion, passes), encoding="utf-8")


def main() -> None:
    """Write the report of the files named on the command line."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    options.add_argument("results", nargs="+", type=Path, help="JSON lines of a benchmark run")
    options.add_argument("--out", required=True, type=Path, help="directory to write to")
    options.add_argument(
        "--draw",
        nargs="+",
        default=(),
        metavar="VARIANT",
        help="variants in the deletion curves (the best of every method)",
    )
    asked = options.parse_args()
    write_report(asked.results, asked.out, asked.draw)


if __name__ == "__main__":
    main()
