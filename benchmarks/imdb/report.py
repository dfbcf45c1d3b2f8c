"""The report of the word-deletion benchmark: a text and a page, with tables and plots.

Made by ``python -m benchmarks.imdb report``. Results of the same model go into one table.
"""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.curves import deletion_figure, passes_figure, png_of
from benchmarks.imdb.paper import paper_table, paper_threshold_table
from benchmarks.imdb.reading import load
from benchmarks.report import Plot, Report
from benchmarks.summary import Run, most_seen, over_passes
from benchmarks.tables import csv_of, passes_table, table_of

TITLE = "Word deletion on IMDB"
HOW_TO_READ = (
    "Means over reviews, with 95 % intervals (10,000 bootstrap resamples of the reviews). "
    "Deletion: the probability of the predicted label after 0 to 20 deletions, the strongest word "
    "first, mean over the deletions. Accuracy: how often the prediction is the true label, over "
    "the same deletions. Insertion: the probability with only the 0 to 20 strongest words. "
    "Comprehensiveness and sufficiency: how much the probability falls without, and with only, a "
    "share of the words, the strongest. Arrows say whether low or high is better. The best is "
    "bold, the second best underlined; searches and random orders are no attributions and are not "
    "marked. The differences to occlusion, to the paper's Sobol (signed, keep 0.5) and to the best "
    "are those of deletion on the same reviews; below 0 is better, and where the interval holds 0 "
    "no difference is shown. Rows per word: different masked texts that were forwarded, the whole "
    "text included; gradient methods make as many backward passes on top."
)


def report_of(runs: Sequence[Run], deletion_png: bytes, passes_png: bytes) -> Report:
    """The report of runs whose figures are drawn."""
    return Report(
        title=TITLE,
        reading=HOW_TO_READ,
        tables=[
            *((table_of(most_seen(run)), run.commands) for run in runs),
            *((passes_table(varied), ()) for varied in map(over_passes, runs) if varied),
        ],
        plots=[
            Plot(
                "deletion.png",
                "Deletion curves",
                "Mean probability of the predicted label while words are deleted",
                deletion_png,
            ),
            Plot(
                "passes.png",
                "Deletion against rows",
                "Deletion against rows per word, with 95 % intervals",
                passes_png,
            ),
        ],
        paper=[paper_table(runs), paper_threshold_table(runs)],
    )


def write_report(paths: Sequence[Path], out: Path, draw: Sequence[str] = ()) -> None:
    """Write ``report.md``, ``.csv`` and ``.html``, ``deletion.png`` and ``passes.png``.

    Args:
        paths: files of results, of one model or several.
        out: the directory to write to, made if it is not there.
        draw: names of the variants in the deletion curves; by default the best of every method.
    """
    runs = load(paths)
    deletion = png_of(deletion_figure(runs if draw else list(map(most_seen, runs)), draw))
    passes = png_of(passes_figure([over_passes(run) or run for run in runs]))
    report_of(runs, deletion, passes).write(out, csv_of(runs))
