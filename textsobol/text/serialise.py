"""Explanations as dictionaries of plain values, and back: the documented schema."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from textsobol.text.records import (
    Deletion,
    FlipSet,
    Measures,
    PairScore,
    Path,
    Sums,
    Word,
    WordPair,
)

SCHEMA = 2


def to_dict(fields: Mapping[str, Any], prediction: str) -> dict[str, Any]:
    """The fields of a `TextExplanation` and its prediction as plain values."""
    text, path = fields["text"], fields["path"]
    return {
        "schema": SCHEMA,
        "text": text if isinstance(text, str) else list(text),
        "prediction": {"label": prediction, "probabilities": dict(fields["probabilities"])},
        "target": fields["target"],
        "words": [_word_to_dict(word) for word in fields["words"]],
        "pairs": [_pair_to_dict(pair) for pair in fields["pairs"]],
        "path": None if path is None else _path_to_dict(path),
        "sums": {label: asdict(sums) for label, sums in fields["sums"].items()},
        **{name: dict(fields[name]) for name in ("advised", "cost", "settings")},
    }


def from_dict(data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a `TextExplanation`, from what `to_dict` returned.

    Raises:
        ValueError: that names the first place where the data is not of the schema.
    """
    from textsobol.schemas import check_text_file

    if not isinstance(data, Mapping):
        raise ValueError(f"an explanation is a dictionary, not a {type(data).__name__}")
    if "image" in data or "grid" in data:
        raise ValueError("this is no explanation of a text; ImageExplanation reads pictures")
    check_text_file(data)
    text, path = data["text"], data["path"]
    return {
        "text": text if isinstance(text, str) else (text[0], text[1]),
        "words": tuple(_word_from_dict(word) for word in data["words"]),
        "probabilities": dict(data["prediction"]["probabilities"]),
        "target": data["target"],
        "pairs": tuple(_pair_from_dict(pair) for pair in data["pairs"]),
        "path": None if path is None else _path_from_dict(path),
        "sums": {label: Sums(**sums) for label, sums in data["sums"].items()},
        **{name: dict(data[name]) for name in ("advised", "cost", "settings")},
    }


def _word_to_dict(word: Word) -> dict[str, Any]:
    # asdict would copy every number, which takes long.
    return {**vars(word), "scores": {k: _to_json(vars(own)) for k, own in word.scores.items()}}


def _word_from_dict(data: Mapping[str, Any]) -> Word:
    scores = {
        label: Measures(**{k: math.nan if v is None else v for k, v in own.items()})
        for label, own in data["scores"].items()
    }
    return Word(**{**data, "scores": scores})


def _pair_to_dict(pair: WordPair) -> dict[str, Any]:
    scores = {label: _to_json(vars(own)) for label, own in pair.scores.items()}
    return {"words": list(pair.words), "scores": scores}


def _pair_from_dict(data: Mapping[str, Any]) -> WordPair:
    one, other = data["words"]
    # One base mask leaves the ends of an interval unknown.
    unknown = {"low": -math.inf, "high": math.inf}
    scores = {
        label: PairScore(
            **{k: unknown.get(k, math.nan) if v is None else v for k, v in own.items()}
        )
        for label, own in data["scores"].items()
    }
    return WordPair((one, other), scores)


def _path_to_dict(path: Path) -> dict[str, Any]:
    flip = path.flip
    return {
        "label": path.label,
        "steps": [{**vars(step), "words": list(step.words)} for step in path.steps],
        "flip": flip and {**vars(flip), "words": list(flip.words), "texts": list(flip.texts)},
        "rises": path.rises,
    }


def _path_from_dict(data: Mapping[str, Any]) -> Path:
    steps = tuple(Deletion(**{**step, "words": tuple(step["words"])}) for step in data["steps"])
    flip = data["flip"]
    if flip is not None:
        flip = FlipSet(**{**flip, "words": tuple(flip["words"]), "texts": tuple(flip["texts"])})
    return Path(data["label"], steps, flip, rises=data.get("rises", False))


def _to_json(numbers: Mapping[str, float]) -> dict[str, float | None]:
    """JSON has neither infinity nor NaN: what is not known is null."""
    return {name: value if math.isfinite(value) else None for name, value in numbers.items()}
