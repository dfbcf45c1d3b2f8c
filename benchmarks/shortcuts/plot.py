"""Precision of all methods, a panel for every plant and a mark for every model."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.curves import plain_styles
from benchmarks.reporting import mean_with_interval
from benchmarks.shortcuts.reading import Found
from benchmarks.shortcuts.report import OUR_DEFAULT
from benchmarks.shortcuts.variants import EXACT, FEW, VARIANTS

_ROW, _PANEL, _LEFT, _ABOVE, _BELOW = 0.24, 2.1, 3.3, 0.9, 0.7  # inches
_MARKERS = "os^D"


def precision_figure(models: Sequence[Found]) -> Figure:
    """Precision@k with intervals of all methods in all models that use their plant."""
    used = [model for model in models if model.is_used]
    names = [name for name in VARIANTS if name != EXACT and any(m.of(name, "gap") for m in used)]
    plants = list(dict.fromkeys(model.plant.name for model in used))
    bases = list(dict.fromkeys(model.base for model in used))
    width = _LEFT + _PANEL * len(plants) + 0.2
    height = _ABOVE + _ROW * len(names) + _BELOW
    figure = Figure(figsize=(width, height))
    for number, plant in enumerate(plants):
        axes = figure.add_axes(
            (
                (_LEFT + _PANEL * number) / width, _BELOW / height,
                (_PANEL - 0.2) / width, _ROW * len(names) / height,
            )
        )  # fmt: skip
        for model in (each for each in used if each.plant.name == plant):
            _draw(axes, model, names, bases.index(model.base), len(bases))
        plant_title = next(m.plant.title for m in used if m.plant.name == plant)
        axes.set_title(textwrap.fill(plant_title, 22), fontsize=9, loc="left")
        axes.set_yticks(range(len(names)), map(_label, names) if number == 0 else [""] * len(names))
        axes.tick_params(axis="y", length=0, labelsize=8.5)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper right", ncols=len(bases), frameon=False)
    figure.text(
        (_LEFT + _PANEL * len(plants) / 2) / width, 0.18 / height, "precision@k of planted words",
        ha="center",
    )  # fmt: skip
    return figure


def _draw(axes: Axes, model: Found, names: Sequence[str], number: int, n_models: int) -> None:
    """Marks of one model, a bit above or below those of others."""
    shift = 0.3 * (number - (n_models - 1) / 2)
    colour, _ = plain_styles()[number]
    for row, name in enumerate(names):
        values = model.found(name, "precision")
        if not values:
            continue
        found = mean_with_interval(list(values.values()))
        axes.plot(
            found.mean, row + shift, _MARKERS[number % len(_MARKERS)], color=colour, markersize=4.5,
            label=model.base if row == 0 else None,
        )  # fmt: skip
        axes.hlines(row + shift, found.low, found.high, color=colour, linewidth=1)
    axes.axhspan(-0.5, names.index(OUR_DEFAULT) + 0.5, color="#000000", alpha=0.05, linewidth=0)
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="both", alpha=0.15)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _label(name: str) -> str:
    variant = VARIANTS[name]
    if name == OUR_DEFAULT:
        return "Sobol, our default"
    return f"{variant.titles[0]}, 4 a word" if variant.passes == FEW else variant.titles[0]
