"""Measure corpus jobs: throughput, memory, kills.

python -m benchmarks.corpus --data test.jsonl.gz --texts 2000
"""

import tempfile
import warnings
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.corpus.killing import (
    command,
    run,
    run_killed,
    run_with_killed_actors,
    same_files,
)
from benchmarks.corpus.reviews import write_reviews
from benchmarks.corpus.throughput import throughput
from benchmarks.tables import markdown
from textsobol import TextExplainer, read_explanations


def main(
    data: Annotated[str, typer.Option(help="JSON lines, CSV or Parquet with a text.")],
    texts: Annotated[int, typer.Option(help="Reviews of the long run.")] = 2000,
    most_words: Annotated[int, typer.Option(help="Longer reviews are cut.")] = 80,
    measured: Annotated[int, typer.Option(help="Reviews whose throughput is measured.")] = 128,
    repeats: Annotated[int, typer.Option(help="Of each measurement.")] = 3,
    kills: Annotated[int, typer.Option(help="Of a job, at random moments.")] = 5,
    method: Annotated[str, typer.Option(help="How texts are explained.")] = "sobol",
) -> None:
    """Print the tables of RESULTS.md."""
    warnings.simplefilter("ignore")
    options = ["--method", method]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        small, few, many = (folder / f"{name}.parquet" for name in ("small", "few", "many"))
        write_reviews(data, small, texts=measured, most_words=most_words)
        write_reviews(data, few, texts=texts // 10, most_words=most_words)
        mean = write_reviews(data, many, texts=texts, most_words=most_words)
        print(f"{mean:.0f} words a review on average\n")

        found = throughput(TextExplainer(progress=False), small, repeats, method=method)
        ways = {
            "the job, files and all": found.job,
            "one text after another": found.one_by_one,
            "all masks as one big batch": found.big_batch,
            "its forward passes alone": found.forward,
        }
        lines = [
            [name, f"{measured / seconds:.2f}", f"{found.big_batch / seconds:.2f}"]
            for name, seconds in ways.items()
        ]
        print(markdown(["way", "texts a second", "of one big batch"], lines))
        rows, tokens = found.rows / measured, found.tokens / measured
        print(f"\n{rows:,.0f} rows and {tokens:,.0f} tokens a text\n", flush=True)

        runs = [run(command(table, folder / table.stem, *options)) for table in (few, many)]
        lines = [
            [f"{n:,}", f"{one.seconds:.0f}", f"{one.cpu_seconds:.0f}", f"{one.megabytes:.0f}"]
            for n, one in zip((texts // 10, texts), runs, strict=True)
        ]
        print(markdown(["texts", "seconds", "of the processor", "peak MB"], lines), flush=True)
        whole = folder / many.stem
        stored = sum(path.stat().st_size for path in whole.glob("*.parquet"))
        explained = read_explanations(whole)
        print(f"\n{explained}\n{stored / texts / 1000:.1f} kB on the disk a text\n", flush=True)

        killed = folder / "killed"
        within = max(15.0, runs[1].seconds / 2 / kills)
        moments = run_killed(command(many, killed, *options), kills=kills, within=within, seed=0)
        told = ", ".join(f"{moment:.1f}" for moment in moments)
        print(f"killed after {told} s: the same bytes {same_files(whole, killed)}", flush=True)
        there = folder / "ray"
        arguments = command(many, there, "--engine", "ray", "--actors", "2", *options)
        n_killed = run_with_killed_actors(arguments, kills=2, wait=45.0)
        print(f"on Ray, {n_killed} actors killed: the same bytes {same_files(whole, there)}")


if __name__ == "__main__":
    typer.run(main)
