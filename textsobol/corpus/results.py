"""The results of a job, read from disk."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textsobol.corpus.directory import JobDirectory
from textsobol.corpus.schema import check_table, read_row
from textsobol.text.explanation import TextExplanation

if TYPE_CHECKING:
    from pyarrow import parquet


class ExplainedTexts:
    """Explanations of many texts, read from disk one by one.

    Iterating gives the explanations in the order of the input, without the texts that failed.

    Args:
        directory: the output of ``textsobol explain --out`` or `explain_corpus`.

    Attributes:
        directory: the same.
        manifest: settings, versions, input and model of the job.
        paths: the Parquet files, in order.
        texts: number of texts that are done, those that failed included.
        failed: number of texts that could not be explained.
        outside: number of texts longer than the model's window.

    Raises:
        ValueError: when the directory is not that of a job, or files of it are missing. Files are
            checked when they are read: one that is damaged is an error that names it.
    """

    def __init__(self, directory: str | PathLike[str]) -> None:
        self.directory = Path(directory)
        files = JobDirectory(self.directory)
        manifest = files.read_manifest()
        if manifest is None:
            raise ValueError(
                f"{directory} holds no explained texts; to explain some, run: "
                f"textsobol corpus FILE --out {directory}"
            )
        self.manifest = manifest
        shards = files.read_record(manifest["job"])
        files.check_present(shards.values())
        if self.is_finished and len(shards) != manifest["result"]["shards"]:
            raise ValueError(
                f"{directory} holds {len(shards)} of {manifest['result']['shards']} files; to make "
                f"the missing ones, rerun the textsobol corpus command that wrote them"
            )
        self._files, self._shards = files, list(shards.values())
        self.paths = [files.shard_path(number) for number in shards]
        self.texts = sum(shard.texts for shard in self._shards)
        self.failed = sum(shard.failed for shard in self._shards)
        self.outside = sum(shard.outside for shard in self._shards)

    @property
    def is_finished(self) -> bool:
        """Whether all texts of the input are done."""
        return "result" in self.manifest

    def __len__(self) -> int:
        return self.texts - self.failed

    def __iter__(self) -> Iterator[TextExplanation]:
        return (explanation for _, explanation in self.items())

    def __repr__(self) -> str:
        failed = f", {self.failed} failed" if self.failed else ""
        return f"ExplainedTexts({str(self.directory)!r}: {self.texts} texts{failed})"

    def items(self) -> Iterator[tuple[str, TextExplanation]]:
        """The id and the explanation of every text that could be explained."""
        return ((row["id"], read_row(row)) for row in self.rows() if row["error"] is None)

    def failures(self) -> Iterator[tuple[str, str]]:
        """The id and the error of every text that could not be explained."""
        rows = self.rows(columns=["id", "error"])
        return ((row["id"], row["error"]) for row in rows if row["error"] is not None)

    def rows(self, columns: list[str] | None = None) -> Iterator[dict[str, Any]]:
        """The stored rows, with all columns or some of them."""
        for place in range(len(self.paths)):
            with self.open_shard(place) as file:
                for batch in file.iter_batches(batch_size=64, columns=columns):
                    yield from batch.to_pylist()

    def open_shard(self, place: int) -> parquet.ParquetFile:
        """The Parquet file at a place of `paths`, checked and in memory."""
        from pyarrow import ArrowException, BufferReader, parquet

        content = self._files.read_shard(self._shards[place])
        try:
            file = parquet.ParquetFile(BufferReader(content))
            check_table(file.schema_arrow)
        except (ArrowException, OSError, ValueError) as error:
            raise ValueError(
                f"{self.paths[place]} is not an output file of textsobol corpus: {error}"
            ) from error
        return file


def read_explanations(directory: str | PathLike[str]) -> ExplainedTexts:
    """Read the explanations of a job, finished or not.

    Args:
        directory: the output of ``textsobol explain --out`` or `explain_corpus`.

    Example:
        >>> from textsobol import read_explanations
        >>> for explanation in read_explanations("explained/"):  # doctest: +SKIP
        ...     print(explanation.prediction, explanation.top(3))
    """
    return ExplainedTexts(directory)
