"""The command line: ``textsobol``."""

from typing import Annotated

import typer

from textsobol import __version__
from textsobol.cli.corpus import corpus, report
from textsobol.cli.expand import expand
from textsobol.cli.explain import compare, explain
from textsobol.cli.image import image
from textsobol.cli.serve import serve

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Which words of a text, or regions of a picture, made a classifier decide as it did?",
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"textsobol {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Which words of a text, or regions of a picture, made a classifier decide as it did?"""


for command in (explain, corpus, report, compare, image, serve):
    app.command()(expand(command))
