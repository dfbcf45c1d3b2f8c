"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

import html
import re

import typer
from typer.cli import get_docs_for_click

from textsobol.cli import app


def write_reference() -> str:
    """A page with every command and option, as ``--help`` shows them."""
    command = typer.main.get_command(app)
    page = get_docs_for_click(obj=command, ctx=typer.Context(command), name="textsobol")
    # Outside of code, entities are read as such anyway; examples become blocks of code.
    page = html.unescape(page).replace("# `textsobol`", "# Command line", 1)
    return re.sub(r"For example:\n\n((?:(?:textsobol|cat) .*\n\n)+)", _as_block, page)


def _as_block(found: re.Match[str]) -> str:
    lines = found[1].replace("\n\n", "\n")
    return f"For example:\n\n```sh\n{lines}```\n\n"


if __name__ == "__main__":
    print(write_reference())
