"""Agreement with people: ``python -m benchmarks.people --help``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchmarks import commands

app = commands.new_app(
    "Do explanations mark what people mark? run explains texts with marked evidence; report makes "
    "the tables. To train a toxicity classifier: sentences, then benchmarks.imdb.train_bilstm."
)
OUT = Path("results")


@app.command()
def sentences(
    data: Annotated[Path, typer.Option(help="Posts of toxic spans: JSON lines, .gz or not.")],
    to: Annotated[Path, typer.Option(help="JSON lines with the columns text and label.")],
    seed: commands.Seed = 0,
) -> None:
    """Write sentences to train a toxicity classifier on: toxic if a marked span touches them."""
    from benchmarks.people.texts import write_sentences

    typer.echo(f"{write_sentences(data, to, seed=seed):,} sentences written to {to}")


@app.command()
def run(
    data: Annotated[Path, typer.Option(help="Texts with marked evidence: JSON lines, .gz or not.")],
    task: Annotated[str, typer.Option(help="What the table calls it, such as movies.")],
    model: Annotated[
        str | None,
        typer.Option(help="Directory; without it, the bundled bi-LSTM.", show_default=False),
    ] = None,
    longest: Annotated[
        int | None, typer.Option(help="Words; longer texts are left out.", show_default=False)
    ] = None,
    limit: commands.Limit = None,
    seed: commands.Seed = 0,
    out: commands.Out = OUT,
) -> None:
    """Explain the texts that the model gets right by every method, and compare with people.

    Every result is written as it is made; if it is interrupted, rerun the same command to resume.
    """
    import warnings

    import torch

    from benchmarks.people import run as measured
    from benchmarks.people.texts import read_marked
    from benchmarks.provenance import command_of, versions_of, weights_of, without_place
    from benchmarks.store import Store
    from textsobol import TextExplainer

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # some texts are longer than the window
    explainer = TextExplainer(model, progress=False)
    texts = read_marked(data, seed=seed, longest=longest)
    rate = measured.annotators_rate(texts)
    settings = {
        "task": task, "model": explainer.name, "weights": weights_of(explainer.model),
        "precision": str(next(explainer.model.parameters()).dtype).removeprefix("torch."),
        "data": without_place(str(data)), "longest": longest, "rate": round(rate, 5), "seed": seed,
        "versions": versions_of(["textsobol", "torch", "transformers", "lime", "shap", "captum"]),
        "_command": command_of("benchmarks.people"),
    }  # fmt: skip
    with Store(out / f"{task}-{explainer.name}.jsonl", settings, measured.KEY) as store:
        measured.run(
            explainer, texts[:limit], measured.VARIANTS, store, task=task, rate=rate, seed=seed
        )


@app.command()
def report(
    out: commands.Out = OUT,
    into: Annotated[
        Path, typer.Option(help="Markdown with marks for the tables.", exists=True)
    ] = Path("benchmarks/people/RESULTS.md"),
) -> None:
    """Put the tables of all results into a file of Markdown, between their marks."""
    from benchmarks.people.report import make_tables
    from benchmarks.tables import fill_marks

    typer.echo(f"tables of {into}: {', '.join(fill_marks(into, make_tables(out)))}")


if __name__ == "__main__":
    app()
