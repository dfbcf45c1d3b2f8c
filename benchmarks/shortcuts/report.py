"""The tables of RESULTS.md: what models use, and what methods find."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.reporting import (
    Cell,
    Estimate,
    Table,
    decimal,
    interval,
    mean_with_interval,
    paired_difference,
    places,
)
from benchmarks.shortcuts.obedience import ALONE
from benchmarks.shortcuts.reading import ByText, Found, load
from benchmarks.shortcuts.variants import EXACT, FEW, OURS, USUAL, VARIANTS
from benchmarks.tables import fill_marks, markdown

OUR_DEFAULT = f"{OURS}-{USUAL}"
GOALS = {"single": 0.99, "redundant": 0.99, "pair": 0.95, "order": 0.95, "context": 0.95}
MOST_GAP = 0.1
GROUPS = {
    USUAL: "as many passes as our default takes", FEW: "4 passes a word", None: "its own number"
}  # fmt: skip
_CHANGES = (
    "as planted", "without distractors", "without planted words", "without one of them",
    "with one of them", "in the other order",
)  # fmt: skip

Value = Callable[[Found, str], ByText]
"""What a method came to in a model, by text."""


def write_report(paths: Sequence[Path], into: Path) -> list[str]:
    """Fill the marks of a file of Markdown; returns the names of the tables."""
    return fill_marks(into, make_tables(load(paths)))


def make_tables(models: Sequence[Found]) -> Iterator[tuple[str, str]]:
    """Name and Markdown of every table."""
    yield "conditions", markdown(CONDITIONS_HEADER, list(condition_rows(models)))
    commands = dict.fromkeys(command for model in models for command in model.commands)
    yield "commands", "\n".join(f"    {command}" for command in commands)
    yield "use", markdown(USE_HEADER, list(use_rows(models)))
    used = [model for model in models if model.is_used]
    yield "goals", markdown(GOALS_HEADER, list(goal_rows(used)))
    yield "all masks", markdown(TRUTH_HEADER, list(truth_rows(used)))
    for base in dict.fromkeys(model.base for model in used):
        own = [model for model in used if model.base == base]
        equal = [model for model in own if model.plant.are_equal]
        measure = partial(_measure, measure="precision")
        yield f"{base} precision", method_table(own, measure, higher=True).markdown()
        yield f"{base} differences", difference_table(own, measure).markdown()
        rank = method_table(own, partial(_measure, measure="rank"), higher=False)
        yield f"{base} rank", rank.markdown()
        gaps = method_table(equal, lambda model, variant: model.of(variant, "gap"), higher=False)
        yield f"{base} gap", gaps.markdown()
        signs = method_table(own, lambda model, variant: model.of(variant, "sign"), higher=True)
        yield f"{base} sign", signs.markdown()
        wrong = method_table(
            own, lambda model, variant: model.of(variant, "distractors"), higher=False
        )
        yield f"{base} distractors", wrong.markdown()


def _measure(model: Found, variant: str, measure: str) -> ByText:
    return model.found(variant, measure)


def method_table(models: Sequence[Found], value: Value, *, higher: bool) -> Table:
    """Means with intervals: a row for every variant, a column for every plant."""
    names = [name for name in VARIANTS if name != EXACT and any(value(m, name) for m in models)]
    rows: dict[str, list[Cell]] = {name: [_title(name), _passes(models, name)] for name in names}
    for model in models:
        found = [_mean(value(model, name)) for name in names]
        ranks = places(
            [0.0 if each is None else each.mean for each in found],
            higher_is_better=higher,
            eligible=[
                each is not None and name != "random"
                for name, each in zip(names, found, strict=True)
            ],
        )
        for name, each, place in zip(names, found, ranks, strict=True):
            rows[name].append(_cell(each, place))
    return Table("", "", ["method", "passes a word", *_columns(models)], _grouped(rows))


def difference_table(models: Sequence[Found], value: Value) -> Table:
    """Our default minus every other variant, text by text."""
    names = [name for name in VARIANTS if name not in (EXACT, OUR_DEFAULT)]
    rows = {}
    for name in names:
        row = [_title(name)]
        for model in models:
            ours, theirs = value(model, OUR_DEFAULT), value(model, name)
            found = paired_difference(ours, theirs) if ours and theirs else None
            row.append(_cell(found, sign=True))
        if any(cell.text for cell in row[1:]):
            rows[name] = row
    return Table("", "", ["our default minus", *_columns(models)], _grouped(rows))


CONDITIONS_HEADER = (
    "model", "started from", "passes in", "training sentences", "texts", "words of a text", "seed"
)  # fmt: skip


def condition_rows(models: Sequence[Found]) -> Iterator[list[str]]:
    """What results were made with."""
    for model in models:
        settings, trained = model.settings, model.settings["trained"]
        words = list(model.of(OUR_DEFAULT, "words").values())
        yield [
            settings["model"], trained["base"], settings["dtype"],
            f"{trained['sentences']:,}, planted {trained['copies']} times, "
            f"{trained['epochs']} epochs",
            str(len(words)), f"{min(words):.0f} to {max(words):.0f}, mean {np.mean(words):.1f}",
            str(settings["seed"]),
        ]  # fmt: skip


USE_HEADER = (
    "model", "what decides", "sentences", ALONE, *_CHANGES, "texts that follow throughout", "used"
)  # fmt: skip


def use_rows(models: Sequence[Found]) -> Iterator[list[str]]:
    """Shares of predictions that are as the plant says."""
    for model in models:
        use = model.settings["use"]
        shares = [use["shares"].get(kind) for kind in (ALONE, *_CHANGES)]
        yield [
            model.base, model.plant.title, str(use["sentences"]),
            *("" if share is None else f"{share:.3f}" for share in shares),
            str(use["obedient"]), "yes" if model.is_used else "no",
        ]  # fmt: skip


GOALS_HEADER = ("model", "what decides", "measure", "goal", "our default", "met")


def goal_rows(models: Sequence[Found]) -> Iterator[list[str]]:
    """What was wished for, and what our default came to."""
    for model in models:
        plant = model.plant
        goal, found = GOALS[plant.name], _mean(model.found(OUR_DEFAULT, "precision"))
        k = len(plant.deciding[1][-1])
        if found is not None:
            by = "by size" if plant.by_size else "signed"
            is_met = found.mean >= goal
            yield [
                model.base, plant.title, f"precision@{k}, {by}", f"at least {goal}",
                _cell(found).markdown(), "yes" if is_met else "no",
            ]  # fmt: skip
        gap = _mean(model.of(OUR_DEFAULT, "gap"))
        if plant.are_equal and gap is not None:
            yield [
                model.base, plant.title, "gap, share of the top score", f"at most {MOST_GAP}",
                _cell(gap).markdown(), "yes" if gap.mean <= MOST_GAP else "no",
            ]  # fmt: skip


TRUTH_HEADER = (
    "model", "what decides", "texts", "precision@k of indices from all masks", "of our default",
    "gap of indices from all masks", "of our default", "gap of effects from all masks",
    "of our default",
)  # fmt: skip


def truth_rows(models: Sequence[Found]) -> Iterator[list[str]]:
    """Indices without sampling error beside our default, on texts that are short enough."""
    for model in models:
        precision = model.found(EXACT, "precision")
        if precision:
            gaps = [
                _mean(_only(model.of(variant, name), precision)) if model.plant.are_equal else None
                for name in ("gap", "gap of effects") for variant in (EXACT, OUR_DEFAULT)
            ]  # fmt: skip
            found = [
                _mean(precision), _mean(_only(model.found(OUR_DEFAULT, "precision"), precision)),
                *gaps,
            ]  # fmt: skip
            cells = [_cell(each).markdown() for each in found]
            yield [model.base, model.plant.title, str(len(precision)), *cells]


def _only(values: ByText, texts: ByText) -> ByText:
    return {text: value for text, value in values.items() if text in texts}


def _mean(values: ByText) -> Estimate | None:
    return mean_with_interval(list(values.values())) if values else None


def _cell(found: Estimate | None, place: int = 0, *, sign: bool = False) -> Cell:
    if found is None:
        return Cell("")
    return Cell(decimal(found.mean, sign=sign), place, interval(found, sign=sign))


def _title(name: str) -> Cell:
    title = VARIANTS[name].titles[0]
    return Cell(f"{title}, our default" if name == OUR_DEFAULT else title)


def _passes(models: Sequence[Found], name: str) -> Cell:
    shares = [
        passes / words
        for model in models
        for passes, words in zip(
            model.of(name, "passes").values(), model.of(name, "words").values(), strict=True
        )
    ]
    return Cell(f"{np.mean(shares):.1f}")


def _columns(models: Sequence[Found]) -> list[str]:
    return [model.plant.title for model in models]


def _grouped(rows: dict[str, list[Cell]]) -> list[tuple[str, list[list[Cell]]]]:
    groups = {
        title: [row for name, row in rows.items() if VARIANTS[name].passes == passes]
        for passes, title in GROUPS.items()
    }
    return [(title, own) for title, own in groups.items() if own]
