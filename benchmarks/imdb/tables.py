"""Tables of the word-deletion benchmark, also beside the paper's numbers."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.imdb.summary import GROUPS, VALUES, Run, Summary, find
from benchmarks.reporting import Cell, Estimate, Table, decimal, interval, places
from textsobol.metrics.faithfulness import METRICS

# Columns, by the names of what deletion is compared with.
_DIFFERENCES = {
    "occlusion": "difference to occlusion",
    "paper_sobol": "difference to the paper's Sobol",
    "best": "difference to the best",
}
# The paper, Fel et al. 2021, table 3: title, method, variant (None: any), BERT, LSTM.
_PAPER = (
    ("Saliency", "saliency", None, 0.684, 0.541),
    ("Gradient-Input", "gradient_input", None, 0.682, 0.529),
    ("SmoothGrad", "smoothgrad", None, 0.682, 0.541),
    ("Integrated gradients", "integrated_gradients", None, 0.689, 0.538),
    ("Occlusion", "occlusion", None, 0.531, 0.440),
    ("Sobol total", "sobol", "jansen-total", 0.662, 0.523),
    ("Sobol signed", "sobol", "jansen-signed", 0.598, 0.461),
)
# Its appendix, "Word Deletion": title, method, variant, BERT.
_PAPER_THRESHOLDS = (
    ("Sobol signed, 50 % kept", "sobol", "jansen-signed", 0.598),
    ("Sobol signed, 90 % kept", "sobol", "jansen-signed-0.9", 0.553),
    ("Sobol signed, 95 % kept", "sobol", "jansen-signed-0.95", 0.527),
    ("Occlusion", "occlusion", None, 0.531),
)
_OTHER_MODELS = (
    "Word deletion, lower is better. The models and reviews are not the paper's: the order can be "
    "compared, the height cannot."
)


def table_of(run: Run) -> Table:
    """A run as a table, with the best and second best of every metric marked.

    A variant that has not seen all reviews is shown, but not marked: its reviews may be easier.
    """
    columns = [
        _column(
            [s.metrics[name] for s in run.summaries],
            name,
            takes_part=[s.variant.is_attribution for s in run.summaries],
        )
        for name in VALUES
    ]
    groups: dict[str, list[list[Cell]]] = {}
    for s, (deletion, *others) in zip(run.summaries, zip(*columns, strict=True), strict=True):
        row = [
            Cell(s.variant.title),
            Cell("" if s.variant.keep is None else f"{s.variant.keep:g}"),
            Cell(decimal(s.rows_per_word, 1)),
            deletion,
            *(_signed(s.differences[name]) for name in _DIFFERENCES),
            *others,
            Cell(f"{len(s.variant.lines):,}"),
        ]
        groups.setdefault(GROUPS[s.variant.kind], []).append(row)
    first, *rest = [f"{name} {'↑' if METRICS[name].higher_is_better else '↓'}" for name in VALUES]
    header = ["method", "keep", "rows per word", first, *_DIFFERENCES.values(), *rest, "reviews"]
    return Table(run.model, _caption(run), header, list(groups.items()))


def _column(
    estimates: Sequence[Estimate | None], metric: str, takes_part: Sequence[bool]
) -> list[Cell]:
    """A metric of several variants; what has not been run is empty."""
    # Reviews seen, by those that can be marked.
    seen = [e.n if takes and e else -1 for takes, e in zip(takes_part, estimates, strict=True)]
    found = places(
        [estimate.mean if estimate else 0.0 for estimate in estimates],
        higher_is_better=METRICS[metric].higher_is_better,
        eligible=[n >= 0 and n == max(seen) for n in seen],
    )
    return [
        Cell(decimal(estimate.mean), place, interval(estimate) if metric == "deletion" else "")
        if estimate
        else Cell("")
        for estimate, place in zip(estimates, found, strict=True)
    ]


def _signed(difference: Estimate | None) -> Cell:
    if difference is None:
        return Cell("")
    return Cell(decimal(difference.mean, sign=True), after=interval(difference, sign=True))


def _caption(run: Run) -> str:
    """What was run; the commands stand below it."""
    settings = run.settings
    reviews = f"{run.n_reviews:,} reviews"
    if settings.get("max_words"):
        reviews += f" of at most {settings['max_words']} words"
    versions = settings.get("versions") or {}
    said = [
        f"Model {run.model}",
        f"data {settings.get('data')}",
        reviews,
        f"accuracy {100 * run.accuracy:.1f} % on these reviews",
        f"seed {settings.get('seed')}",
        *(f"{name} {version}" for name, version in versions.items()),
    ]
    caption = ", ".join(said) + "."
    if len({len(s.variant.lines) for s in run.summaries}) > 1:
        caption += " Variants that have not seen all reviews are not marked."
    return caption


def paper_table(runs: Sequence[Run]) -> Table:
    """The paper's table 3 beside the same methods on our models."""
    return _beside_the_paper(
        "The paper's table 3",
        [(title, method, name) for title, method, name, _, _ in _PAPER],
        {
            "paper, BERT": [bert for *_, bert, _ in _PAPER],
            "paper, LSTM": [lstm for *_, lstm in _PAPER],
        },
        runs,
    )


def paper_threshold_table(runs: Sequence[Run]) -> Table:
    """The paper's table of how many words stay, beside the same on our models."""
    return _beside_the_paper(
        "The paper's thresholds",
        [(title, method, name) for title, method, name, _ in _PAPER_THRESHOLDS],
        {"paper, BERT": [bert for *_, bert in _PAPER_THRESHOLDS]},
        runs,
    )


def _beside_the_paper(
    title: str,
    methods: Sequence[tuple[str, str, str | None]],
    paper: Mapping[str, Sequence[float]],
    runs: Sequence[Run],
) -> Table:
    columns: list[list[Estimate | None]] = [
        [Estimate(value, math.nan, math.nan, 0) for value in values] for values in paper.values()
    ]
    columns += [[_deletion_of(run, method, name) for _, method, name in methods] for run in runs]
    cells = [_column(column, "deletion", takes_part=[True] * len(methods)) for column in columns]
    rows = [[Cell(name), *row] for (name, _, _), *row in zip(methods, *cells, strict=True)]
    return Table(title, _OTHER_MODELS, ["method", *paper, *(r.model for r in runs)], [("", rows)])


def _deletion_of(run: Run, method: str, name: str | None) -> Estimate | None:
    found = find([s.variant for s in run.summaries], method, name)
    return next((s.deletion for s in run.summaries if s.variant is found), None)


def csv_of(runs: Sequence[Run]) -> str:
    """Every number of every variant, unrounded, with the intervals of all metrics."""
    rows = [_csv_row(run, summary) for run in runs for summary in run.summaries]
    file = io.StringIO()
    writer = csv.DictWriter(file, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _csv_row(run: Run, summary: Summary) -> dict[str, Any]:
    variant = summary.variant
    row: dict[str, Any] = {
        "model": run.model,
        "method": variant.method,
        "variant": variant.name,
        "title": variant.title,
        "kind": variant.kind,
        "score": variant.score,
        "keep": variant.keep,
        "rows_per_word_asked": variant.rows_per_word,
        "rows_per_word": summary.rows_per_word,
        "reviews": len(variant.lines),
    }
    differences = {f"difference_to_{name}": found for name, found in summary.differences.items()}
    for name, found in {**summary.metrics, **differences}.items():
        row[name] = found.mean if found else None
        row[f"{name}_low"] = found.low if found else None
        row[f"{name}_high"] = found.high if found else None
    return row
