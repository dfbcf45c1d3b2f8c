"""The benchmark of held-out masks: ``python -m benchmarks.heldout --help``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchmarks import commands

app = commands.new_app(
    "How well do scores predict the model on masks that were not used, and how near are they to "
    "converged values? Run for every model and file of texts; report makes the tables."
)


@app.command()
def run(
    data: Annotated[
        str,
        typer.Option(
            help="JSON lines, CSV or Parquet: text or review, or first and second of pairs; and "
            "label or sentiment."
        ),
    ],
    name: Annotated[str, typer.Option(help="What the texts are called in tables.")],
    model: Annotated[
        str | None,
        typer.Option(
            help="Directory or hub id; without it, the bundled bi-LSTM.", show_default=False
        ),
    ] = None,
    limit: Annotated[int, typer.Option(help="Number of texts.")] = 20,
    min_words: Annotated[int, typer.Option(help="Words of the shortest text.")] = 8,
    max_words: Annotated[int, typer.Option(help="Words of the longest text.")] = 60,
    last: Annotated[
        int, typer.Option(help="Only the last texts of the file, as training left them out.")
    ] = 0,
    methods: Annotated[str, typer.Option(help="With commas; or all.")] = "all",
    passes: Annotated[str, typer.Option(help="Forward passes a word, with commas.")] = (
        "1,2,4,8,16,32"
    ),
    masks: Annotated[int, typer.Option(help="Fresh masks of every kind.")] = 500,
    base_masks: Annotated[
        int, typer.Option(help="Of the truth; texts with few masks are enumerated.")
    ] = 512,
    seed: commands.Seed = 0,
    out: commands.Out = Path("results"),
) -> None:
    """Explain texts by every method and predict masks.

    Every result is written as it is made; if it is interrupted, rerun the same command to resume.
    """
    from benchmarks.heldout.data import read_texts, settings_of
    from benchmarks.heldout.run import KEY
    from benchmarks.heldout.run import run as run_all
    from benchmarks.heldout.ways import all_names, ways
    from benchmarks.store import Store
    from textsobol import TextExplainer

    explainer = TextExplainer(model, progress=False)
    items = read_texts(data, seed=seed, min_words=min_words, max_words=max_words, last=last)
    asked = ways(
        all_names() if methods == "all" else commands.names_in(methods),
        commands.numbers_in(passes),
    )
    settings = settings_of(
        explainer, "benchmarks.heldout", data, items, seed,
        name=name, min_words=min_words, max_words=max_words, masks=masks, base_masks=base_masks,
    )  # fmt: skip
    path = out / f"{explainer.name}.{name}.jsonl"
    with Store(path, settings, KEY) as store:
        n_added = run_all(
            explainer, items[:limit], asked, store, model=explainer.name, seed=seed,
            n_masks=masks, base_masks=base_masks,
        )  # fmt: skip
        typer.echo(f"{n_added} results added to {path}, {len(store.done)} in all")


@app.command()
def pairs(
    data: Annotated[str, typer.Option(help="JSON lines, CSV or Parquet: text and label.")],
    out: Annotated[Path, typer.Option(help="The pairs, as JSON lines.")] = Path("pairs.jsonl"),
    held_out: Annotated[
        int, typer.Option(help="Pairs at the end that share no item with those before.")
    ] = 500,
    seed: commands.Seed = 0,
) -> None:
    """Make pairs of texts: the first sentence of an item, and the rest of the same or another.

    For train_transformer of benchmarks.imdb (--labels other,same), and for run.
    """
    from benchmarks.heldout.data import read_texts
    from benchmarks.heldout.pairs import write_pairs

    n_pairs = write_pairs(read_texts(data, seed=seed), out, held_out=held_out, seed=seed)
    typer.echo(f"wrote {n_pairs:,} pairs to {out}, of which {held_out:,} are held out")


@app.command()
def report(
    results: commands.ResultFiles,
    out: Annotated[Path, typer.Option(help="Directory of RESULTS.md.")] = Path("report"),
) -> None:
    """Write RESULTS.md: who is first, and every measure of every method and model."""
    from benchmarks.heldout.report import write_report

    write_report(results, out)
    commands.tell_what_is_in(out)


@app.command()
def plot(
    results: commands.ResultFiles,
    out: Annotated[Path, typer.Option(help="The picture.")] = Path("heldout.png"),
) -> None:
    """Draw R² of fresh masks against forward passes a word, a panel for every model."""
    from benchmarks.heldout.report import draw

    out.write_bytes(draw(results))
    typer.echo(f"wrote {out}")


if __name__ == "__main__":
    app()
