"""Checks, errors and warnings of all commands."""

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import NoReturn

import typer
from rich.console import Console

from textsobol.errors import TextsobolError, name_error, name_warnings
from textsobol.estimate import Estimate
from textsobol.redaction import Redaction
from textsobol.render.printable import replace_controls

EXPECTED = (ValueError, TypeError, RuntimeError, ImportError, OSError)
"""Errors that users can fix: reported in one line, without a traceback."""
_COULD_NOT_EXPLAIN = 1


def check_suffix(option: str, path: Path | None, known: tuple[str, ...]) -> None:
    """Check a file name before the model runs: an error should not take a minute."""
    if path is None:
        return
    if path.suffix.lower() not in known:
        raise typer.BadParameter(f"{option} needs a file that ends in {' or '.join(known)}")
    if not path.parent.is_dir():
        raise typer.BadParameter(f"{option}: there is no directory {str(path.parent)!r}")


@contextmanager
def report_warnings(*, quiet: bool) -> Iterator[None]:
    """Print our own warnings, each once on a line; drop those of other packages."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    if quiet:
        return
    for message in name_warnings(caught):
        _print(message, "yellow")


def silence_transformers() -> None:
    """Silence the progress bars and the log messages of transformers."""
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]


def note(message: str, *, quiet: bool = False) -> None:
    """Print a note on standard error."""
    if not quiet:
        _print(message, "dim")


def print_estimate(found: Estimate, *, as_json: bool = False) -> None:
    """Print what work would cost."""
    typer.echo(json.dumps(asdict(found)) if as_json else str(found))


def fail(error: Exception) -> NoReturn:
    """Print the error and end the command."""
    prefix = "" if isinstance(error, TextsobolError) else "error: "
    _print(replace_controls(Redaction()(prefix + name_error(error))), "red")
    raise typer.Exit(_COULD_NOT_EXPLAIN)


def _print(message: str, style: str) -> None:
    """Print one line on standard error."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(message, style=style, markup=False)
