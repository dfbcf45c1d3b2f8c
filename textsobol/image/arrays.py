"""Arrays of an ``.npz`` file that may come from anywhere: checked before they are read."""

from __future__ import annotations

import io
import math
import zipfile
import zlib
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
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise ValueError(f"no .npz file: {error}") from error
        self._members = {info.filename: info for info in self._file.infolist()}
        expected = {f"{name}.npy" for name in names}
        if self._members.keys() != expected or len(self._file.infolist()) != len(expected):
            raise ValueError(f"must hold the arrays {', '.join(names)} and nothing else")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def read(
        self, name: str, kind: str, shape: tuple[int, ...], most_bytes: int | None = None
    ) -> Array:
        """Read an array.

        Args:
            name: of the array.
            kind: its type in numpy's terms, such as ``u1``; ``U`` is a text of any length.
            shape: that it must have.
            most_bytes: how long a text may be.
        """
        info = self._members[f"{name}.npy"]
        packed = max(1, info.compress_size)
        if info.compress_type not in _PACKED or info.file_size > _MOST_RATIO * packed + 1000:
            raise ValueError(f"{name}: is packed in an unusual way")
        try:
            with self._file.open(info) as member:
                found_shape, dtype = _read_header(member)
                self._check(name, dtype, found_shape, kind, shape, most_bytes)
                n_bytes = dtype.itemsize * math.prod(shape)
                if not 0 <= info.file_size - n_bytes <= _LONGEST_HEADER:
                    raise ValueError("is not as long as its shape says")
                content = member.read()
        except (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
            raise ValueError(f"{name}: cannot be read: {error}") from error
        except (ValueError, SyntaxError, TypeError) as error:
            raise ValueError(f"{name}: {error}") from error
        if len(content) != n_bytes:
            raise ValueError(f"{name}: is not as long as its shape says")
        return np.frombuffer(content, dtype=dtype).reshape(shape).copy()

    @staticmethod
    def _check(
        name: str,
        dtype: Any,
        found_shape: tuple[int, ...],
        kind: str,
        shape: tuple[int, ...],
        most_bytes: int | None,
    ) -> None:
        is_right = dtype.kind == "U" if kind == "U" else dtype == np.dtype(kind)
        if not is_right or found_shape != shape:
            raise ValueError(
                f"must be {kind} of shape {shape}, not {str(dtype)[:20]} of shape {found_shape}"
            )
        if most_bytes is not None and dtype.itemsize > most_bytes:
            raise ValueError("is too long")
        if dtype.itemsize == 0:
            raise ValueError("is empty")


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
