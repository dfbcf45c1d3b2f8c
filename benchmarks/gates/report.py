"""The tables of RESULTS.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.gates import control, planted, planted_function, speed
from benchmarks.gates.control import compute_rmse
from benchmarks.gates.data import LENGTHS
from benchmarks.gates.run import VARIANTS
from benchmarks.imdb.intervals import holds_truth
from benchmarks.reporting import (
    Line,
    Results,
    decimal,
    interval,
    mean_with_interval,
    paired_difference,
    read_results,
)
from benchmarks.tables import markdown
from textsobol.metrics.agreement import spearman
from textsobol.sobol.arrays import Floats

TOP = 10
MODELS = ("imdb-bilstm", "minilm-imdb-bf16")
PATHS = {"sobol": "path of the default", "sobol-before": "path of the default before"}
_REFERENCE = "flip-4"
_TITLES = {variant.name: variant.title for variant in VARIANTS}
_SEARCHES = {variant.name for variant in VARIANTS if variant.longest is not None}

Measured = dict[str, dict[str, dict[str, float]]]
"""By variant and review, what was measured."""


def make_tables(results: Path) -> Iterator[tuple[str, str]]:
    """Name and Markdown of every table whose results are there."""
    for model in MODELS:
        found = _read(results, model)
        if found is None:
            continue
        truths = _read(results, f"{model}.truth")
        measured = measure(found.lines, truths.lines if truths else [])
        yield f"{model} truth", markdown(TRUTH_HEADER, list(truth_rows(measured)))
        yield f"{model} intervals", markdown(INTERVAL_HEADER, list(interval_rows(measured)))
        yield f"{model} faithfulness", markdown(COST_HEADER, list(cost_rows(measured)))
        yield f"{model} gates", markdown(PAIRED_HEADER, list(paired_rows(measured)))
        yield f"{model} sobol", markdown(BEFORE_HEADER, list(before_rows(measured)))
        yield f"{model} way", markdown(WAY_HEADER, list(way_rows(measured)))
        controlled = _read(results, f"{model}.control")
        if controlled:
            lines = controlled.lines
            yield f"{model} control", markdown(control.HEADER, list(control.rows(lines)))
            header = ("estimator, minus flip for the same time", *control.HEADER[2:6])
            yield f"{model} control paired", markdown(header, list(control.differences(lines)))
    found = _read(results, "planted")
    if found:
        yield "planted short", markdown(planted.SHORT_HEADER, list(planted.short_rows(found.lines)))
        yield "planted long", markdown(planted.LONG_HEADER, list(planted.long_rows(found.lines)))
    found = _read(results, "planted-function")
    if found:
        rows = list(planted_function.rows(found.lines))
        yield "planted function", markdown(planted_function.HEADER, rows)
    found = _read(results, "speed")
    if found:
        yield "speed", markdown(speed.HEADER, list(speed.rows(found.lines)))
        yield "corpus", markdown(speed.CORPUS_HEADER, list(speed.corpus_rows(found.lines)))


def _read(results: Path, name: str) -> Results | None:
    paths = results / f"{name}.jsonl", results / f"{name}.jsonl.gz"
    return next((read_results(path) for path in paths if path.exists()), None)


def measure(lines: Sequence[Line], truths: Sequence[Line]) -> Measured:
    """Every measure of every result; those against the truth where there is one."""
    truth_of = {line["review"]: line for line in truths}
    measured: Measured = {}
    for line in lines:
        own = {name: float(line[name]) for name in ("deletion", "insertion", "passes", "gates")}
        own |= {"seconds": line["seconds"], "words": line["words"]}
        own["length"] = [length.name for length in LENGTHS].index(line["length"])
        if "path" in line:
            own |= {f"path_{name}": line["path"][name] for name in ("deletion", "insertion")}
        if line["review"] in truth_of:
            own |= against_truth(line, truth_of[line["review"]])
        measured.setdefault(line["variant"], {})[line["review"]] = own
    return measured


def against_truth(line: Line, truth: Line) -> dict[str, float]:
    """Errors of effects and total indices, and what their intervals hold.

    Methods without effects have scores in the same units, such as the weights of LIME.

    Example:
        >>> line = {"score": [0.5, -0.1], "effect": [[2.0, -1.0], [1.0, -2.0], [3.0, 0.0]],
        ...         "total": [[0.5, 0.1], [0.3, 0.0], [0.6, 0.2]]}
        >>> found = against_truth(line, {"effect": [4.0, -1.0], "total": [0.5, 0.1]})
        >>> found["rmse_total"], found["held_effect"], found["held_total"]
        (0.0, 0.5, 1.0)
    """
    wanted = _array(truth["effect"])
    effects = _array(line["effect"][0] if "effect" in line else line["score"])
    found = {"rho_effect": spearman(effects, wanted), "rmse_effect": compute_rmse(effects, wanted)}
    top = np.argsort(-np.abs(_array(line["score"])), kind="stable")[:TOP]
    for name in ("effect", "total") if "total" in line else ():
        value, low, high = (_array(column) for column in line[name])
        wanted = _array(truth[name])
        is_known = np.isfinite(low) & np.isfinite(high)
        holds = holds_truth(low, high, wanted)
        found |= {
            f"rho_{name}": spearman(value, wanted),
            f"rmse_{name}": compute_rmse(value, wanted),
        }
        found[f"unknown_{name}"] = float(1 - is_known.mean())
        if is_known.any():
            found[f"held_{name}"] = float(holds[is_known].mean())
        if is_known[top].any():
            found[f"top_{name}"] = float(holds[top][is_known[top]].mean())
        width = np.where(is_known, high - low, np.inf)[top]
        found[f"width_{name}"] = float(np.median(width))
    return found


TRUTH_HEADER = (
    "words", "method", "effects: rank correlation", "RMSE", "total indices: rank correlation",
    "RMSE", "reviews",
)  # fmt: skip
INTERVAL_HEADER = (
    "words", "method", "coverage, effects", f"of the top {TOP}", "coverage, total indices",
    f"of the top {TOP}", f"width of effects, top {TOP}", f"width of total indices, top {TOP}",
    "reviews",
)  # fmt: skip
COST_HEADER = (
    "words", "method", "deletion ↓", "insertion ↑", "passes", "rows of gates", "seconds",
    "time, of flip's", "reviews",
)  # fmt: skip
PAIRED_HEADER = (
    "words", "gates minus", "effects: rank correlation", "deletion ↓", "insertion ↑",
    "times faster", "reviews (with truth)",
)  # fmt: skip
BEFORE_HEADER = (
    "words", "effects: rank correlation", "RMSE", "total indices: rank correlation", "RMSE",
    "coverage, total indices", "deletion of the path ↓", "times faster", "fewer passes",
    "reviews (with truth)",
)  # fmt: skip
WAY_HEADER = ("order", "deletion ↓", "way", "passes", "rows of gates", "reviews")


def _groups() -> list[tuple[str, int | None]]:
    return [("all", None), *((length.name, k) for k, length in enumerate(LENGTHS))]


def _within(measured: Measured, length: int | None) -> Measured:
    return {
        variant: {
            review: own for review, own in of.items() if length is None or own["length"] == length
        }
        for variant, of in measured.items()
    }


def _of(measured: Measured, variant: str, name: str) -> dict[str, float]:
    return {review: own[name] for review, own in measured.get(variant, {}).items() if name in own}


def _mean(numbers: Mapping[str, float]) -> str:
    if not numbers:
        return ""
    found = mean_with_interval(list(numbers.values()))
    return f"{decimal(found.mean)} {interval(found)}"


def truth_rows(measured: Measured) -> Iterator[list[str]]:
    """Rows: errors against the truth."""
    for words, length in _groups():
        own = _within(measured, length)
        for variant, title in _TITLES.items():
            if variant not in _SEARCHES and (reviews := _of(own, variant, "rho_effect")):
                names = ("rho_effect", "rmse_effect", "rho_total", "rmse_total")
                cells = [_mean(_of(own, variant, name)) for name in names]
                yield [words, title, *cells, str(len(reviews))]


def interval_rows(measured: Measured) -> Iterator[list[str]]:
    """Rows: coverage and width of intervals."""
    for words, length in _groups():
        own = _within(measured, length)
        for variant, title in _TITLES.items():
            if reviews := _of(own, variant, "held_total"):
                names = ("held_effect", "top_effect", "held_total", "top_total")
                widths = (
                    decimal(float(np.median(list(_of(own, variant, name).values()))))
                    for name in ("width_effect", "width_total")
                )
                cells = [_mean(_of(own, variant, name)) for name in names]
                yield [words, title, *cells, *widths, str(len(reviews))]


def cost_rows(measured: Measured) -> Iterator[list[str]]:
    """Rows: deletion, insertion and what they cost; paths cost nothing beside their scores."""
    for words, length in _groups():
        own = _within(measured, length)
        for variant, title in _TITLES.items():
            if not own.get(variant) or (variant in _SEARCHES and length is None):
                continue
            cells = [_mean(_of(own, variant, name)) for name in ("deletion", "insertion")]
            passes, gates, seconds = (
                float(np.mean(list(_of(own, variant, name).values())))
                for name in ("passes", "gates", "seconds")
            )
            yield [
                words, title, *cells, f"{passes:,.0f}", f"{gates:.0f}", f"{seconds:.2f}",
                _ratio(own, variant, _REFERENCE, "seconds"), str(len(own[variant])),
            ]  # fmt: skip
            if variant in PATHS:
                cells = [
                    _mean(_of(own, variant, name)) for name in ("path_deletion", "path_insertion")
                ]
                n_paths = len(_of(own, variant, "path_deletion"))
                yield [words, PATHS[variant], *cells, "", "", "", "", str(n_paths)]


def paired_rows(measured: Measured) -> Iterator[list[str]]:
    """Rows: gates against other methods, on the same reviews."""
    for words, length in _groups():
        own = _within(measured, length)
        for other in (_REFERENCE, "lime-4", "kernel_shap-4"):
            if not own.get("gates") or not own.get(other):
                continue
            names = ("rho_effect", "deletion", "insertion")
            cells = [_difference(own, "gates", other, name) for name in names]
            faster = _ratio(own, other, "gates", "seconds")
            n_truth = len(_of(own, "gates", "rho_effect"))
            reviews = f"{len(own['gates'])} ({n_truth})"
            yield [words, _TITLES[other], *cells, faster, reviews]


def before_rows(measured: Measured) -> Iterator[list[str]]:
    """Rows: the default minus the default before, on the same reviews."""
    for words, length in _groups():
        own = _within(measured, length)
        if not own.get("sobol") or not own.get("sobol-before"):
            continue
        names = (
            "rho_effect", "rmse_effect", "rho_total", "rmse_total", "held_total", "path_deletion"
        )  # fmt: skip
        n_truth = len(_of(own, "sobol", "rho_effect"))
        yield [
            words,
            *(_difference(own, "sobol", "sobol-before", name) for name in names),
            _ratio(own, "sobol-before", "sobol", "seconds"),
            _ratio(own, "sobol-before", "sobol", "passes"),
            f"{len(own['sobol'])} ({n_truth})",
        ]


def way_rows(measured: Measured) -> Iterator[list[str]]:
    """Rows: how far each order goes from occlusion to greedy search, on the reviews of all."""
    if not measured.get("greedy") or not measured.get("occlusion"):
        return
    orders = {
        (variant, name): _of(measured, variant, f"{name}deletion")
        for variant in _TITLES for name in (("", "path_") if variant in PATHS else ("",))
    }  # fmt: skip
    reviews = set.intersection(*(set(own) for own in orders.values() if own))
    if not reviews:
        return
    means = {
        order: float(np.mean([own[review] for review in sorted(reviews)]))
        for order, own in orders.items() if own
    }  # fmt: skip
    start, end = means["occlusion", ""], means["greedy", ""]
    for (variant, name), mean in means.items():
        way = f"{100 * (start - mean) / (start - end):.0f} %" if start != end else ""
        costs = (
            np.mean([measured[variant][review][of] for review in sorted(reviews)])
            for of in ("passes", "gates")
        )
        shown = [f"{cost:,.0f}" for cost in costs]
        title = PATHS[variant] if name else _TITLES[variant]
        yield [title, decimal(mean), way, *shown, str(len(reviews))]


def _difference(measured: Measured, one: str, other: str, name: str) -> str:
    a, b = _of(measured, one, name), _of(measured, other, name)
    if not a.keys() & b.keys():
        return ""
    found = paired_difference(a, b)
    return f"{decimal(found.mean, sign=True)} {interval(found, sign=True)}"


def _ratio(measured: Measured, one: str, other: str, name: str) -> str:
    """Geometric mean of the ratios within a review."""
    a, b = _of(measured, one, name), _of(measured, other, name)
    logarithms = [np.log(a[review] / b[review]) for review in a if b.get(review)]
    return f"{np.exp(np.mean(logarithms)):.2f} x" if logarithms else ""


def _array(numbers: Sequence[float | None]) -> Floats:
    return np.array([np.nan if number is None else number for number in numbers], dtype=float)
