"""Options that several commands have."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

_ELSEWHERE = "A model elsewhere"


class Applied(StrEnum):
    """What an endpoint does to logits."""

    softmax = "softmax"
    sigmoid = "sigmoid"
    none = "none"


Label = Annotated[
    str | None,
    typer.Option(help="Label to look at; the predicted one by default.", show_default=False),
]
Seed = Annotated[int, typer.Option(help="The same seed gives the same answer.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on one line.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar and no warnings.")]
Endpoint = Annotated[
    str | None,
    typer.Option(
        help="Address of a text-classification endpoint, or a hub id that an inference provider "
        "serves.",
        show_default=False,
        rich_help_panel=_ELSEWHERE,
    ),
]
Token = Annotated[
    str | None,
    typer.Option(
        envvar="TEXTSOBOL_TOKEN",
        help="For the endpoint; hosts of the hub get the token of hf auth login by themselves.",
        show_default=False,
        rich_help_panel=_ELSEWHERE,
    ),
]
Cache = Annotated[
    Path | None,
    typer.Option(
        help="File or directory for the endpoint's answers: no text is asked for twice.",
        show_default=False,
        rich_help_panel=_ELSEWHERE,
    ),
]
Concurrency = Annotated[
    int, typer.Option(help="Calls at the same time.", min=1, rich_help_panel=_ELSEWHERE)
]
FunctionToApply = Annotated[
    Applied | None,
    typer.Option(
        help="What the endpoint is to do to logits; sigmoid if a text can have several labels.",
        show_default="its own softmax",
        rich_help_panel=_ELSEWHERE,
    ),
]
