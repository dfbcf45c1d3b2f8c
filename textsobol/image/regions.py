"""Regions of a picture, its features: cells of a grid, or segments of any shape."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from textsobol.sobol.arrays import Array, Floats, Integers

if TYPE_CHECKING:
    from torch import Tensor

UPSAMPLINGS = ("nearest", "bilinear")


@dataclass(frozen=True)
class Regions:
    """Which region a pixel belongs to.

    Attributes:
        of_pixel: number of the region of every pixel ``(height, width)``, from 0.
        grid: cells ``(down, across)``, or ``None`` for segments.
        upsampling: how values of cells become those of pixels: ``nearest`` or ``bilinear``.
    """

    of_pixel: Integers
    grid: tuple[int, int] | None
    upsampling: str = "nearest"

    @property
    def number(self) -> int:
        """How many regions there are."""
        return int(self.of_pixel.max()) + 1

    def spread(self, values: Tensor) -> Tensor:
        """Values of regions ``(masks, regions)`` to pixels ``(masks, 1, height, width)``."""
        import torch

        if self.grid == self.of_pixel.shape:  # every pixel is a region
            return values.reshape(len(values), 1, *self.grid)
        if self.grid is not None and self.upsampling == "bilinear":
            cells = values.reshape(len(values), 1, *self.grid)
            return torch.nn.functional.interpolate(
                cells, size=self.of_pixel.shape, mode="bilinear", align_corners=False
            )
        places = torch.from_numpy(self.of_pixel).to(values.device)
        return values[:, places][:, None]

    def as_map(self, values: Array) -> Floats:
        """Values ``(regions,)`` as a map: one value per cell of the grid, or per pixel."""
        values = np.asarray(values, dtype=float)
        return values[self.of_pixel] if self.grid is None else values.reshape(self.grid)

    def as_picture(self, values: Array) -> Floats:
        """Values ``(regions,)`` as a smooth map ``(height, width)``; segments keep their shape."""
        import torch

        if self.grid is None:
            return self.as_map(values)
        smooth = replace(self, upsampling="bilinear")
        spread = smooth.spread(torch.tensor(np.asarray(values, dtype=float))[None])
        return np.asarray(spread[0, 0].numpy())


def make_grid(
    grid: tuple[int, int], height: int, width: int, upsampling: str = "nearest"
) -> Regions:
    """The cells of a grid, from the upper left, row by row.

    Example:
        >>> make_grid((2, 2), 2, 4).of_pixel
        array([[0, 0, 1, 1],
               [2, 2, 3, 3]])
    """
    down, across = grid
    if down < 1 or across < 1:
        raise ValueError(f"grid={grid}: at least one cell in each direction is needed")
    if down > height or across > width:
        raise ValueError(
            f"grid={grid} is finer than the picture of {height} x {width} pixels; give a "
            f"coarser one"
        )
    if upsampling not in UPSAMPLINGS:
        raise ValueError(f"unknown upsampling {upsampling!r}; known: {', '.join(UPSAMPLINGS)}")
    rows = np.arange(height) * down // height
    columns = np.arange(width) * across // width
    return Regions((rows[:, None] * across + columns[None]).astype(np.int64), grid, upsampling)


def make_segments(segments: Any, height: int, width: int) -> Regions:
    """Segments of any shape, from a map with a number for every pixel.

    Example:
        >>> make_segments([[7, 7, 3]], 1, 3).of_pixel
        array([[1, 1, 0]])
    """
    segments = np.asarray(segments)
    if segments.shape != (height, width):
        raise ValueError(
            f"segments have shape {segments.shape}, the picture that the model sees has "
            f"{height} x {width} pixels"
        )
    if segments.dtype.kind not in "iu":
        raise ValueError(f"segments must be whole numbers, not {segments.dtype}")
    _, numbers = np.unique(segments, return_inverse=True)
    return Regions(numbers.reshape(segments.shape).astype(np.int64), None)
