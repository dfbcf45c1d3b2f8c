"""RISE: the mean score of random masks in which a feature is present."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from textsobol.methods.contract import Attribution, Problem
from textsobol.methods.method import Method, check_keep
from textsobol.sobol.arrays import Array, Floats
from textsobol.sobol.masks import count_masks_per_piece
from textsobol.steps import Steps

CELLS = (7, 7)  # of a small mask, before it is enlarged; as in the original


@dataclass(frozen=True)
class Rise(Method):
    """Mean score of random masks in which the feature is present (Petsiuk et al. 2018).

    Words are masked independently. For a picture, masks are the original's: 7 x 7 random cells,
    smoothly enlarged and shifted at random. The mean over all masks is subtracted, which gives
    scores a sign and keeps their order. A larger budget adds masks to those of a smaller one.

    Attributes:
        keep: probability that a feature is present.
    """

    keep: float = 0.5

    name = "rise"
    title = "RISE"
    quantity = "mean score when present"
    scores_pixels = True

    def __post_init__(self) -> None:
        check_keep(self.keep)

    def attribute(self, problem: Problem, *, budget: int | None, seed: int) -> Steps[Attribution]:
        """See `Method.attribute`."""
        assert budget is not None
        # One mask of the budget is the whole input, which is always scored.
        n_masks = budget - 1
        present = np.zeros((problem.n_features, 1))
        sums, total = np.zeros((1, 1)), np.zeros(1)
        for masks in _draw_masks(problem, n_masks, self.keep, seed):
            scores = yield from problem.score(masks)
            present += masks.sum(axis=0, dtype=float)[:, None]
            sums = sums + masks.T.astype(float) @ scores
            total = total + scores.sum(axis=0)
        with_feature = sums / np.where(present > 0, present, 1.0)
        return Attribution(
            np.where(present > 0, with_feature - total / n_masks, 0.0),
            settings={"samples": n_masks},
        )


def _draw_masks(problem: Problem, n_masks: int, keep: float, seed: int) -> Iterator[Array]:
    """All masks, some at a time: those of a picture would not fit into memory at once."""
    coins = np.random.default_rng(seed)
    (shifts,) = coins.spawn(1)
    at_once = count_masks_per_piece(problem.n_features)
    for start in range(0, n_masks, at_once):
        n_some = min(at_once, n_masks - start)
        if problem.plane is None:
            yield coins.random((n_some, problem.n_features)) < keep
        else:
            small = coins.random((n_some, *CELLS)) < keep
            offsets = shifts.random((n_some, 2))
            yield _enlarge(small, offsets, problem.plane).reshape(n_some, -1)


def _enlarge(small: Array, offsets: Floats, plane: tuple[int, int]) -> Array:
    """Enlarge small masks ``(masks, down, across)`` to the plane, shifted by less than a cell.

    As in the original, masks are enlarged to one cell more than the plane, and a window of its size
    is cut out that starts at a random place in the first cell. Masks are constant beyond the
    centres of the outermost cells.
    """
    sizes = [-(-extent // cells) for extent, cells in zip(plane, small.shape[1:], strict=True)]
    down, across = (
        _make_interpolation(cells, (cells + 1) * size)
        for cells, size in zip(small.shape[1:], sizes, strict=True)
    )
    large = (down @ small.astype(np.float32)) @ across.T
    corners = (offsets * sizes).astype(int)
    cut = [
        mask[y : y + plane[0], x : x + plane[1]]
        for mask, (y, x) in zip(large, corners, strict=True)
    ]
    return np.stack(cut)


def _make_interpolation(n_cells: int, n_pixels: int) -> Array:
    """Weights ``(pixels, cells)`` of linear interpolation; constant beyond the last centre.

    Example:
        >>> _make_interpolation(2, 4)
        array([[1.  , 0.  ],
               [0.75, 0.25],
               [0.25, 0.75],
               [0.  , 1.  ]], dtype=float32)
    """
    centres = (np.arange(n_pixels) + 0.5) * n_cells / n_pixels - 0.5
    distance = np.abs(np.clip(centres, 0, n_cells - 1)[:, None] - np.arange(n_cells))
    return np.asarray(np.maximum(0, 1 - distance), dtype=np.float32)
