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
from textsobol.labels import checked_label
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
            a batch of pictures ``(rows, channels, height, width)``, or a function from a batch of
            pictures ``(rows, height, width, channels)`` to scores, from 0 to 1 where they came
            from a file. It is never changed.
        preprocess: from a picture, as it is given or as PIL reads a file, to what a module takes
            ``(channels, height, width)``; a pipeline has its own. Regions are left out in the
            picture that it returns.
        label_names: names of the scores.
        grid: cells (down, across) that come and go.
        upsampling: how cells become pixels: ``nearest``, as in the paper, or ``bilinear``.
        perturbation: what happens to a region that is left out: ``inpaint`` (the baseline stands
            in), ``blur``, ``amplitude`` (it goes dark), or a function of a picture and masks.
        baseline: of ``inpaint``: ``zero``, ``mean`` (of the picture), a number, one a channel, or
            a picture; in the numbers that the model takes.
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
        """How the model is called in explanations."""
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
            segments: a number for every pixel that the model sees, instead of the grid.
            target: the label that is explained; by default the likeliest of ``targets``.
            targets: labels to analyse, or so many of the likeliest beside ``target``; ``None`` for
                all. They share the forward passes.
            method: ``sobol``, or another one by name; or one with options, such as
                ``Sobol(keep=None)`` for the paper's masks of real numbers; see
                `textsobol.methods`. Gradient methods, RISE and ``random`` score single pixels, or
                the segments, if there are any.
            budget: forward passes allowed; by default 32 base masks, the paper's.
            seed: the same seed gives the same explanation.

        Raises:
            ValueError: when a setting is out of range.
            BlackBoxError: when the classifier fails.
        """
        with LateProgress(1, enabled=self._progress) as progress:
            steps = self.walk(
                image, segments=segments, target=target, targets=targets, method=method,
                budget=budget, seed=seed, expect=progress.more,
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
        """The same, as a generator that `textsobol.driver` serves; see `TextExplainer.walk`."""
        start = time.perf_counter()
        budget = check_call(budget, seed)
        method = find_method(method).for_pictures(has_budget=budget is not None)
        image = load_picture(image)
        # A map of pixels, unless larger regions are asked for.
        pixels = method.scores_pixels and segments is None
        model = self._mask(image, segments, pixels=pixels)
        yield from model.predict(targets, target)
        target = checked_label(target, model.labels, model.probabilities)
        if method.kind == "search":  # for one label: it takes far too long for many
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
            scores=_region_scores(found, model.labels),
            probabilities=model.probabilities,
            target=target,
            cost={
                "forwarded": model.cost.rows + found.passes,
                "seconds": time.perf_counter() - start,
            },
            settings={
                **self._settings(model),
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
        """The picture with its regions, ready to be asked about; what metrics work on.

        Args:
            image: see `__call__`.
            segments: see `__call__`.
            pixels: every pixel that the model sees is a region.
            baseline: stands in for regions that are left out, instead of the explainer's
                perturbation.
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
            self._regions(segments, pixels, *picture.shape[2:]),
            make_perturbation(perturbation, picture, filling),
            score=self._score,
            batch=self._batch or self._classifier.choose_batch(picture),
        )

    def _regions(self, segments: Any, pixels: bool, height: int, width: int) -> Regions:
        if segments is not None:
            return make_segments(segments, height, width)
        grid = (height, width) if pixels else self._grid
        return make_grid(grid, height, width, self._upsampling)

    def _settings(self, model: MaskedImageModel) -> dict[str, Any]:
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


def _region_scores(found: Attribution, labels: Sequence[str]) -> dict[str, RegionScores]:
    indices = found.indices if found.units is None else None  # those of groups are not of regions
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
