"""A few photos and a small classifier of them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.image.tiny import save_resnet

CLASSES = ("cat", "crane", "crane")


def photo_directory(folder: Path, boxes: Sequence[str], size: tuple[int, int] = (50, 40)) -> Path:
    """Photos of noise, one for every text of boxes, of the classes in turn."""
    from PIL import Image

    (folder / "images").mkdir(parents=True)
    random = np.random.default_rng(0)
    rows = ["file,class_index,synset,boxes"]
    for number, own in enumerate(boxes):
        colours = random.integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
        Image.fromarray(colours).save(folder / "images" / f"photo{number}.png")
        rows.append(f"photo{number}.png,{number % len(CLASSES)},n{number},{own}")
    (folder / "labels.csv").write_text("\n".join(rows) + "\n")
    (folder / "classes.txt").write_text("\n".join(CLASSES) + "\n")
    return folder


def tiny_resnet(folder: Path) -> Path:
    """A directory of a random classifier that sees 32 x 32 pixels."""
    asked = {
        "size": {"shortest_edge": 36},
        "crop_size": {"height": 32, "width": 32},
        "image_mean": [0.5] * 3,
        "image_std": [0.5] * 3,
    }
    return save_resnet(folder, CLASSES, asked)
