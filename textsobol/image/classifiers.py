"""Image classifiers of every kind, seen as one: pictures to outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from textsobol.image.pictures import as_photo, as_tensor
from textsobol.inference import in_evaluation, is_out_of_memory
from textsobol.sobol.arrays import Floats

if TYPE_CHECKING:
    from torch import Tensor

_LARGEST_BATCH = 64
_CPU_PIXELS = 4 * 224 * 224


class ImageClassifier(Protocol):
    """What an explainer needs to know of a model."""

    @property
    def name(self) -> str:
        """How the model is called in an explanation."""

    @property
    def activation(self) -> str:
        """How outputs become what is shown; see `outputs.compute_probabilities`."""

    def prepared(self, image: Any) -> Tensor:
        """The picture as the model takes it ``(1, channels, height, width)``."""

    def usual_batch(self, picture: Tensor) -> int:
        """How many pictures of that size are best forwarded together."""

    def outputs(self, pictures: Tensor) -> Floats:
        """Prepared pictures ``(rows, channels, height, width)`` to outputs ``(rows, labels)``."""

    def labels(self, n_outputs: int) -> list[str]:
        """Names of the outputs."""


@dataclass(frozen=True)
class TorchClassifier:
    """A torch module that takes a batch of pictures.

    Attributes:
        model: the module, or a model of transformers.
        activation: how its outputs become probabilities.
        name: how it is called.
        label_names: names of its outputs, or ``None``.
        prepare: from a picture to what the model takes; by default `as_tensor`.
    """

    model: Any
    activation: str
    name: str
    label_names: Sequence[str] | None
    prepare: Callable[[Any], Any] | None

    def prepared(self, image: Any) -> Tensor:
        """The picture, on the model's device and in its precision."""
        tensor = as_tensor(image) if self.prepare is None else as_tensor(self.prepare(image))
        parameter = next(iter(self.model.parameters()), None)
        return tensor if parameter is None else tensor.to(parameter.device, parameter.dtype)

    def usual_batch(self, picture: Tensor) -> int:
        """Few on a CPU: their maps stay in memory that is used again and again."""
        if picture.device.type != "cpu":
            return _LARGEST_BATCH
        height, width = picture.shape[2:]
        return int(min(_LARGEST_BATCH, max(1, _CPU_PIXELS // (height * width))))

    def outputs(self, pictures: Tensor) -> Floats:
        """Outputs, in smaller batches where memory runs out."""
        import torch

        try:
            with in_evaluation(self.model), torch.inference_mode():
                returned = forwarded(self.model, pictures)
        except Exception as error:
            if not is_out_of_memory(error) or len(pictures) == 1:
                raise
            half = len(pictures) // 2
            parts = (pictures[:half], pictures[half:])
            return np.concatenate([self.outputs(part) for part in parts])
        return np.asarray(returned.float().cpu().numpy(), dtype=float)

    def labels(self, n_outputs: int) -> list[str]:
        """The names given, those of the model's configuration, or numbers."""
        names = self.label_names
        if names is None:
            config = getattr(self.model, "config", None)
            known = getattr(config, "id2label", None) or {}
            return [str(known.get(k, k)) for k in range(n_outputs)]
        return _checked_names(names, n_outputs)


def forwarded(model: Any, pictures: Tensor) -> Tensor:
    """Outputs of a module ``(rows, labels)``, with gradients where they are wanted."""
    returned = model(pictures)
    logits: Tensor = getattr(returned, "logits", returned)
    return logits.reshape(len(pictures), -1)


@dataclass(frozen=True)
class ImageFunction:
    """Any function from a batch of pictures ``(rows, height, width, channels)`` to scores."""

    function: Callable[[Any], Any]
    name: str
    label_names: Sequence[str] | None
    activation: str = "none"

    def prepared(self, image: Any) -> Tensor:
        """The picture, as it is."""
        return as_tensor(image)

    def usual_batch(self, picture: Tensor) -> int:
        """Many: where the function runs them is not known."""
        return _LARGEST_BATCH

    def outputs(self, pictures: Tensor) -> Floats:
        """What the function returns, as an array ``(rows, labels)``."""
        returned = self.function(pictures.permute(0, 2, 3, 1).cpu().numpy())
        if hasattr(returned, "detach"):
            returned = returned.detach().float().cpu().numpy()
        scores = np.asarray(returned, dtype=float)
        if scores.ndim not in (1, 2) or len(scores) != len(pictures):
            raise ValueError(
                f"the classifier returned shape {scores.shape} for {len(pictures)} pictures; it "
                f"must return (pictures,) or (pictures, labels)"
            )
        return scores.reshape(len(scores), -1)

    def labels(self, n_outputs: int) -> list[str]:
        """The names given, or numbers."""
        if self.label_names is None:
            return [str(k) for k in range(n_outputs)]
        return _checked_names(self.label_names, n_outputs)


def as_image_classifier(
    model: Any,
    *,
    labels: Sequence[str] | None,
    preprocess: Callable[[Any], Any] | None,
    activation: str,
) -> ImageClassifier:
    """The classifier that ``model`` is, or an error that says what it may be."""
    import torch

    if isinstance(model, str | PathLike):
        model = _loaded(model)
    if hasattr(model, "image_processor") and hasattr(model, "model"):  # a pipeline
        processor = model.image_processor

        def prepare(image: Any) -> Any:
            return processor(images=as_photo(image), return_tensors="pt")["pixel_values"][0]

        inner = model.model
        is_multi = getattr(inner.config, "problem_type", None) == "multi_label_classification"
        how = "sigmoid" if is_multi else "softmax"
        return TorchClassifier(inner, how, _name_of(inner), labels, preprocess or prepare)
    if isinstance(model, torch.nn.Module):
        return TorchClassifier(model, activation, _name_of(model), labels, preprocess)
    if callable(model):
        name = getattr(model, "__name__", type(model).__name__)
        return ImageFunction(model, name, labels)
    raise TypeError(
        f"cannot explain a {type(model).__name__}; give an image-classification pipeline, a path "
        f"or hub id, a torch module, or a function from a batch of pictures to scores"
    )


def _loaded(place: str | PathLike[str]) -> Any:
    """The pipeline of a directory or hub id."""
    from transformers import pipeline

    where = str(place)
    said = f"cannot load an image classifier from {where!r}:"
    if where.startswith(("/", ".", "~")) and not Path(where).expanduser().is_dir():
        raise ValueError(f"{said} there is no such directory")
    try:
        return pipeline("image-classification", model=where)
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise ValueError(
            f"{said} {str(error).strip().splitlines()[0]} Give a directory written by "
            f"save_pretrained, with its preprocessor_config.json, or the id of a model on the hub"
        ) from error


def _checked_names(names: Sequence[str], n_outputs: int) -> list[str]:
    if len(names) != n_outputs:
        raise ValueError(f"{len(names)} labels were named, but the model gives {n_outputs} scores")
    return list(names)


def _name_of(model: Any) -> str:
    path = str(getattr(getattr(model, "config", None), "_name_or_path", "") or "")
    return path.rstrip("/").rsplit("/", 1)[-1] or type(model).__name__
