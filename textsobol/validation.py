"""Check the content of files against `textsobol.schemas`, and the rules that span several fields.

Like the schemas, this module loads pydantic, so that only those who read files wait for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from textsobol.render.printable import replace_controls
from textsobol.schemas import (
    MOST_PIXELS,
    Cost,
    DeletionRecord,
    FlipRecord,
    Labelled,
    PathRecord,
    PictureAbout,
    PictureFile,
    Prediction,
    Settings,
    TextFile,
)

_LARGEST = 1e100  # so that sums and squares of numbers are numbers
_SLACK = 1e-6  # of probabilities, for rounding

Model = TypeVar("Model", bound=BaseModel)


def read_json(content: bytes) -> Any:
    """JSON as Python has it.

    Raises:
        ValueError: for anything else, also if it is nested too deeply.
    """
    return from_json(content, allow_inf_nan=True)


def validate(model: type[Model], data: Any) -> Model:
    """Check plain values.

    Raises:
        ValueError: that names the first wrong place, such as ``words[3].scores.POSITIVE.low``.
    """
    known = model.model_fields.get("version")
    if known is not None and isinstance(data, Mapping):
        (expected,) = known.annotation.__args__  # type: ignore[union-attr]
        if data.get("schema") != expected:
            raise ValueError(
                f"schema {data.get('schema')!r:.40} is not known to this version; it reads "
                f"{expected}"
            )
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = _name_place(first["loc"])
        raise ValueError(f"{place}: {first['msg']}" if place else first["msg"]) from None


def _name_place(location: Iterable[str | int]) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return replace_controls("".join(parts).removeprefix(".")[:200])


def _require(is_right: bool, place: str, message: str) -> None:
    if not is_right:
        raise ValueError(f"{replace_controls(place)}: {message}")


def check_text_file(data: Any) -> TextFile:
    """Check the plain values of an explanation of a text; its numbers are floats then.

    Raises:
        ValueError: that names the first wrong place.
    """
    file = validate(TextFile, data)
    _check_words(file)
    scored = [k for k, word in enumerate(file.words) if word.status == "scored"]
    _require(bool(scored), "words", "no word is scored")
    labels = list(file.words[scored[0]].scores)
    for k in scored:
        same = file.words[k].scores.keys() == set(labels)
        _require(same, f"words[{k}].scores", "must be of the same labels for all words")
    _check_labels(file.prediction, file.target, labels, file.settings)
    _check_cost(file.cost)
    n_words, targets = len(file.words), set(labels)
    for k, pair in enumerate(file.pairs):
        _check_numbers(pair.words, n_words, f"pairs[{k}].words")
        _require(pair.scores.keys() <= targets, f"pairs[{k}].scores", "of an unknown label")
    for name in ("sums", "advised"):
        _require(getattr(file, name).keys() <= targets, name, "of an unknown label")
    if file.path is not None:
        _check_path(file.path, file.prediction, n_words, file.settings)
    return file


def _check_words(file: TextFile) -> None:
    texts = [file.text] if isinstance(file.text, str) else file.text
    ends = [0] * len(texts)
    n_scored = sum(word.status == "scored" for word in file.words)
    for k, word in enumerate(file.words):
        place = f"words[{k}]"
        _require(word.part < len(texts), f"{place}.part", "there is one text only")
        whole = texts[word.part]
        fits = ends[word.part] <= word.start < word.end <= len(whole)
        _require(
            fits, f"{place}.start", "words must be ascending, not overlap, and lie within the text"
        )
        is_there = whole[word.start : word.end] == word.text
        _require(is_there, f"{place}.text", "is not what the text has there")
        ends[word.part] = word.end
        if word.status == "scored":
            _require(word.shared_by <= n_scored, f"{place}.shared_by", "more than all words")
        else:
            _require(not word.scores, f"{place}.scores", f"must be empty for {word.status} words")


def _check_labels(
    prediction: Prediction, target: str, labels: Sequence[str], settings: Settings
) -> None:
    known = prediction.probabilities
    _check_probabilities(known, settings, "prediction.probabilities")
    if "answer" in settings.model_fields_set:
        _require(settings.answer in known, "settings.answer", "has no probability")
        is_right = prediction.label == settings.answer
    else:
        is_right = known.get(prediction.label) == max(known.values())
    _require(is_right, "prediction.label", "must be the likeliest label, or the answer")
    _require(target in labels, "target", "was not analysed")
    contrast = settings.contrast if "contrast" in settings.model_fields_set else []
    _require(set(contrast) <= known.keys(), "settings.contrast", "of an unknown label")
    is_known = list(labels) == [target] if contrast else set(labels) <= known.keys()
    _require(is_known, "scores", "of a label that has no probability")


def _check_probabilities(values: Labelled, settings: Settings, place: str) -> None:
    if settings.score == "output":  # a function may return any number
        return
    for label, value in values.items():
        is_probability = -_SLACK <= value <= 1 + _SLACK
        _require(is_probability, f"{place}.{label[:40]}", "a probability is between 0 and 1")


def _check_cost(cost: Cost) -> None:
    if "calls" in cost.model_fields_set:
        for name in ("cached", "retried", "waited"):
            _require(name in cost.model_fields_set, f"cost.{name}", "is missing")


def _check_numbers(numbers: Sequence[int], n_words: int, place: str) -> None:
    _require(max(numbers) < n_words, place, f"there are {n_words} words")


def _check_path(path: PathRecord, prediction: Prediction, n_words: int, settings: Settings) -> None:
    known = prediction.probabilities
    _require(path.label in known, "path.label", "has no probability")
    after: list[tuple[str, DeletionRecord | FlipRecord]] = [
        (f"path.steps[{k}]", step) for k, step in enumerate(path.steps)
    ]
    if path.flip is not None:
        after.append(("path.flip", path.flip))
        same = len(path.flip.texts) == len(path.flip.words)
        _require(same, "path.flip.texts", "must be one for each of the words")
    for place, step in after:
        _check_numbers(step.words, n_words, f"{place}.words")
        same = step.probabilities.keys() == known.keys()
        _require(same, f"{place}.probabilities", "must be of all labels")
        _check_probabilities(step.probabilities, settings, f"{place}.probabilities")
        _require(step.prediction in known, f"{place}.prediction", "has no probability")


def check_picture_file(data: Any, model: type[PictureAbout] = PictureFile) -> None:
    """Check the plain values of an explanation of a picture, before anything large is made.

    Args:
        data: the values.
        model: `PictureAbout` if the picture and its segments are elsewhere.

    Raises:
        ValueError: that names the first wrong place.
    """
    file = validate(model, data)
    height, width = file.size
    _require(height * width <= MOST_PIXELS, "size", f"more than {MOST_PIXELS:,} pixels")
    n_regions = len(next(iter(file.scores.values())).score)
    if file.grid is not None:
        down, across = file.grid
        _require(down <= height and across <= width, "grid", "is finer than the picture")
        n_regions = down * across
    _require(1 <= n_regions <= height * width, "scores", "of as many regions as pixels, at most")
    for label, own in file.scores.items():
        for kind in ("score", "total", "first", "error"):
            values, place = getattr(own, kind), f"scores.{label[:40]}.{kind}"
            if values is not None:
                _require(len(values) == n_regions, place, f"must have {n_regions:,} numbers")
                largest = max((abs(v) for v in values if v is not None and v == v), default=0.0)
                is_error = kind == "error"  # infinite, if there is one base mask
                _require(largest <= _LARGEST or is_error, place, "a number is too large")
    if isinstance(file, PictureFile):
        has_segments = file.segments is not None
        _require(has_segments is (file.grid is None), "segments", "are needed without a grid only")
        if file.segments is not None:
            fits = len(file.segments) == height and {len(row) for row in file.segments} == {width}
            _require(fits, "segments", f"must have {height} rows of {width} numbers")
            largest_number = max(map(max, file.segments))
            _require(largest_number == n_regions - 1, "segments", f"must be of {n_regions} regions")
    _check_labels(file.prediction, file.target, list(file.scores), file.settings)
    _check_cost(file.cost)
