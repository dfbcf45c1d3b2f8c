"""Explanations as rows of a table, and back.

A row is what `TextExplanation.to_dict` gives, with lists in place of dictionaries by label, since
not all readers of Parquet know maps. What depends on the run and not on the text, such as seconds,
is left out: the same job always leaves the same table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any

from textsobol.corpus.reading import Item
from textsobol.text.explanation import TextExplanation
from textsobol.text.records import Measures, PairScore, Sums
from textsobol.text.serialise import SCHEMA

if TYPE_CHECKING:
    import pyarrow

_COUNTS = ("rows", "distinct", "forwarded")


@cache
def arrow_schema() -> pyarrow.Schema:
    """The columns of a shard."""
    import pyarrow as pa

    def numbers(kind: type) -> list[pyarrow.Field]:
        return [pa.field(field.name, pa.float64()) for field in fields(kind)]

    def scores(kind: type) -> pyarrow.DataType:
        return pa.list_(pa.struct([pa.field("label", pa.string()), *numbers(kind)]))

    word = pa.struct(
        {"text": pa.string(), "start": pa.int32(), "end": pa.int32(), "part": pa.int8(),
         "status": pa.string(), "shared_by": pa.int32(), "scores": scores(Measures)}
    )  # fmt: skip
    pair = pa.struct({"words": pa.list_(pa.int32()), "scores": scores(PairScore)})
    share = pa.struct({"label": pa.string(), "probability": pa.float64()})
    after = {"probabilities": pa.list_(share), "prediction": pa.string()}
    step = pa.struct({"words": pa.list_(pa.int32()), "text": pa.string(), **after})
    flip = pa.struct(
        {"words": pa.list_(pa.int32()), "texts": pa.list_(pa.string()), **after,
         "is_irreducible": pa.bool_(), "is_smallest": pa.bool_()}
    )  # fmt: skip
    path = pa.struct(
        {"label": pa.string(), "steps": pa.list_(step), "flip": flip, "rises": pa.bool_()}
    )
    advised = pa.struct({"label": pa.string(), "passes": pa.int64()})
    cost = pa.struct({**dict.fromkeys(_COUNTS, pa.int64()), "padding": pa.float64()})
    return pa.schema(
        {
            "row": pa.int64(),
            "id": pa.string(),
            "text": pa.string(),
            "text_pair": pa.string(),
            "prediction": pa.string(),
            "label": pa.string(),
            "probabilities": pa.list_(share),
            "words": pa.list_(word),
            "pairs": pa.list_(pair),
            "path": path,
            "sums": scores(Sums),
            "advised": pa.list_(advised),
            "cost": cost,
            "settings": pa.string(),
            "error": pa.string(),
        }
    )


def row_of(item: Item, explanation: TextExplanation | None, error: str | None) -> dict[str, Any]:
    """The row of a text: its explanation, or why there is none."""
    parts = item.text if isinstance(item.text, tuple) else (item.text, None)
    row = {"row": item.row, "id": item.id, "error": None if error is None else _readable(error)}
    row["text"], row["text_pair"] = (None if t is None else _readable(t) for t in parts)
    if explanation is None:
        return row
    data = explanation.to_dict()
    prediction, cost = data["prediction"], data["cost"]
    return {
        **row,
        "prediction": prediction["label"],
        "label": data["label"],
        "probabilities": _listed(prediction["probabilities"], "probability"),
        "words": [{**word, "scores": _labelled(word["scores"])} for word in data["words"]],
        "pairs": [{**pair, "scores": _labelled(pair["scores"])} for pair in data["pairs"]],
        "path": None if data["path"] is None else _path_to_row(data["path"]),
        "sums": _labelled(data["sums"]),
        "advised": _listed(data["advised"], "passes"),
        "cost": {name: cost.get(name) for name in (*_COUNTS, "padding")},
        "settings": json.dumps(data["settings"], ensure_ascii=False, sort_keys=True),
    }


def explanation_of(row: Mapping[str, Any]) -> TextExplanation:
    """The explanation that a row was made of.

    Raises:
        ValueError: when the text could not be explained.
    """
    if row["error"] is not None:
        raise ValueError(f"text {row['id']!r} could not be explained: {row['error']}")
    pair = row["text_pair"]
    data = {
        "schema": SCHEMA,
        "text": row["text"] if pair is None else [row["text"], pair],
        "label": row["label"],
        "prediction": {"probabilities": _by_label(row["probabilities"], "probability")},
        "words": [{**word, "scores": _scores(word["scores"])} for word in row["words"]],
        "pairs": [{**pair, "scores": _scores(pair["scores"])} for pair in row["pairs"]],
        "path": None if row["path"] is None else _path_of_row(row["path"]),
        "sums": _scores(row["sums"]),
        "advised": _by_label(row["advised"], "passes"),
        "cost": {name: value for name, value in row["cost"].items() if value is not None},
        "settings": json.loads(row["settings"]),
    }
    return TextExplanation.from_dict(data)


def table_of(rows: Sequence[Mapping[str, Any]], metadata: Mapping[str, Any]) -> pyarrow.Table:
    """A table of rows, with a word on what they are."""
    import pyarrow as pa

    told = {"textsobol": json.dumps(metadata, sort_keys=True)}
    return pa.Table.from_pylist(list(rows), schema=arrow_schema().with_metadata(told))


def _readable(text: str) -> str:
    """Half of a surrogate pair cannot be written as UTF-8."""
    return text.encode("utf-8", "replace").decode()


def _path_to_row(path: Mapping[str, Any]) -> dict[str, Any]:
    flip = path["flip"]
    return {
        **path,
        "steps": [_with_listed(step) for step in path["steps"]],
        "flip": None if flip is None else _with_listed(flip),
    }


def _path_of_row(path: Mapping[str, Any]) -> dict[str, Any]:
    flip = path["flip"]
    return {
        **path,
        "steps": [_with_named(step) for step in path["steps"]],
        "flip": None if flip is None else _with_named(flip),
    }


def _with_listed(step: Mapping[str, Any]) -> dict[str, Any]:
    return {**step, "probabilities": _listed(step["probabilities"], "probability")}


def _with_named(step: Mapping[str, Any]) -> dict[str, Any]:
    return {**step, "probabilities": _by_label(step["probabilities"], "probability")}


def _listed(by_label: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    return [{"label": label, name: value} for label, value in by_label.items()]


def _labelled(scores: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{"label": label, **score} for label, score in scores.items()]


def _by_label(listed: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    return {each["label"]: each[name] for each in listed}


def _scores(listed: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {each.pop("label"): each for each in listed}
