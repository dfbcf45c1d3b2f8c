"""The report of the ImageNet benchmark: a text and a page, with tables and plots.

Made by ``python -m benchmarks.imagenet report``. Results of the same model go into one table.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.curves import deletion_figure, passes_figure, png_of
from benchmarks.imagenet.convergence import convergence_figure, convergence_table
from benchmarks.imagenet.paper import paper_tables
from benchmarks.imagenet.reading import load
from benchmarks.report import Plot, Report
from benchmarks.reporting import Results, Table, read_results
from benchmarks.summary import Run, on_common_inputs
from benchmarks.tables import csv_of, table_of

TITLE = "Pixel deletion on ImageNet"
HOW_TO_READ = (
    "Means over images, with 95 % intervals (10,000 bootstrap resamples of the images) and the "
    "number n of images beside each figure. Which score of the predicted label was analysed, its "
    "output before softmax (as in the paper), its log-odds or its probability (as in RISE), stands "
    "below the name of the model; deletion and insertion are of probabilities in any case. "
    "Deletion: the area under the probability of the predicted label while the pixels go, the "
    "highest of the map first. Insertion: the same while they come. Pointing game: how often the "
    "highest pixel of the map lies in a box of the thing, or at most 15 pixels beside it, over the "
    "images that the model got right. Arrows say whether low or high is better. The best is bold, "
    "the second best underlined; a random order is no attribution and is not marked. The "
    "differences to RISE with 8,000 masks, to occlusion and to random are those of deletion on the "
    "same images; below 0 is better, and where the interval holds 0 no difference is shown. "
    "Passes: different masked pictures that a method forwards by itself, the whole picture "
    "included; gradient methods make as many backward passes on top."
)


def report_of(
    runs: Sequence[Run], converged: Sequence[Results] = (), draw: Sequence[str] = ()
) -> Report:
    """The report with its figures.

    Args:
        runs: of the benchmark.
        converged: files of the comparison with converged maps.
        draw: names of the variants in the deletion curves; by default the best of every method.
    """
    # Curves over different images could not be compared.
    common = [on_common_inputs(run) for run in runs]
    tables: list[tuple[Table, Sequence[str]]] = []
    for run, fewer in zip(runs, common, strict=True):
        tables.append((table_of(run), run.commands))
        if len(set(map(len, run.variants))) > 1:
            title = f"{run.model}, on the {fewer.n_inputs:,} images that all have seen"
            tables.append((table_of(fewer, title), ()))
    tables += [(convergence_table(results), results.commands) for results in converged]
    deletion, passes = deletion_figure(common, draw), passes_figure(common)
    plots = [
        Plot(
            "deletion.png",
            "Deletion curves",
            "Mean probability of the predicted label while pixels are deleted",
            png_of(deletion),
        ),
        Plot(
            "passes.png",
            "Deletion against passes",
            "Deletion against forward passes, with 95 % intervals",
            png_of(passes),
        ),
    ]
    for number, results in enumerate(converged):
        plots.append(
            Plot(
                f"convergence{number + 1 if number else ''}.png",
                "Convergence",
                "Rank correlation with the converged map against forward passes",
                png_of(convergence_figure(results)),
            )
        )
    return Report(TITLE, HOW_TO_READ, tables, plots, paper_tables(common))


def write_report(
    paths: Sequence[Path], out: Path, converged: Sequence[Path] = (), draw: Sequence[str] = ()
) -> None:
    """Write ``report.md``, ``.csv`` and ``.html`` and the plots.

    Args:
        paths: files of results, of one model or several.
        out: the directory to write to, made if it is not there.
        converged: files that ``convergence`` has written.
        draw: names of the variants in the deletion curves; by default the best of every method.
    """
    runs = load(paths)
    report_of(runs, [read_results(path) for path in converged], draw).write(out, csv_of(runs))
