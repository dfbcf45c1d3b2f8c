"""The IMDB word-deletion benchmark: ``python -m benchmarks.imdb --help``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmarks import commands

if TYPE_CHECKING:
    from benchmarks.imdb.data import Review
    from benchmarks.store import Store
    from textsobol import TextExplainer

app = commands.new_app(
    "Are explanations faithful? Delete the words that they name, and look at the model."
)

Model = Annotated[
    str | None,
    typer.Option(help="Directory or hub id; without it, the bundled bi-LSTM.", show_default=False),
]
Data = Annotated[str, typer.Option(help="Hub id, or a JSON lines, CSV or Parquet file.")]
Reviews = Annotated[int, typer.Option(help="Number of test reviews.")]
MaxWords = Annotated[int, typer.Option(help="Most words of a review.")]
HUB_ID = "stanfordnlp/imdb"


@app.command()
def run(
    model: Model = None,
    data: Data = HUB_ID,
    methods: Annotated[
        str, typer.Option(help="With commas: flip, jansen, occlusion, lime ...; or all.")
    ] = "all",
    keep: Annotated[str, typer.Option(help="Keep rates of flip and jansen, with commas.")] = "0.5",
    rows_per_word: Annotated[
        str, typer.Option(help="Forward passes for each word, with commas, where one can choose.")
    ] = "4",
    reviews: Reviews = 1000,
    max_words: MaxWords = 200,
    limit: commands.Limit = None,
    seed: commands.Seed = 0,
    out: commands.Out = Path("results"),
) -> None:
    """Explain reviews in every way and measure the explanations.

    One line a review and method is written as it is made; if it is interrupted, rerun the same
    command to resume. More methods, keep rates and reviews can be added later.
    """
    from benchmarks.imdb.run import KEY
    from benchmarks.imdb.run import run as run_all
    from benchmarks.imdb.ways import all_names, ways
    from textsobol import TextExplainer

    names = all_names() if methods == "all" else commands.names_in(methods)
    asked = ways(
        names,
        keep=[float(rate) for rate in commands.names_in(keep)],
        rows_per_word=commands.numbers_in(rows_per_word),
    )
    explainer = TextExplainer(model, progress=False)
    path = out / f"{explainer.name}.jsonl"
    everything, store = _opened(path, explainer, data, seed, max_words, KEY)
    chosen = everything[: reviews if limit is None else limit]
    with store:
        n_added = run_all(explainer, chosen, asked, store, model=explainer.name, seed=seed)
        typer.echo(f"{n_added} results added to {path}, {len(store.done)} in all")


@app.command()
def interpreto(
    model: Model = None,
    data: Data = HUB_ID,
    methods: Annotated[
        str, typer.Option(help="With commas.")
    ] = "interpreto_sobol,interpreto_lime,interpreto_kernel_shap",
    rows_per_word: Annotated[
        str, typer.Option(help="Base masks of Sobol, samples for each word of others, with commas.")
    ] = "4",
    reviews: Reviews = 1000,
    max_words: MaxWords = 200,
    limit: commands.Limit = None,
    seed: commands.Seed = 0,
    out: commands.Out = Path("results"),
) -> None:
    """The same for interpreto, which has words and masks of its own.

    Its results go into a file beside that of run; report reads both. It need not be installed
    together with all others: pip install -c constraints.txt ".[bench]" interpreto.
    """
    from benchmarks.imdb.interpreto import run as run_all
    from benchmarks.imdb.interpreto import ways
    from benchmarks.imdb.run import KEY
    from textsobol import TextExplainer

    asked = ways(commands.names_in(methods), commands.numbers_in(rows_per_word))
    explainer = TextExplainer(model, progress=False)
    path = out / f"{explainer.name}.interpreto.jsonl"
    everything, store = _opened(path, explainer, data, seed, max_words, KEY, "interpreto")
    chosen = everything[: reviews if limit is None else limit]
    with store:
        name = explainer.name
        n_added = run_all(explainer, model, chosen, asked, store, model=name, seed=seed)
        typer.echo(f"{n_added} results added to {path}, {len(store.done)} in all")


def _opened(
    path: Path,
    explainer: TextExplainer,
    data: str,
    seed: int,
    max_words: int,
    key: tuple[str, ...],
    *packages: str,
) -> tuple[list[Review], Store]:
    """All reviews that can be chosen, in their order, and the store of what is made of them.

    Packages are those that matter beside the usual ones.
    """
    from benchmarks.imdb.data import reviews
    from benchmarks.imdb.run import settings_of
    from benchmarks.store import Store

    everything = reviews(data, seed=seed, max_words=max_words)
    settings = settings_of(explainer, data, everything, seed, max_words, packages)
    return everything, Store(path, settings, key)


@app.command()
def convergence(
    model: Model = None,
    data: Data = HUB_ID,
    reviews: Reviews = 40,
    max_words: MaxWords = 200,
    seed: commands.Seed = 0,
    out: commands.Out = Path("results"),
) -> None:
    """How many forward passes until an explanation stays the same? Ours against RISE."""
    from benchmarks.imdb.consistency import CONVERGENCE_CAPTION, convergence_rows
    from benchmarks.imdb.consistency import convergence as measure
    from benchmarks.tables import table_of_file
    from textsobol import TextExplainer

    explainer = TextExplainer(model, progress=False)
    path = out / f"{explainer.name}.convergence.jsonl"
    key = ("model", "method", "rows_per_word", "review")
    everything, store = _opened(path, explainer, data, seed, max_words, key)
    with store:
        measure(explainer, everything[:reviews], store, model=explainer.name, seed=seed)
    header = ["rows a word", "flip", "flip, five seeds", "RISE", "RISE, five seeds"]
    typer.echo(CONVERGENCE_CAPTION)
    typer.echo(table_of_file(path, header, convergence_rows))


@app.command()
def sanity(
    model: Model = None,
    data: Data = HUB_ID,
    reviews: Reviews = 20,
    max_words: MaxWords = 100,
    seed: commands.Seed = 0,
    out: commands.Out = Path("results"),
) -> None:
    """Do explanations change when the model's weights become random (Adebayo et al. 2018)?"""
    from benchmarks.consistency import SANITY_CAPTION, sanity_rows
    from benchmarks.imdb.consistency import sanity as measure
    from benchmarks.tables import table_of_file
    from textsobol import TextExplainer
    from textsobol.text.loading import load_model

    torch_model, tokenizer = load_model(model)
    explainer = TextExplainer(torch_model, tokenizer, progress=False)
    name = explainer.name
    path = out / f"{name}.sanity.jsonl"
    key = ("model", "stage", "review")
    everything, store = _opened(path, explainer, data, seed, max_words, key)
    chosen = everything[:reviews]
    with store:
        measure(explainer, torch_model, tokenizer, chosen, store, model=name, seed=seed)
    header = ["random from the output down to", "signed scores", "their sizes", "reviews"]
    typer.echo(SANITY_CAPTION)
    typer.echo(table_of_file(path, header, sanity_rows))


@app.command()
def seeds(
    model: Model = None,
    data: Data = HUB_ID,
    reviews: Reviews = 40,
    max_words: MaxWords = 200,
    seed: commands.Seed = 0,
    out: commands.Out = Path("results"),
) -> None:
    """How much do two seeds of the default agree on the strongest words?"""
    from benchmarks.imdb.seeds import CAPTION, HEADER, KEY, seeds_rows
    from benchmarks.imdb.seeds import seeds as measure
    from benchmarks.tables import table_of_file
    from textsobol import TextExplainer

    explainer = TextExplainer(model, progress=False)
    path = out / f"{explainer.name}.seeds.jsonl"
    everything, store = _opened(path, explainer, data, seed, max_words, KEY)
    with store:
        measure(explainer, everything[:reviews], store, model=explainer.name, seed=seed)
    typer.echo(CAPTION)
    typer.echo(table_of_file(path, HEADER, seeds_rows))


@app.command()
def intervals(
    model: Model = None,
    data: Data = HUB_ID,
    limit: Annotated[int, typer.Option(help="Number of test reviews.")] = 20,
    min_words: Annotated[int, typer.Option(help="Words of the shortest review.")] = 40,
    max_words: Annotated[int, typer.Option(help="Words of the longest review.")] = 250,
    base_masks: Annotated[int, typer.Option(help="Base masks of the truth.")] = 400,
    truth: Annotated[
        Path | None,
        typer.Option(help="File of the truth, made if it is not there; by default in --out."),
    ] = None,
    seed: commands.Seed = 0,
    out: commands.Out = Path("results"),
) -> None:
    """Do the 95 % intervals of default explanations hold the truth, and how wide are they?

    The truth comes from many base masks. To measure other intervals, give --truth the file that
    was made before and another --out.
    """
    from benchmarks.imdb import intervals as measured
    from benchmarks.imdb.data import reviews
    from benchmarks.imdb.run import settings_of
    from benchmarks.reporting import read_results
    from benchmarks.store import Store
    from benchmarks.tables import markdown
    from textsobol import TextExplainer

    explainer = TextExplainer(model, progress=False)
    name = explainer.name
    everything = reviews(data, seed=seed, min_words=min_words, max_words=max_words)
    chosen = measured.choose_reviews(everything, limit, min_words, max_words)
    settings = settings_of(explainer, data, everything, seed, max_words)
    truth = truth or out / f"{name}.truth.jsonl"
    path = out / f"{name}.intervals.jsonl"
    with Store(truth, {**settings, "base_masks": base_masks}, measured.KEY) as store:
        measured.find_truth(explainer, chosen, store, model=name, seed=seed, base_masks=base_masks)
    with Store(path, settings, measured.KEY) as store:
        measured.explain_by_default(explainer, chosen, store, model=name, seed=seed)
    ids = {review.id for review in chosen}
    truths, lines = (
        [line for line in read_results(file).lines if line["review"] in ids]
        for file in (truth, path)
    )
    typer.echo(measured.CAPTION)
    typer.echo(markdown(measured.HEADER, list(measured.intervals_rows(truths, lines))))


@app.command()
def league(results: commands.ResultFiles, out: commands.ReportOut = Path("league")) -> None:
    """Compare all methods at the same numbers of forward passes: tables, a plot, a page."""
    from benchmarks.imdb.league import write_league

    write_league(results, out)
    commands.tell_what_is_in(out)


@app.command()
def report(
    results: commands.ResultFiles,
    out: commands.ReportOut = Path("report"),
    draw: commands.Draw = "",
) -> None:
    """Make tables (Markdown, CSV), plots and a page of results."""
    from benchmarks.imdb.report import write_report

    write_report(results, out, commands.names_in(draw))
    commands.tell_what_is_in(out)


if __name__ == "__main__":
    app()
