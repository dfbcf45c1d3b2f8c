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
TextLimit = Annotated[
    int | None,
    typer.Option(help="Only so many texts of each kind: a smoke run.", show_default=False),
]
Lengths = Annotated[
    str, typer.Option(help="With commas: 40-100, 100-200, 200-400 words; by default all.")
]
HUB_ID = "stanfordnlp/imdb"
OUT = Path("results")


@app.command()
def truth(
    model: Model = None,
    data: Data = HUB_ID,
    limit: Limit = None,
    lengths: Lengths = "",
    base_masks: Annotated[
        int | None,
        typer.Option(help="Of every truth; by default more for short reviews.", show_default=False),
    ] = None,
    seed: commands.Seed = 0,
    out: commands.Out = OUT,
) -> None:
    """Find converged indices by many flips, of another seed.

    Every review is written as it is done; if it is interrupted, rerun the same command to resume.
    """
    from benchmarks.gates.data import SMALL_TRUTH_MASKS, interleave, length_of
    from benchmarks.imdb import intervals
    from benchmarks.store import Store

    explainer, chosen, settings = _opened(model, data, limit, lengths, seed)
    wanted = [
        some[: length.n_truth if model else length.n_small] for length, some in chosen.items()
    ]
    with Store(out / f"{explainer.name}.truth.jsonl", settings, intervals.KEY) as store:
        for review in interleave(wanted):
            usual = length_of(review.n_words).truth_masks if model else SMALL_TRUTH_MASKS
            intervals.find_truth(
                explainer, [review], store, model=explainer.name, seed=seed,
                base_masks=base_masks or usual,
            )  # fmt: skip


@app.command()
def run(
    model: Model = None,
    data: Data = HUB_ID,
    methods: Annotated[
        str, typer.Option(help="With commas: gates, sobol, sobol-before, flip-4 ...; or all.")
    ] = "all",
    limit: Limit = None,
    lengths: Lengths = "",
    seed: commands.Seed = 0,
    out: commands.Out = OUT,
) -> None:
    """Explain reviews by every method and measure the explanations.

    All methods of a review run one after the other, in random order, on one thread. Every result is
    written as it is made; if it is interrupted, rerun the same command to resume.
    """
    from benchmarks.gates.data import interleave
    from benchmarks.gates.run import KEY, VARIANTS
    from benchmarks.gates.run import run as run_all
    from benchmarks.store import Store

    explainer, chosen, settings = _opened(model, data, limit, lengths, seed)
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


@app.command()
def train_planted(
    train: Annotated[str, typer.Option(help="Training reviews; their words make the texts.")],
    to: Annotated[Path, typer.Option(help="Directory of the trained encoder.")],
    seed: commands.Seed = 0,
) -> None:
    """Train a small encoder in which planted words decide (a few minutes on one core)."""
    import torch

    from benchmarks.gates import planted as measured

    torch.set_num_threads(1)
    found = measured.train(measured.source_of(train, "train"), to, seed=seed)
    typer.echo(f"accuracy {100 * found:.1f} %, written to {to}")


@app.command()
def planted(
    model: Annotated[str, typer.Option(help="What train-planted has written.")],
    train: Annotated[str, typer.Option(help="Training reviews, as for train-planted.")],
    limit: TextLimit = None,
    seed: commands.Seed = 0,
    out: commands.Out = OUT,
) -> None:
    """Are planted words found in short texts, and in texts of 300 to 2,000 words?"""
    import torch

    from benchmarks.gates import planted as measured
    from benchmarks.provenance import weights_of
    from benchmarks.store import Store
    from textsobol.text.loading import load_model

    torch.set_num_threads(1)
    torch_model, tokenizer = load_model(model)
    source = measured.source_of(train, "train")
    settings = {
        "model": "planted", "weights": weights_of(torch_model), "seed": seed, "threads": 1,
        "accuracy": round(measured.accuracy(torch_model, tokenizer, source, seed=seed + 1), 4),
        "_command": _command(),
    }  # fmt: skip
    with Store(out / "planted.jsonl", settings, measured.KEY) as store:
        measured.run(torch_model, tokenizer, source, store, seed=seed, limit=limit)


@app.command()
def planted_function(
    limit: TextLimit = None,
    seed: commands.Seed = 0,
    out: commands.Out = OUT,
) -> None:
    """The same for texts of 300 to 2,000 words and a plain function; needs no model and no data."""
    from benchmarks.gates import planted_function as measured
    from benchmarks.provenance import versions_of
    from benchmarks.store import Store

    versions = versions_of(["textsobol", "numpy"])
    settings = {"seed": seed, "versions": versions, "_command": _command()}
    with Store(out / "planted-function.jsonl", settings, measured.KEY) as store:
        measured.run(store, seed=seed, limit=limit)


@app.command()
def control(
    model: Model = None,
    data: Data = HUB_ID,
    limit: Limit = None,
    lengths: Lengths = "",
    seed: commands.Seed = 0,
    out: commands.Out = OUT,
) -> None:
    """Gate gradients as control variates of flips, for the same time; needs truth."""
    from benchmarks.gates import control as measured
    from benchmarks.gates.data import interleave
    from benchmarks.reporting import read_results
    from benchmarks.store import Store

    explainer, chosen, settings = _opened(model, data, limit, lengths, seed)
    name = explainer.name
    if not explainer.masked("A gripping film.").takes_gates:
        raise typer.BadParameter(f"{name} has no gates")
    truths = read_results(out / f"{name}.truth.jsonl").lines
    with Store(out / f"{name}.control.jsonl", settings, measured.KEY) as store:
        reviews = interleave(list(chosen.values()))
        measured.run(explainer, reviews, truths, store, model=name, seed=seed)


@app.command()
def speed(
    model: Annotated[str, typer.Option(help="A transformer, such as MiniLM in float32.")],
    data: Annotated[Path, typer.Option(help="Test reviews: JSON lines, .gz or not.")],
    jobs: Annotated[
        str, typer.Option(help="With commas: review, long, long-bert, corpus-small, corpus.")
    ] = "review,long,long-bert,corpus-small,corpus",
    texts: Annotated[int, typer.Option(help="Reviews of the corpus job of the model.")] = 12,
    seed: commands.Seed = 0,
    out: commands.Out = OUT,
) -> None:
    """How much time, passes and tokens the default takes, now against before, and gates."""
    import torch
    from transformers import AutoTokenizer

    from benchmarks.gates import speed as measured
    from benchmarks.imdb.data import reviews
    from benchmarks.provenance import versions_of
    from benchmarks.store import Store
    from textsobol import TextExplainer

    torch.set_num_threads(1)
    asked = commands.names_in(jobs)
    settings = {
        "seed": seed, "threads": 1, "data": data.name,
        "versions": versions_of(["textsobol", "torch", "transformers"]), "_command": _command(),
    }  # fmt: skip
    whole = [review.text for review in reviews(str(data), seed=seed)[:100]]
    with Store(out / "speed.jsonl", settings, measured.KEY) as store:
        small = TextExplainer(progress=False)
        large = TextExplainer(model, progress=False)
        if "review" in asked:
            measured.run_job(large, data, measured.Job(large.name, 230), store)
            measured.run_job(small, data, measured.Job(small.name, 230), store)
        if "long" in asked:
            measured.run_job(small, data, measured.Job(f"{small.name}, long", 1000), store)
        if "corpus-small" in asked:
            measured.run_corpus(small, whole, store, job=small.name, n_before=len(whole))
        if "corpus" in asked:
            n = min(texts, len(whole))
            measured.run_corpus(large, whole[:n], store, job=large.name, n_before=n // 2)
        if "long-bert" in asked:
            tokenizer = AutoTokenizer.from_pretrained(model)
            bert = TextExplainer(measured.random_bert(tokenizer), tokenizer, progress=False)
            variants = (measured.NOW, measured.GATES, measured.ONE_MASK)
            job = measured.Job("BERT, 6 layers of 384, random weights", 1000, variants, turns=1)
            measured.run_job(bert, data, job, store)


def _command() -> str:
    from benchmarks.provenance import command_of

    return command_of("benchmarks.gates")


def _opened(
    model: str | None, data: str, limit: int | None, lengths: str, seed: int
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
    names = commands.names_in(lengths) or [length.name for length in chosen]
    wanted = {length: some[:limit] for length, some in chosen.items() if length.name in names}
    return explainer, wanted, settings


@app.command()
def report(
    out: commands.Out = OUT,
    into: Annotated[
        Path, typer.Option(help="Markdown with marks for the tables.", exists=True)
    ] = Path("benchmarks/gates/RESULTS.md"),
) -> None:
    """Put the tables of all results into a file of Markdown, between their marks."""
    from benchmarks.gates.report import make_tables
    from benchmarks.tables import fill_marks

    typer.echo(f"tables of {into}: {', '.join(fill_marks(into, make_tables(out)))}")


if __name__ == "__main__":
    app()
