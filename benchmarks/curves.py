"""Figures of benchmarks, whose curves are labelled where they end."""

import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
from scipy.optimize import isotonic_regression

from benchmarks.reading import Drawing
from benchmarks.reporting import mean_curve
from benchmarks.summary import Run, Variant, by_series, varied_series

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


def deletion_figure(runs: Sequence[Run], draw: Sequence[str] = ()) -> Figure:
    """The mean probability against what is deleted, a panel for every run.

    Args:
        runs: what to draw.
        draw: names of variants; by default of every usual method the number of passes with the
            lowest deletion.
    """
    unknown = set(draw) - {variant.name for run in runs for variant in run.variants}
    if unknown:
        raise ValueError(f"no results of {', '.join(sorted(unknown))}")
    panels = []
    for run in runs:
        drawn = [v for v in run.variants if v.name in draw]
        if not draw:
            usual = by_series(v for v in run.variants if run.reading.drawing.is_usual(v))
            drawn = [min(found, key=lambda v: v.deletion.mean) for found in usual]
        title = f"{run.model}, n = {run.n_inputs:,}" if run.reading.shows_n else run.model
        panels.append((title, _deletion_curves(drawn, run.reading.drawing)))
    figure, all_axes = labelled_panels(panels)
    for axes, run, (_, curves) in zip(all_axes, runs, panels, strict=True):
        axes.set_xlabel(run.reading.drawing.x_label)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylabel("mean probability of the predicted label")
        axes.set_xlim(0, max([1, *(curve.x[-1] for curve in curves)]))
        write_labels(axes, curves)
    return figure


def _deletion_curves(variants: Sequence[Variant], drawing: Drawing) -> list[Curve]:
    curves = []
    for variant, style in zip(variants, _styles(variants), strict=True):
        y = mean_curve(variant.values["curve"])
        label = _described(variant)
        if variant.asked is not None:
            label += f", {drawing.passes_in_words(variant.asked)}"
        x = drawing.x_of(len(y))
        curves.append(Curve(label, x, y.tolist()[: len(x)], *style))
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
    drawing, curves = run.reading.drawing, []
    varied = varied_series(run)
    for found, style in zip(varied, _styles([found[0] for found in varied]), strict=True):
        ordered = sorted(found, key=lambda variant: variant.cost)
        x, y = [v.cost for v in ordered], [v.deletion.mean for v in ordered]
        errors = [(v.deletion.low, v.deletion.high) for v in ordered]
        curves.append(Curve(_described(found[0]), x, y, *style, errors))
    for variant in run.variants:
        if variant.method in drawing.references:
            label = f"{_described(variant)} ({drawing.passes_in_words(round(variant.cost))})"
            dashes = "--" if variant.is_attribution else ":"
            level = (variant.deletion.mean,)
            curves.append(Curve(label, (), level, _GREY, dashes, is_level=True))
    return curves


def _described(variant: Variant) -> str:
    return variant.title if variant.keep is None else f"{variant.title}, keep {variant.keep:g}"


def plain_styles() -> list[tuple[str, Any]]:
    """Colours and dashes that differ, for curves of one kind."""
    return [(colour, "-") for colour in _COLOURS]


def _styles(variants: Sequence[Variant]) -> list[tuple[str, Any]]:
    """Colours and dashes that differ; grey for what is no attribution."""
    seen: Counter[str] = Counter()
    styles = []
    for variant in variants:
        number = seen[variant.kind]
        seen[variant.kind] += 1
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
            [x, 1 + (right - 1) * 0.15, right - 0.012], [end, end, place],
            transform=axes.transAxes, color=curve.colour, linewidth=0.8, alpha=0.8,
            clip_on=False, label="_leader",
        )  # fmt: skip
        axes.text(
            right, place, curve.label, transform=axes.transAxes, va="center",
            fontsize=_LETTERS, color=_INK, parse_math=False,
        )  # fmt: skip


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
