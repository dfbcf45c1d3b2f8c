"""Labelled texts from a hub data set or a local file, through `datasets`."""

from pathlib import Path
from typing import Any

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
    if path.exists():
        suffix = next((s for s in path.suffixes if s in _FORMATS), None)
        if suffix is None:
            raise SystemExit(
                f"{source}: known files are {', '.join(_FORMATS)}, plain or compressed"
            )
        data = load_dataset(_FORMATS[suffix], data_files=str(path), split="train")
    else:
        data = load_dataset(source, split=split)
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
