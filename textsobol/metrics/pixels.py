"""Whether a map over a picture is faithful, and whether it points at the object."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from textsobol.metrics.faithfulness import MaskScorer, rank, score_without_and_only
from textsobol.sobol.arrays import Floats

STEPS = 50

Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in pixels."""


@dataclass(frozen=True)
class PixelFaithfulness:
    """Probability of the label from no pixel to all, highest pixels first ``(steps + 1,)``."""

    deletion_curve: Floats
    insertion_curve: Floats

    @property
    def deletion(self) -> float:
        """Area under the deletion curve; lower is better (Petsiuk et al. 2018)."""
        return compute_area(self.deletion_curve)

    @property
    def insertion(self) -> float:
        """Area under the insertion curve; higher is better."""
        return compute_area(self.insertion_curve)


def compute_area(curve: ArrayLike) -> float:
    """Area under a curve from no pixel to all, by the trapezoid rule."""
    curve = np.asarray(curve)
    return float(np.trapezoid(curve, dx=1 / (len(curve) - 1)))


def pixel_faithfulness(
    model: MaskScorer, values: ArrayLike, label: str, *, steps: int = STEPS
) -> PixelFaithfulness:
    """Deletion and insertion of a map, in equal steps from no pixel to all.

    Args:
        model: ``explainer.masked(image, pixels=True)``; its baseline replaces deleted pixels.
        values: the map in the size of the model's input ``(height, width)``, such as
            ``explanation.map(size="image")``.
        label: whose probability is measured.
        steps: number of steps.

    Example:
        >>> from textsobol import ImageExplainer
        >>> def left_half(pictures):
        ...     return pictures[:, :, :4].mean(axis=(1, 2, 3))
        >>> explainer = ImageExplainer(left_half, label_names=["left"], grid=(1, 2))
        >>> picture = np.ones((8, 8, 3))
        >>> values = explainer(picture).map(size="image")
        >>> model = explainer.masked(picture, pixels=True)
        >>> pixel_faithfulness(model, values, "left", steps=4).deletion_curve
        array([1. , 0.5, 0. , 0. , 0. ])
    """
    values = np.asarray(values)
    if values.size != model.n_features:
        raise ValueError(
            f"a map of shape {values.shape} does not fit {model.n_features} features; "
            f"give explainer.masked(image, pixels=True) and a map in the size of the model's input"
        )
    if not 1 <= steps <= model.n_features:
        raise ValueError(f"steps={steps}: must be 1 to {model.n_features}, the number of pixels")
    counts = np.linspace(0, model.n_features, steps + 1).round().astype(int).tolist()
    without, only = score_without_and_only(model, rank(values.ravel()), counts)
    column = list(model.probabilities).index(label)
    return PixelFaithfulness(without[:, column], only[:, column])


def points_at(values: ArrayLike, boxes: Sequence[Box], *, tolerance: float = 0) -> bool:
    """The pointing game (Zhang et al. 2016): is the highest pixel of a map in one of the boxes?

    A constant map points at nothing.

    Args:
        values: the map ``(height, width)``.
        boxes: where the object is; pixel k spans k to k + 1.
        tolerance: how far outside the pixel's centre may lie, in pixels; the original allows 15.

    Example:
        >>> values = np.zeros((10, 10))
        >>> values[2, 7] = 1
        >>> points_at(values, [(6, 0, 9, 4)]), points_at(values, [(0, 0, 5, 9)])
        (True, False)
        >>> points_at(values, [(0, 0, 5, 9)], tolerance=3)
        True
    """
    values = np.asarray(values)
    if values.min() == values.max():
        return False
    # Several pixels may be equally high, as in segments: take the one nearest their centre.
    ys, xs = np.nonzero(values == values.max())
    centre = np.argmin((ys - ys.mean()) ** 2 + (xs - xs.mean()) ** 2)
    y, x = ys[centre] + 0.5, xs[centre] + 0.5
    return any(
        math.hypot(max(left - x, 0, x - right), max(upper - y, 0, y - lower)) <= tolerance
        for left, upper, right, lower in boxes
    )
