"""Explanations as dictionaries of plain values, and back: the documented schema."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from textsobol.text.explanation import TextExplanation
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


def to_dict(explanation: TextExplanation) -> dict[str, Any]:
    """A dictionary of plain values."""
    text, path = explanation.text, explanation.path
    return {
        "schema": SCHEMA,
        "text": text if isinstance(text, str) else list(text),
        "prediction": {
            "label": explanation.prediction,
            "probabilities": dict(explanation.probabilities),
        },
        "label": explanation.label,
        "words": [_word_to_dict(word) for word in explanation.words],
        "pairs": [_pair_to_dict(pair) for pair in explanation.pairs],
        "path": None if path is None else _path_to_dict(path),
        "sums": {label: asdict(sums) for label, sums in explanation.sums.items()},
        "advised": dict(explanation.advised),
        "cost": dict(explanation.cost),
        "settings": dict(explanation.settings),
    }


def from_dict(data: Mapping[str, Any]) -> TextExplanation:
    """The explanation that `to_dict` was made of."""
    if "image" in data:
        raise ValueError("this is no explanation of a text; ImageExplanation reads pictures")
    if data.get("schema") != SCHEMA:
        raise ValueError(
            f"schema {data.get('schema')!r} is not known to this version; it reads {SCHEMA}"
        )
    text = data["text"]
    return TextExplanation(
        text=text if isinstance(text, str) else (text[0], text[1]),
        words=tuple(_word_from_dict(word) for word in data["words"]),
        probabilities=dict(data["prediction"]["probabilities"]),
        label=data["label"],
        cost=dict(data["cost"]),
        settings=dict(data["settings"]),
        pairs=tuple(_pair_from_dict(pair) for pair in data["pairs"]),
        path=None if data["path"] is None else _path_from_dict(data["path"]),
        sums={label: Sums(**sums) for label, sums in data["sums"].items()},
        advised=dict(data["advised"]),
    )


def _word_to_dict(word: Word) -> dict[str, Any]:
    # JSON has neither infinity nor NaN: what is not known is null.
    scores = {
        label: {name: v if math.isfinite(v) else None for name, v in vars(score).items()}
        for label, score in word.scores.items()
    }
    return {**vars(word), "scores": scores}  # asdict copies every number, which takes long


def _word_from_dict(data: Mapping[str, Any]) -> Word:
    scores = {
        label: Measures(**{name: _known(value, math.nan) for name, value in score.items()})
        for label, score in data["scores"].items()
    }
    return Word(**{**data, "scores": scores})


def _pair_to_dict(pair: WordPair) -> dict[str, Any]:
    data = asdict(pair)
    data["words"] = list(pair.words)
    for score in data["scores"].values():
        # One base mask leaves the ends of an interval unknown.
        score.update({e: score[e] if math.isfinite(score[e]) else None for e in ("low", "high")})
    return data


def _pair_from_dict(data: Mapping[str, Any]) -> WordPair:
    one, other = data["words"]
    scores = {
        label: PairScore(
            effect=score["effect"],
            low=_known(score["low"], -math.inf),
            high=_known(score["high"], math.inf),
            total=score["total"],
        )
        for label, score in data["scores"].items()
    }
    return WordPair((one, other), scores)


def _path_to_dict(path: Path) -> dict[str, Any]:
    return {
        "label": path.label,
        "steps": [{**vars(step), "words": list(step.words)} for step in path.steps],
        "flip": None
        if path.flip is None
        else {**vars(path.flip), "words": list(path.flip.words), "texts": list(path.flip.texts)},
        "rises": path.rises,
    }


def _path_from_dict(data: Mapping[str, Any]) -> Path:
    steps = tuple(Deletion(**{**step, "words": tuple(step["words"])}) for step in data["steps"])
    flip = data["flip"]
    if flip is not None:
        flip = FlipSet(**{**flip, "words": tuple(flip["words"]), "texts": tuple(flip["texts"])})
    return Path(data["label"], steps, flip, rises=data.get("rises", False))


def _known(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value
