"""What files of this package must look like: they are checked before anything is made of them.

`TextFile` and `PictureFile` are saved explanations, `Manifest` and `ShardLine` belong to a job of
many texts. ``python -m textsobol.schemas docs/schema`` writes JSON Schemas of the first two. Rules
that span several fields, such as "a word lies within the text", are in `textsobol.validation`.

pydantic is loaded with this module, so that only those who read files wait for it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path as File
from typing import Annotated, Any, Literal

from pydantic import AllowInfNan, BaseModel, ConfigDict, FailFast, Field

from textsobol.files import write_text

TEXT_SCHEMA = 2
PICTURE_SCHEMA = 1
MOST_PIXELS = 64_000_000
MOST_BYTES = 1 << 28  # of a file

_LARGEST = 1e100  # so that sums and squares of numbers are numbers

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
    """What the explanation took; ``calls`` and what follows are of remote models.

    ``forwarded`` are masked texts; of a text that is longer than the model's window, ``windows``
    are those that the model was run on.
    """

    forwarded: Amount
    rows: Count = 0
    distinct: Count = 0
    padding: Share = 0.0
    seconds: Amount = 0.0
    gates: Count = 0
    windows: Count = 0
    tokens: Count = 0
    shared: Share = 0.0
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
    given: dict[str, str] = {}
    hint: str = ""
    score: str = ""
    unit: str = ""
    segmenters: dict[str, str] = {}
    unknown_words: Share | None = None
    punctuation_effect: Number | None = None
    quantity: str = ""
    estimator: str = ""
    design: str | None = None
    sign: str | None = None
    keep: Share | None = None
    budget: Count | None = None
    seed: int | None = None
    base_masks: Count = 0
    leader_masks: Count = 0
    long: Literal["outside", "window"] = "outside"
    aggregate: str = ""
    stride: Count | None = None
    windows: Count = 0
    dtype: str = ""
    precision_difference: Amount | None = None
    logprobs: str = ""
    bounded: Share = 0.0
    answer: str = ""
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
    screened_out: bool = False
    name: str = ""
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
    screened: Number = 0.0
    screened_high: Number = 0.0


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
