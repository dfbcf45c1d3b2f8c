"""Explain a picture: which regions made a classifier decide?

Needs pillow and matplotlib: pip install -c constraints.txt ".[image]"

Run:  python examples/image.py                                # a drawing and a hand-made classifier
      python examples/image.py cat.jpg --model DIRECTORY      # a picture and a model of your own
"""

import argparse
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from textsobol import ImageExplainer


def drawing() -> Image.Image:
    """Two red lamps and a green one."""
    picture = Image.new("RGB", (240, 160), (40, 44, 60))
    draw = ImageDraw.Draw(picture)
    for left, colour in ((20, (220, 40, 40)), (95, (40, 190, 70)), (170, (220, 40, 40))):
        draw.ellipse((left, 55, left + 50, 105), fill=colour)
    return picture


def alarm(pictures: np.ndarray) -> np.ndarray:
    """Pictures (rows, height, width, channels) to scores: both lamps must be red."""
    red = np.clip(pictures[..., 0] - pictures[..., 1], 0, 1)
    left, right = red[:, :, :120].mean(axis=(1, 2)), red[:, :, 120:].mean(axis=(1, 2))
    return np.asarray(100 * left * right)


parser = argparse.ArgumentParser(description="Write a picture with a map of what mattered.")
parser.add_argument("picture", nargs="?", type=Path, help="a picture; by default a drawing")
parser.add_argument("--model", help="directory or hub id; by default a hand-made classifier")
parser.add_argument("--out", type=Path, default=Path("picture.png"), help="file for the plot")
asked = parser.parse_args()

image = Image.open(asked.picture) if asked.picture else drawing()
if asked.model:
    explainer = ImageExplainer(asked.model)
else:
    explainer = ImageExplainer(alarm, label_names=["alarm"], grid=(4, 6))
explanation = explainer(image)
explanation.show()

# What the lamps do together, beyond what each does alone: the alarm needs both.
explanation.save(asked.out, "score", "total", "first", "interaction")
print(f"wrote {asked.out}")
