"""Do the numbers of rows and tokens of a batch matter for the tokens per second?

    python -m benchmarks.speed.shapes --model DIRECTORY --shapes 16x60,17x60 --dtype bfloat16

Batches of random tokens, rows x tokens, in another random order in every turn, as a machine that
others use is faster in some moments than in others. Ratios are of tokens per second, to the first
shape in the same turn: the median over turns and its quartiles.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification

from benchmarks.measuring import seconds
from benchmarks.tables import markdown

SHAPES = (
    "16x60,15x64,16x64,17x60,20x48,20x51,21x48,8x120,8x127,8x128,12x80,12x85,4x240,4x255,4x256,"
    "8x64,32x64,64x64,4x128,16x128,32x128,2x256,8x256,16x256"
)


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    options.add_argument("--model", required=True, help="directory or hub id of a text classifier")
    options.add_argument("--shapes", default=SHAPES, help="rows x tokens, with commas")
    options.add_argument("--dtype", default="float32", help="of the model (float32)")
    options.add_argument("--threads", type=int, default=1, help="of torch (1)")
    options.add_argument("--turns", type=int, default=30, help="times each is measured (30)")
    asked = options.parse_args()
    torch.set_num_threads(asked.threads)
    model = AutoModelForSequenceClassification.from_pretrained(
        asked.model, dtype=getattr(torch, asked.dtype)
    ).eval()
    shapes = [tuple(map(int, shape.split("x"))) for shape in asked.shapes.split(",")]
    batches = [torch.randint(1000, model.config.vocab_size, shape) for shape in shapes]
    random = np.random.default_rng(0)
    times = np.zeros((asked.turns + 1, len(shapes)))
    with torch.inference_mode():
        for turn in times:
            for k in random.permutation(len(shapes)).tolist():
                ids = batches[k]
                turn[k] = seconds(lambda ids=ids: model(ids, torch.ones_like(ids)))  # type: ignore[misc]
    speeds = np.array([rows * tokens for rows, tokens in shapes]) / times[1:]
    ratios = speeds / speeds[:, :1]
    low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75], axis=0)
    lines = [
        [f"{rows} x {tokens}", f"{rows * tokens:,}", f"{np.median(speeds[:, k]):,.0f}",
         f"{middle[k]:.3f} ({low[k]:.3f} to {high[k]:.3f})"]
        for k, (rows, tokens) in enumerate(shapes)
    ]  # fmt: skip
    header = ["rows x tokens", "tokens", "tokens a second", "to the first (quartiles)"]
    print(markdown(header, lines))


if __name__ == "__main__":
    main()
