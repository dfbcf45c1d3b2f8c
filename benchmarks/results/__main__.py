"""All results on one page: ``python -m benchmarks.results --help``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchmarks import commands

_HERE = Path(__file__).parent.parent

app = commands.new_app("All results on one page: methods by questions, plots, conditions.")


@app.command()
def write(
    root: Annotated[
        Path, typer.Option(help="Directory of the benchmarks, each with its raw lines in results.")
    ] = _HERE,
    out: Annotated[Path, typer.Option(help="Directory of RESULTS.md and results.png.")] = _HERE,
) -> None:
    """Write RESULTS.md and results.png from the raw lines of all benchmarks.

    New raw lines need this command again, and nothing else.
    """
    from benchmarks.results.page import write_page

    try:
        write_page(root, out)
    except ValueError as error:
        raise SystemExit(str(error)) from None
    typer.echo(f"wrote RESULTS.md and results.png to {out.name or out}")


if __name__ == "__main__":
    app()
