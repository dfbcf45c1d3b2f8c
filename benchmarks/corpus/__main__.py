"""Measure corpus jobs: throughput, memory, kills.

python -m benchmarks.corpus prepare --data test.jsonl.gz && python -m benchmarks.corpus run
"""

import shutil
import warnings
from pathlib import Path
from typing import Annotated

import typer
from pyarrow import parquet

from benchmarks.commands import names_in
from benchmarks.corpus import killing
from benchmarks.corpus.reviews import write_reviews
from benchmarks.corpus.throughput import throughput as measured
from benchmarks.tables import markdown
from textsobol import TextExplainer, read_explanations
from textsobol.corpus.memory import limit_allocator_caches

Work = Annotated[Path, typer.Option(help="Directory for tables and jobs.")]
Method = Annotated[str, typer.Option(help="How texts are explained.")]
HERE = Path("corpus-work")
DEFAULT = "sobol"
app = typer.Typer(add_completion=False, help=__doc__)


@app.command()
def prepare(
    data: Annotated[str, typer.Option(help="JSON lines, CSV or Parquet with a text.")],
    texts: Annotated[int, typer.Option(help="Reviews of the long run.")] = 2000,
    most_words: Annotated[int, typer.Option(help="Longer reviews are cut.")] = 80,
    few: Annotated[int, typer.Option(help="Reviews whose throughput is measured.")] = 128,
    work: Work = HERE,
) -> None:
    """Write reviews as tables: many, a tenth of them, and few ones: whole, cut, and short."""
    work.mkdir(parents=True, exist_ok=True)
    tables = {
        "many": (texts, most_words),
        "tenth": (texts // 10, most_words),
        "whole": (max(1, few // 4), None),
        "cut": (few, most_words),
        "short": (few, 15),
    }
    for name, (number, words) in tables.items():
        path = work / f"{name}.parquet"
        mean = write_reviews(data, path, texts=number, most_words=words)
        print(f"{name}: {number:,} reviews of {mean:.0f} words", flush=True)


@app.command()
def throughput(
    work: Work = HERE,
    method: Method = DEFAULT,
    model: Annotated[str | None, typer.Option(help="Directory or hub id.")] = None,
    tables: Annotated[str, typer.Option(help="With commas.")] = "whole,cut,short",
    repeats: int = 3,
) -> None:
    """A job against one big batch of the same masks."""
    limit_allocator_caches()  # as the command does
    warnings.simplefilter("ignore")
    lines = []
    for name in names_in(tables):
        table = work / f"{name}.parquet"
        explainer = TextExplainer(model, progress=False)
        found = measured(explainer, table, repeats, method=method)
        texts = parquet.read_metadata(table).num_rows
        ways = {
            "the job, files and all": found.job,
            "one text after another": found.one_by_one,
            "all masks as one big batch": found.big_batch,
            "its forward passes alone": found.forward,
        }
        lines += [
            [name, f"{found.rows / texts:,.0f}", f"{found.tokens / texts:,.0f}", way,
             f"{texts / seconds:.2f}", f"{found.big_batch / seconds:.2f}"]
            for way, seconds in ways.items()
        ]  # fmt: skip
    header = ["reviews", "rows", "tokens", "way", "texts a second", "of one big batch"]
    print(markdown(header, lines), flush=True)


@app.command()
def memory(work: Work = HERE, method: Method = DEFAULT) -> None:
    """The job from its start to its end, for all reviews and for a tenth of them."""
    lines = []
    for name in ("tenth", "many"):
        out = work / name
        shutil.rmtree(out, ignore_errors=True)
        one = killing.run(killing.command(work / f"{name}.parquet", out, "--method", method))
        found = read_explanations(out)
        stored = sum(path.stat().st_size for path in found.paths) / found.texts / 1000
        lines.append(
            [f"{found.texts:,}", f"{found.failed}", f"{one.seconds:.0f}", f"{one.cpu_seconds:.0f}",
             f"{one.megabytes:.0f}", f"{stored:.1f}"]
        )  # fmt: skip
    header = ["texts", "failed", "seconds", "of the processor", "peak MB", "kB a text"]
    print(markdown(header, lines), flush=True)


@app.command()
def kills(
    work: Work = HERE, method: Method = DEFAULT, times: int = 5, within: float = 60.0, seed: int = 0
) -> None:
    """Kill the job at random moments, then let it finish, and compare with that of `memory`."""
    out = work / "killed"
    shutil.rmtree(out, ignore_errors=True)
    arguments = killing.command(work / "many.parquet", out, "--method", method)
    moments = killing.run_killed(arguments, kills=times, within=within, seed=seed)
    for moment, texts in moments:
        print(f"killed after {moment:.1f} s, with {texts:,} texts done", flush=True)
    print(f"the same bytes: {killing.same_files(work / 'many', out)}", flush=True)


@app.command()
def ray(work: Work = HERE, method: Method = DEFAULT, times: int = 2, wait: float = 40.0) -> None:
    """Two actors on Ray, of which some are killed, compared with the job of `memory`."""
    out = work / "ray"
    shutil.rmtree(out, ignore_errors=True)
    options = ("--engine", "ray", "--actors", "2", "--method", method)
    arguments = killing.command(work / "many.parquet", out, *options)
    for texts in killing.run_with_killed_actors(arguments, out, kills=times, wait=wait):
        print(f"an actor killed, with {texts:,} texts done", flush=True)
    print(f"the same bytes: {killing.same_files(work / 'many', out)}", flush=True)


@app.command()
def run(work: Work = HERE, method: Method = DEFAULT) -> None:
    """All of them, one after another."""
    for part in (throughput, memory, kills, ray):
        print(f"\n{part.__name__}\n", flush=True)
        part(work=work, method=method)


if __name__ == "__main__":
    app()
