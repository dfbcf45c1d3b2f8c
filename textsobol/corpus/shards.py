"""The directory of a job: whole shards, the manifest, and a lock.

What has its name is whole: files are written under another name, down to the disk, and then
renamed. What a kill leaves behind under such other names is removed by the next start.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow

# Readers of a directory of Parquet files pass over names that begin like these.
MANIFEST = "_manifest.json"
_LOCK = ".lock"
_UNFINISHED = ".unfinished"
_SHARD = re.compile(r"shard-(\d{5,})\.parquet")


class Shards:
    """The shards of a job, by number.

    Args:
        out: the directory; it need not be there yet.
    """

    def __init__(self, out: str | Path) -> None:
        self.out = Path(out)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other jobs out, and clear away what an earlier one left unfinished.

        Raises:
            ValueError: when another job is at work, or the directory is not that of a job.
        """
        if self.out.exists() and not self.out.is_dir():
            raise ValueError(f"{self.out} is a file; give a directory to write to")
        self.out.mkdir(parents=True, exist_ok=True)
        strange = [path.name for path in self.out.iterdir() if not self._is_known(path)]
        if strange and not (self.out / MANIFEST).exists():
            raise ValueError(
                f"{self.out} holds other files, such as {min(strange)!r}; give an empty directory, "
                f"a new one, or that of the job to go on with"
            )
        with (self.out / _LOCK).open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ValueError(f"another job is writing to {self.out}") from None
            for path in self.out.glob(f".*{_UNFINISHED}"):
                path.unlink()
            yield

    def manifest(self) -> dict[str, Any] | None:
        """What the job is; ``None`` where there is none.

        Raises:
            ValueError: when the file cannot be read.
        """
        path = self.out / MANIFEST
        try:
            data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise ValueError(f"{path} cannot be read: {error}") from error
        return data

    def write_manifest(self, data: Mapping[str, Any]) -> None:
        """Write what the job is."""
        text = json.dumps(data, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
        self._write(MANIFEST, lambda file: file.write(text.encode()))

    def numbers(self) -> list[int]:
        """Of all shards that are there, ascending."""
        found = [_SHARD.fullmatch(path.name) for path in self.out.iterdir()]
        return sorted(int(match[1]) for match in found if match)

    def path(self, number: int) -> Path:
        """Where a shard is."""
        return self.out / f"shard-{number:05d}.parquet"

    def write(self, number: int, table: pyarrow.Table) -> None:
        """Write a shard, whole or not at all."""
        from pyarrow import parquet

        self._write(
            self.path(number).name,
            lambda file: parquet.write_table(table, file, compression="zstd"),
        )

    def told(self, number: int) -> dict[str, Any] | None:
        """What a shard says of itself; ``None`` where it is damaged, or not one of ours."""
        import pyarrow
        from pyarrow import parquet

        try:
            metadata = parquet.read_schema(self.path(number)).metadata or {}
            told: dict[str, Any] = json.loads(metadata[b"textsobol"])
        except (pyarrow.ArrowException, OSError, KeyError, ValueError):
            return None
        return told

    def _is_known(self, path: Path) -> bool:
        return path.name in (MANIFEST, _LOCK) or path.name.endswith(_UNFINISHED)

    def _write(self, name: str, write: Callable[[IO[bytes]], object]) -> None:
        unfinished = self.out / f".{name}{_UNFINISHED}"
        try:
            with unfinished.open("wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(self.out / name)
            self._keep_names()
        except OSError as error:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
            raise OSError(
                f"cannot write {self.out / name}: {error.strerror or error}. What was finished "
                f"before is whole; the same command goes on from there"
            ) from error

    def _keep_names(self) -> None:
        """The new name, too, is to be there after a power cut."""
        directory = os.open(self.out, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
