"""Is a map of a picture faithful, and does it point at the thing?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from textsobol.metrics.faithfulness import Answering, descending, without_and_only
from textsobol.sobol.arrays import Floats

STEPS = 50

Box = tuple[float, float, float, float]
"""Left, upper, right and lower end, in pixels."""


@dataclass(frozen=True)
class PixelFaithfulness:
    """What a model says while the pixels of a map go or come, from none of them to all.

    Attributes:
        deletion_curve: probability of the label, the highest pixels deleted first ``(steps + 1,)``.
        insertion_curve: probability with only the highest pixels ``(steps + 1,)``.
    """

    deletion_curve: Floats
    insertion_curve: Floats

    @property
    def deletion(self) -> float:
        """Area under the deletion curve; low is better (Petsiuk et al. 2018)."""
        return area(self.deletion_curve)

    @property
    def insertion(self) -> float:
        """Area under the insertion curve; high is better."""
        return area(self.insertion_curve)


def area(curve: ArrayLike) -> float:
    """Area under a curve from no pixel to all, by the trapezoid rule."""
    curve = np.asarray(curve)
    return float(np.trapezoid(curve, dx=1 / (len(curve) - 1)))


def pixel_faithfulness(
    model: Answering, values: ArrayLike, label: str, *, steps: int = STEPS
) -> PixelFaithfulness:
    """Deletion and insertion of a map, in equal steps from no pixel to all.

    Args:
        model: the picture with its pixels, ``explainer.masked(image, pixels=True)``; its baseline
            stands in for deleted pixels.
        values: the map in the size that the model sees ``(height, width)``, such as
            ``explanation.map(size="image")``.
        label: whose probability is followed.
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
            f"give explainer.masked(image, pixels=True) and a map of the size that the model sees"
        )
    if not 1 <= steps <= model.n_features:
        raise ValueError(f"steps={steps}: must be 1 to {model.n_features}, the number of pixels")
    counts = np.linspace(0, model.n_features, steps + 1).round().astype(int).tolist()
    without, only = without_and_only(model, descending(values.ravel()), counts)
    column = list(model.probabilities).index(label)
    return PixelFaithfulness(without[:, column], only[:, column])


def points_at(values: ArrayLike, boxes: Sequence[Box], *, tolerance: float = 0) -> bool:
    """The pointing model (Zhang et al. 2016): is the highest place of a map in one of the boxes?

    A map that is the same everywhere points at nothing.

    Args:
        values: the map ``(height, width)``.
        boxes: where the thing is; pixel k reaches from k to k + 1.
        tolerance: pixels that the middle of that pixel may lie outside; the original allows 15.

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
    # Enlarged maps are flat near the rim, and segments everywhere: the middle of what is highest.
    ys, xs = np.nonzero(values == values.max())
    middle = np.argmin((ys - ys.mean()) ** 2 + (xs - xs.mean()) ** 2)
    y, x = ys[middle] + 0.5, xs[middle] + 0.5
    return any(
        math.hypot(max(left - x, 0, x - right), max(upper - y, 0, y - lower)) <= tolerance
        for left, upper, right, lower in boxes
    )
