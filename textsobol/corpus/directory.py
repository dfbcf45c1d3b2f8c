"""The directory of a job: complete shards, the manifest, and a lock.

Files are written under another name, flushed to the disk, and then renamed: a file with its final
name is complete. Files that an interrupted job left unfinished are removed by the next one.
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

# Readers of a directory of Parquet files skip names that begin with "_" or ".".
_MANIFEST = "_manifest.json"
_LOCK = ".lock"
_UNFINISHED = ".unfinished"
_SHARD = re.compile(r"shard-(\d{5,})\.parquet")


class JobDirectory:
    """Reads and writes the files of a job; the directory need not exist yet."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other jobs out, and remove unfinished files.

        Raises:
            ValueError: when another job is running, or the directory is not that of a job.
        """
        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f"{self.path} is a file; give a directory to write to")
        self.path.mkdir(parents=True, exist_ok=True)
        names = {path.name for path in self.path.iterdir() if path.suffix != _UNFINISHED}
        others = names - {_MANIFEST, _LOCK}
        if others and _MANIFEST not in names:
            raise ValueError(
                f"{self.path} holds other files, such as {min(others)!r}; give an empty directory, "
                f"a new one, or that of the job to resume"
            )
        with (self.path / _LOCK).open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ValueError(f"another job is writing to {self.path}") from None
            for path in self.path.glob(f".*{_UNFINISHED}"):
                path.unlink()
            yield

    def read_manifest(self) -> dict[str, Any] | None:
        """What made the results; ``None`` if there is no manifest."""
        path = self.path / _MANIFEST
        try:
            data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except ValueError as error:
            raise ValueError(f"{path} cannot be read: {error}") from error
        return data

    def write_manifest(self, data: Mapping[str, Any]) -> None:
        """Replace the manifest."""
        text = json.dumps(data, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
        self._write(_MANIFEST, lambda file: file.write(text.encode()))

    def shard_path(self, number: int) -> Path:
        """Where a shard is."""
        return self.path / f"shard-{number:05d}.parquet"

    def write_shard(self, number: int, table: pyarrow.Table) -> None:
        """Write a shard, completely or not at all."""
        from pyarrow import parquet

        name = self.shard_path(number).name
        self._write(name, lambda file: parquet.write_table(table, file, compression="zstd"))

    def read_shards(self, job: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Numbers and metadata of the complete shards of a job, ascending."""
        import pyarrow
        from pyarrow import parquet

        matches = (_SHARD.fullmatch(path.name) for path in self.path.iterdir())
        for number in sorted(int(match[1]) for match in matches if match):
            try:
                metadata = parquet.read_schema(self.shard_path(number)).metadata or {}
                shard: dict[str, Any] = json.loads(metadata[b"textsobol"])
            except (pyarrow.ArrowException, OSError, KeyError, ValueError):
                continue  # damaged, or not a shard of ours
            if shard["job"] == job:
                yield number, shard

    def _write(self, name: str, write: Callable[[IO[bytes]], object]) -> None:
        unfinished = self.path / f".{name}{_UNFINISHED}"
        try:
            with unfinished.open("wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(self.path / name)
            self._flush_names()
        except OSError as error:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
            raise OSError(
                f"cannot write {self.path / name}: {error.strerror or error}. Finished files are "
                f"complete; rerun the same command to resume"
            ) from error

    def _flush_names(self) -> None:
        """Flush the directory too: the new name must survive a power cut."""
        directory = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
