"""What files of this package must look like: they are checked before anything is made of them.

`TextFile` and `PictureFile` are saved explanations, `Manifest` and `ShardLine` belong to a job of
many texts. ``python -m textsobol.schemas docs/schema`` writes JSON Schemas of the first two. Rules
that span several fields, such as "a word lies within the text", are in `check_text_file` and
`check_picture_file`.

pydantic is loaded with this module, so that only those who read files wait for it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path as File
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AllowInfNan, BaseModel, ConfigDict, FailFast, Field, ValidationError
from pydantic_core import from_json

from textsobol.files import write_text
from textsobol.render.printable import replace_controls

TEXT_SCHEMA = 2
PICTURE_SCHEMA = 1
MOST_PIXELS = 64_000_000
MOST_BYTES = 1 << 28  # of a file

_LARGEST = 1e100  # so that sums and squares of numbers are numbers
_SLACK = 1e-6  # of probabilities, for rounding

Number = Annotated[float, Field(ge=-_LARGEST, le=_LARGEST)]
Unknown = Number | None
"""A number, or null where it is not known."""
Count = Annotated[int, Field(ge=0, le=2**53)]
Positive = Annotated[int, Field(ge=1, le=2**53)]
Amount = Annotated[float, Field(ge=0, le=_LARGEST)]
Share = Annotated[float, Field(ge=0, le=1)]
Labelled = dict[str, Number]


class _Record(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class _OpenRecord(BaseModel):
    """Other fields may be there too, of any kind."""

    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)


class Prediction(_Record):
    """The likeliest label, and the probabilities of all; any scores, of a function."""

    label: str
    probabilities: Annotated[Labelled, Field(min_length=1)]


class Cost(_Record):
    """What the explanation took; ``calls`` and what follows are of remote models."""

    forwarded: Amount
    rows: Count = 0
    distinct: Count = 0
    padding: Share = 0.0
    seconds: Amount = 0.0
    calls: Amount = 0.0
    cached: Amount = 0.0
    retried: Amount = 0.0
    waited: Amount = 0.0


class Settings(_OpenRecord):
    """What made the explanation; attribution methods may add settings of their own."""

    model: str
    method: str
    signed: bool
    versions: dict[str, str]
    labels: list[str]
    score: str = ""
    unit: str = ""
    quantity: str = ""
    estimator: str = ""
    design: str | None = None
    sign: str | None = None
    keep: Share | None = None
    budget: Count | None = None
    seed: int | None = None
    base_masks: Count = 0
    leader_masks: Count = 0
    contrast: Annotated[list[str], Field(min_length=2, max_length=2)] = ["", ""]


class WordMeasures(_Record):
    """What a word did to a label."""

    score: Number
    low: Unknown
    high: Unknown
    total: Unknown
    total_low: Unknown
    total_high: Unknown
    first: Unknown
    first_low: Unknown
    first_high: Unknown
    effect: Unknown
    effect_low: Unknown
    effect_high: Unknown
    stability: Unknown


class WordRecord(_Record):
    """A word, where it is, and what it did to each label that was analysed."""

    text: str
    start: Count
    end: Count
    status: Literal["scored", "ignored", "outside"]
    part: Literal[0, 1]
    shared_by: Positive
    scores: dict[str, WordMeasures]


class PairMeasures(_Record):
    """What two words did to a label together."""

    effect: Number
    low: Unknown
    high: Unknown
    total: Unknown


class PairRecord(_Record):
    """Two words by their numbers, and what they did together to each label."""

    words: Annotated[list[Count], Field(min_length=2, max_length=2)]
    scores: dict[str, PairMeasures]


class DeletionRecord(_Record):
    """A step of the path: the deleted words by their numbers, and the answer without them."""

    words: Annotated[list[Count], Field(min_length=1)]
    text: str
    probabilities: Labelled
    prediction: str


class FlipRecord(_Record):
    """Words whose deletion changes the prediction, by their numbers and by their names."""

    words: Annotated[list[Count], Field(min_length=1)]
    texts: Annotated[list[str], Field(min_length=1)]
    probabilities: Labelled
    prediction: str
    is_irreducible: bool
    is_smallest: bool


class PathRecord(_Record):
    """The deletions that lower the prediction the soonest."""

    label: str
    steps: Annotated[list[DeletionRecord], FailFast()]
    flip: FlipRecord | None
    rises: bool = False


class SumsRecord(_Record):
    """How a label's log-odds add up."""

    baseline: Number
    additive: Number
    remainder: Number
    additive_share: Number


class TextFile(_Record):
    """An explanation of a text, or of a pair of texts."""

    model_config = ConfigDict(title="An explanation of a text")

    version: Annotated[Literal[2], Field(alias="schema")]
    text: str | Annotated[list[str], Field(min_length=2, max_length=2)]
    prediction: Prediction
    target: str
    words: Annotated[list[WordRecord], FailFast()]
    pairs: Annotated[list[PairRecord], FailFast()]
    path: PathRecord | None
    sums: dict[str, SumsRecord]
    advised: dict[str, Count | None]
    cost: Cost
    settings: Settings


# Earlier files have NaN, which is no JSON, where null stands now.
_Values = Annotated[list[Annotated[float, AllowInfNan(True)] | None] | None, FailFast()]


class RegionRecord(_Record):
    """What the regions did to a label; null is what a method does not give."""

    score: Annotated[list[Number], FailFast()]
    total: _Values
    first: _Values
    error: _Values


class PictureAbout(_Record):
    """All that is known of an explained picture but for the picture itself."""

    version: Annotated[Literal[1], Field(alias="schema")]
    prediction: Prediction
    target: str
    grid: Annotated[list[Positive], Field(min_length=2, max_length=2)] | None
    upsampling: Literal["nearest", "bilinear"]
    size: Annotated[list[Positive], Field(min_length=2, max_length=2)]
    scores: Annotated[dict[str, RegionRecord], Field(min_length=1)]
    cost: Cost
    settings: Settings


class PictureFile(PictureAbout):
    """The same with the picture, a PNG, and the number of every pixel's segment, if any."""

    model_config = ConfigDict(title="An explanation of a picture")

    segments: Annotated[list[Annotated[list[Count], FailFast()]] | None, FailFast()]
    image: Annotated[str, Field(pattern="^data:image/png;base64,")]


class JobResult(_Record):
    """What a finished job has made."""

    texts: Count
    failed: Count
    shards: Count


class Manifest(_Record):
    """What a job of many texts is made of."""

    version: Annotated[Literal[2], Field(alias="schema")]
    job: str
    input: dict[str, Any]
    explainer: dict[str, Any]
    weights: str | None
    settings: dict[str, Any]
    shard_size: Positive
    versions: dict[str, str]
    result: JobResult | None = None


class ShardLine(_Record):
    """What is known of a finished shard; see `textsobol.corpus.directory.Shard`."""

    version: Annotated[Literal[2], Field(alias="schema")]
    shard: Count
    blake2b: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    job: str
    input: str
    texts: Count
    failed: Count
    outside: Count


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
    is_likeliest = known.get(prediction.label) == max(known.values())
    _require(is_likeliest, "prediction.label", "must be the likeliest label")
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


PUBLISHED: dict[str, type[BaseModel]] = {"explanation.json": TextFile, "picture.json": PictureFile}


def format_schema(model: type[BaseModel]) -> str:
    """The JSON Schema of a kind of file."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **model.model_json_schema(),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def main(directory: str) -> None:
    """Write the JSON Schemas of saved explanations to a directory."""
    File(directory).mkdir(parents=True, exist_ok=True)
    for name, model in PUBLISHED.items():
        write_text(File(directory) / name, format_schema(model))


if __name__ == "__main__":
    main(*sys.argv[1:])
