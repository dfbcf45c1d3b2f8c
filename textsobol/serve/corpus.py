"""The texts of a corpus job, to browse."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textsobol.corpus.results import ExplainedTexts, read_explanations
from textsobol.corpus.schema import read_row
from textsobol.render import view
from textsobol.text.explanation import TextExplanation

_MOST = 200_000  # texts that are listed
_SNIPPET = 160  # characters of a text in the list
_PAGE = 20  # texts of a page of the list


@dataclass(frozen=True)
class Entry:
    """A text of the list.

    Attributes:
        id: its id in the job.
        prediction: the label.
        snippet: the beginning of the text.
        shard: number of its file.
        row: number of its row there.
    """

    id: str
    prediction: str
    snippet: str
    shard: int
    row: int


class CorpusBrowser:
    """Lists the texts of a job and reads single ones.

    Args:
        directory: the output of ``textsobol corpus``.

    Raises:
        ValueError: when it is no such output, or a file of it is damaged.
    """

    def __init__(self, directory: Path) -> None:
        self._texts: ExplainedTexts = read_explanations(directory)
        self.name = directory.name
        self._entries: list[Entry] = []
        for shard in range(len(self._texts.paths)):
            self._list(shard)

    def __len__(self) -> int:
        return len(self._entries)

    def _list(self, shard: int) -> None:
        row = 0
        columns = ["id", "text", "prediction", "error"]
        for batch in self._texts.open_shard(shard).iter_batches(batch_size=64, columns=columns):
            for own in batch.to_pylist():
                if own["error"] is None and len(self._entries) < _MOST:
                    shown = " ".join(own["text"][: 2 * _SNIPPET].split())
                    snippet = shown if len(shown) <= _SNIPPET else f"{shown[:_SNIPPET]}\u2026"
                    entry = Entry(str(own["id"]), own["prediction"], snippet, shard, row)
                    self._entries.append(entry)
                row += 1

    def page(self, start: int, search: str) -> dict[str, Any]:
        """The texts from a place on whose beginning, id or prediction holds the words searched."""
        words = search.lower().split()
        found = [
            number for number, own in enumerate(self._entries)
            if all(word in f"{own.id} {own.prediction} {own.snippet}".lower() for word in words)
        ]  # fmt: skip
        shown = [(number, self._entries[number]) for number in found[start : start + _PAGE]]
        return {
            "found": len(found),
            "start": start,
            "page": _PAGE,
            "texts": [
                {"number": number, "id": view.clean(own.id), "snippet": view.clean(own.snippet),
                 "prediction": view.clean(own.prediction)}
                for number, own in shown
            ],
        }  # fmt: skip

    def read(self, number: int) -> tuple[str, TextExplanation]:
        """The id and the explanation of a text."""
        if number >= len(self._entries):
            raise ValueError(f"the corpus has no text number {number}")
        entry = self._entries[number]
        first = 0
        for batch in self._texts.open_shard(entry.shard).iter_batches(batch_size=16):
            if entry.row < first + batch.num_rows:
                row = batch.slice(entry.row - first, 1).to_pylist()[0]
                return entry.id, read_row(row)
            first += batch.num_rows
        raise ValueError(f"the corpus no longer has text {entry.id!r}")
