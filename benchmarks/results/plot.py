"""Small multiples: a panel for every question, methods from top to bottom."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from benchmarks.results.answers import Answer
from benchmarks.results.methods import METHODS

_WIDTH, _LABELS, _GAP = 8.8, 2.08, 0.2  # inches
_ROW, _TITLE, _AXIS, _LEGEND = 0.19, 0.4, 0.55, 0.35
_LETTERS, _INK = 9.0, "#1b1f24"
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#000000")
_MARKERS = "os^Dv*"
_COLUMNS = 2


def draw(answers: Sequence[Answer]) -> Figure:
    """All questions in two columns, each below those before it in the column that is shorter."""
    families = list(dict.fromkeys(each.family for each in answers))
    panels: dict[str, list[Answer]] = {}
    for each in answers:
        panels.setdefault(each.question.title, []).append(each)
    ends, placed = [_LEGEND] * _COLUMNS, []
    for panel in panels.values():
        column = ends.index(min(ends))
        placed.append((panel, column, ends[column]))
        ends[column] += _TITLE + len(_methods(panel)) * _ROW + _AXIS
    height, place = max(ends), _WIDTH / _COLUMNS
    figure = Figure(figsize=(_WIDTH, height))
    for panel, column, top in placed:
        inner = len(_methods(panel)) * _ROW
        left, bottom = place * column + _LABELS, height - top - _TITLE - inner
        width = place - _LABELS - _GAP
        place_of_axes = left / _WIDTH, bottom / height, width / _WIDTH, inner / height
        _panel(figure.add_axes(place_of_axes), panel, families)
    _legend(figure, families)
    return figure


def _methods(panel: Sequence[Answer]) -> list[str]:
    return [name for name in METHODS if any(name in each.estimates for each in panel)]


def _panel(axes: Axes, panel: Sequence[Answer], families: Sequence[str]) -> None:
    question, names = panel[0].question, _methods(panel)
    for each in panel:
        number = families.index(each.family)
        shift = 0.22 * (number - (len(families) - 1) / 2)
        colour = _COLOURS[number % len(_COLOURS)]
        for row, name in enumerate(names):
            if name in each.estimates:
                found = each.estimates[name]
                axes.hlines(row + shift, found.low, found.high, color=colour, linewidth=1.2)
                axes.plot(
                    found.mean,
                    row + shift,
                    _MARKERS[number % len(_MARKERS)],
                    color=colour,
                    markersize=4,
                )
    if question.is_log:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(5))
    # The names of methods are part of a panel: its title begins above them.
    axes.annotate(
        question.header, (0, 1), (-_LABELS * 72 + 12, 6), xycoords="axes fraction",
        textcoords="offset points", fontsize=_LETTERS + 2, color=_INK, weight="bold",
    )  # fmt: skip
    axes.set_xlabel(question.measure, fontsize=_LETTERS)
    axes.set_yticks(range(len(names)), [METHODS[name].title for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0, labelsize=_LETTERS)
    axes.tick_params(axis="x", labelsize=_LETTERS - 0.5)
    for label, name in zip(axes.get_yticklabels(), names, strict=True):
        label.set_color(_INK)
        label.set_fontweight("bold" if METHODS[name].is_ours else "normal")
    for row, name in enumerate(names):
        if METHODS[name].is_ours:
            axes.axhspan(row - 0.5, row + 0.5, color="#000000", alpha=0.05, linewidth=0)
    axes.grid(axis="x", color=_INK, alpha=0.15)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _legend(figure: Figure, families: Sequence[str]) -> None:
    marks = [
        Line2D([], [], linestyle="", marker=_MARKERS[number % len(_MARKERS)], markersize=5,
               color=_COLOURS[number % len(_COLOURS)])
        for number in range(len(families))
    ]  # fmt: skip
    figure.legend(
        marks, families, loc="upper right", ncols=len(families), frameon=False,
        fontsize=_LETTERS + 1,
    )  # fmt: skip
    figure.text(
        0.012, 1 - 0.2 / figure.get_figheight(), "↑ higher is better   ↓ lower is better",
        fontsize=_LETTERS + 1, color=_INK, va="center",
    )  # fmt: skip
