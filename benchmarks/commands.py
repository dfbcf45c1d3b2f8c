"""What the commands of benchmarks share: their look, and options that mean the same in all."""

from pathlib import Path
from typing import Annotated

import typer

Seed = Annotated[int, typer.Option(help="Of the choice of inputs and of all methods.")]
Limit = Annotated[
    int | None, typer.Option(help="Only so many inputs: a smoke run.", show_default=False)
]
Out = Annotated[Path, typer.Option(help="Directory of the results.")]
ResultFiles = Annotated[
    list[Path], typer.Argument(help="Files that run has written.", exists=True, dir_okay=False)
]
ReportOut = Annotated[Path, typer.Option(help="Directory of the report.")]
Draw = Annotated[
    str,
    typer.Option(
        help="Variants in the deletion curves, with commas; without it, the best of every method.",
        show_default=False,
    ),
]


def new_app(about: str) -> typer.Typer:
    """A command with subcommands."""
    return typer.Typer(
        add_completion=False, no_args_is_help=True, rich_markup_mode="rich", help=about
    )


def names_in(text: str) -> list[str]:
    """What is named with commas.

    Example:
        >>> names_in("a,b"), names_in("")
        (['a', 'b'], [])
    """
    return text.split(",") if text else []


def numbers_in(text: str) -> list[int]:
    """Whole numbers with commas."""
    return [int(number) for number in names_in(text)]


def tell_what_is_in(out: Path) -> None:
    """Print the names of the files that were written."""
    typer.echo(f"wrote {', '.join(sorted(path.name for path in out.iterdir()))} to {out}")
