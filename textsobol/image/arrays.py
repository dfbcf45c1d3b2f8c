"""Arrays of an ``.npz`` file that may come from anywhere: checked before they are read."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Callable
from typing import IO, Any, Self

import numpy as np
from numpy.lib import format as npy

from textsobol.sobol.arrays import Array

_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_LONGEST_HEADER = 1000
_MOST_RATIO = 1100  # zlib packs a thousand bytes into one, and no more


class ArrayFile:
    """Arrays by name. Kind, shape and size are checked before memory is taken.

    Args:
        content: the bytes of the file.
        names: of its arrays, all of them.

    Raises:
        ValueError: for anything but such a file.
    """

    def __init__(self, content: bytes, names: tuple[str, ...]) -> None:
        try:
            self._file = zipfile.ZipFile(io.BytesIO(content))
        except Exception as error:  # zipfile raises errors of many kinds
            raise ValueError(f"no .npz file: {str(error)[:200]}") from error
        self._members = {info.filename: info for info in self._file.infolist()}
        expected = {f"{name}.npy" for name in names}
        if self._members.keys() != expected or len(self._file.infolist()) != len(expected):
            raise ValueError(f"must hold the arrays {', '.join(names)} and nothing else")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def read(self, name: str, kind: str, shape: tuple[int, ...]) -> Array:
        """Read an array that must be of a kind, in numpy's terms, and of a shape."""

        def check(dtype: Any, found: tuple[int, ...]) -> None:
            if dtype != np.dtype(kind) or found != shape:
                raise ValueError(
                    f"must be {kind} of shape {shape}, not {str(dtype)[:20]} of shape {found}"
                )

        dtype, content = self._read(name, check)
        return np.frombuffer(content, dtype=dtype).reshape(shape).copy()

    def read_text(self, name: str, most_bytes: int) -> str:
        """Read a text, which numpy stores with four bytes for every character."""

        def check(dtype: Any, found: tuple[int, ...]) -> None:
            if dtype.kind != "U" or found != () or not 0 < dtype.itemsize <= most_bytes:
                raise ValueError(f"must be a text of at most {most_bytes:,} bytes")

        dtype, content = self._read(name, check)
        try:
            text = content.decode("utf-32-be" if dtype.str.startswith(">") else "utf-32-le")
        except UnicodeDecodeError as error:
            raise ValueError(f"{name}: {error.reason}") from error
        return text.rstrip("\0")

    def _read(self, name: str, check: Callable[[Any, tuple[int, ...]], None]) -> tuple[Any, bytes]:
        """Type and bytes of an array, whose type and shape pass the check."""
        info = self._members[f"{name}.npy"]
        packed = max(1, info.compress_size)
        try:
            if info.compress_type not in _PACKED or info.file_size > _MOST_RATIO * packed + 1000:
                raise ValueError("is packed in an unusual way")
            with self._file.open(info) as member:
                shape, dtype = _read_header(member)
                check(dtype, shape)
                n_bytes = dtype.itemsize * math.prod(shape)
                if not 0 <= info.file_size - n_bytes <= _LONGEST_HEADER:
                    raise ValueError("is not as long as its shape says")
                content = member.read()
            if len(content) != n_bytes:
                raise ValueError("is not as long as its shape says")
        except Exception as error:  # zipfile and numpy raise errors of many kinds
            raise ValueError(f"{name}: {str(error)[:200]}") from error
        return dtype, content


def _read_header(member: IO[bytes]) -> tuple[tuple[int, ...], Any]:
    """Shape and type of an array, of which nothing else is read."""
    version = npy.read_magic(member)
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"version {version} of the format is not known")
    shape, is_fortran, dtype = readers[version](member, max_header_size=_LONGEST_HEADER)
    if is_fortran and len(shape) > 1:
        raise ValueError("must be in the order of C")
    return shape, dtype
