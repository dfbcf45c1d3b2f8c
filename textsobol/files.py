"""Writes files completely or not at all, and reads no more of them than is wanted.

A file is written beside its place, under a name of its own, flushed to the disk, and then renamed.
If anything fails, the earlier file is left as it was, and the unfinished one is removed.
"""

from __future__ import annotations

import csv
import errno
import io
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

UNFINISHED = ".unfinished"
"""Suffix of files that are being written; their names begin with a point."""

_PIECE = 1 << 20  # bytes read at a time
# What makes a spreadsheet take a cell for a formula, also in full width: OWASP, "CSV Injection".
_FORMULA_STARTS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


def write_file(path: str | os.PathLike[str], write: Callable[[IO[bytes]], object]) -> None:
    """Replace a file by what ``write`` writes.

    Links stay links, and the permissions of an existing file are kept. What is not a regular file,
    such as ``/dev/stdout``, cannot be replaced and is written directly.

    Args:
        path: the file.
        write: called with the file, open for bytes, to write and to read again.

    Raises:
        OSError: that names the file, when it cannot be written.
    """
    place = Path(os.path.realpath(path))
    try:
        before = place.stat() if place.exists() else None
        if before is not None and not stat.S_ISREG(before.st_mode):
            with place.open("wb") as file:
                write(file)
            return
        if before is not None and not os.access(place, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        _replace(place, write, None if before is None else stat.S_IMODE(before.st_mode))
    except OSError as error:
        is_ours = error.filename is None or str(error.filename).endswith(UNFINISHED)
        if error.errno is None or not is_ours:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def _replace(place: Path, write: Callable[[IO[bytes]], object], mode: int | None) -> None:
    # Short: a long name plus an ending can be longer than a name may be.
    unfinished = place.with_name(f".{secrets.token_hex(8)}{UNFINISHED}")
    try:
        with unfinished.open("x+b") as file:
            write(file)
            file.flush()
            if mode is not None:
                unfinished.chmod(mode)
            os.fsync(file.fileno())
        unfinished.replace(place)
    finally:  # also when interrupted; once renamed, there is nothing to remove
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
    _flush_names(place.parent)


def _flush_names(directory: Path) -> None:
    """Flush a directory too, where systems can: a new name must survive a power cut."""
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def read_file(path: str | os.PathLike[str], most_bytes: int) -> bytes:
    """The contents of a file.

    Raises:
        ValueError: when it is longer than so many bytes, of which no more are read.
    """
    content = io.BytesIO()
    with Path(path).open("rb") as file:
        is_long = os.fstat(file.fileno()).st_size > most_bytes
        while not is_long and (piece := file.read(_PIECE)):
            content.write(piece)
            is_long = content.tell() > most_bytes
    if is_long:
        raise ValueError(f"{path} is longer than {most_bytes:,} bytes")
    return content.getvalue()


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Replace a file by a text in UTF-8."""
    content = text.encode()
    write_file(path, lambda file: file.write(content))


def write_csv(
    path: str | os.PathLike[str], columns: Sequence[str], rows: Iterable[Mapping[str, Any]]
) -> None:
    """Replace a file by a table; texts that a spreadsheet would take for formulas are quoted.

    Args:
        path: the file.
        columns: their names, in order.
        rows: values by column; ``None`` is left empty.
    """
    table = io.StringIO(newline="")
    writer = csv.writer(table)
    writer.writerow(map(neutralise_formula, columns))
    writer.writerows([neutralise_formula(row[name]) for name in columns] for row in rows)
    write_text(path, table.getvalue())


def neutralise_formula(cell: Any) -> Any:
    """A cell that no spreadsheet evaluates: text that may be a formula gets a single quote.

    Numbers stay numbers, also negative ones.

    Example:
        >>> neutralise_formula("=1+1"), neutralise_formula(-0.5), neutralise_formula("good")
        ("'=1+1", -0.5, 'good')
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS) else cell
