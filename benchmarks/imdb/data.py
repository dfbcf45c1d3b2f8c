"""Labelled texts from a hub data set or a local file, through `datasets`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.provenance import digest_of
from textsobol.corpus.source import load as load_texts
from textsobol.provenance import files_of

HUB_ID = "stanfordnlp/imdb"
PAIR = ("first", "second")  # columns of pairs of texts


def load(source: str, split: str) -> Any:
    """A data set with the columns ``text`` and ``label`` (0 negative, 1 positive).

    Pairs have ``first`` and ``second`` instead of ``text``.

    Args:
        source: a hub id, or a JSON lines, CSV or Parquet file, compressed or not.
        split: of a hub data set, such as ``train``.
    """
    try:
        data = load_texts(source, split if not files_of(source) else None)
    except ValueError as error:
        raise SystemExit(
            f"{error}. Give a JSON lines, CSV or Parquet file with the columns text and label"
        ) from None
    missing = {*text_columns(data), "label"} - set(data.column_names)
    if missing:
        raise SystemExit(f"{source} has no column {', '.join(sorted(missing))}")
    return data


def text_columns(data: Any) -> tuple[str, ...]:
    """The column of texts, or both columns of pairs."""
    return PAIR if set(PAIR) <= set(data.column_names) else ("text",)


def train_and_validation(
    source: str, share: float, seed: int, limit: int | None, held_out: int = 0
) -> tuple[Any, Any]:
    """Training and validation part of the training split, shuffled, without its last texts."""
    data = load(source, "train")
    data = data.select(range(len(data) - held_out)).shuffle(seed=seed)
    if limit is not None:
        data = data.select(range(min(limit, len(data))))
    parts = data.train_test_split(test_size=share, seed=seed)
    return parts["train"], parts["test"]


def last_of(data: Any, n: int) -> Any:
    """The last texts of a data set."""
    return data.select(range(len(data) - n, len(data)))


@dataclass(frozen=True)
class Review:
    """A review to explain.

    Attributes:
        id: tells it from all others.
        text: without the ``<br />`` of the original.
        label: 0 negative, 1 positive.
    """

    id: str
    text: str
    label: int

    @property
    def n_words(self) -> int:
        """About how many words it has."""
        return len(self.text.split())


def reviews(
    source: str, *, seed: int, min_words: int = 1, max_words: int | None = None
) -> list[Review]:
    """Reviews of the test split, shuffled.

    Args:
        source: see `load`.
        seed: of the order.
        min_words: fewest words.
        max_words: most words, or ``None`` for any number.
    """
    data = load(source, "test")
    ids = data["id"] if "id" in data.column_names else range(len(data))
    every = [
        Review(f"test-{name}", re.sub(r"(<br\s*/?>\s*)+", " ", text).strip(), label)
        for name, text, label in zip(ids, data["text"], data["label"], strict=True)
    ]
    # A text without any word cannot be explained.
    readable = [review for review in every if any(map(str.isalnum, review.text))]
    fitting = [r for r in readable if min_words <= r.n_words <= (max_words or r.n_words)]
    order = np.random.default_rng(seed).permutation(len(fitting))
    return [fitting[k] for k in order]


def digest(chosen: Sequence[Review]) -> str:
    """A short name for reviews, another one for other reviews, texts or labels."""
    return digest_of(f"{one.id}\0{one.text}\0{one.label}\0".encode() for one in chosen)
