"""Explanations as dictionaries of plain values, and back: the documented schema."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from textsobol.schemas import PairRecord, PathRecord, WordRecord

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
    from textsobol.validation import check_text_file

    if not isinstance(data, Mapping):
        raise ValueError(f"an explanation is a dictionary, not a {type(data).__name__}")
    if "image" in data or "grid" in data:
        raise ValueError("this is no explanation of a text; ImageExplanation reads pictures")
    file = check_text_file(data)
    text = file.text
    return {
        "text": text if isinstance(text, str) else (text[0], text[1]),
        "words": tuple(map(_read_word, file.words)),
        "probabilities": file.prediction.probabilities,
        "target": file.target,
        "pairs": tuple(map(_read_pair, file.pairs)),
        "path": None if file.path is None else _read_path(file.path),
        "sums": {label: Sums(**vars(sums)) for label, sums in file.sums.items()},
        "advised": file.advised,
        **{name: dict(data[name]) for name in ("cost", "settings")},
    }


def _word_to_dict(word: Word) -> dict[str, Any]:
    # asdict would copy every number, which takes long.
    return {**vars(word), "scores": {k: _to_json(vars(own)) for k, own in word.scores.items()}}


def _read_word(word: WordRecord) -> Word:
    scores = {
        label: Measures(**{k: math.nan if v is None else v for k, v in vars(own).items()})
        for label, own in word.scores.items()
    }
    return Word(**{**vars(word), "scores": scores})


def _pair_to_dict(pair: WordPair) -> dict[str, Any]:
    scores = {label: _to_json(vars(own)) for label, own in pair.scores.items()}
    return {"words": list(pair.words), "scores": scores}


def _read_pair(pair: PairRecord) -> WordPair:
    one, other = pair.words
    # One base mask leaves the ends of an interval unknown.
    unknown = {"low": -math.inf, "high": math.inf}
    scores = {
        label: PairScore(
            **{k: unknown.get(k, math.nan) if v is None else v for k, v in vars(own).items()}
        )
        for label, own in pair.scores.items()
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


def _read_path(path: PathRecord) -> Path:
    steps = tuple(Deletion(**{**vars(step), "words": tuple(step.words)}) for step in path.steps)
    flip = None
    if path.flip is not None:
        words, texts = tuple(path.flip.words), tuple(path.flip.texts)
        flip = FlipSet(**{**vars(path.flip), "words": words, "texts": texts})
    return Path(path.label, steps, flip, rises=path.rises)


def _to_json(numbers: Mapping[str, float]) -> dict[str, float | None]:
    """JSON has neither infinity nor NaN: what is not known is null."""
    return {name: value if math.isfinite(value) else None for name, value in numbers.items()}
