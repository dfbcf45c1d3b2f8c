"""Image classifiers of every kind behind one interface: pictures in, outputs out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from textsobol.errors import WrongScoresError
from textsobol.image.pictures import as_photo, as_tensor
from textsobol.inference import in_evaluation, is_out_of_memory
from textsobol.outputs import copy_scores, to_log_odds
from textsobol.sobol.arrays import Floats

if TYPE_CHECKING:
    from torch import Tensor

_LARGEST_BATCH = 64
_CPU_PIXELS = 4 * 224 * 224


@dataclass(frozen=True)
class TorchClassifier:
    """A torch module, or a transformers model, that takes a batch of pictures.

    Attributes:
        activation: how outputs become probabilities; see `outputs.compute_probabilities`.
        label_names: names of its outputs, or ``None``.
        preprocess: from a picture to what the model takes; by default `as_tensor`.
    """

    model: Any
    activation: str
    name: str
    label_names: Sequence[str] | None
    preprocess: Callable[[Any], Any] | None

    def prepare(self, image: Any) -> Tensor:
        """The picture ``(1, channels, height, width)``, on the model's device and in its dtype."""
        tensor = as_tensor(image if self.preprocess is None else self.preprocess(image))
        parameter = next(iter(self.model.parameters()), None)
        return tensor if parameter is None else tensor.to(parameter.device, parameter.dtype)

    def choose_batch(self, picture: Tensor) -> int:
        """Pictures per batch; few on a CPU, so that they fit its caches."""
        if picture.device.type != "cpu":
            return _LARGEST_BATCH
        height, width = picture.shape[2:]
        return int(min(_LARGEST_BATCH, max(1, _CPU_PIXELS // (height * width))))

    def outputs(self, pictures: Tensor) -> Floats:
        """Outputs ``(pictures, labels)``, in smaller batches if memory runs out."""
        import torch

        try:
            with in_evaluation(self.model), torch.inference_mode():
                returned = forward(self.model, pictures)
        except Exception as error:
            if not is_out_of_memory(error) or len(pictures) == 1:
                raise
            half = len(pictures) // 2
            parts = (pictures[:half], pictures[half:])
            return np.concatenate([self.outputs(part) for part in parts])
        return np.asarray(returned.float().cpu().numpy(), dtype=float)

    def labels(self, n_outputs: int) -> list[str]:
        """The names given, those of the model's configuration, or numbers."""
        known = getattr(getattr(self.model, "config", None), "id2label", None) or {}
        return _name_labels(self.label_names, n_outputs, known)


def forward(model: Any, pictures: Tensor) -> Tensor:
    """Outputs of a module ``(pictures, labels)``, with gradients if torch has them on."""
    returned = model(pictures)
    logits: Tensor = getattr(returned, "logits", returned)
    return logits.reshape(len(pictures), -1)


@dataclass(frozen=True)
class ImageFunction:
    """Any function from pictures ``(pictures, height, width, channels)`` to scores."""

    function: Callable[[Any], Any]
    name: str
    label_names: Sequence[str] | None
    activation: str = "none"

    def prepare(self, image: Any) -> Tensor:
        """The picture, as it is."""
        return as_tensor(image)

    def choose_batch(self, picture: Tensor) -> int:
        """64: the function may run on any device."""
        return _LARGEST_BATCH

    def outputs(self, pictures: Tensor) -> Floats:
        """The function's scores ``(pictures, labels)``."""
        returned = self.function(pictures.permute(0, 2, 3, 1).cpu().numpy())
        scores = copy_scores(returned)
        if scores.ndim not in (1, 2) or len(scores) != len(pictures):
            raise WrongScoresError(
                f"the classifier returned shape {scores.shape} for {len(pictures)} pictures; it "
                f"must return (pictures,) or (pictures, labels)"
            )
        scores = scores.reshape(len(scores), -1)
        return scores if self.activation == "none" else to_log_odds(scores)

    def labels(self, n_outputs: int) -> list[str]:
        """The names given, or numbers."""
        return _name_labels(self.label_names, n_outputs, {})


ImageClassifier = TorchClassifier | ImageFunction


def as_image_classifier(
    model: Any,
    *,
    label_names: Sequence[str] | None,
    preprocess: Callable[[Any], Any] | None,
    activation: str,
    trust_remote_code: bool = False,
    score: str | None = None,
) -> ImageClassifier:
    """Wrap ``model`` in a classifier, or raise an error that lists what it may be."""
    import torch

    if isinstance(model, str | PathLike):
        model = _load(model, trust_remote_code=trust_remote_code)
    if hasattr(model, "image_processor") and hasattr(model, "model"):  # a pipeline
        processor = model.image_processor

        def prepare(image: Any) -> Any:
            return processor(images=as_photo(image), return_tensors="pt")["pixel_values"][0]

        inner = model.model
        is_multi = getattr(inner.config, "problem_type", None) == "multi_label_classification"
        how = "sigmoid" if is_multi else "softmax"
        return TorchClassifier(inner, how, _get_name(inner), label_names, preprocess or prepare)
    if isinstance(model, torch.nn.Module):
        return TorchClassifier(model, activation, _get_name(model), label_names, preprocess)
    if callable(model):
        name = getattr(model, "__name__", type(model).__name__)
        is_probability = score in ("logit", "probability")
        return ImageFunction(model, name, label_names, "sigmoid" if is_probability else "none")
    raise TypeError(
        f"cannot explain an object of type {type(model).__name__}; give an image-classification "
        f"pipeline, a path or hub id, a torch module, or a function from a batch of pictures to "
        f"scores"
    )


def _load(path: str | PathLike[str], *, trust_remote_code: bool) -> Any:
    """The pipeline of a directory or hub id."""
    from transformers import pipeline

    path = str(path)
    problem = f"cannot load an image classifier from {path!r}:"
    if path.startswith(("/", ".", "~")) and not Path(path).expanduser().is_dir():
        raise ValueError(f"{problem} there is no such directory")
    try:
        return pipeline("image-classification", model=path, trust_remote_code=trust_remote_code)
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise ValueError(
            f"{problem} {str(error).strip().splitlines()[0]} Give a directory written by "
            f"save_pretrained, with its preprocessor_config.json, or the id of a model on the hub"
        ) from error


def _name_labels(
    names: Sequence[str] | None, n_outputs: int, known: Mapping[int, str]
) -> list[str]:
    if names is None:
        return [str(known.get(k, k)) for k in range(n_outputs)]
    if len(names) != n_outputs:
        raise ValueError(
            f"{len(names)} labels were named, but the model returns {n_outputs} scores; name one "
            f"label for each score"
        )
    return list(map(str, names))


def _get_name(model: Any) -> str:
    path = str(getattr(getattr(model, "config", None), "_name_or_path", "") or "")
    return path.rstrip("/").rsplit("/", 1)[-1] or type(model).__name__
