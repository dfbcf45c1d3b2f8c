"""The benchmark of deletion by shares: ``python -m benchmarks.deletion --help``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchmarks import commands

app = commands.new_app(
    "What does the model say without 5, 10, 20 and 40 % of the words, in texts of natural length? "
    "Run for every model; report makes the tables."
)


@app.command()
def run(
    data: Annotated[
        str,
        typer.Option(help="JSON lines, CSV or Parquet: text or review, and label or sentiment."),
    ],
    model: Annotated[
        str | None,
        typer.Option(
            help="Directory or hub id; without it, the bundled bi-LSTM.", show_default=False
        ),
    ] = None,
    texts: Annotated[
        str,
        typer.Option(help="Texts of 20-60, 60-150, 150-300 and more words, with commas."),
    ] = "10,10,10,10",
    methods: Annotated[str, typer.Option(help="With commas; or all.")] = "all",
    passes: Annotated[int, typer.Option(help="Forward passes a word.")] = 4,
    seed: commands.Seed = 0,
    out: commands.Out = Path("results"),
) -> None:
    """Explain texts by every method, search bounds, and delete words.

    Every result is written as it is made; if it is interrupted, rerun the same command to resume.
    """
    from benchmarks.deletion.measures import DRAWS, SHARES
    from benchmarks.deletion.run import KEY, USUAL, choose_texts, ways
    from benchmarks.deletion.run import run as run_all
    from benchmarks.heldout.data import read_texts, settings_of
    from benchmarks.store import Store
    from textsobol import TextExplainer

    explainer = TextExplainer(model, progress=False)
    n_each = commands.numbers_in(texts)
    if len(n_each) != 4:
        raise typer.BadParameter(f"--texts {texts}: four numbers, one for every length")
    asked = ways(USUAL if methods == "all" else commands.names_in(methods), passes)
    settings = settings_of(
        explainer, "benchmarks.deletion", data, read_texts(data, seed=seed), seed,
        shares=SHARES, draws=DRAWS,
    )  # fmt: skip
    path = out / f"{explainer.name}.jsonl"
    chosen = choose_texts(data, seed=seed, n_each=n_each)
    with Store(path, settings, KEY) as store:
        n_added = run_all(explainer, chosen, asked, store, model=explainer.name, seed=seed)
        typer.echo(f"{n_added} results added to {path}, {len(store.done)} in all")


@app.command()
def report(
    results: commands.ResultFiles,
    out: Annotated[Path, typer.Option(help="Directory of RESULTS.md.")] = Path("report"),
) -> None:
    """Write RESULTS.md: attributions and searches between the bounds of every model."""
    from benchmarks.deletion.report import write_report

    write_report(results, out)
    commands.tell_what_is_in(out)


@app.command()
def plot(
    results: commands.ResultFiles,
    out: Annotated[Path, typer.Option(help="The picture.")] = Path("deletion.png"),
) -> None:
    """Draw the probability against the share of deleted words, a panel for every model."""
    from benchmarks.deletion.report import draw

    out.write_bytes(draw(results))
    typer.echo(f"wrote {out}")


if __name__ == "__main__":
    app()
