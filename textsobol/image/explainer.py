"""`ImageExplainer`: from a classifier and a picture to an explanation."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from textsobol.driver import run
from textsobol.image.classifiers import as_image_classifier
from textsobol.image.explanation import ImageExplanation, RegionScores
from textsobol.image.masked_model import MaskedImageModel
from textsobol.image.perturbations import Perturbation, make_perturbation
from textsobol.image.pictures import load_picture, show_prepared
from textsobol.image.regions import Regions, make_grid, make_segments
from textsobol.labels import choose_target
from textsobol.methods import Attribution, Method, Scale, find_method
from textsobol.methods.method import check_call, record
from textsobol.outputs import SCORES
from textsobol.progress import LateProgress
from textsobol.provenance import versions
from textsobol.steps import Steps

GRID = (11, 11)  # the paper's
RISE_MASKS = 8000  # the paper's


class ImageExplainer:
    """Explains which regions of a picture made an image classifier decide as it did.

    Args:
        model: an image-classification pipeline, a directory or hub id, a torch module that takes
            a batch of pictures ``(pictures, channels, height, width)``, or a function from pictures
            ``(pictures, height, width, channels)`` to scores; pictures from files have numbers from
            0 to 1. It is never changed.
        preprocess: from a picture, as given or as PIL reads it, to a module's input
            ``(channels, height, width)``; a pipeline has its own. Regions are masked after it.
        label_names: names of the scores.
        grid: number of cells (down, across); the cells are the features.
        upsampling: how cells become pixels: ``nearest``, as in the paper, or ``bilinear``.
        perturbation: what happens to an absent region: ``inpaint`` (replaced by the baseline),
            ``blur``, ``amplitude`` (scaled to zero), or a function of a picture and masks.
        baseline: for ``inpaint``: ``zero``, ``mean`` (of the picture), a number, one number per
            channel, or a picture; on the scale of the model's input.
        score: what is analysed: ``logit``, the log-odds of a label, ``probability``, or
            ``output``, the number before softmax, as in the paper. By default the log-odds; a
            function's scores are analysed as they are, unless ``logit`` or ``probability`` says
            that they are probabilities.
        activation: how a module's outputs become probabilities: ``softmax``, ``sigmoid`` or
            ``none``.
        batch: pictures that are forwarded together; by default few of a module on a CPU, where
            large batches are slower, and 64 elsewhere.
        trust_remote_code: run Python code that comes with a model; see SECURITY.md.
        progress: show a bar on work of more than about two seconds.

    Example:
        >>> import numpy as np
        >>> def left_half(pictures):
        ...     return pictures[:, :, :4].mean(axis=(1, 2, 3))
        >>> explainer = ImageExplainer(left_half, label_names=["left"], grid=(1, 2))
        >>> explainer(np.ones((8, 8, 3))).map("total")
        array([[1., 0.]])
    """

    def __init__(
        self,
        model: Any,
        *,
        preprocess: Callable[[Any], Any] | None = None,
        label_names: Sequence[str] | None = None,
        grid: tuple[int, int] = GRID,
        upsampling: str = "nearest",
        perturbation: str | Perturbation = "inpaint",
        baseline: Any = "zero",
        score: str | None = None,
        activation: str = "softmax",
        batch: int | None = None,
        trust_remote_code: bool = False,
        progress: bool = True,
    ) -> None:
        if score is not None and score not in SCORES:
            raise ValueError(f"unknown score {score!r}; known: {', '.join(SCORES)}")
        if batch is not None and batch < 1:
            raise ValueError("batch must be at least 1")
        self._classifier = as_image_classifier(
            model,
            label_names=label_names,
            preprocess=preprocess,
            activation=activation,
            trust_remote_code=trust_remote_code,
            score=score,
        )
        self._grid = grid
        self._upsampling = upsampling
        self._perturbation = perturbation
        self._baseline = baseline
        self._score = score or "logit"
        self._batch = batch
        self._progress = progress

    @property
    def name(self) -> str:
        """The name of the model in explanations."""
        return self._classifier.name

    def __call__(
        self,
        image: Any,
        *,
        segments: Any = None,
        target: str | None = None,
        targets: Sequence[str] | int | None = 3,
        method: str | Method = "sobol",
        budget: int | None = None,
        seed: int = 0,
    ) -> ImageExplanation:
        """Explain a picture.

        Args:
            image: a file, a PIL picture, an array ``(height, width[, channels])`` or a tensor
                ``(channels, height, width)``.
            segments: a number for every pixel of the model's input, instead of the grid.
            target: the label that is explained; by default the likeliest of ``targets``.
            targets: labels to analyse, or how many of the likeliest besides ``target``; ``None``
                for all. They share the forward passes.
            method: the name of an attribution method, or a method with options, such as
                ``Sobol(keep=None)`` for the paper's real-valued masks; see `textsobol.methods`.
                Gradient methods, RISE and ``random`` score single pixels, or segments if given.
            budget: forward passes allowed; by default enough for 32 base masks, as in the paper.
            seed: the same seed gives the same explanation.

        Raises:
            ValueError: if a setting is out of range.
            BlackBoxError: if the classifier fails.
        """
        with LateProgress(1, enabled=self._progress) as progress:
            steps = self.walk(
                image, segments=segments, target=target, targets=targets, method=method,
                budget=budget, seed=seed, expect=progress.expect,
            )  # fmt: skip
            return run(steps, progress.tick)

    def walk(
        self,
        image: Any,
        *,
        segments: Any = None,
        target: str | None = None,
        targets: Sequence[str] | int | None = 3,
        method: str | Method = "sobol",
        budget: int | None = None,
        seed: int = 0,
        expect: Callable[[int], None] = lambda n_masks: None,
    ) -> Steps[ImageExplanation]:
        """`__call__` as a generator that `textsobol.driver` runs; see `TextExplainer.walk`."""
        start = time.perf_counter()
        budget = check_call(budget, seed)
        method = find_method(method).for_pictures(has_budget=budget is not None)
        image = load_picture(image)
        # A map of pixels, unless segments are given.
        pixels = method.scores_pixels and segments is None
        model = self._mask(image, segments, pixels=pixels)
        yield from model.predict(targets, target)
        target = choose_target(target, model.labels, model.probabilities)
        if method.kind == "search":  # takes far too long for several labels
            model = model.with_target(target)
        n_regions = model.n_features
        usual = 1 + RISE_MASKS if pixels else 1 + 32 * (n_regions + 2)
        budget = method.choose_budget(budget, Scale(n_regions, "regions", usual))
        model.ledger.budget = budget
        expect(budget or method.expected_masks(n_regions))
        found = yield from method.attribute(model.problem(target), budget=budget, seed=seed)
        return ImageExplanation(
            image=show_prepared(image, model.picture),
            regions=model.regions,
            scores=_make_region_scores(found, model.labels),
            probabilities=model.probabilities,
            target=target,
            cost={
                "forwarded": model.cost.passes + found.passes,
                "seconds": time.perf_counter() - start,
            },
            settings={
                **self._record_settings(model),
                **record(method, found, budget=budget, seed=seed),
            },
        )

    def masked(
        self,
        image: Any,
        *,
        segments: Any = None,
        pixels: bool = False,
        baseline: Any = None,
        targets: Sequence[str] | int | None = 3,
    ) -> MaskedImageModel:
        """The masked model of a picture, for metrics.

        Args:
            image: see `__call__`.
            segments: see `__call__`.
            pixels: whether every pixel of the model's input is a region.
            baseline: replaces absent regions, instead of the explainer's perturbation.
            targets: see `__call__`.
        """
        model = self._mask(load_picture(image), segments, pixels=pixels, baseline=baseline)
        return run(model.predict(targets))

    def _mask(
        self, image: Any, segments: Any, *, pixels: bool = False, baseline: Any = None
    ) -> MaskedImageModel:
        picture = self._classifier.prepare(image)
        perturbation, filling = self._perturbation, self._baseline
        if baseline is not None:
            perturbation, filling = "inpaint", baseline
        return MaskedImageModel(
            self._classifier,
            picture,
            self._make_regions(segments, pixels, *picture.shape[2:]),
            make_perturbation(perturbation, picture, filling),
            score=self._score,
            batch=self._batch or self._classifier.choose_batch(picture),
        )

    def _make_regions(self, segments: Any, pixels: bool, height: int, width: int) -> Regions:
        if segments is not None:
            return make_segments(segments, height, width)
        grid = (height, width) if pixels else self._grid
        return make_grid(grid, height, width, self._upsampling)

    def _record_settings(self, model: MaskedImageModel) -> dict[str, Any]:
        named = isinstance(self._perturbation, str)
        plain = isinstance(self._baseline, str | int | float)
        return {
            "model": self.name,
            "labels": list(model.labels),
            "perturbation": self._perturbation if named else "callable",
            "baseline": self._baseline if plain else "given",
            "score": self._score if self._classifier.activation != "none" else "output",
            "versions": versions(),
        }


def _make_region_scores(found: Attribution, labels: Sequence[str]) -> dict[str, RegionScores]:
    indices = found.indices if found.units is None else None  # else indices are of units
    scores = {}
    for column, label in enumerate(labels):
        if indices is None:
            scores[label] = RegionScores(found.scores[:, column])
        else:
            scores[label] = RegionScores(
                found.scores[:, column],
                total=indices.total[:, column],
                first=indices.first[:, column],
                error=indices.total_error[:, column],
            )
    return scores
