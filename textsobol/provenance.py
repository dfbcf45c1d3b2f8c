"""Where results come from: digests of data and weights, versions, and the files of an input.

Nothing here loads a library before it is needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from textsobol import __version__

FORMATS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
}


def digest_of(parts: Iterable[bytes], size: int = 8) -> str:
    """A short digest of data, of ``size`` bytes.

    Example:
        >>> digest_of([b"a", b"b"]) == digest_of([b"ab"]) != digest_of([b"ba"])
        True
    """
    digest = hashlib.blake2b(digest_size=size)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def file_digest(path: Path) -> str:
    """A short digest of a file's contents."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=8)).hexdigest()


def weights_of(model: Any) -> str:
    """A short digest of a torch model's weights."""
    import torch

    def parts() -> Iterator[bytes]:
        for name, values in model.state_dict().items():
            yield name.encode()
            # As bytes: numpy has no bfloat16. Flat: a scalar tensor cannot be viewed as bytes.
            raw = values.cpu().contiguous().reshape(-1).view(torch.uint8)
            yield raw.numpy().tobytes()

    return digest_of(parts())


def versions() -> dict[str, str]:
    """Versions of this package and of the installed packages it works with."""
    return dict(_look_up_versions())


@cache  # looking them up takes longer than explaining a short text
def _look_up_versions() -> dict[str, str]:
    found = {"textsobol": __version__}
    for package in ("numpy", "scipy", "torch", "transformers", "tokenizers"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def format_of(path: str | Path) -> str | None:
    """The format of a file of texts, by its name; ``None`` if it is not a table.

    Example:
        >>> format_of("reviews.jsonl.gz"), format_of("review.txt")
        ('json', None)
    """
    last = [suffix.lower() for suffix in Path(path).suffixes[-2:]]
    return next((FORMATS[suffix] for suffix in reversed(last) if suffix in FORMATS), None)


def files_of(source: str | Path) -> list[Path]:
    """The files at a path; none if it is not a path (it may be a hub id).

    Raises:
        ValueError: when it is a path, but not to files of texts.
    """
    path = Path(source)
    known = f"{', '.join(FORMATS)}, plain or compressed"
    if path.is_dir():
        files = sorted(each for each in path.iterdir() if format_of(each) and each.is_file())
        if not files:
            raise ValueError(f"{source} holds no files of texts; known are {known}")
        if len(set(map(format_of, files))) > 1:
            raise ValueError(f"{source} holds files of several kinds; give one of them")
        return files
    if path.exists():
        if format_of(path) is None:
            raise ValueError(f"{source}: known files of many texts are {known}")
        return [path]
    if format_of(path) is not None or path.is_absolute():
        raise ValueError(f"there is no file {str(source)!r}")
    return []
