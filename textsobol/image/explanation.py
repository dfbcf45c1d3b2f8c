"""An explanation of a picture: what each of its regions did to the labels."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from textsobol.files import read_file, write_file, write_text
from textsobol.image.arrays import ArrayFile
from textsobol.image.pictures import as_data_uri, from_data_uri
from textsobol.image.regions import Regions, make_grid
from textsobol.labels import choose_target
from textsobol.sobol.arrays import Array, Floats

SCHEMA = 1
_MOST_ABOUT = 1 << 28  # bytes of everything but the arrays
KINDS = ("score", "total", "first", "interaction", "error")


@dataclass(frozen=True, eq=False)
class RegionScores:
    """What the regions did to one label; arrays are ``(regions,)``, ``None`` where not known.

    Attributes:
        score: what ranks and colours a region: the signed total index, or a method's own score.
        total: share of the score's variance that the region has a part in.
        first: share that it causes alone.
        error: standard error of ``total``.
    """

    score: Floats
    total: Floats | None = None
    first: Floats | None = None
    error: Floats | None = None

    def of_kind(self, kind: str) -> Floats:
        """Values by name; ``interaction`` is what a region does together with others."""
        if kind not in KINDS:
            raise ValueError(f"unknown kind {kind!r}; known: {', '.join(KINDS)}")
        if kind == "interaction":
            return np.asarray(self.of_kind("total") - self.of_kind("first"))
        values: Floats | None = getattr(self, kind)
        if values is None:
            raise ValueError(f"this method does not give {kind!r}, only 'score'")
        return values


@dataclass(frozen=True, eq=False)
class ImageExplanation:
    """Which regions made a classifier decide as it did.

    Attributes:
        image: the picture as the model sees it ``(height, width, 3)``, 8 bits.
        regions: which pixels belong together, in the size that the model sees.
        scores: by label.
        probabilities: what the classifier says of the whole picture, by label.
        target: the label that is explained.
        cost: forward passes, seconds.
        settings: model, method and everything else that made this explanation.
    """

    image: Array
    regions: Regions
    scores: Mapping[str, RegionScores]
    probabilities: Mapping[str, float]
    target: str
    cost: Mapping[str, float]
    settings: Mapping[str, Any]

    @property
    def prediction(self) -> str:
        """The label with the highest probability."""
        return max(self.probabilities, key=lambda label: self.probabilities[label])

    @property
    def targets(self) -> tuple[str, ...]:
        """The labels that were analysed."""
        return tuple(self.scores)

    def for_target(self, name: str) -> ImageExplanation:
        """The same explanation for another label."""
        return replace(self, target=choose_target(name, self.targets, self.probabilities))

    def map(self, kind: str = "score", *, size: str = "grid") -> Floats:
        """The map of the label that is explained.

        Args:
            kind: ``score``, ``total``, ``first``, ``interaction`` (total minus first) or ``error``.
            size: ``grid``: a number for every cell (pixels, for segments); ``image``: smoothly
                upsampled to the picture that the model sees.
        """
        values = self.scores[self.target].of_kind(kind)
        if size not in ("grid", "image"):
            raise ValueError(f"unknown size {size!r}; known: grid, image")
        return self.regions.as_map(values) if size == "grid" else self.regions.as_picture(values)

    def to_dict(self) -> dict[str, Any]:
        """A dictionary of plain values; the picture itself is left out, and so are segments."""
        grid = self.regions.grid
        scores = {
            label: {k: None if v is None else _to_json(v) for k, v in vars(own).items()}
            for label, own in self.scores.items()
        }
        return {
            "schema": SCHEMA,
            "prediction": {"label": self.prediction, "probabilities": dict(self.probabilities)},
            "target": self.target,
            "grid": None if grid is None else list(grid),
            "upsampling": self.regions.upsampling,
            "size": list(self.regions.of_pixel.shape),
            "scores": scores,
            "cost": dict(self.cost),
            "settings": dict(self.settings),
        }

    def save(self, path: str | Path, *kinds: str) -> None:
        """Write the explanation to a file of the kind that its suffix names.

        ``.npz`` and ``.json`` hold everything, and `load` reads them again. ``.png``, ``.svg`` and
        ``.pdf`` are plots and need matplotlib.

        Args:
            path: the file.
            kinds: of the maps in a plot; see `plot`.
        """
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix == ".json":
            segments = self.regions.of_pixel.tolist() if self.regions.grid is None else None
            whole = {**self.to_dict(), "segments": segments, "image": as_data_uri(self.image)}
            write_text(path, json.dumps(whole, ensure_ascii=False))
        elif suffix == ".npz":
            about = np.array(json.dumps(self.to_dict(), ensure_ascii=False))
            regions = self.regions.of_pixel

            def write(file: IO[bytes]) -> None:
                np.savez_compressed(file, image=self.image, regions=regions, about=about)

            write_file(path, write)
        elif suffix in (".png", ".svg", ".pdf"):
            from textsobol.render.overlays import save_overlay

            save_overlay(self, path, kinds or ("score",))
        else:
            known = ".npz, .json, .png, .svg, .pdf"
            raise ValueError(f"cannot save as {suffix or 'a file without suffix'}; known: {known}")

    @classmethod
    def load(cls, path: str | Path) -> ImageExplanation:
        """Read what `save` wrote as ``.npz`` or ``.json``.

        Raises:
            ValueError: that names the file and what is wrong with it, for anything else.
        """
        from textsobol.schemas import MOST_BYTES

        path = Path(path)
        readers = {".npz": _read_npz, ".json": _read_json}
        if path.suffix.lower() not in readers:
            raise ValueError(f"{path}: explanations are read from .npz and .json")
        content = read_file(path, MOST_BYTES)
        try:
            data, image, segments = readers[path.suffix.lower()](content)
        except ValueError as error:
            raise ValueError(f"{path} is no explanation of a picture: {error}") from error
        (height, width), grid = data["size"], data["grid"]
        return cls(
            image=image,
            regions=(
                Regions(segments, None)
                if grid is None
                else make_grid((grid[0], grid[1]), height, width, data["upsampling"])
            ),
            scores={label: _read_scores(own) for label, own in data["scores"].items()},
            probabilities=data["prediction"]["probabilities"],
            target=data["target"],
            cost=data["cost"],
            settings=data["settings"],
        )

    def plot(self, *kinds: str, axes: Any = None) -> Any:
        """Draw the picture with a map over it, side by side for several kinds of map.

        Args:
            kinds: of map; see `map`. By default ``score``.
            axes: matplotlib axes to draw one map into; by default a new figure.
        """
        from textsobol.render.overlays import plot_overlay

        return plot_overlay(self, kinds or ("score",), axes=axes)

    def show(self) -> None:
        """Print the map to the terminal, in colours."""
        from rich.console import Console

        from textsobol.render.terminal import show_picture

        show_picture(self, Console())

    def __repr__(self) -> str:
        values = self.map()
        down, across = np.unravel_index(int(np.argmax(values)), values.shape)
        place = "row, column" if self.regions.grid else "pixel"
        return (
            f"ImageExplanation({self.target} {self.probabilities[self.target]:.3f}: strongest at "
            f"{place} ({down}, {across}); {self.regions.number} regions)"
        )

    def _repr_html_(self) -> str:
        from textsobol.render.overlays import render_overlay

        return render_overlay(self)


_Contents = tuple[dict[str, Any], Array, Any]  # all but the picture, the picture, its segments


def _read_json(content: bytes) -> _Contents:
    from textsobol.validation import check_picture_file, read_json

    data = read_json(content)
    if not isinstance(data, dict) or "image" not in data:
        raise ValueError("it holds no picture")
    check_picture_file(data)
    height, width = data["size"]
    return data, from_data_uri(data["image"], (height, width)), np.array(data["segments"])


def _read_npz(content: bytes) -> _Contents:
    from textsobol.schemas import PictureAbout
    from textsobol.validation import check_picture_file, read_json

    with ArrayFile(content, ("image", "regions", "about")) as file:
        data = read_json(file.read_text("about", _MOST_ABOUT).encode())
        check_picture_file(data, PictureAbout)
        height, width = data["size"]
        image = file.read("image", "u1", (height, width, 3))
        if data["grid"] is not None:
            return data, image, None
        segments = file.read("regions", "i8", (height, width))
    n_regions = len(next(iter(data["scores"].values()))["score"])
    if segments.min() < 0 or segments.max() != n_regions - 1:
        raise ValueError(f"regions: must be numbered from 0 to {n_regions - 1}")
    return data, image, segments


def _to_json(values: Floats) -> list[float | None]:
    """JSON has neither infinity nor NaN: what is not known is null."""
    return [value if math.isfinite(value) else None for value in values.tolist()]


def _read_scores(data: Mapping[str, Any]) -> RegionScores:
    arrays: dict[str, Any] = {
        k: None if v is None else np.array(v, dtype=float) for k, v in data.items()
    }
    return RegionScores(**arrays)
