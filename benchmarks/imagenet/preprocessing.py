"""From a photo to what a model sees, and the boxes of things along with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from PIL.Image import Image
    from torch import Tensor

    from textsobol.metrics.pixels import Box

Colours = tuple[float, float, float]
"""A number for red, green and blue."""


@dataclass(frozen=True)
class Preprocessing:
    """Resize the shorter side, cut out the middle, normalise.

    Pillow's bicubic resizing. EfficientNet-Lite was evaluated with TensorFlow's bilinear one,
    which does not smooth; timm, too, finds Pillow's bicubic nearer to it than Pillow's bilinear.

    Attributes:
        shorter: the shorter side after resizing.
        size: side of the square that is cut out.
        mean: of the colours, 0 to 255, taken off.
        spread: what they are divided by then.
    """

    shorter: int
    size: int
    mean: Colours
    spread: Colours

    def __call__(self, photo: Image) -> Tensor:
        """What the model sees ``(3, size, size)``."""
        import torch
        from PIL.Image import Resampling

        across, down = self._resized(photo.size)
        left, upper = self._corner(photo.size)
        seen = photo.convert("RGB").resize((across, down), Resampling.BICUBIC)
        seen = seen.crop((left, upper, left + self.size, upper + self.size))
        colours = (np.asarray(seen, dtype=np.float32) - self.mean) / self.spread
        return torch.from_numpy(colours.astype(np.float32)).permute(2, 0, 1).contiguous()

    def boxes(self, boxes: Iterable[Box], photo_size: tuple[int, int]) -> list[Box]:
        """Where boxes of a photo are in what the model sees; those outside it are dropped.

        Example:
            >>> seen = Preprocessing(8, 4, (127, 127, 127), (128, 128, 128))
            >>> seen.boxes([(5, 0, 12, 10), (0, 0, 4, 4)], (20, 16))
            [(0.0, 0.0, 3.0, 3.0)]
        """
        across, down = self._resized(photo_size)
        left, upper = self._corner(photo_size)
        scales = np.tile([across / photo_size[0], down / photo_size[1]], 2)
        found = []
        for box in boxes:
            moved = np.asarray(box) * scales - [left, upper, left, upper]
            x0, y0, x1, y1 = np.clip(moved, 0, self.size).tolist()
            if x0 < x1 and y0 < y1:
                found.append((x0, y0, x1, y1))
        return found

    def _resized(self, size: tuple[int, int]) -> tuple[int, int]:
        """Width and height after resizing."""
        scale = self.shorter / min(size)
        across, down = (max(round(side * scale), self.size) for side in size)
        return across, down

    def _corner(self, size: tuple[int, int]) -> tuple[int, int]:
        """The upper left corner of what is cut out."""
        across, down = self._resized(size)
        return (across - self.size) // 2, (down - self.size) // 2
