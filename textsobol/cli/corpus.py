"""``textsobol explain --out`` and ``textsobol report``: many texts."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from textsobol.cli.options import Quiet
from textsobol.cli.output import (
    EXPECTED,
    check_suffix,
    fail,
    hush_transformers,
    tell,
    told_warnings,
)

SOME_FAILED = 3
"""Exit code of a job that is finished, but could not explain all texts."""

Out = Annotated[
    Path | None,
    typer.Option(
        help="Explain many texts, into this directory; rerun the same command to resume.",
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
    int | None,
    typer.Option(
        help="Texts of one file, by default up to 128. They fill batches together; what a kill "
        "costs is the file that was being made.",
        show_default=False,
        rich_help_panel="Many texts",
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
    from textsobol.provenance import format_of

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
        from textsobol.corpus.memory import limit_allocator_caches
        from textsobol.provenance import files_of

        limit_allocator_caches()
        files_of(source)  # before the model, which takes longer
        if isinstance(making["model"], str | None):  # a model elsewhere needs no library here
            hush_transformers()
        from textsobol.corpus import explain_corpus
        from textsobol.text.explainer import TextExplainer

        with told_warnings(quiet=quiet):
            explainer = TextExplainer(making.pop("model"), progress=not quiet, **making)
            found = explain_corpus(explainer, source, **asking)
    except EXPECTED as error:
        fail(error)
    except KeyboardInterrupt:
        _stopped(asking["out"])
    from textsobol.progress import duration

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


def report(
    directory: Annotated[
        Path, typer.Argument(help="What textsobol explain --out has written.", exists=True)
    ],
    html: Annotated[
        Path | None,
        typer.Option(help="Write a page: words, phrases and some texts.", show_default=False),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(help="Write all words and phrases as CSV.", show_default=False)
    ] = None,
    parquet: Annotated[
        Path | None, typer.Option(help="The same as Parquet.", show_default=False)
    ] = None,
    texts: Annotated[int, typer.Option(help="Texts on the page, sampled at random.", min=1)] = 200,
    min_texts: Annotated[
        int | None,
        typer.Option(
            help="Texts that a listed word or phrase must be in. By default 2, or one of 1,000.",
            show_default=False,
            min=1,
        ),
    ] = None,
    top: Annotated[int, typer.Option(help="Words and phrases to list for each label.")] = 10,
    quiet: Quiet = False,
) -> None:
    """The words and phrases that push to each label, over all texts that were explained.

    For example:

    textsobol report explained/ --html report.html --csv words.csv
    """
    check_suffix("--html", html, (".html",))
    check_suffix("--csv", csv, (".csv",))
    check_suffix("--parquet", parquet, (".parquet",))
    try:
        from textsobol.corpus.results import read_explanations
        from textsobol.corpus.view import corpus_view, read_sample, save_words
        from textsobol.render.terminal_corpus import show_corpus

        found = read_explanations(directory)
        view = corpus_view(found, sample=texts if html else 0, least_texts=min_texts)
        if not view.texts:
            why = "" if found.is_finished else " yet: the job is not finished"
            raise ValueError(f"{directory} holds no text that could be explained{why}")
        if html is not None:
            from textsobol.render.report import report_html

            page = report_html(read_sample(found, view), view=view)
            html.write_text(page, encoding="utf-8")
        for path in filter(None, (csv, parquet)):
            save_words([*view.words, *view.phrases], path)
    except EXPECTED as error:
        fail(error)
    show_corpus(view, Console(), top=top)
    if not found.is_finished:
        tell("the job is not finished: these are the texts so far", quiet=quiet)
    for path in filter(None, (html, csv, parquet)):
        tell(f"wrote {path}", quiet=quiet)


def _stopped(out: Path) -> NoReturn:
    tell(f"stopped; what is finished is in {out}, and the same command goes on", quiet=False)
    raise typer.Exit(130)
