"""Options that several commands have."""

from typing import Annotated

import typer

Label = Annotated[
    str | None,
    typer.Option(help="Label to look at; the predicted one by default.", show_default=False),
]
Seed = Annotated[int, typer.Option(help="The same seed gives the same answer.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on one line.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar and no warnings.")]
