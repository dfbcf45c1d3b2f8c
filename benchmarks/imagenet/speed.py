"""What the order of numbers in memory and the size of batches give, and what explaining adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.imagenet.data import Photo
from benchmarks.imagenet.run import Setup
from benchmarks.measuring import megabytes_added, seconds
from textsobol import Sobol

if TYPE_CHECKING:
    from torch import Tensor

BATCHING_HEADER = ["batch", "pictures a second", "with channels_last", "ratio"]
OVERHEAD_HEADER = ["passes", "seconds", "bare passes", "ratio", "MB above the model"]
MOST_TIME = 1.15  # times that of the bare passes
MOST_MEGABYTES = 500
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


@dataclass(frozen=True)
class Overhead:
    """What explaining adds to the forward passes.

    Attributes:
        passes: pictures that were forwarded.
        seconds: of the explanation.
        bare_seconds: of its passes alone.
        ratio: of the two.
        megabytes: above the model and one batch that was forwarded.
    """

    passes: int
    seconds: float
    bare_seconds: float
    ratio: float
    megabytes: float

    def row(self) -> list[str]:
        """Of a table; see `OVERHEAD_HEADER`."""
        return [
            f"{self.passes:,}",
            f"{self.seconds:.2f}",
            f"{self.bare_seconds:.2f}",
            f"{self.ratio:.3f}",
            f"{self.megabytes:.0f}",
        ]

    def verdicts(self) -> list[str]:
        """Whether the limits hold, in words.

        Example:
            >>> print(*Overhead(3937, 60.0, 50.0, 1.2, 120.0).verdicts(), sep=", ")
            time: 1.200 x that of the bare passes, at most 1.15 x allowed: MISSED,
            memory: 120 MB above the model, less than 500 MB allowed: kept
        """
        limits = {
            f"time: {self.ratio:.3f} x that of the bare passes, at most {MOST_TIME} x allowed": (
                self.ratio <= MOST_TIME
            ),
            f"memory: {self.megabytes:.0f} MB above the model, less than {MOST_MEGABYTES} MB "
            f"allowed": self.megabytes < MOST_MEGABYTES,
        }
        return [f"{said}: {'kept' if kept else 'MISSED'}" for said, kept in limits.items()]


def overhead(setup: Setup, photo: Photo, base_rows: int, repeats: int) -> Overhead:
    """Time of the paper's explanation over that of its bare passes, and the memory it takes.

    The bare passes are batches of the same number and size, ready to be forwarded.

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
    cost: dict[str, float] = {}

    def explain() -> None:
        explanation = explainer(
            image,
            method=Sobol(keep=None, estimator="jansen", base_masks=base_rows, sign=None),
            targets=1,
        )
        cost.update(explanation.cost)

    megabytes = megabytes_added(explain)  # and first-use costs, which are not timed
    whole, bare = [], []
    for _ in range(repeats):
        whole.append(seconds(explain))
        n_batches = -(-int(cost["forwarded"]) // setup.batch)
        bare.append(seconds(partial(_forward, setup, batch, n_batches)))
    return Overhead(
        int(cost["forwarded"]),
        float(np.median(whole)),
        float(np.median(bare)),
        float(np.median(np.array(whole) / np.array(bare))),
        megabytes,
    )


def _forward(setup: Setup, batch: Tensor, times: int) -> None:
    import torch

    module: Any = setup.model.module
    with torch.inference_mode():
        for _ in range(times):
            module(batch)
