"""What the page may ask for, checked."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

Tab = Annotated[str, StringConstraints(pattern="^[a-z0-9-]{8,64}$")]
Label = Annotated[str, StringConstraints(max_length=20_000)]
WordNumber = Annotated[int, Field(ge=0, le=2**31)]
Contrast = Annotated[list[Label], Field(min_length=2, max_length=2)]


class Asked(BaseModel):
    """Any request; it names its page."""

    model_config = ConfigDict(strict=True, extra="forbid")

    tab: Tab


class Choice(BaseModel):
    """The model and the method of one side of a comparison."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    model: Annotated[int, Field(ge=0)] = 0
    method: Annotated[str, StringConstraints(max_length=64)] = "sobol"


class AskExplain(Asked):
    """Explain a text, or compare two explanations of it."""

    text: str
    sides: Annotated[list[Choice], Field(min_length=1, max_length=2)]
    contrast: Contrast | None = None


class AskPredict(Asked):
    """What the models say without some words, for one or several sets of words."""

    removed: Annotated[
        list[Annotated[list[WordNumber], Field(max_length=20_000)]],
        Field(min_length=1, max_length=64),
    ]


class AskContrast(Asked):
    """Why one label and not the other, or the labels themselves again."""

    contrast: Contrast | None


class AskSave(Asked):
    """What is seen, as a page or as JSON."""

    kind: Literal["html", "json"]
    label: Label | None = None
    side: Annotated[int, Field(ge=0, le=1)] = 0


class AskCorpus(Asked):
    """Texts of the corpus: those with some words, from a place on."""

    start: Annotated[int, Field(ge=0)] = 0
    search: Annotated[str, StringConstraints(max_length=200)] = ""


class AskCorpusText(Asked):
    """One text of the corpus."""

    number: Annotated[int, Field(ge=0)]


def describe_invalid(error: ValidationError) -> str:
    """The first thing that is wrong, without what was sent."""
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}" if where else first["msg"]
