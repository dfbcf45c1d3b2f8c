"""The results of a job, read back from disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from textsobol.corpus.schema import explanation_of
from textsobol.corpus.shards import Shards
from textsobol.text.explanation import TextExplanation


class ExplainedTexts:
    """Explanations of many texts, read from disk one by one.

    Iterating gives the explanations in the order of the input, without the texts that failed.

    Args:
        directory: what ``textsobol explain --out`` or `TextExplainer.dataset` has written.

    Attributes:
        directory: the same.
        manifest: settings, versions, input and model of the job.
        texts: number of texts that are done, those that failed included.
        failed: number of texts that could not be explained.
        outside: number of texts longer than the model's window.

    Raises:
        ValueError: when the directory is not that of a job.
    """

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        self._shards = Shards(directory)
        manifest = self._shards.manifest() if self.directory.is_dir() else None
        if manifest is None:
            raise ValueError(
                f"{directory} holds no explained texts; textsobol explain FILE --out {directory} "
                f"writes them"
            )
        self.manifest = manifest
        shards = [metadata for _, metadata in self._whole()]
        self.texts = sum(int(shard["texts"]) for shard in shards)
        self.failed = sum(int(shard["failed"]) for shard in shards)
        self.outside = sum(int(shard["outside"]) for shard in shards)

    @property
    def is_finished(self) -> bool:
        """Whether all texts of the input are done."""
        return "result" in self.manifest

    @property
    def paths(self) -> list[Path]:
        """The Parquet files, in order."""
        return [self._shards.path(number) for number, _ in self._whole()]

    def __len__(self) -> int:
        return self.texts - self.failed

    def __iter__(self) -> Iterator[TextExplanation]:
        return (explanation for _, explanation in self.items())

    def __repr__(self) -> str:
        failed = f", {self.failed} failed" if self.failed else ""
        return f"ExplainedTexts({str(self.directory)!r}: {self.texts} texts{failed})"

    def items(self) -> Iterator[tuple[str, TextExplanation]]:
        """The id and the explanation of every text that could be explained."""
        return ((row["id"], explanation_of(row)) for row in self.rows() if row["error"] is None)

    def failures(self) -> Iterator[tuple[str, str]]:
        """The id and the error of every text that could not be explained."""
        for row in self.rows(columns=["id", "error"]):
            if row["error"] is not None:
                yield row["id"], row["error"]

    def rows(self, columns: list[str] | None = None) -> Iterator[dict[str, Any]]:
        """The stored rows, with all columns or some of them."""
        from pyarrow import parquet

        for path in self.paths:
            with parquet.ParquetFile(path) as file:
                for batch in file.iter_batches(batch_size=64, columns=columns):
                    yield from batch.to_pylist()

    def _whole(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Numbers and metadata of the complete shards of this job."""
        for number in self._shards.numbers():
            metadata = self._shards.told(number)
            if metadata is not None and metadata["job"] == self.manifest["job"]:
                yield number, metadata


def read_explanations(directory: str | Path) -> ExplainedTexts:
    """Read the explanations that a job has written.

    Args:
        directory: what ``textsobol explain --out`` or `TextExplainer.dataset` has written; the
            job need not be finished.

    Example:
        >>> from textsobol import read_explanations
        >>> for explanation in read_explanations("explained/"):  # doctest: +SKIP
        ...     print(explanation.prediction, explanation.top(3))
    """
    return ExplainedTexts(directory)
