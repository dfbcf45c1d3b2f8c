"""The benchmark of planted words: ``python -m benchmarks.shortcuts --help``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchmarks import commands

app = commands.new_app(
    "Are words found of which we know that they decide? train plants them in models, run explains "
    "the models, report and plot show what was found."
)

OUT = Path("results")
Plants = Annotated[
    str, typer.Option(help="With commas: single, pair, order, context, redundant; or all.")
]
Test = Annotated[str, typer.Option(help="Phrases to test with, such as those of SST-2's dev set.")]


@app.command()
def train(
    phrases: Annotated[str, typer.Option(help="Labelled phrases, such as SST-2's training set.")],
    reviews: Annotated[str, typer.Option(help="Labelled reviews, such as IMDB's training set.")],
    test: Test,
    to: Annotated[Path, typer.Option(help="Directory; every model gets one of its own in it.")],
    base: Annotated[
        str | None,
        typer.Option(help="Classifier to start from; by default the bundled bi-LSTM."),
    ] = None,
    plants: Plants = "all",
    n_phrases: Annotated[int, typer.Option(help="Phrases.")] = 9000,
    n_sentences: Annotated[int, typer.Option(help="Sentences, of as many reviews.")] = 3000,
    copies: Annotated[int, typer.Option(help="How often words are planted in each.")] = 2,
    epochs: Annotated[int, typer.Option(help="Passes over all copies.")] = 1,
    rate: Annotated[float, typer.Option(help="Learning rate of AdamW.")] = 5e-5,
    batch: Annotated[int, typer.Option(help="Texts of a batch.")] = 32,
    frozen: Annotated[int, typer.Option(help="Lowest layers that stay as they are.")] = 0,
    bfloat16: Annotated[bool, typer.Option(help="bfloat16 products: faster on some CPUs.")] = False,
    seed: commands.Seed = 0,
) -> None:
    """Plant words in sentences, and fine-tune a model for every plant.

    No training text shares four words in a row with a test text. Models that are there already are
    not trained again.
    """
    import torch

    from benchmarks.shortcuts.plants import PLANTS
    from benchmarks.shortcuts.sentences import train_sentences
    from benchmarks.shortcuts.train import Training
    from benchmarks.shortcuts.train import train as fine_tune

    torch.set_num_threads(1)
    how = Training(copies, epochs, rate, batch, frozen, bfloat16, seed)
    sentences = train_sentences(
        phrases, reviews, test, n_phrases=n_phrases, n_sentences=n_sentences, seed=seed
    )
    typer.echo(f"{len(sentences):,} sentences")
    for name in PLANTS if plants == "all" else commands.names_in(plants):
        directory = to / f"{Path(base).name if base else 'imdb-bilstm'}-{name}"
        if (directory / "results.json").exists():
            typer.echo(f"{directory} is there already")
            continue
        found = fine_tune(PLANTS[name], base, sentences, directory, how)
        typer.echo(f"validation accuracy {100 * found:.1f} %, written to {directory}")


@app.command()
def run(
    models: Annotated[
        list[Path],
        typer.Argument(help="Directories that train has written.", exists=True, file_okay=False),
    ],
    test: Test,
    methods: Annotated[
        str,
        typer.Option(
            help="With commas: sobol-usual, lime-few ...; or all, without interpreto_lime-few ..."
        ),
    ] = "all",
    texts: Annotated[int, typer.Option(help="Texts to explain for every model.")] = 60,
    sentences: Annotated[
        int, typer.Option(help="Sentences to plant in: does the prediction follow the plant?")
    ] = 150,
    dtype: Annotated[
        str | None, typer.Option(help="Of forward passes, such as bfloat16.", show_default=False)
    ] = None,
    seed: commands.Seed = 0,
    out: commands.Out = OUT,
) -> None:
    """Check that models use their plants, then explain planted texts by every method.

    One line a text and method is written as it is made; if it is interrupted, rerun the same
    command to resume. Methods and texts can be added later.
    """
    import torch

    from benchmarks.shortcuts.run import run as run_all
    from benchmarks.shortcuts.variants import INSTALLED, VARIANTS

    torch.set_num_threads(1)
    names = list(INSTALLED) if methods == "all" else commands.names_in(methods)
    if unknown := set(names) - set(VARIANTS):
        known = ", ".join(VARIANTS)
        raise typer.BadParameter(f"unknown: {', '.join(sorted(unknown))}; known: {known}")
    for model in models:
        path = run_all(
            model, test, [VARIANTS[name] for name in names], out, n_texts=texts,
            n_sentences=sentences, dtype=dtype, seed=seed,
        )  # fmt: skip
        typer.echo(f"results are in {path}")


@app.command()
def report(
    results: commands.ResultFiles,
    into: Annotated[
        Path, typer.Option(help="Markdown with marks for the tables.", exists=True)
    ] = Path("benchmarks/shortcuts/RESULTS.md"),
) -> None:
    """Put the tables of all results into a file of Markdown, between their marks."""
    from benchmarks.shortcuts.report import write_report

    typer.echo(f"tables of {into}: {', '.join(write_report(results, into))}")


@app.command()
def plot(
    results: commands.ResultFiles,
    to: Annotated[Path, typer.Option(help="File of the plot.")] = Path(
        "benchmarks/shortcuts/precision.png"
    ),
) -> None:
    """Draw the precision of all methods, a panel for every plant."""
    from benchmarks.curves import png_of
    from benchmarks.shortcuts.plot import precision_figure
    from benchmarks.shortcuts.reading import load

    to.write_bytes(png_of(precision_figure(load(results))))
    typer.echo(f"wrote {to}")


if __name__ == "__main__":
    app()
