"""What the order of numbers in memory and the size of batches give, and what explaining adds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.imagenet.data import Photo
from benchmarks.imagenet.run import Setup
from benchmarks.measuring import peak_megabytes, seconds

if TYPE_CHECKING:
    from torch import Tensor

BATCHING_HEADER = ["batch", "pictures a second", "with channels_last", "ratio"]
OVERHEAD_HEADER = ["passes", "seconds", "bare passes", "ratio", "MB above the model"]
_LEAST_PICTURES = 64  # measured at a time, so that small batches are not measured by one alone


def batching_rows(
    setup: Setup, photo: Photo, batches: Sequence[int], repeats: int
) -> list[list[str]]:
    """Pictures that the model takes in a second, in turns, so that a slow moment hits all.

    Args:
        setup: of the model.
        photo: what is forwarded.
        batches: sizes of a batch.
        repeats: times that each is measured; the median counts.
    """
    import torch

    picture = setup.model.preprocess(photo.opened())[None]
    orders = {
        "contiguous": torch.contiguous_format,
        "channels_last": torch.channels_last,
    }
    inputs = {
        (size, name): picture.repeat(size, 1, 1, 1).contiguous(memory_format=order)
        for size in batches
        for name, order in orders.items()
    }
    times: dict[tuple[int, str], list[float]] = {key: [] for key in inputs}
    for turn in range(1 + repeats):
        for key, batch in inputs.items():
            n_batches = -(-_LEAST_PICTURES // len(batch))
            elapsed = seconds(partial(_forward, setup, batch, n_batches))
            if turn:  # the first one warms up
                times[key].append(elapsed / (n_batches * len(batch)))
    rows = []
    for size in batches:
        plain, ordered = (float(np.median(times[size, name])) for name in orders)
        rows.append([str(size), f"{1 / plain:.1f}", f"{1 / ordered:.1f}", f"{plain / ordered:.2f}"])
    return rows


def overhead_row(setup: Setup, photo: Photo, base_rows: int, repeats: int) -> list[str]:
    """Time of the paper's explanation over that of its bare passes, and the memory it takes.

    The bare passes are batches of the same number and size, ready to be forwarded. Memory is how
    much the peak of the process grows, above the model and one batch that was forwarded; call
    this before anything that takes more.

    Args:
        setup: of the model.
        photo: what is explained.
        base_rows: N of the paper's estimator.
        repeats: times that both are measured, in turns; medians count.
    """
    import torch

    explainer, image = setup.explainer(), photo.opened()
    picture = setup.model.preprocess(image)[None].repeat(setup.batch, 1, 1, 1)
    batch = picture.contiguous(memory_format=torch.channels_last)
    _forward(setup, batch, 1)
    before = peak_megabytes()
    cost: dict[str, float] = {}

    def explain() -> None:
        explanation = explainer(
            image, keep=None, estimator="jansen", rows=base_rows, sign=None, labels=1
        )
        cost.update(explanation.cost)

    explain()  # first-use costs
    growth = peak_megabytes() - before
    whole, bare = [], []
    for _ in range(repeats):
        whole.append(seconds(explain))
        n_batches = -(-int(cost["forwarded"]) // setup.batch)
        bare.append(seconds(partial(_forward, setup, batch, n_batches)))
    ratio = float(np.median(np.array(whole) / np.array(bare)))
    return [
        f"{cost['forwarded']:,.0f}",
        f"{np.median(whole):.2f}",
        f"{np.median(bare):.2f}",
        f"{ratio:.3f}",
        f"{growth:.0f}",
    ]


def _forward(setup: Setup, batch: Tensor, times: int) -> None:
    import torch

    module: Any = setup.model.module
    with torch.inference_mode():
        for _ in range(times):
            module(batch)
