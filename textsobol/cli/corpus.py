"""``textsobol corpus`` and ``textsobol report``: many texts."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from textsobol.cli.options import CallOptions, DryRun, ModelOptions, Quiet, SobolOptions
from textsobol.cli.output import EXPECTED, check_suffix, fail, note, print_estimate, report_warnings
from textsobol.cli.prompts import PromptOptions

SOME_FAILED = 3
"""Exit code if the job finished, but some texts failed."""
_STOPPED = 130
_RAY = "Ray"


def corpus(
    *,
    source: Annotated[
        str,
        typer.Argument(
            help="A file of texts (Parquet, CSV, JSON lines), a directory of such files, or the "
            "hub id of a data set."
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="Directory for the results; rerun the same command to resume.")
    ],
    column: Annotated[str, typer.Option(help="Column with the texts.")] = "text",
    pair_column: Annotated[
        str | None, typer.Option(help="Column of the second text, for pairs.", show_default=False)
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option(
            help="Column with unique ids. By default texts are numbered.", show_default=False
        ),
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="Split of a hub data set.", show_default=False)
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(help="Number of texts to explain, from the first.", show_default=False),
    ] = None,
    shard_size: Annotated[
        int | None,
        typer.Option(
            help="Texts per output file (shard), by default up to 128. They share batches; an "
            "interrupted job loses at most one shard.",
            show_default=False,
        ),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Redo the shards in which a text failed.")
    ] = False,
    call: CallOptions,
    model: ModelOptions,
    prompt: PromptOptions,
    sobol: SobolOptions,
    engine: Annotated[
        str,
        typer.Option(
            help="local, or ray: use several processes or machines.",
            rich_help_panel=_RAY,
        ),
    ] = "local",
    actors: Annotated[
        int, typer.Option(help="Processes, each with a copy of the model.", rich_help_panel=_RAY)
    ] = 2,
    gpus_per_actor: Annotated[
        float, typer.Option(help="GPUs per process; may be a fraction.", rich_help_panel=_RAY)
    ] = 0.0,
    address: Annotated[
        str | None,
        typer.Option(
            help="Address of a running cluster. By default Ray is started here.",
            show_default=False,
            rich_help_panel=_RAY,
        ),
    ] = None,
    dry_run: DryRun = False,
    quiet: Quiet = False,
) -> None:
    """Explain many texts and write the results to a directory, for textsobol report.

    If the job is interrupted, rerun the same command to resume. A text that fails is recorded with
    its error; the job continues.

    For example:

    textsobol corpus reviews.parquet --column text --out explained/ --dry-run

    textsobol corpus reviews.parquet --column text --out explained/

    textsobol report explained/ --html report.html
    """
    start = time.monotonic()
    try:
        from textsobol.corpus import estimate_corpus, explain_corpus
        from textsobol.corpus.memory import limit_allocator_caches
        from textsobol.provenance import files_of

        limit_allocator_caches()
        arguments = call.make_arguments(sobol)
        files_of(source)  # before the model, which takes longer
        with report_warnings(quiet=quiet):
            explainer = model.make_explainer(prompt, quiet=quiet)
            texts: dict[str, Any] = {
                "column": column, "pair_column": pair_column, "id_column": id_column,
                "split": split, "limit": limit,
            }  # fmt: skip
            if dry_run:
                print_estimate(estimate_corpus(explainer, source, **texts, **arguments))
                return
            found = explain_corpus(
                explainer, source, out=out, **texts,
                shard_size=shard_size, retry_failed=retry_failed, engine=engine, actors=actors,
                gpus_per_actor=gpus_per_actor, address=address, **arguments,
            )  # fmt: skip
    except EXPECTED as error:
        fail(error)
    except KeyboardInterrupt:
        note(f"stopped; finished shards are in {out}; rerun the same command to resume")
        raise typer.Exit(_STOPPED) from None
    from textsobol.progress import format_duration

    n_explained = found.texts - found.failed
    message = f"explained {n_explained:,} of {found.texts:,} texts in {found.directory}"
    if found.outside:
        message += f"; {found.outside:,} are longer than the model's window (--long window)"
    if found.failed:
        name, reason = next(found.failures())
        message += f"; {found.failed:,} failed, see their column 'error'; {name!r}: {reason}"
    note(f"{message} ({format_duration(time.monotonic() - start)})")
    if found.failed:
        raise typer.Exit(SOME_FAILED)


def report(
    directory: Annotated[
        Path, typer.Argument(help="Output directory of textsobol corpus.", exists=True)
    ],
    html: Annotated[
        Path | None,
        typer.Option(help="Write an HTML page: words, phrases and some texts.", show_default=False),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(help="Write all words and phrases as CSV.", show_default=False)
    ] = None,
    parquet: Annotated[
        Path | None, typer.Option(help="Write them to a Parquet file.", show_default=False)
    ] = None,
    texts: Annotated[int, typer.Option(help="Texts on the page, sampled at random.", min=1)] = 200,
    min_texts: Annotated[
        int | None,
        typer.Option(
            help="List words and phrases in at least this many texts. By default 2, or 1 in 1,000.",
            show_default=False,
            min=1,
        ),
    ] = None,
    top: Annotated[int, typer.Option(help="Words and phrases to list for each label.")] = 10,
    quiet: Quiet = False,
) -> None:
    """Show the words and phrases that push to each label, over all explained texts.

    For example:

    textsobol report explained/ --html report.html --csv words.csv
    """
    check_suffix("--html", html, (".html",))
    check_suffix("--csv", csv, (".csv",))
    check_suffix("--parquet", parquet, (".parquet",))
    try:
        from textsobol.corpus.results import read_explanations
        from textsobol.corpus.view import corpus_view, read_sample, save_words
        from textsobol.files import write_text
        from textsobol.render.terminal_corpus import show_corpus

        found = read_explanations(directory)
        view = corpus_view(found, sample=texts if html else 0, least_texts=min_texts)
        if not view.texts:
            why = "" if found.is_finished else " yet: the job is not finished"
            raise ValueError(f"{directory} holds no explained text{why}")
        if html is not None:
            from textsobol.render.report import render_report

            write_text(html, render_report(read_sample(found, view), view=view))
        for path in filter(None, (csv, parquet)):
            save_words([*view.words, *view.phrases], path)
    except EXPECTED as error:
        fail(error)
    show_corpus(view, Console(), top=top)
    if not found.is_finished:
        note("the job is not finished; this covers the texts so far", quiet=quiet)
    for path in filter(None, (html, csv, parquet)):
        note(f"wrote {path}", quiet=quiet)
