"""Texts to explain, from files, the hub or a data set, through `datasets`."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from textsobol.provenance import digest_of, file_digest, files_of, format_of
from textsobol.text.inputs import Text

_READ_AT_ONCE = 1000


@dataclass(frozen=True)
class Item:
    """A text of a corpus.

    Attributes:
        row: its place in the input, from 0.
        id: tells it from all others.
        text: the text, a pair of texts, or ``None`` where there is none.
    """

    row: int
    id: str
    text: Text | None

    @property
    def n_words(self) -> int:
        """About how many words it has."""
        parts = (self.text or "",) if not isinstance(self.text, tuple) else self.text
        return sum(len(part.split()) for part in parts)


@dataclass(frozen=True)
class Columns:
    """Where in a table the texts are.

    Attributes:
        text: the column of the texts.
        pair: the column of the second texts of pairs, or ``None``.
        id: the column of ids, or ``None`` to number the rows.
    """

    text: str = "text"
    pair: str | None = None
    id: str | None = None

    @property
    def all(self) -> list[str]:
        """Those that are read."""
        return [name for name in (self.text, self.pair, self.id) if name is not None]


class Input:
    """Texts with ids, read as they are needed.

    Args:
        source: a file (Parquet, CSV, JSON lines; compressed or not), a directory of such files, a
            hub id, or a `datasets.Dataset` or `datasets.IterableDataset`.
        columns: where the texts are.
        split: of a hub data set.
        limit: only so many texts, the first ones.

    Attributes:
        n_texts: number of texts, or ``None`` where that is not known before they are read.

    Raises:
        ValueError: when the source cannot be read, or has no such columns.
    """

    def __init__(
        self, source: Any, columns: Columns, *, split: str | None = None, limit: int | None = None
    ) -> None:
        if limit is not None and limit < 1:
            raise ValueError(f"limit={limit}: must be at least 1")
        is_named = isinstance(source, str | Path)
        self._source = str(source) if is_named else type(source).__name__
        self._files = files_of(source) if is_named else []
        self._split = split
        self._columns = columns
        self._limit = limit
        data = load(source, split) if is_named else source
        if not hasattr(data, "select_columns"):
            raise ValueError(
                f"cannot read texts from a {type(data).__name__}; give a file, a hub id, or a "
                f"Dataset of the package datasets"
                + (" (one split of it)" if hasattr(data, "keys") else "")
            )
        self._check_columns(data)
        self._data = data.select_columns(columns.all)
        self.n_texts = len(data) if hasattr(data, "__len__") else None
        if self.n_texts is not None and limit is not None:
            self.n_texts = min(self.n_texts, limit)

    def described(self) -> dict[str, Any]:
        """What tells this input from others, for the record; places of files do not."""
        digests = [file_digest(path) for path in self._files]
        return {
            "source": Path(self._source).name if self._files else self._source,
            "digest": digest_of(map(str.encode, digests)) if digests else None,
            "split": self._split,
            "column": self._columns.text,
            "pair_column": self._columns.pair,
            "id_column": self._columns.id,
            "limit": self._limit,
        }

    def items(self, start: int = 0, stop: int | None = None) -> Iterator[Item]:
        """The texts from one place to before another, in order."""
        stop = self._limit if stop is None else stop
        if self.n_texts is None:
            rows: Iterable[dict[str, Any]] = islice(iter(self._data), start, stop)
        else:
            rows = self._sliced(start, self.n_texts if stop is None else min(stop, self.n_texts))
        for row, values in enumerate(rows, start=start):
            yield self._item(row, values)

    def _sliced(self, start: int, stop: int) -> Iterator[dict[str, Any]]:
        for first in range(start, stop, _READ_AT_ONCE):
            columns = self._data[first : min(first + _READ_AT_ONCE, stop)]
            for values in zip(*columns.values(), strict=True):
                yield dict(zip(columns, values, strict=True))

    def _item(self, row: int, values: dict[str, Any]) -> Item:
        text, name = values[self._columns.text], self._columns.id
        for value in (text, values.get(self._columns.pair or "")):
            if value is not None and not isinstance(value, str):
                raise ValueError(f"row {row} of {self._source} holds {value!r} instead of a text")
        if self._columns.pair is not None:
            other = values[self._columns.pair]
            text = None if text is None or other is None else (text, other)
        if name is not None and values[name] is None:
            raise ValueError(f"row {row} of {self._source} has no id in the column {name!r}")
        return Item(row, str(row if name is None else values[name]), text)

    def _check_columns(self, data: Any) -> None:
        known = data.column_names
        if known is None:  # a stream that tells its columns only as it is read
            known = list(next(iter(data), {}))
        missing = [name for name in self._columns.all if name not in known]
        if missing:
            raise ValueError(
                f"{self._source} has no column {', '.join(map(repr, missing))}; "
                f"it has {', '.join(known)}"
            )
        for name in filter(None, (self._columns.text, self._columns.pair)):
            kind = getattr((data.features or {}).get(name), "dtype", "string")
            if kind not in ("string", "large_string", "null"):
                raise ValueError(f"the column {name!r} of {self._source} holds {kind}, not texts")


@dataclass(frozen=True)
class Plan:
    """A part of the input that is explained as one.

    Attributes:
        number: of the part, from 0.
        start: row of its first text.
        stop: row after its last text.
        digest: a short name for its ids and texts.
        work: what it takes to explain it, in passes times words.
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


def in_parts(
    items: Iterable[Item], size: int, work: Callable[[Item], float]
) -> Iterator[tuple[Plan, list[Item]]]:
    """The texts in parts of that size, each with its plan."""
    remaining = iter(items)
    number = 0
    while own := list(islice(remaining, size)):
        told = (f"{one.row}\0{one.id}\0{one.text!r}\0".encode("utf-8", "replace") for one in own)
        start, stop = own[0].row, own[-1].row + 1
        yield Plan(number, start, stop, digest_of(told), sum(map(work, own))), own
        number += 1


class UniqueIds:
    """Refuses ids that stand for several texts, at eight bytes a text."""

    def __init__(self) -> None:
        self._hashes = array("Q")

    def add(self, items: Iterable[Item]) -> None:
        """Take note of more ids."""
        for item in items:
            hashed = hashlib.blake2b(item.id.encode("utf-8", "replace"), digest_size=8).digest()
            self._hashes.append(int.from_bytes(hashed, "little"))

    def check(self, data: Input) -> None:
        """Refuse what was taken note of, if an id is there twice.

        Args:
            data: where the ids are from, from row 0 on.
        """
        values = np.frombuffer(self._hashes, dtype=np.uint64)
        order = np.argsort(values, kind="stable")
        same = np.flatnonzero(values[order][1:] == values[order][:-1])
        if not same.size:
            return
        place = same[np.argmin(order[same + 1])]
        before, row = int(order[place]), int(order[place + 1])
        (name,) = (item.id for item in data.items(row, row + 1))
        raise ValueError(
            f"{len(same)} texts have the id of another one, such as {name!r} in rows {before} and "
            f"{row}; give a column whose ids are all different, or none to number the rows"
        )


def scan(data: Input, size: int, work: Callable[[Item], float]) -> list[Plan]:
    """Read all texts once: how they are shared out, and whether their ids tell them apart.

    Raises:
        ValueError: when several texts have the same id, or there are no texts.
    """
    ids, plans = UniqueIds(), []
    for plan, items in in_parts(data.items(), size, work):
        plans.append(plan)
        ids.add(items)
    if not plans:
        raise ValueError("there are no texts to explain")
    ids.check(data)
    return plans


def load(source: str | Path, split: str | None = None) -> Any:
    """A data set from a file, a directory of files, or the hub.

    Args:
        source: a Parquet, CSV or JSON lines file, compressed or not, a directory of such files, or
            a hub id.
        split: of a hub data set, such as ``test``.

    Raises:
        ValueError: that says what could not be read, and what can.
    """
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise ImportError(
            'many texts are read with datasets: pip install "textsobol[corpus]"'
        ) from error
    files = files_of(source)
    if files and split not in (None, "train"):
        raise ValueError(f"split={split!r}: a file has no splits; leave it out")
    if not files and split is None:
        raise ValueError(f"there is no file {str(source)!r}; of a hub data set, give the split")
    with _no_bars() if files else nullcontext():  # a download keeps its bar
        try:
            if files:
                kind, names = str(format_of(files[0])), [str(path) for path in files]
                return load_dataset(kind, data_files=names, split="train")
            return load_dataset(str(source), split=split)
        except Exception as error:
            raise ValueError(f"cannot read {str(source)!r}: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    """What went wrong at first; libraries wrap it in errors that say little."""
    while error.__cause__ is not None or error.__context__ is not None:
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


@contextmanager
def _no_bars() -> Iterator[None]:
    from datasets.utils import logging

    was_shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_shown:
            logging.enable_progress_bar()
