"""Explanations as rows of a table, and back.

A row is `TextExplanation.to_dict` with lists instead of dictionaries by label, since not all
readers of Parquet support maps. Numbers that vary between runs, such as seconds, are left out: the
same job always makes the same table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any

from textsobol.corpus.source import Item
from textsobol.text.explanation import TextExplanation
from textsobol.text.records import Measures, PairScore, Sums
from textsobol.text.serialise import SCHEMA

if TYPE_CHECKING:
    import pyarrow

_COUNTS = ("rows", "distinct", "forwarded", "gates", "windows")
_REQUIRED = (
    "text", "prediction", "target", "probabilities", "words", "pairs", "sums", "advised", "cost",
    "settings",
)  # fmt: skip


@cache
def _arrow_schema() -> pyarrow.Schema:
    import pyarrow as pa

    def scores(kind: type) -> pyarrow.DataType:
        numbers = {field.name: pa.float64() for field in fields(kind)}
        return pa.list_(pa.struct({"label": pa.string(), **numbers}))

    text, numbers = pa.string(), pa.list_(pa.int32())
    probabilities = pa.list_(pa.struct({"label": text, "probability": pa.float64()}))
    word = pa.struct(
        {"text": text, "start": pa.int32(), "end": pa.int32(), "part": pa.int8(), "status": text,
         "shared_by": pa.int32(), "screened_out": pa.bool_(), "scores": scores(Measures)}
    )  # fmt: skip
    pair = pa.struct({"words": numbers, "scores": scores(PairScore)})
    after = {"probabilities": probabilities, "prediction": text}
    step = pa.struct({"words": numbers, "text": text, **after})
    flip = pa.struct(
        {"words": numbers, "texts": pa.list_(text), **after, "is_irreducible": pa.bool_(),
         "is_smallest": pa.bool_()}
    )  # fmt: skip
    path = {"label": text, "steps": pa.list_(step), "flip": flip, "rises": pa.bool_()}
    return pa.schema(
        {
            "row": pa.int64(),
            "id": text,
            "text": text,
            "text_pair": text,
            "prediction": text,
            "target": text,
            "probabilities": probabilities,
            "words": pa.list_(word),
            "pairs": pa.list_(pair),
            "path": pa.struct(path),
            "sums": scores(Sums),
            "advised": pa.list_(pa.struct({"label": text, "passes": pa.int64()})),
            "cost": pa.struct({**dict.fromkeys(_COUNTS, pa.int64()), "padding": pa.float64()}),
            "settings": text,
            "error": text,
        }
    )


def make_row(item: Item, explanation: TextExplanation | None, error: str | None) -> dict[str, Any]:
    """The row of a text: its explanation, or the error."""
    text, pair = item.text if isinstance(item.text, tuple) else (item.text, None)
    row = {"row": item.row, "id": item.id, "text": text, "text_pair": pair, "error": error}
    for name in ("text", "text_pair", "error"):  # half of a surrogate pair is not UTF-8
        row[name] = row[name] and str(row[name]).encode("utf-8", "replace").decode()
    if explanation is None:
        return row
    data = explanation.to_dict()
    cost = data["cost"]
    return {
        **row,
        "prediction": data["prediction"]["label"],
        "target": data["target"],
        "probabilities": _list_by_label(data["prediction"]["probabilities"], "probability"),
        "words": [{**word, "scores": _list_by_label(word["scores"])} for word in data["words"]],
        "pairs": [{**pair, "scores": _list_by_label(pair["scores"])} for pair in data["pairs"]],
        "path": _convert_path(data["path"], _list_by_label),
        "sums": _list_by_label(data["sums"]),
        "advised": _list_by_label(data["advised"], "passes"),
        "cost": {name: cost.get(name) for name in (*_COUNTS, "padding")},
        "settings": json.dumps(data["settings"], ensure_ascii=False, sort_keys=True),
    }


def read_row(row: Mapping[str, Any]) -> TextExplanation:
    """The explanation in a row.

    Raises:
        ValueError: when the text could not be explained, or the row holds no explanation.
    """
    if row["error"] is not None:
        raise ValueError(f"text {row['id']!r} could not be explained: {row['error']}")
    missing = [name for name in _REQUIRED if row[name] is None]
    if missing:
        raise ValueError(f"text {row['id']!r} has no {', '.join(missing)}")
    try:
        return TextExplanation.from_dict(_read_data(row))
    except (TypeError, ValueError) as error:  # a word or a step that is null
        raise ValueError(f"text {row['id']!r}: {error}") from error


def _read_data(row: Mapping[str, Any]) -> dict[str, Any]:
    """What `TextExplanation.to_dict` gave."""
    pair = row["text_pair"]
    return {
        "schema": SCHEMA,
        "text": row["text"] if pair is None else [row["text"], pair],
        "target": row["target"],
        "prediction": {
            "label": row["prediction"],
            "probabilities": _map_by_label(row["probabilities"], "probability"),
        },
        "words": [{**word, "scores": _map_by_label(word["scores"])} for word in row["words"]],
        "pairs": [{**pair, "scores": _map_by_label(pair["scores"])} for pair in row["pairs"]],
        "path": _convert_path(row["path"], _map_by_label),
        "sums": _map_by_label(row["sums"]),
        "advised": _map_by_label(row["advised"], "passes"),
        "cost": {name: value for name, value in row["cost"].items() if value is not None},
        "settings": json.loads(row["settings"]),
    }


def make_table(rows: Sequence[Mapping[str, Any]], metadata: Mapping[str, Any]) -> pyarrow.Table:
    """The table of a shard, with its metadata."""
    import pyarrow as pa

    schema = _arrow_schema().with_metadata({"textsobol": json.dumps(metadata, sort_keys=True)})
    return pa.Table.from_pylist(list(rows), schema=schema)


def check_table(schema: pyarrow.Schema) -> None:
    """Raise an error if a table has not the columns of explanations."""
    if not schema.equals(_arrow_schema()):
        known = set(_arrow_schema())
        other = next((field.name for field in schema if field not in known), "their order")
        raise ValueError(
            f"its columns are not those that this version writes, such as {other!r}; if an "
            f"earlier version wrote it, run the job again into another directory"
        )


def _convert_path(
    path: Mapping[str, Any] | None, convert: Callable[[Any, str], object]
) -> dict[str, Any] | None:
    """Convert the probabilities of the steps and of the flip set."""

    def convert_step(step: Mapping[str, Any]) -> dict[str, Any]:
        return {**step, "probabilities": convert(step["probabilities"], "probability")}

    if path is None:
        return None
    flip = None if path["flip"] is None else convert_step(path["flip"])
    return {**path, "steps": [convert_step(step) for step in path["steps"]], "flip": flip}


def _list_by_label(by_label: Mapping[str, Any], name: str | None = None) -> list[dict[str, Any]]:
    """One dictionary per label: with all its numbers, or with one number by that name."""
    return [
        {"label": label, **(value if name is None else {name: value})}
        for label, value in by_label.items()
    ]


def _map_by_label(rows: Sequence[dict[str, Any]] | None, name: str | None = None) -> dict[str, Any]:
    if rows is None or None in rows:
        raise ValueError(f"{name or 'scores'} by label are missing")
    return {row.pop("label"): row if name is None else row[name] for row in rows}
