"""Labelled texts from a hub data set or a local file, through `datasets`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.provenance import digest_of

HUB_ID = "stanfordnlp/imdb"
_FORMATS = {".jsonl": "json", ".json": "json", ".csv": "csv", ".parquet": "parquet"}


def load(source: str, split: str) -> Any:
    """A data set with the columns ``text`` and ``label`` (0 negative, 1 positive).

    Args:
        source: a hub id, or a JSON lines, CSV or Parquet file, compressed or not.
        split: of a hub data set, such as ``train``.
    """
    from datasets import load_dataset

    path = Path(source)
    if not path.exists() and (any(s in _FORMATS for s in path.suffixes) or path.is_absolute()):
        raise SystemExit(f"there is no file {source!r}")
    if path.exists():
        suffix = next((s for s in path.suffixes if s in _FORMATS), None)
        if suffix is None:
            raise SystemExit(
                f"{source}: known files are {', '.join(_FORMATS)}, plain or compressed"
            )
        data = load_dataset(_FORMATS[suffix], data_files=str(path), split="train")
    else:
        try:
            data = load_dataset(source, split=split)
        except (OSError, ValueError) as error:
            raise SystemExit(
                f"cannot fetch {source!r} from the hub ({str(error).splitlines()[0]}); give a "
                f"JSON lines, CSV or Parquet file with the columns text and label"
            ) from None
    missing = {"text", "label"} - set(data.column_names)
    if missing:
        raise SystemExit(f"{source} has no column {', '.join(sorted(missing))}")
    return data


def train_and_validation(
    source: str, share: float, seed: int, limit: int | None
) -> tuple[Any, Any]:
    """Training and validation part of the training split, shuffled."""
    data = load(source, "train").shuffle(seed=seed)
    if limit is not None:
        data = data.select(range(min(limit, len(data))))
    parts = data.train_test_split(test_size=share, seed=seed)
    return parts["train"], parts["test"]


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
