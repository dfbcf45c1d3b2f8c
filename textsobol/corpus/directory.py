"""The directory of a job: complete shards, what is known of each, the manifest, and a lock.

Files are written beside their place and then renamed: a file with its final name is complete. A
finished shard gets a line in a record, with its checksum. A shard without a line is not counted,
and one whose checksum differs is damaged; both are made again when the job is resumed. Files that
an interrupted job left unfinished are removed by the next one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from textsobol.files import UNFINISHED, write_file, write_text

if TYPE_CHECKING:
    import pyarrow

# Readers of a directory of Parquet files skip names that begin with "_" or ".", or whose suffix
# they do not know.
_MANIFEST = "_manifest.json"
_RECORD = "_shards.record"
_LOCK = ".lock"


@dataclass(frozen=True)
class Shard:
    """What is known of a finished shard.

    Attributes:
        shard: its number.
        blake2b: digest of its file.
        job: digest of what made it.
        input: digest of its ids and texts.
        texts: number of its texts.
        failed: those that could not be explained.
        outside: those longer than the model's window.
        schema: of its rows.
    """

    shard: int
    blake2b: str
    job: str
    input: str
    texts: int
    failed: int
    outside: int
    schema: int


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
        from filelock import FileLock, Timeout

        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f"{self.path} is a file; give a directory to write to")
        self.path.mkdir(parents=True, exist_ok=True)
        names = {path.name for path in self.path.iterdir() if path.suffix != UNFINISHED}
        others = names - {_MANIFEST, _RECORD, _LOCK}
        if others and _MANIFEST not in names:
            raise ValueError(
                f"{self.path} holds other files, such as {min(others)!r}; give an empty directory, "
                f"a new one, or that of the job to resume"
            )
        lock = FileLock(self.path / _LOCK)  # released by the system if the process is killed
        try:
            lock.acquire(blocking=False)
        except Timeout:
            raise ValueError(f"another job is writing to {self.path}") from None
        try:
            for path in self.path.glob(f".*{UNFINISHED}"):
                path.unlink()
            yield
        finally:
            lock.release()

    def read_manifest(self) -> dict[str, Any] | None:
        """What made the results; ``None`` if there is no manifest.

        Raises:
            ValueError: that names the file, when it is not the manifest of a job.
        """
        from textsobol.schemas import Manifest
        from textsobol.validation import read_json, validate

        path = self.path / _MANIFEST
        try:
            content = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            data = read_json(content)
            validate(Manifest, data)
        except ValueError as error:
            raise ValueError(f"{path} is not the manifest of a job: {error}") from error
        found: dict[str, Any] = data
        return found

    def write_manifest(self, data: Mapping[str, Any]) -> None:
        """Replace the manifest."""
        text = json.dumps(data, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
        with self._advise():
            write_text(self.path / _MANIFEST, text)

    def shard_path(self, number: int) -> Path:
        """Where a shard is."""
        return self.path / f"shard-{number:05d}.parquet"

    def write_shard(self, table: pyarrow.Table) -> None:
        """Write a shard, completely or not at all, and then its line of the record."""
        from pyarrow import parquet

        metadata = json.loads(table.schema.metadata[b"textsobol"])
        digests: list[str] = []

        def write(file: IO[bytes]) -> None:
            parquet.write_table(table, file, compression="zstd")
            file.seek(0)
            digests.append(_digest(file))

        with self._advise():
            write_file(self.shard_path(metadata["shard"]), write)
            line = _format_line(Shard(**metadata, blake2b=digests[0]))
            with (self.path / _RECORD).open("ab") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())

    def read_record(self, job: str) -> dict[int, Shard]:
        """The finished shards of a job by their numbers, ascending.

        A line that was not written to its end is left out: its shard counts as not finished.
        """
        from textsobol.schemas import ShardLine
        from textsobol.validation import read_json, validate

        try:
            lines = (self.path / _RECORD).read_bytes().splitlines()
        except FileNotFoundError:
            return {}
        found: dict[int, Shard] = {}
        for line in lines:
            try:
                validate(ShardLine, data := read_json(line))
            except ValueError:
                continue
            shard = Shard(**data)
            if shard.job == job:
                found[shard.shard] = shard
        return dict(sorted(found.items()))

    def write_record(self, shards: Iterable[Shard]) -> None:
        """Replace the record of finished shards."""
        content = b"".join(map(_format_line, shards))
        with self._advise():
            write_file(self.path / _RECORD, lambda file: file.write(content))

    def sum_up(self, job: str) -> dict[str, int]:
        """Sort the record of a job that is finished; how much it has made."""
        shards = list(self.read_record(job).values())
        self.write_record(shards)
        return {
            "texts": sum(shard.texts for shard in shards),
            "failed": sum(shard.failed for shard in shards),
            "shards": len(shards),
        }

    def is_intact(self, shard: Shard) -> bool:
        """Whether the file of a shard is the one that was written."""
        try:
            with self.shard_path(shard.shard).open("rb") as file:
                return _digest(file) == shard.blake2b
        except OSError:
            return False

    def read_shard(self, shard: Shard) -> bytes:
        """The file of a shard.

        Raises:
            ValueError: that names the file, when it is missing or not the one that was written.
        """
        path = self.shard_path(shard.shard)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise ValueError(
                _describe_damage(path, f"cannot be read ({error.strerror})")
            ) from error
        if hashlib.blake2b(content, digest_size=_DIGEST).hexdigest() != shard.blake2b:
            raise ValueError(_describe_damage(path, "is damaged: its checksum differs"))
        return content

    def check_present(self, shards: Iterable[Shard]) -> None:
        """Raise an error if the file of a finished shard is missing; contents are not read."""
        for shard in shards:
            path = self.shard_path(shard.shard)
            if not path.is_file():
                raise ValueError(_describe_damage(path, "is missing"))

    @contextmanager
    def _advise(self) -> Iterator[None]:
        """Say what to do when a file cannot be written."""
        try:
            yield
        except OSError as error:
            what = error.strerror or error
            raise OSError(
                f"cannot write {error.filename or self.path}: {what}. Finished files are "
                f"complete; rerun the same command to resume"
            ) from error


_DIGEST = 16  # bytes


def _digest(file: IO[bytes]) -> str:
    return hashlib.file_digest(
        file,  # type: ignore[arg-type]
        lambda: hashlib.blake2b(digest_size=_DIGEST),
    ).hexdigest()


def _format_line(shard: Shard) -> bytes:
    return json.dumps(asdict(shard), sort_keys=True).encode() + b"\n"


def _describe_damage(path: Path, what: str) -> str:
    return f"{path} {what}; rerun the job that wrote it, which makes this file again"
