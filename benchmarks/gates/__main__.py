"""The benchmark of gate gradients: ``python -m benchmarks.gates --help``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmarks import commands

if TYPE_CHECKING:
    from benchmarks.gates.data import Length
    from benchmarks.imdb.data import Review
    from textsobol import TextExplainer

app = commands.new_app(
    "What do gate gradients gain? Begin with truth (long), then run; report makes the tables."
)

Model = Annotated[
    str | None,
    typer.Option(help="Directory or hub id; without it, the bundled bi-LSTM.", show_default=False),
]
Data = Annotated[str, typer.Option(help="Hub id, or a JSON lines, CSV or Parquet file.")]
Limit = Annotated[
    int | None,
    typer.Option(help="Only so many reviews of each length: a smoke run.", show_default=False),
]
HUB_ID = "stanfordnlp/imdb"
OUT = Path("results")


@app.command()
def truth(
    model: Model = None,
    data: Data = HUB_ID,
    limit: Limit = None,
    seed: commands.Seed = 0,
    out: commands.Out = OUT,
) -> None:
    """Find converged indices by many flips, of another seed.

    Every review is written as it is done; killed at any moment, the same command goes on.
    """
    from benchmarks.gates.data import SMALL_TRUTH_MASKS, interleave, length_of
    from benchmarks.imdb import intervals
    from benchmarks.store import Store

    explainer, chosen, settings = _opened(model, data, limit, seed)
    wanted = [
        some[: length.n_truth if model else length.n_small] for length, some in chosen.items()
    ]
    with Store(out / f"{explainer.name}.truth.jsonl", settings, intervals.KEY) as store:
        for review in interleave(wanted):
            masks = length_of(review.n_words).truth_masks if model else SMALL_TRUTH_MASKS
            intervals.find_truth(
                explainer, [review], store, model=explainer.name, seed=seed, base_masks=masks
            )


@app.command()
def run(
    model: Model = None,
    data: Data = HUB_ID,
    methods: Annotated[
        str, typer.Option(help="With commas: gates, sobol, sobol-before, flip-4 ...; or all.")
    ] = "all",
    limit: Limit = None,
    seed: commands.Seed = 0,
    out: commands.Out = OUT,
) -> None:
    """Explain reviews by every method and measure the explanations.

    All methods of a review run one after the other, in random order, on one thread. Every result is
    written as it is made; killed at any moment, the same command goes on.
    """
    from benchmarks.gates.data import interleave
    from benchmarks.gates.run import KEY, VARIANTS
    from benchmarks.gates.run import run as run_all
    from benchmarks.store import Store

    explainer, chosen, settings = _opened(model, data, limit, seed)
    wanted = [
        some[: length.n_large if model else length.n_small] for length, some in chosen.items()
    ]
    names = [v.name for v in VARIANTS] if methods == "all" else commands.names_in(methods)
    if unknown := set(names) - {variant.name for variant in VARIANTS}:
        raise typer.BadParameter(f"unknown: {', '.join(sorted(unknown))}")
    variants = [variant for variant in VARIANTS if variant.name in names]
    path = out / f"{explainer.name}.jsonl"
    with Store(path, settings, KEY) as store:
        n_added = run_all(
            explainer, interleave(wanted), variants, store, model=explainer.name, seed=seed
        )
        typer.echo(f"{n_added} results added to {path}, {len(store.done)} in all")


def _opened(
    model: str | None, data: str, limit: int | None, seed: int
) -> tuple[TextExplainer, dict[Length, list[Review]], dict[str, object]]:
    """The explainer, the reviews of every length, and what results have in common."""
    import warnings

    import torch

    from benchmarks.gates.data import choose_reviews, find_used, settings_of
    from textsobol import TextExplainer

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # some reviews are longer than the window
    explainer = TextExplainer(model, progress=False)
    chosen = choose_reviews(data, seed=seed, used=find_used())
    every = [one for some in chosen.values() for one in some]
    settings = dict(settings_of(explainer, data, every, seed))
    return explainer, {length: some[:limit] for length, some in chosen.items()}, settings


@app.command()
def report(out: commands.Out = OUT) -> None:
    """Make the tables."""


if __name__ == "__main__":
    app()
