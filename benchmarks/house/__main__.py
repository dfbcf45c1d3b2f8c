"""Measure the code itself.

python -m benchmarks.house measure
python -m benchmarks.house mutate --n 40 --seed 0
"""

import json
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.house.measure import count_lines, find_import_cycles, trace_walk
from benchmarks.house.mutate import run_mutants, sample_mutants
from benchmarks.house.pins import differences, pins

app = typer.Typer(add_completion=False, help=__doc__)
Pinned = Annotated[Path, typer.Argument(help="JSON file of outputs.")]


@app.command()
def measure() -> None:
    """Print lines by package, the walk of one explanation, and import cycles."""
    walk = trace_walk()
    print(f"walk: {walk.functions} functions in {walk.files} files, {walk.changes} changes of file")
    for name, lines in count_lines().items():
        print(f"{lines:7,} lines  {name}")
    for cycle in find_import_cycles():
        print("import cycle:", ", ".join(cycle))


@app.command()
def pin(file: Pinned) -> None:
    """Write what the package gives for many texts and settings."""
    found = dict(pins())
    file.write_text(json.dumps(found), encoding="utf-8")
    print(f"{len(found):,} outputs pinned")


@app.command()
def compare(file: Pinned, show: int = 20) -> None:
    """Compare what the package gives now with what was written before."""
    before = json.loads(file.read_text(encoding="utf-8"))
    after = dict(pins())
    changed = {
        name: own
        for name in before.keys() | after.keys()
        if (own := list(differences(before.get(name), after.get(name))))
    }
    for name in sorted(changed)[:show]:
        print(name, *changed[name][:4], sep="\n    ")
    print(f"{len(before):,} outputs, {len(changed):,} of them changed")
    raise typer.Exit(bool(changed))


@app.command()
def mutate(
    n: Annotated[int, typer.Option(help="Mutants.")] = 40,
    seed: int = 0,
    only: Annotated[str, typer.Option(help="Only of these, such as moderated.py:251.")] = "",
) -> None:
    """Change operators and constants of textsobol/sobol one at a time; does tests/sobol notice?"""
    n_killed = n_mutants = 0
    for mutant, outcome in run_mutants(sample_mutants(n, seed, only)):
        n_mutants += 1
        n_killed += outcome.is_killed
        print(f"{outcome.verdict:9} {outcome.seconds:4.0f} s  {mutant}", flush=True)
    print(f"{n_killed} of {n_mutants} mutants killed, {n_mutants - n_killed} survived")


if __name__ == "__main__":
    app()
