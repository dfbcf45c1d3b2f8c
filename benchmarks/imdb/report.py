"""The report of the word-deletion benchmark: a text and a page, with tables and plots.

Made by ``python -m benchmarks.imdb report``. Results of the same model go into one table.
"""

import base64
from collections.abc import Sequence
from pathlib import Path

from benchmarks.imdb.curves import deletion_figure, passes_figure, png_of
from benchmarks.imdb.summary import Run, load
from benchmarks.imdb.tables import csv_of, paper_table, paper_threshold_table, table_of
from benchmarks.reporting import escaped
from textsobol.render.page import environment_of

TITLE = "Word deletion on IMDB"
READING = (
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


def markdown_of(runs: Sequence[Run]) -> str:
    """The report with its tables; plots are beside it."""
    parts = [f"# {TITLE}", READING]
    for run in runs:
        table = table_of(run)
        parts += [f"## {escaped(table.title)}", escaped(table.caption)]
        parts += [f"    {' '.join(command.split())}" for command in run.commands]
        parts.append(table.markdown())
    parts += ["![Deletion curves](deletion.png)", "![Deletion against rows](passes.png)"]
    for table in (paper_table(runs), paper_threshold_table(runs)):
        parts += [f"## {escaped(table.title)}", escaped(table.caption), table.markdown()]
    return "\n\n".join(parts) + "\n"


def html_of(runs: Sequence[Run], deletion_png: bytes, passes_png: bytes) -> str:
    """The report as one page that fetches nothing."""
    plots = [
        ("Mean probability of the predicted label while words are deleted", deletion_png),
        ("Deletion against rows per word, with 95 % intervals", passes_png),
    ]
    return (
        environment_of("benchmarks.imdb")
        .get_template("report.html.j2")
        .render(
            title=TITLE,
            reading=READING,
            tables=[(table_of(run), run.commands) for run in runs],
            paper=[paper_table(runs), paper_threshold_table(runs)],
            plots=[(text, base64.b64encode(png).decode("ascii")) for text, png in plots],
        )
    )


def write_report(paths: Sequence[Path], out: Path, draw: Sequence[str] = ()) -> None:
    """Write ``report.md``, ``.csv`` and ``.html``, ``deletion.png`` and ``passes.png``.

    Args:
        paths: files of results, of one model or several.
        out: the directory to write to, made if it is not there.
        draw: names of the variants in the deletion curves; by default the best of every method.
    """
    runs = load(paths)
    deletion, passes = png_of(deletion_figure(runs, draw)), png_of(passes_figure(runs))
    out.mkdir(parents=True, exist_ok=True)
    (out / "deletion.png").write_bytes(deletion)
    (out / "passes.png").write_bytes(passes)
    (out / "report.md").write_text(markdown_of(runs), encoding="utf-8")
    (out / "report.csv").write_text(csv_of(runs), encoding="utf-8")
    (out / "report.html").write_text(html_of(runs, deletion, passes), encoding="utf-8")
