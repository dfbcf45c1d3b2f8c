"""Figures of benchmarks, whose curves are labelled where they end."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
from scipy.optimize import isotonic_regression

from benchmarks.reading import Drawing
from benchmarks.reporting import Variant, mean_curve
from benchmarks.summary import Run, Summary, series_of

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

# Inches, but for the size of letters, which is in points.
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 4.6, 3.4, 0.75, 0.15, 0.4, 0.6
_LETTERS = 9.0
_LINE, _CHARACTER, _LEADER = _LETTERS * 1.3 / 72, _LETTERS * 0.53 / 72, 0.3


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


def drawn_by_default(run: Run) -> list[Summary]:
    """Of every method the number of passes with the lowest deletion, where that is usual."""
    best: dict[tuple[Any, ...], Summary] = {}
    for summary in _usual(run):
        series = series_of(summary.variant)
        if series not in best or summary.deletion.mean < best[series].deletion.mean:
            best[series] = summary
    return list(best.values())


def _titled(run: Run) -> str:
    return f"{run.model}, n = {run.n_inputs:,}" if run.reading.shows_n else run.model


def _usual(run: Run) -> list[Summary]:
    return [s for s in run.summaries if run.reading.drawing.is_usual(s.variant)]


def deletion_figure(runs: Sequence[Run], draw: Sequence[str] = ()) -> Figure:
    """The mean probability against what is deleted, a panel for every run.

    Args:
        runs: what to draw.
        draw: names of variants; by default the best of every method.
    """
    unknown = set(draw) - {variant.name for run in runs for variant in run.variants}
    if unknown:
        raise ValueError(f"no results of {', '.join(sorted(unknown))}")
    panels = []
    for run in runs:
        named = [s for s in run.summaries if s.variant.name in draw]
        drawn = named if draw else drawn_by_default(run)
        panels.append((_titled(run), _deletion_curves(drawn, run.reading.drawing)))
    figure, all_axes = labelled_panels(panels)
    for axes, run, (_, curves) in zip(all_axes, runs, panels, strict=True):
        axes.set_xlabel(run.reading.drawing.x_label)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylabel("mean probability of the predicted label")
        axes.set_xlim(0, max([1, *(curve.x[-1] for curve in curves)]))
        write_labels(axes, curves)
    return figure


def _deletion_curves(summaries: Sequence[Summary], drawing: Drawing) -> list[Curve]:
    variants = [summary.variant for summary in summaries]
    curves = []
    for variant, (colour, dashes) in zip(variants, _styles(variants), strict=True):
        y = mean_curve([line["deletion"] for line in variant.lines.values()])
        label = _described(variant)
        if variant.asked is not None:
            label += f", {drawing.passes_in_words(variant.asked)}"
        x = drawing.x_of(len(y))
        curves.append(Curve(label, x, y.tolist()[: len(x)], colour, dashes))
    return curves


def passes_figure(runs: Sequence[Run]) -> Figure:
    """Deletion against forward passes, a panel for every run.

    A line joins what differs in the number of passes only, of usual variants. Methods whose
    passes cannot be chosen are levels.
    """
    panels = [(f"{run.model}, n = {run.n_inputs:,}", _passes_curves(run)) for run in runs]
    figure, all_axes = labelled_panels(panels)
    for axes, run, (_, curves) in zip(all_axes, runs, panels, strict=True):
        against_passes(axes, curves)
        axes.set_xlabel(run.reading.drawing.passes_label)
        axes.set_ylabel("deletion (lower is better)")
        write_labels(axes, curves)
    return figure


def against_passes(axes: Axes, curves: Sequence[Curve]) -> None:
    """A horizontal axis that doubles from mark to mark, as wide as the curves."""
    axes.set_xscale("log", base=2)
    places = [x for curve in curves if not curve.is_level for x in curve.x] or [1.0, 16.0]
    axes.set_xlim(min(places) * 2**-0.25, max(places) * 2**0.25)
    axes.xaxis.set_major_locator(FixedLocator([2.0**k for k in range(-4, 16)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))


def _passes_curves(run: Run) -> list[Curve]:
    series: dict[tuple[Any, ...], list[Summary]] = {}
    for summary in _usual(run):
        if summary.variant.asked is not None:
            series.setdefault(series_of(summary.variant), []).append(summary)
    several = [found for found in series.values() if len({s.variant.asked for s in found}) > 1]
    firsts = [found[0].variant for found in several]
    curves = []
    for found, first, (colour, dashes) in zip(several, firsts, _styles(firsts), strict=True):
        ordered = sorted(found, key=lambda summary: summary.cost)
        x = [summary.cost for summary in ordered]
        y = [summary.deletion.mean for summary in ordered]
        errors = [(summary.deletion.low, summary.deletion.high) for summary in ordered]
        curves.append(Curve(_described(first), x, y, colour, dashes, errors))
    drawing = run.reading.drawing
    levels = [s for s in run.summaries if s.variant.method in drawing.references]
    return curves + [_level(summary, drawing) for summary in levels]


def _level(summary: Summary, drawing: Drawing) -> Curve:
    label = f"{_described(summary.variant)} ({drawing.passes_in_words(round(summary.cost))})"
    dashes = "--" if summary.variant.is_attribution else ":"
    return Curve(label, (), (summary.deletion.mean,), _GREY, dashes, is_level=True)


def _described(variant: Variant) -> str:
    return variant.title if variant.keep is None else f"{variant.title}, keep {variant.keep:g}"


def plain_styles() -> list[tuple[str, Any]]:
    """Colours and dashes that differ, for curves of one kind."""
    return [(colour, "-") for colour in _COLOURS]


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


def labelled_panels(panels: Sequence[tuple[str, Sequence[Curve]]]) -> tuple[Figure, list[Axes]]:
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


def write_labels(axes: Axes, curves: Sequence[Curve]) -> None:
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
