"""Labelled photos with the boxes of what they show, from a directory."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.provenance import digest_of
from textsobol.labels import disambiguate

if TYPE_CHECKING:
    from PIL.Image import Image

    from textsobol.metrics.pixels import Box

_COLUMNS = ("file", "class_index", "boxes")


@dataclass(frozen=True)
class Photo:
    """A photo to explain.

    Attributes:
        id: tells it from all others.
        path: its file.
        label: number of its class.
        boxes: where the things of that class are, in its pixels.
    """

    id: str
    path: Path
    label: int
    boxes: tuple[Box, ...]

    def opened(self) -> Image:
        """The photo in RGB."""
        from PIL import Image

        with Image.open(self.path) as image:
            return image.convert("RGB")


def photos(directory: Path, *, seed: int) -> list[Photo]:
    """Photos of a directory, shuffled.

    Args:
        directory: with ``labels.csv`` (columns ``file``, ``class_index`` and ``boxes``, the last
            as "xmin ymin xmax ymax; ...") and the files in ``images``.
        seed: of the order.
    """
    path = _existing(directory / "labels.csv")
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    missing = [name for name in _COLUMNS if rows and name not in rows[0]]
    if missing:
        raise SystemExit(f"{path.name} has no column {', '.join(missing)}")
    every = [
        Photo(
            Path(row["file"]).stem,
            _existing(directory / "images" / row["file"]),
            int(row["class_index"]),
            tuple(_boxes(row["boxes"])),
        )
        for row in rows
    ]
    order = np.random.default_rng(seed).permutation(len(every))
    return [every[k] for k in order]


def class_names(directory: Path) -> list[str]:
    """Names of the classes, a line of ``classes.txt`` for each; a repeated one has its number."""
    names = _existing(directory / "classes.txt").read_text(encoding="utf-8").splitlines()
    return disambiguate(names)


def digest(chosen: Sequence[Photo]) -> str:
    """A short name for photos, another one for other photos, labels or boxes."""

    def parts() -> Iterator[bytes]:
        for photo in chosen:
            yield f"{photo.id}\0{photo.label}\0{photo.boxes}\0".encode()
            yield photo.path.read_bytes()

    return digest_of(parts())


def _boxes(text: str) -> Iterator[Box]:
    """Boxes written as "xmin ymin xmax ymax; ...".

    Example:
        >>> list(_boxes("1 2 3 4; 5 6 7 8"))
        [(1.0, 2.0, 3.0, 4.0), (5.0, 6.0, 7.0, 8.0)]
    """
    for part in filter(str.strip, text.split(";")):
        left, upper, right, lower = map(float, part.split())
        yield left, upper, right, lower


def _existing(path: Path) -> Path:
    if not path.exists():
        raise SystemExit(f"{path} is missing; --data must name a directory of labelled photos")
    return path
