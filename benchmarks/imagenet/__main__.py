"""The ImageNet benchmark: ``python -m benchmarks.imagenet --help``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from benchmarks import commands

if TYPE_CHECKING:
    from benchmarks.imagenet.data import Photo
    from benchmarks.imagenet.run import Setup
    from benchmarks.store import Store

app = commands.new_app(
    "Are maps of photos faithful? Delete the pixels that they name, and look at the model."
)

ModelPlace = Annotated[str, typer.Option(help="efficientnet-lite0, or a transformers directory.")]
Data = Annotated[Path, typer.Option(help="Directory with labels.csv, classes.txt and images/.")]
Images = Annotated[int, typer.Option(help="Number of photos.", min=1)]
Grid = Annotated[str, typer.Option(help="Cells down and across, as 11x11.")]
Score = Annotated[
    str, typer.Option(help="What is analysed: output, logit (log-odds) or probability.")
]
Batch = Annotated[int, typer.Option(help="Pictures that are forwarded together.", min=1)]
Engine = Annotated[
    Literal["torch", "onnx"],
    typer.Option(help="What makes passes without gradients; ONNX Runtime is faster on a CPU."),
]
MODEL = "efficientnet-lite0"
SCORE = "output"  # the paper's: before softmax
BATCH = 4  # the fastest on a CPU; see `speed`


@app.command()
def run(
    data: Data,
    model: ModelPlace = MODEL,
    methods: Annotated[
        str, typer.Option(help="With commas: jansen (the paper's), flip, rise ...; or all.")
    ] = "all",
    images: Images = 40,
    grid: Grid = "11x11",
    score: Score = SCORE,
    steps: Annotated[int, typer.Option(help="Of deletion and insertion curves.", min=1)] = 30,
    rise_masks: Annotated[str, typer.Option(help="Masks of RISE, with commas.")] = "4000,8000",
    batch: Batch = BATCH,
    engine: Engine = "torch",
    limit: commands.Limit = None,
    seed: commands.Seed = 0,
    out: commands.Out = Path("results"),
) -> None:
    """Explain photos in every way and measure the maps.

    One line a photo and method is written as it is made; if it is interrupted, rerun the same
    command to resume. More methods and photos can be added later: cheap methods can see more.
    """
    from benchmarks.imagenet.run import KEY
    from benchmarks.imagenet.run import run as run_all
    from benchmarks.imagenet.ways import NAMES, ways

    names = NAMES if methods == "all" else commands.names_in(methods)
    setup = _setup(model, data, grid, score, batch, engine)
    asked = ways(names, setup.n_cells, commands.numbers_in(rise_masks))
    path = out / f"{setup.model.name}.jsonl"
    everything, store = _opened(path, setup, data, seed, KEY, steps=steps)
    chosen = everything[: images if limit is None else limit]
    with store:
        n_added = run_all(setup, chosen, asked, store, seed=seed, steps=steps)
        typer.echo(f"{n_added} results added to {path}, {len(store.done)} in all")


@app.command()
def convergence(
    data: Data,
    model: ModelPlace = MODEL,
    methods: Annotated[str, typer.Option(help="With commas.")] = "jansen,flip,rise",
    images: Images = 40,
    grid: Grid = "7x7",
    score: Score = SCORE,
    passes: Annotated[
        str, typer.Option(help="Numbers of passes, with commas.")
    ] = "500,1000,2000,4000,7000",
    converged: Annotated[int, typer.Option(help="Passes of the converged map.")] = 10_000,
    share_rows: Annotated[
        bool,
        typer.Option(
            help="Let the converged map continue the rows of the others: cheaper, but what is "
            "shared agrees with itself."
        ),
    ] = False,
    batch: Batch = BATCH,
    engine: Engine = "torch",
    seed: commands.Seed = 0,
    out: commands.Out = Path("results"),
) -> None:
    """How many forward passes until a map stays the same? Sobol against RISE."""
    from benchmarks.imagenet.convergence import KEY, convergence_rows, header
    from benchmarks.imagenet.convergence import convergence as measure
    from benchmarks.reporting import read_results
    from benchmarks.tables import markdown

    setup = _setup(model, data, grid, score, batch, engine)
    path = out / f"{setup.model.name}.convergence.jsonl"
    about = {"shares_rows": share_rows, "converged": converged}
    everything, store = _opened(path, setup, data, seed, KEY, **about)
    numbers = commands.numbers_in(passes)
    with store:
        measure(
            setup,
            everything[:images],
            store,
            methods=commands.names_in(methods),
            seed=seed,
            shares_rows=share_rows,
            passes=numbers,
            converged=converged,
        )
    lines = read_results(path).lines
    typer.echo(markdown(header(lines), list(convergence_rows(lines))))


@app.command()
def sanity(
    data: Data,
    model: ModelPlace = MODEL,
    images: Images = 20,
    grid: Grid = "7x7",
    score: Score = SCORE,
    rows: Annotated[int, typer.Option(help="Base masks of an explanation.", min=1)] = 8,
    batch: Batch = BATCH,
    seed: commands.Seed = 0,
    out: commands.Out = Path("results"),
) -> None:
    """Do explanations change when the model's weights become random (Adebayo et al. 2018)?"""
    from benchmarks.consistency import sanity_rows
    from benchmarks.imagenet.sanity import KEY
    from benchmarks.imagenet.sanity import sanity as measure
    from benchmarks.tables import table_of_file

    setup = _setup(model, data, grid, score, batch)
    path = out / f"{setup.model.name}.sanity.jsonl"
    everything, store = _opened(path, setup, data, seed, KEY, rows=rows)
    with store:
        measure(setup, everything[:images], store, seed=seed, rows=rows)
    header = ["random from the output down to", "signed scores", "their sizes", "images"]
    typer.echo(table_of_file(path, header, sanity_rows))


@app.command()
def speed(
    data: Data,
    model: ModelPlace = MODEL,
    grid: Grid = "11x11",
    score: Score = SCORE,
    batches: Annotated[str, typer.Option(help="Sizes to compare, with commas.")] = "1,4,8,16,32,64",
    rows: Annotated[int, typer.Option(help="Base masks of the explanation.", min=2)] = 32,
    repeats: Annotated[int, typer.Option(help="Times that each is measured.", min=1)] = 3,
    batch: Batch = BATCH,
    seed: commands.Seed = 0,
) -> None:
    """What channels_last and the size of batches give, and what explaining adds to the passes."""
    from benchmarks.imagenet import speed as measures
    from benchmarks.imagenet.data import photos
    from benchmarks.tables import markdown

    setup = _setup(model, data, grid, score, batch)
    photo = photos(data, seed=seed)[0]
    # First: where the peak of the memory cannot be forgotten, batching would raise it.
    added = measures.overhead(setup, photo, rows, repeats)
    sizes = commands.numbers_in(batches)
    typer.echo(
        markdown(measures.BATCHING_HEADER, measures.batching_rows(setup, photo, sizes, repeats))
    )
    typer.echo("\n" + markdown(measures.OVERHEAD_HEADER, [added.row()]) + "\n")
    typer.echo("\n".join(added.verdicts()))


@app.command()
def report(
    results: commands.ResultFiles,
    out: commands.ReportOut = Path("report"),
    converged: Annotated[
        list[Path] | None,
        typer.Option(help="Files that convergence has written.", show_default=False),
    ] = None,
    draw: commands.Draw = "",
) -> None:
    """Make tables (Markdown, CSV), plots and a page of results."""
    from benchmarks.imagenet.report import write_report

    write_report(results, out, converged or (), commands.names_in(draw))
    commands.tell_what_is_in(out)


def _setup(
    model: str, data: Path, grid: str, score: str, batch: int, engine: str = "torch"
) -> Setup:
    from benchmarks.imagenet.data import class_names
    from benchmarks.imagenet.model import load
    from benchmarks.imagenet.run import Setup

    try:
        down, across = (int(cells) for cells in grid.split("x"))
    except ValueError:
        raise typer.BadParameter(
            f"{grid!r} is no grid; give cells down and across, as 11x11"
        ) from None
    return Setup(load(model), class_names(data), (down, across), score, batch, engine)


def _opened(
    path: Path, setup: Setup, data: Path, seed: int, key: tuple[str, ...], **others: Any
) -> tuple[list[Photo], Store]:
    """All photos that can be chosen, in their order, and the store of what is made of them."""
    from benchmarks.imagenet.data import photos
    from benchmarks.imagenet.run import settings_of
    from benchmarks.store import Store

    everything = photos(data, seed=seed)
    return everything, Store(path, settings_of(setup, data, everything, seed, **others), key)


if __name__ == "__main__":
    app()
