"""RESULTS.md: who is first, the table of methods and questions, and its conditions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.curves import png_of
from benchmarks.models import MODELS, describe
from benchmarks.reporting import (
    Cell,
    Estimate,
    Table,
    decimal,
    interval,
    paired_difference,
    places,
)
from benchmarks.results.answers import Answer, read_answers
from benchmarks.results.methods import ATTRIBUTIONS, METHODS, OUR_DEFAULTS
from benchmarks.results.plot import draw
from benchmarks.results.questions import QUESTIONS
from benchmarks.results.text import HEADER, HOW_TO_READ, PAGES, PLOT_CAPTION, VERDICTS
from benchmarks.tables import markdown
from textsobol.files import write_text

PLOT = "results.png"
_OURS = {
    "default": "our default", "default-own": "with its own budget", "scores": "without a path"
}  # fmt: skip
FIRST, LEVEL, BEHIND = "first", "level", "behind"


@dataclass(frozen=True)
class Verdict:
    """One of ours against the best rival, text by text.

    Attributes:
        answer: of all methods.
        ours: which of ours.
        rival: the best attribution of others.
        difference: ours minus the rival; above 0 is better for ours.
    """

    answer: Answer
    ours: str
    rival: str
    difference: Estimate

    @property
    def word(self) -> str:
        """First, level or behind, by the interval of the difference."""
        if self.difference.low > 0:
            return FIRST
        return BEHIND if self.difference.high < 0 else LEVEL


def write_page(root: Path, out: Path) -> None:
    """Write RESULTS.md and the plot.

    Args:
        root: the directory with the benchmarks and their raw lines.
        out: the directory to write to, made if it is not there.

    Raises:
        ValueError: if there are no raw lines.
    """
    answers = read_answers(root)
    if not answers:
        raise ValueError(f"no raw lines below {root}")
    out.mkdir(parents=True, exist_ok=True)
    (out / PLOT).write_bytes(png_of(draw(answers)))
    commands = dict.fromkeys(command for each in answers for command in _commands(each))
    parts = [
        HEADER,
        "## What is asked",
        _questions(answers),
        *_verdicts(answers),
        "## Every method and question",
        HOW_TO_READ,
        method_table(answers).markdown(),
        "## The same with intervals",
        f"![{PLOT_CAPTION}]({PLOT})",
        "## Conditions",
        condition_table(answers, list(commands)),
        _models(answers),
        '<details markdown="1"><summary>Commands that made the raw lines</summary>',
        "\n".join(f"{number}. `{command}`" for number, command in enumerate(commands, 1)),
        "</details>",
        PAGES,
    ]
    write_text(out / "RESULTS.md", "\n\n".join(part for part in parts if part) + "\n")


def _questions(answers: Sequence[Answer]) -> str:
    """What every column asks, in a sentence."""
    asked = {each.question.title: each.question.asks for each in answers}
    return "\n".join(f"- **{_capital(title)}**: {asks}" for title, asks in asked.items())


def _models(answers: Sequence[Answer]) -> str:
    """What models are; of those with planted words how right they are beside that."""
    files = [each for answer in answers for each in answer.files]
    trained = {model: made for model, _, found in files if (made := found.settings.get("trained"))}
    names = {model for model, *_ in files if model in MODELS}
    parts = [describe(sorted(names, key=list(MODELS).index))]
    if trained:
        said = ", ".join(
            f"`{name}` (from `{made['base']}`) {100 * made['validation_accuracy']:.1f} %"
            for name, made in sorted(trained.items())
        )
        parts.append(
            "Models with planted words were trained further; right on validation sentences with "
            f"and without planted words: {said}."
        )
    return "\n\n".join(parts)


def verdict_of(answer: Answer, ours: str) -> Verdict | None:
    """One of ours against the best rival; ``None`` where either was not measured."""
    rival = answer.best_rival
    if answer.question.is_cost or rival is None or ours not in answer.values:
        return None
    sign = 1.0 if answer.question.higher_is_better else -1.0
    a, b = (dict(sign * answer.values[name]) for name in (ours, rival))
    found = paired_difference(a, b)
    return None if pd.isna(found.low) else Verdict(answer, ours, rival, found)


def _verdicts(answers: Sequence[Answer]) -> Iterator[str]:
    """Lists of questions by what our default comes to."""
    found = [verdict_of(each, each.ours) for each in answers if each.ours is not None]
    verdicts = [each for each in found if each is not None]
    without = [each for answer in answers if (each := verdict_of(answer, "scores")) is not None]
    yield VERDICTS.format(
        n=len(verdicts), counts=_counts(verdicts), n_without=len(without), without=_counts(without)
    )
    for title, word in (
        ("Where others are better", BEHIND),
        ("Where ours is first", FIRST),
        ("Where it is open: level with the best rival", LEVEL),
    ):
        own = [each for each in verdicts if each.word == word]
        yield f"## {title}"
        yield "\n".join(map(_bullet, own)) or "Nowhere."


def _counts(verdicts: Sequence[Verdict]) -> str:
    words = [each.word for each in verdicts]
    return ", ".join(f"{word} in {words.count(word)}" for word in (FIRST, LEVEL, BEHIND))


def _bullet(verdict: Verdict) -> str:
    """A line about a question and a family."""
    answer, rival = verdict.answer, verdict.rival
    others = [verdict_of(answer, name) for name in _OURS if name != verdict.ours]
    said = [
        f"{METHODS[rival].title} {_mean(answer, rival)}, the best of {len(answer.rivals)}"
        if len(answer.rivals) > 1
        else f"{METHODS[rival].title} {_mean(answer, rival)}, the only rival",
        f"our default {'' if verdict.ours == 'default' else _OURS[verdict.ours] + ' '}"
        f"{_mean(answer, verdict.ours)} ({_difference(verdict)})",
        *(
            f"{_OURS[each.ours]} {_mean(answer, each.ours)} ({each.word}, {_difference(each)})"
            for each in others
            if each is not None
        ),
    ]
    title = _capital(answer.question.title)
    return f"- **{title}**, {answer.family}, {len(answer.values)} texts: {'; '.join(said)}."


def _mean(answer: Answer, name: str) -> str:
    return decimal(answer.estimates[name].mean, answer.question.digits)


def _difference(verdict: Verdict) -> str:
    found = verdict.difference
    return f"{decimal(found.mean, sign=True)} {interval(found, sign=True)}"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def method_table(answers: Sequence[Answer]) -> Table:
    """Methods by questions, a group of rows for every family and kind of method."""
    asked = [
        name for name in QUESTIONS if any(each.question is QUESTIONS[name] for each in answers)
    ]
    groups = []
    for family in dict.fromkeys(each.family for each in answers):
        of_question = {id(each.question): each for each in answers if each.family == family}
        columns = [_cells(of_question.get(id(QUESTIONS[name]))) for name in asked]
        for group in dict.fromkeys(method.group for method in METHODS.values()):
            rows = [
                [Cell(method.title), *(column.get(name, Cell("")) for column in columns)]
                for name, method in METHODS.items()
                if method.group == group and any(name in column for column in columns)
            ]
            if rows:
                groups.append((f"{family}: {group}", rows))
    header = ["method", *(QUESTIONS[name].header for name in asked)]
    return Table("", "", header, groups)


def _cells(answer: Answer | None) -> dict[str, Cell]:
    if answer is None:
        return {}
    estimates = answer.estimates
    digits = answer.question.digits
    eligible = [
        METHODS[name].group == ATTRIBUTIONS
        and not answer.question.is_cost
        and not _has_more_passes(name, answer)
        for name in estimates
    ]
    ranks = places(
        [estimate.mean for estimate in estimates.values()],
        higher_is_better=answer.question.higher_is_better,
        eligible=[each and sum(eligible) > 1 for each in eligible],
    )
    return {
        name: Cell(decimal(estimate.mean, digits), place)
        for (name, estimate), place in zip(estimates.items(), ranks, strict=True)
    }


def _has_more_passes(name: str, answer: Answer) -> bool:
    """Whether it is our default with its own budget, where the usual one was measured, too."""
    return name == OUR_DEFAULTS[1] and OUR_DEFAULTS[0] in answer.values


CONDITIONS = (
    "questions", "models", "page", "precision", "texts", "number", "words: fewest, median, most",
    "forward passes", "seed", "commands",
)  # fmt: skip


def condition_table(answers: Sequence[Answer], commands: Sequence[str]) -> str:
    """What every column was measured on."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for answer in answers:
        rows.setdefault(_conditions(answer, commands), []).append(answer.question.title)
    return markdown(CONDITIONS, [[", ".join(titles), *shown] for shown, titles in rows.items()])


def _conditions(answer: Answer, commands: Sequence[str]) -> tuple[str, ...]:
    question, texts = answer.question, answer.texts
    settings = [(model, results.settings) for model, _, results in answer.files]
    asked = [f"{number:g}" for number in sorted(texts["asked"].dropna().unique())]
    passes = [f"{' or '.join(asked)} a word"] if asked else []
    words = texts["words"]
    return (
        ", ".join(f"`{name}`" for name in answer.models),
        f"[{question.page.split('/')[0]}]({question.page})",
        _listed(_precision_of(model, made) for model, made in settings),
        _listed(f"{made.get('name') or question.texts} ({made['data']})" for _, made in settings),
        f"{len(texts)}",
        f"{words.min():.0f}, {words.median():.0f}, {words.max():.0f}",
        "; ".join(filter(None, [*passes, answer.source.budget])),
        _listed(str(made["seed"]) for _, made in settings),
        ", ".join(str(1 + commands.index(command)) for command in _commands(answer)),
    )


def _commands(answer: Answer) -> list[str]:
    return list(dict.fromkeys(each for *_, found in answer.files for each in found.commands))


def _precision_of(model: str, settings: Mapping[str, Any]) -> str:
    """That of the weights; older runs tell it by the name of the model only."""
    named = "bfloat16" if model.endswith("bf16") else "float32"
    return str(settings.get("precision") or settings.get("dtype") or named)


def _listed(values: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(values))
