"""The known outputs of one input, and what they cost."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from textsobol.sobol.arrays import Array, Floats

# A long key is replaced by its 128-bit digest: a quarter of the memory at d = 1,000.
_LONGEST_PLAIN_KEY = 32


@dataclass
class Cost:
    """Forward passes, tokens and rows of gates spent on one input."""

    passes: int = 0
    tokens: int = 0
    padding: int = 0
    gates: int = 0

    @property
    def padding_share(self) -> float:
        """Fraction of the forwarded tokens that is padding."""
        return self.padding / self.tokens if self.tokens else 0.0

    def metadata(self) -> dict[str, float]:
        """Further entries for an explanation's ``cost``."""
        return {"gates": self.gates} if self.gates else {}

    def findings(self) -> dict[str, Any]:
        """Further entries for an explanation's ``settings``, which only its passes could show."""
        return {}

    def warn(self) -> None:
        """Warn of what the passes showed, when an explanation is complete."""


class KnownOutputs:
    """Outputs of all forwarded inputs, each once."""

    def __init__(self) -> None:
        self.place_of: dict[Hashable, int] = {}
        self._pieces: list[Floats] = []

    def add(self, keys: Sequence[Hashable], outputs: Floats) -> None:
        """Add outputs ``(inputs, labels)`` of inputs that were not known."""
        for key in keys:
            self.place_of[key] = len(self.place_of)
        self._pieces.append(outputs)

    def outputs(self, places: Sequence[int]) -> Floats:
        """Outputs ``(places, labels)``, by the values of ``place_of``."""
        if len(self._pieces) != 1:
            self._pieces = [np.concatenate(self._pieces)]
        return np.asarray(self._pieces[0][list(places)])


class Ledger:
    """The outputs of all scored masks of one input, and their cost.

    Attributes:
        budget: most distinct masks, with what gates cost, or ``None``.
        gate_passes: what gates have cost so far, in forward passes.
        cost: forward passes and tokens so far.
        n_asked: requested masks, repeated ones included.
    """

    def __init__(self, *, budget: int | None = None, cost: Cost | None = None) -> None:
        self.budget = budget
        self.cost = Cost() if cost is None else cost
        self.n_asked = 0
        self.gate_passes = 0
        self.known = KnownOutputs()
        self.place_of: dict[bytes, int] = {}

    @property
    def n_distinct(self) -> int:
        """Number of distinct masks requested."""
        return len(self.place_of)

    @property
    def has_room(self) -> bool:
        """Whether the budget allows one more mask."""
        return self.budget is None or self.n_spent < self.budget

    @property
    def n_spent(self) -> int:
        """What counts against the budget."""
        return self.n_distinct + self.gate_passes

    def restart(self) -> None:
        """Reset budget and counts; known outputs stay, and cost no forward pass."""
        self.budget, self.n_asked, self.gate_passes, self.place_of = None, 0, 0, {}

    def outputs(self, keys: Sequence[bytes]) -> Floats:
        """Outputs ``(masks, labels)`` of known masks, by their keys (`hash_masks`)."""
        return self.known.outputs([self.place_of[key] for key in keys])


def hash_masks(masks: Array) -> list[bytes]:
    """A key for every mask, equal only for equal masks."""
    packed = np.packbits(masks, axis=1) if masks.dtype == bool else masks
    raw = np.ascontiguousarray(packed)
    keys: list[bytes] = raw.view(f"V{raw.shape[1] * raw.itemsize}").ravel().tolist()
    if not keys or len(keys[0]) <= _LONGEST_PLAIN_KEY:
        return keys
    return [hashlib.blake2b(key, digest_size=16).digest() for key in keys]
