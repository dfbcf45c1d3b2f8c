"""Short names for data and weights, to tell whether they are the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

_CHUNK = 1 << 20


def digest_of(parts: Iterable[bytes]) -> str:
    """A short name for data, another one for other data.

    Example:
        >>> digest_of([b"a", b"b"]) == digest_of([b"ab"]) != digest_of([b"ba"])
        True
    """
    told = hashlib.blake2b(digest_size=8)
    for part in parts:
        told.update(part)
    return told.hexdigest()


def file_digest(path: Path) -> str:
    """A short name for what a file holds."""

    def parts() -> Iterator[bytes]:
        with path.open("rb") as file:
            while part := file.read(_CHUNK):
                yield part

    return digest_of(parts())


def weights_of(model: Any) -> str:
    """A short name for the weights of a torch model."""
    import torch

    def parts() -> Iterator[bytes]:
        for name, values in model.state_dict().items():
            yield name.encode()
            # As bytes: numpy has no bfloat16. Flat, for a single number cannot be viewed as others.
            raw = values.cpu().contiguous().reshape(-1).view(torch.uint8)
            yield raw.numpy().tobytes()

    return digest_of(parts())
