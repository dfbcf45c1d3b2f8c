"""``textsobol explain --out`` and ``textsobol report``: many texts."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from textsobol.cli.output import EXPECTED, fail, hush_transformers, tell, told_warnings

SOME_FAILED = 3
"""Exit code of a job that is finished, but could not explain all texts."""

Out = Annotated[
    Path | None,
    typer.Option(
        help="Explain many texts, into this directory; the same command goes on after a kill.",
        show_default=False,
        rich_help_panel="Many texts",
    ),
]
Column = Annotated[str, typer.Option(help="Column of the texts.", rich_help_panel="Many texts")]
PairColumn = Annotated[
    str | None,
    typer.Option(
        help="Column of the second texts, of pairs.",
        show_default=False,
        rich_help_panel="Many texts",
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        help="Column of ids, all different. By default texts are numbered.",
        show_default=False,
        rich_help_panel="Many texts",
    ),
]
Split = Annotated[
    str | None,
    typer.Option(help="Split of a hub data set.", show_default=False, rich_help_panel="Many texts"),
]
Limit = Annotated[
    int | None,
    typer.Option(
        help="Only so many texts, the first ones.",
        show_default=False,
        rich_help_panel="Many texts",
    ),
]
ShardSize = Annotated[
    int,
    typer.Option(
        help="Texts of one file; they fill batches together.", rich_help_panel="Many texts"
    ),
]
RetryFailed = Annotated[
    bool,
    typer.Option(
        "--retry-failed",
        help="Make files again in which a text failed.",
        rich_help_panel="Many texts",
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        help="local, or ray to share the work out over processes and machines.",
        rich_help_panel="Many texts",
    ),
]
Actors = Annotated[
    int,
    typer.Option(help="Of Ray: processes, each with the model.", rich_help_panel="Many texts"),
]
GpusPerActor = Annotated[
    float,
    typer.Option(help="Of Ray: GPUs of each, or a share of one.", rich_help_panel="Many texts"),
]
Address = Annotated[
    str | None,
    typer.Option(
        help="Of Ray: a running cluster. By default Ray is started here.",
        show_default=False,
        rich_help_panel="Many texts",
    ),
]


def check_alone(asked: Mapping[str, Any]) -> None:
    """Refuse what only one text can have."""
    for option, value in asked.items():
        if value:
            raise typer.BadParameter(
                f"{option} is for one text; after --out, textsobol report makes a page of many"
            )


def check_is_one_text(text: str | None) -> None:
    """A table is not a text."""
    from textsobol.corpus.names import format_of

    if text and format_of(text) is not None and not any(map(str.isspace, text)):
        raise typer.BadParameter(f"{text} holds many texts: give --out DIRECTORY, too")


def explain_many(
    source: str | None, making: dict[str, Any], asking: dict[str, Any], *, quiet: bool
) -> None:
    """Run a job, and tell how it ended."""
    if not source:
        raise typer.BadParameter("--out needs a file of texts, a directory of such, or a hub id")
    start = time.monotonic()
    try:
        hush_transformers()
        from textsobol.text.explainer import TextExplainer

        with told_warnings(quiet=quiet):
            explainer = TextExplainer(making.pop("model"), progress=not quiet, **making)
            found = explainer.dataset(source, **asking)
    except EXPECTED as error:
        fail(error)
    except KeyboardInterrupt:
        _stopped(asking["out"])
    from textsobol.corpus.progress import duration

    n_explained = found.texts - found.failed
    said = f"explained {n_explained:,} of {found.texts:,} texts in {found.directory}"
    if found.outside:
        said += f"; {found.outside:,} are longer than the model's window"
    if found.failed:
        name, reason = next(found.failures())
        said += f"; {found.failed:,} failed, see the column error: {name!r} says {reason}"
    tell(f"{said} ({duration(time.monotonic() - start)})", quiet=False)
    if found.failed:
        raise typer.Exit(SOME_FAILED)


def _stopped(out: Path) -> NoReturn:
    tell(f"stopped; what is finished is in {out}, and the same command goes on", quiet=False)
    raise typer.Exit(130)
