"""The prompt benchmark: ``python -m benchmarks.prompts --help``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchmarks import commands

app = commands.new_app(
    "A language model classifies sentences by a prompt. How often is it right, and are "
    "explanations of it faithful?"
)

Model = Annotated[str, typer.Option(help="Directory or hub id of a language model.")]
Data = Annotated[str, typer.Option(help="Hub id, or a JSON lines, CSV or Parquet file.")]
Sentences = Annotated[int, typer.Option(help="Number of sentences.")]
MinWords = Annotated[int, typer.Option(help="Fewest words of a sentence.")]
MaxWords = Annotated[int, typer.Option(help="Most words of a sentence.")]
Dtype = Annotated[str | None, typer.Option(help="Run the model in it.", show_default=False)]


@app.command()
def run(
    model: Model,
    data: Data,
    prompt: Annotated[str, typer.Option(help="Name of the prompt.")] = "14 examples",
    rows_per_word: Annotated[
        str, typer.Option(help="Passes for each word, with commas, where one can choose.")
    ] = "4",
    sentences: Sentences = 100,
    min_words: MinWords = 8,
    max_words: MaxWords = 20,
    dtype: Dtype = None,
    seed: commands.Seed = 0,
    out: commands.Out = Path("results"),
) -> None:
    """Explain sentences in every way and measure the explanations.

    One line a sentence and method is written as it is made; if it is interrupted, rerun the same
    command to resume.
    """
    from benchmarks.imdb.data import reviews
    from benchmarks.prompts.run import KEY, all_ways, settings_of
    from benchmarks.prompts.run import run as run_all
    from benchmarks.prompts.templates import all_prompts
    from benchmarks.store import Store
    from textsobol import TextExplainer

    chosen = all_prompts()[prompt]
    explainer = TextExplainer(model, prompt=chosen, dtype=dtype, progress=False)
    words = (min_words, max_words)
    every = reviews(data, seed=seed, min_words=min_words, max_words=max_words)
    settings = settings_of(explainer, data, every, [chosen], seed=seed, words=words)
    path = out / f"{explainer.name}.jsonl"
    with Store(path, settings, KEY) as store:
        asked = all_ways(commands.numbers_in(rows_per_word))
        n_added = run_all(explainer, every[:sentences], asked, store, seed=seed)
        typer.echo(f"{n_added} results added to {path}, {len(store.done)} in all")


@app.command()
def accuracy(
    model: Model,
    data: Data,
    sentences: Sentences = 100,
    min_words: MinWords = 8,
    max_words: MaxWords = 20,
    dtype: Dtype = None,
    seed: commands.Seed = 0,
    out: commands.Out = Path("results"),
) -> None:
    """How often is each of the prompts right? Resumable like run, on the same sentences."""
    from benchmarks.imdb.data import reviews
    from benchmarks.prompts.report import accuracy_table
    from benchmarks.prompts.run import ACCURACY_KEY, measure_accuracy, settings_of
    from benchmarks.prompts.templates import all_prompts
    from benchmarks.store import Store
    from textsobol import TextExplainer

    prompts = all_prompts()
    every = reviews(data, seed=seed, min_words=min_words, max_words=max_words)
    loaded = TextExplainer(model, prompt=prompts["no examples"], dtype=dtype, progress=False)
    path = out / f"{loaded.name}.accuracy.jsonl"
    settings = settings_of(loaded, data, every, list(prompts.values()), seed=seed,
                           words=(min_words, max_words))  # fmt: skip
    with Store(path, settings, ACCURACY_KEY) as store:
        for name, prompt in prompts.items():
            explainer = TextExplainer(model, prompt=prompt, dtype=dtype, progress=False)
            measure_accuracy(explainer, name, every[:sentences], store)
    typer.echo(accuracy_table(path))


@app.command()
def report(results: commands.ResultFiles, out: commands.ReportOut = Path("report")) -> None:
    """Make tables (Markdown, CSV) and a page of what run has written."""
    from benchmarks.prompts.report import write_report

    write_report(results, out)
    commands.tell_what_is_in(out)


if __name__ == "__main__":
    app()
