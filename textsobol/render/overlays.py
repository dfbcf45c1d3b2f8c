"""Explanations of pictures as figures: maps over the picture, with colour bars."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from textsobol.files import write_file
from textsobol.render.plots import require_matplotlib
from textsobol.render.printable import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from textsobol.image.explanation import ImageExplanation

_SIDE = 3.4  # inches of a panel
_ALPHA = 0.65
# For and against: the same blue and orange as in texts.
_DIVERGING = ("#d95f02", "#f7f7f7", "#2166ac")
_TITLES = {
    "score": "score",
    "total": "total index",
    "first": "first order",
    "interaction": "interactions (total - first)",
    "error": "standard error",
}


def plot_overlay(
    explanation: ImageExplanation, kinds: Sequence[str] = ("score",), *, axes: Axes | None = None
) -> tuple[Axes, ...]:
    """Draw the picture, and maps over it, with pyplot.

    Args:
        explanation: what to draw.
        kinds: kinds of map, one panel each; see `ImageExplanation.map`.
        axes: where to draw the first map; by default a new figure, which also has the picture.
    """
    require_matplotlib()
    if axes is not None:
        _draw_map(axes, explanation, kinds[0])
        return (axes,)
    import matplotlib.pyplot as plt

    return _draw(plt.figure(), explanation, kinds)


def save_overlay(
    explanation: ImageExplanation, path: str | Path, kinds: Sequence[str] = ("score",)
) -> None:
    """Write the figure of `plot_overlay` to a file, without pyplot."""
    content = _render_bytes(explanation, kinds, Path(path).suffix.lower()[1:])
    write_file(path, lambda file: file.write(content))


def render_overlay(explanation: ImageExplanation) -> str:
    """The figure as HTML, for a notebook cell."""
    try:
        image = _render_bytes(explanation, ("score",), "png")
    except ImportError:
        return f"<pre>{escape(repr(explanation))}</pre>"
    png = base64.b64encode(image).decode("ascii")
    return f'<img alt="{escape(repr(explanation), quote=True)}" src="data:image/png;base64,{png}">'


def _render_bytes(explanation: ImageExplanation, kinds: Sequence[str], suffix: str) -> bytes:
    require_matplotlib()
    import matplotlib.style
    from matplotlib.figure import Figure

    buffer = io.BytesIO()
    with matplotlib.style.context("default"):
        figure = Figure()
        _draw(figure, explanation, kinds)
        figure.savefig(buffer, format=suffix, dpi=150, facecolor="white", bbox_inches="tight")
    return buffer.getvalue()


def _draw(figure: Figure, explanation: ImageExplanation, kinds: Sequence[str]) -> tuple[Axes, ...]:
    figure.set_layout_engine("constrained")
    height, width = explanation.regions.of_pixel.shape
    figure.set_size_inches(_SIDE * (len(kinds) + 1), _SIDE * min(2.0, height / width) + 0.5)
    panels = figure.subplots(1, len(kinds) + 1, squeeze=False)[0]
    _draw_image(panels[0], explanation)
    value = explanation.probabilities[explanation.target]
    title = f"{one_line(explanation.target)} {value:.3f}"
    panels[0].set_title(title, fontsize="medium", parse_math=False)
    for axes, kind in zip(panels[1:], kinds, strict=True):
        _draw_map(axes, explanation, kind)
    return tuple(panels)


def _draw_image(axes: Axes, explanation: ImageExplanation, is_grey: bool = False) -> None:
    height, width = explanation.regions.of_pixel.shape
    image: Any = explanation.image
    if is_grey:
        image = np.repeat(image.mean(axis=2, keepdims=True), 3, axis=2).astype(np.uint8)
    axes.imshow(image, extent=(0, width, height, 0), aspect="equal")
    axes.set_axis_off()


def _draw_map(axes: Axes, explanation: ImageExplanation, kind: str) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    values, cells = explanation.map(kind, size="image"), explanation.map(kind)
    height, width = values.shape
    signed = "signed " if kind == "score" and explanation.settings["signed"] else ""
    axes.set_title(signed + _TITLES[kind], fontsize="medium")
    _draw_image(axes, explanation, is_grey=True)
    if not np.isfinite(cells).all():
        axes.text(0.5, 0.5, "unknown:\none base mask", ha="center", transform=axes.transAxes)
        return
    # The colour bar shows the values of cells, before smoothing.
    highest, lowest = float(np.abs(cells).max()) or 1.0, min(0.0, float(cells.min()))
    colours: Any = "viridis"
    if kind == "score" and lowest < 0:
        lowest = -highest
        colours = LinearSegmentedColormap.from_list("for and against", _DIVERGING)
    place = (0, width, height, 0)
    drawn = axes.imshow(values, cmap=colours, vmin=lowest, vmax=highest, alpha=_ALPHA, extent=place)
    bar = axes.figure.colorbar(drawn, ax=axes, fraction=0.046, pad=0.03)
    bar.ax.tick_params(labelsize="small")
