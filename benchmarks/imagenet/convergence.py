"""How many forward passes until a map of a photo stays the same? Sobol against RISE."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.consistency import convergence as measure_convergence
from benchmarks.consistency import mean_and_spread, or_none
from benchmarks.imagenet.data import Photo
from benchmarks.imagenet.run import SCORE_IN_WORDS, Picture, Setup
from benchmarks.imagenet.ways import PictureWay, flip, jansen, rise
from benchmarks.reporting import Cell, Line, Results, Table, mean_with_interval
from benchmarks.runner import seed_of
from benchmarks.store import Store
from textsobol.image.regions import make_grid
from textsobol.metrics.agreement import spearman
from textsobol.sobol.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KEY = ("model", "method", "passes", "image")
METHODS = {"jansen": "Sobol total, the paper's", "flip": "Sobol total, flip", "rise": "RISE"}
_IN_THE_PAPER = (
    "The paper has, for EfficientNet and 500 images, 0.80 (Sobol) and 0.65 (RISE) with 1,000 "
    "passes, 0.97 and 0.73 with 7,000."
)


def convergence(
    setup: Setup,
    photos: Sequence[Photo],
    store: Store,
    *,
    methods: Sequence[str],
    seed: int,
    shares_rows: bool,
    passes: Sequence[int],
    converged: int,
) -> None:
    """Rank correlation with the method's own converged map, against forward passes.

    Args:
        setup: how photos are explained.
        photos: what to explain.
        store: of the results.
        methods: of `METHODS`.
        seed: of all methods.
        shares_rows: whether the converged map continues the rows of the others. It costs less,
            but 7,000 of 10,000 rows that are the same would correlate even if they were noise;
            otherwise it is of another seed.
        passes: numbers of passes that are compared.
        converged: passes of what they are compared with.
    """
    if unknown := set(methods) - set(METHODS):
        raise SystemExit(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(METHODS)}")
    explainer = setup.explainer()

    @lru_cache(maxsize=1)
    def opened(photo: Photo) -> Picture:
        return Picture(explainer, photo)

    def found(photo: Photo, method: str, number: int, seed: int) -> tuple[Floats, int]:
        way = way_of(method, number, setup.n_cells)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            maps = opened(photo).maps(way, seed_of(photo, seed))
        return maps.values[0], maps.rows

    def prepare(photo: Photo, method: str) -> Callable[[int], dict[str, Any]]:
        reference, _ = found(photo, method, converged, seed if shares_rows else seed + 1)

        def measured(number: int) -> dict[str, Any]:
            values, n_rows = found(photo, method, number, seed)
            cells = [_by_cell(each, setup.grid) for each in (values, reference)]
            return {
                "rows": n_rows,
                "correlation": or_none(spearman(values.ravel(), reference.ravel())),
                "cells": or_none(spearman(*cells)),
            }

        return measured

    name = setup.model.name
    measure_convergence(
        photos, methods, passes, prepare, store, model=name, of="image", asked="passes"
    )


def way_of(method: str, passes: int, n_cells: int) -> PictureWay:
    """The way with as many passes as base masks allow, for the total index or RISE's only score.

    Example:
        >>> [way_of(method, 1000, 49).passes for method in METHODS]
        [969, 1000, 1000]
    """
    if method == "jansen":
        return jansen(passes // (n_cells + 2), n_cells, ("total",))
    if method == "flip":
        return flip(passes // (n_cells + 1), n_cells, ("total",))
    return rise(passes)


def _by_cell(values: Floats, grid: tuple[int, int]) -> Floats:
    """Mean of a map ``(height, width)`` in every cell ``(cells,)``."""
    cell_of = make_grid(grid, *values.shape).of_pixel.ravel()
    return np.bincount(cell_of, weights=values.ravel()) / np.bincount(cell_of)


def header(lines: Sequence[Line]) -> list[str]:
    """Of the table."""
    return ["passes", *(METHODS[method] for method in _measured(lines))]


def _measured(lines: Sequence[Line]) -> list[str]:
    """The methods that there are lines of, in their order."""
    found = {line["method"] for line in lines}
    return [method for method in METHODS if method in found]


def convergence_rows(lines: Sequence[Line]) -> Iterator[list[str]]:
    """Rows of a table: passes, and the correlations of each method."""
    by_method = [_by_passes(lines, method) for method in _measured(lines)]
    for passes in sorted({line["passes"] for line in lines}):
        yield [f"{passes:,}", *(_cell(by_passes.get(passes, [])) for by_passes in by_method)]


def _cell(lines: Sequence[Line]) -> str:
    if not lines:
        return ""
    mean, spread = mean_and_spread(lines, "correlation")
    by_cell, _ = mean_and_spread(lines, "cells")
    return f"{mean:.3f} ({spread:.3f}), {by_cell:.3f}, n = {len(lines)}"


def _by_passes(lines: Sequence[Line], method: str) -> dict[int, list[Line]]:
    """Lines of a method that tell a correlation; those of a constant map do not."""
    found: dict[int, list[Line]] = {}
    for line in sorted(lines, key=lambda line: int(line["passes"])):
        if line["method"] == method and line["correlation"] is not None:
            found.setdefault(line["passes"], []).append(line)
    return found


def convergence_table(results: Results) -> Table:
    """The table with its caption, for the report."""
    rows = [[Cell(cell) for cell in row] for row in convergence_rows(results.lines)]
    settings = results.settings
    shared = "the same rows, continued" if settings["shares_rows"] else "other rows"
    caption = (
        f"Rank correlation of all pixels with the map that the method itself gives after "
        f"{settings['converged']:,} passes ({shared}): mean (standard deviation), then that of "
        f"the means of the cells. Analysed: {SCORE_IN_WORDS[settings['score']]}. {_IN_THE_PAPER}"
    )
    down, across = settings["grid"]
    title = f"Convergence of {settings['model']} at {down} x {across} cells"
    return Table(title, caption, header(results.lines), [("", rows)])


def convergence_figure(results: Results) -> Figure:
    """Mean rank correlation against forward passes, with intervals."""
    from benchmarks.curves import Curve, against_passes, labelled_panels, plain_styles, write_labels

    curves = []
    for (method, title), (colour, dashes) in zip(METHODS.items(), plain_styles(), strict=False):
        ordered = list(_by_passes(results.lines, method).values())
        if not ordered:
            continue
        x = [float(np.mean([line["rows"] for line in lines])) for lines in ordered]
        means = [mean_with_interval([line["correlation"] for line in lines]) for lines in ordered]
        y, errors = [m.mean for m in means], [(m.low, m.high) for m in means]
        curves.append(Curve(title, x, y, colour, dashes, errors))
    figure, (axes,) = labelled_panels([(str(results.settings["model"]), curves)])
    against_passes(axes, curves)
    axes.set_xlabel("forward passes")
    axes.set_ylabel("rank correlation with the converged map")
    write_labels(axes, curves)
    return figure
