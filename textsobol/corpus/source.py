"""Texts to explain, from files, the hub or a data set, through the package `datasets`."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textsobol.provenance import digest_of, file_digest, files_of, format_of
from textsobol.text.inputs import Text
from textsobol.text.unspaced import estimate_word_count

Hashes = NDArray[np.uint64]


@dataclass(frozen=True)
class Item:
    """A text of a corpus.

    Attributes:
        row: its row in the input, from 0.
        id: unique among all texts.
        text: the text, a pair of texts, or ``None`` if it is missing.
    """

    row: int
    id: str
    text: Text | None

    @property
    def n_words(self) -> int:
        """Approximate number of words."""
        texts = self.text if isinstance(self.text, tuple) else (self.text or "",)
        return sum(map(estimate_word_count, texts))


@dataclass(frozen=True)
class Plan:
    """A shard before it is explained: some rows of the input, in sequence.

    Attributes:
        number: of the shard, from 0.
        start: row of its first text.
        stop: row after its last text.
        digest: of its ids and texts.
        work: forward passes times words, over its texts.
    """

    number: int
    start: int
    stop: int
    digest: str
    work: float

    @property
    def n_texts(self) -> int:
        """Number of its texts."""
        return self.stop - self.start


class Source:
    """Texts with ids, read as they are needed; `explain_corpus` documents the arguments.

    Attributes:
        n_texts: number of texts, or ``None`` for a stream, whose length is not known.

    Raises:
        ValueError: when the data cannot be read, or has no such columns.
    """

    def __init__(
        self,
        data: Any,
        *,
        column: str = "text",
        pair_column: str | None = None,
        id_column: str | None = None,
        split: str | None = None,
        limit: int | None = None,
    ) -> None:
        if limit is not None and limit < 1:
            raise ValueError(f"limit={limit}: must be at least 1")
        is_named = isinstance(data, str | Path)
        self._name = str(data) if is_named else type(data).__name__
        self._files = files_of(data) if is_named else []
        self._split, self._limit = split, limit
        self._column, self._pair, self._id = column, pair_column, id_column
        data = load(data, split) if is_named else data
        if not hasattr(data, "select_columns"):
            raise ValueError(
                f"cannot read texts from a {type(data).__name__}; give a file, a hub id, or a "
                f"Dataset of the package datasets"
                + (" (one split of it)" if hasattr(data, "keys") else "")
            )
        columns = [name for name in (column, pair_column, id_column) if name is not None]
        self._check_columns(data, columns)
        self._data = data.select_columns(columns)
        self.n_texts = len(data) if hasattr(data, "__len__") else None
        if self.n_texts is not None and limit is not None:
            self.n_texts = min(self.n_texts, limit)

    def describe(self) -> dict[str, Any]:
        """What identifies this input in a manifest; the directory of its files does not."""
        digests = [file_digest(path) for path in self._files]
        return {
            "source": Path(self._name).name if self._files else self._name,
            "digest": digest_of(map(str.encode, digests)) if digests else None,
            "split": self._split,
            "column": self._column,
            "pair_column": self._pair,
            "id_column": self._id,
            "limit": self._limit,
        }

    def items(self, start: int = 0, stop: int | None = None) -> Iterator[Item]:
        """The texts of rows ``start`` to ``stop - 1``, in order."""
        if self.n_texts is None:
            rows = islice(iter(self._data), start, self._limit if stop is None else stop)
        else:
            stop = self.n_texts if stop is None else min(stop, self.n_texts)
            rows = iter(self._data.select(range(start, stop)))
        return (self._make_item(row, values) for row, values in enumerate(rows, start=start))

    def _make_item(self, row: int, values: dict[str, Any]) -> Item:
        texts = [values[name] for name in (self._column, self._pair) if name is not None]
        for text in texts:
            if text is not None and not isinstance(text, str):
                raise ValueError(f"row {row} of {self._name} holds {text!r} instead of a text")
        name = row if self._id is None else values[self._id]
        if name is None:
            raise ValueError(f"row {row} of {self._name} has no id in the column {self._id!r}")
        if None in texts:
            return Item(row, str(name), None)
        return Item(row, str(name), texts[0] if len(texts) == 1 else (texts[0], texts[1]))

    def _check_columns(self, data: Any, columns: list[str]) -> None:
        known = data.column_names
        if known is None:  # a stream that does not know its columns before it is read
            known = list(next(iter(data), {}))
        missing = [name for name in columns if name not in known]
        if missing:
            raise ValueError(
                f"{self._name} has no column {', '.join(map(repr, missing))}; "
                f"it has {', '.join(known)}"
            )
        for name in filter(None, (self._column, self._pair)):
            kind = getattr((data.features or {}).get(name), "dtype", "string")
            if kind not in ("string", "large_string", "null"):
                raise ValueError(f"the column {name!r} of {self._name} holds {kind}, not texts")


class UniqueIds:
    """Refuses ids that several texts share, with about eight bytes of memory per text.

    Hashes of the ids are kept in sorted runs. Two runs of similar length become one, so that there
    are few, and every hash is moved a few times only.
    """

    def __init__(self) -> None:
        self._new = array("Q")
        self._runs: list[Hashes] = []  # sorted, the longest first

    def add(self, items: Iterable[Item]) -> None:
        """Add the ids of the next texts."""
        self._new.extend(_hash_id(item.id) for item in items)

    def check(self, source: Source) -> None:
        """Raise an error that names the first id that occurs twice in the source.

        What was checked before is only looked up: it is cheap to check after every few texts.
        """
        new = np.sort(np.frombuffer(self._new, dtype=np.uint64))
        self._new = array("Q")
        repeated = [new[1:][new[1:] == new[:-1]], *(_find_common(new, run) for run in self._runs)]
        self._runs.append(new)
        while len(self._runs) > 1 and len(self._runs[-2]) < 2 * len(self._runs[-1]):
            last = self._runs.pop()
            # A stable sort merges two sorted runs in one go.
            self._runs[-1] = np.sort(np.concatenate([self._runs[-1], last]), kind="stable")
        hashes = np.concatenate(repeated).tolist()
        if hashes:
            _name_repeated(source, set(hashes), len(hashes))


def _hash_id(name: str) -> int:
    return int(digest_of([name.encode("utf-8", "replace")]), 16)


def _find_common(new: Hashes, run: Hashes) -> Hashes:
    """The hashes that a sorted run has too."""
    places = np.searchsorted(run, new)
    inside = np.minimum(places, max(0, len(run) - 1))
    return new[run[inside] == new] if len(run) else new[:0]


def _name_repeated(source: Source, hashes: set[int], number: int) -> None:
    """Raise an error about the first repeated id; two ids may have one hash by chance."""
    rows: dict[str, int] = {}
    for item in source.items():
        if _hash_id(item.id) not in hashes:
            continue
        if item.id in rows:
            raise ValueError(
                f"{number} texts have the same id as an earlier one, such as {item.id!r} in rows "
                f"{rows[item.id]} and {item.row}; give a column whose ids are all different, or "
                f"no column, to number the rows"
            )
        rows[item.id] = item.row


def split_into_shards(
    source: Source, size: int, work: Callable[[Item], float]
) -> Iterator[tuple[Plan, list[Item]]]:
    """Read the texts once, in shards of that size."""
    remaining = source.items()
    number = 0
    while items := list(islice(remaining, size)):
        parts = (f"{each.row}\0{each.id}\0{each.text!r}\0" for each in items)
        digest = digest_of(part.encode("utf-8", "replace") for part in parts)
        start, stop = items[0].row, items[-1].row + 1
        yield Plan(number, start, stop, digest, sum(map(work, items))), items
        number += 1


def plan_shards(source: Source, size: int, work: Callable[[Item], float]) -> list[Plan]:
    """Read all texts once, and check their ids.

    Raises:
        ValueError: when several texts have the same id, or there are no texts.
    """
    ids, plans = UniqueIds(), []
    for plan, items in split_into_shards(source, size, work):
        plans.append(plan)
        ids.add(items)
    if not plans:
        raise ValueError("there are no texts to explain")
    ids.check(source)
    return plans


def load(source: str | Path, split: str | None = None) -> Any:
    """Load a data set; `explain_corpus` documents the arguments.

    Raises:
        ValueError: that says what could not be read, and what can.
    """
    try:
        import datasets
    except ImportError as error:
        raise ImportError(
            'many texts are read with datasets: pip install "textsobol[corpus]"'
        ) from error
    files = files_of(source)
    if files and split not in (None, "train"):
        raise ValueError(f"split={split!r}: a file has no splits; leave it out")
    if not files and split is None:
        raise ValueError(
            f"there is no file {str(source)!r}; if it is a hub data set, give its split (--split)"
        )
    with ExitStack() as stack:
        if files and not datasets.utils.are_progress_bars_disabled():  # a download keeps its bar
            datasets.disable_progress_bars()
            stack.callback(datasets.enable_progress_bars)
        try:
            if files:
                kind, names = str(format_of(files[0])), [str(path) for path in files]
                return datasets.load_dataset(kind, data_files=names, split="train")
            return datasets.load_dataset(str(source), split=split)
        except Exception as error:
            raise ValueError(f"cannot read {str(source)!r}: {_find_reason(error)}") from error


def _find_reason(error: BaseException) -> str:
    """The first error of the chain; libraries wrap it in others that say little."""
    while error.__cause__ is not None or error.__context__ is not None:
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
