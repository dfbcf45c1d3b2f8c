"""What is known of one input, and what it cost."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from textsobol.sobol.arrays import Array, Floats

# A long key is replaced by its 128-bit digest: a quarter of the memory at d = 1,000.
_LONGEST_PLAIN_KEY = 32


@dataclass
class Cost:
    """What was forwarded for one input."""

    rows: int = 0
    tokens: int = 0
    padding: int = 0

    @property
    def padding_share(self) -> float:
        """Share of the forwarded tokens that is padding."""
        return self.padding / self.tokens if self.tokens else 0.0

    def metadata(self) -> dict[str, float]:
        """What else an explanation says of it."""
        return {}


class _Known:
    """Outputs of all inputs that were ever forwarded, each once."""

    def __init__(self) -> None:
        self.place_of: dict[Hashable, int] = {}
        self._pieces: list[Floats] = []

    def add(self, keys: Sequence[Hashable], outputs: Floats) -> None:
        for key in keys:
            self.place_of[key] = len(self.place_of)
        self._pieces.append(outputs)

    def outputs(self, places: Sequence[int]) -> Floats:
        if len(self._pieces) != 1:
            self._pieces = [np.concatenate(self._pieces)]
        return np.asarray(self._pieces[0][list(places)])


class Ledger:
    """What is known of one input: the outputs of every mask that was asked for, and the cost.

    Attributes:
        budget: distinct masks that may be asked for, or ``None``.
        cost: what was forwarded.
        n_asked: masks that were asked for, repeated ones included.
    """

    def __init__(self, *, budget: int | None = None, cost: Cost | None = None) -> None:
        self.budget = budget
        self.cost = Cost() if cost is None else cost
        self.n_asked = 0
        self.known = _Known()
        self.place_of: dict[bytes, int] = {}

    @property
    def n_distinct(self) -> int:
        """Number of distinct masks that were asked for."""
        return len(self.place_of)

    def restart(self) -> None:
        """Count anew; what is known stays known, and costs no forward pass."""
        self.budget, self.n_asked, self.place_of = None, 0, {}

    def outputs(self, keys: Sequence[bytes]) -> Floats:
        """Outputs ``(rows, labels)`` of masks that were all asked for before, by `mask_keys`."""
        return self.known.outputs([self.place_of[key] for key in keys])


def mask_keys(masks: Array) -> list[bytes]:
    """A key for every mask, equal for equal masks only."""
    packed = np.packbits(masks, axis=1) if masks.dtype == bool else masks
    raw = np.ascontiguousarray(packed)
    keys: list[bytes] = raw.view(f"V{raw.shape[1] * raw.itemsize}").ravel().tolist()
    if not keys or len(keys[0]) <= _LONGEST_PLAIN_KEY:
        return keys
    return [hashlib.blake2b(key, digest_size=16).digest() for key in keys]
