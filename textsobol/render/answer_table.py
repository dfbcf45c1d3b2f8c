"""Which word of a prompt raised which part of an answer: a table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textsobol.render.printable import replace_controls
from textsobol.text.records import Measures, format_signed

if TYPE_CHECKING:
    from textsobol.text.explanation import TextExplanation

_MOST_ROWS = 40


@dataclass(frozen=True)
class Cell:
    """A number of the table.

    Attributes:
        text: the number.
        kind: ``for`` or ``against``; empty if it hardly matters.
        opacity: of its colour, 0 to 1.
        is_doubtful: whether it may be 0.
    """

    text: str
    kind: str
    opacity: float
    is_doubtful: bool


@dataclass(frozen=True)
class AnswerTable:
    """Parts of an answer across, words of the prompt down.

    Attributes:
        parts: the parts of the answer.
        rows: each word with its cells.
        is_effect: whether the numbers are changes of log-probabilities; else a method's own scores.
        n_hidden: words that have no row, because others matter more.
    """

    parts: list[str]
    rows: list[tuple[str, list[Cell]]]
    is_effect: bool
    n_hidden: int


def make_answer_table(explanation: TextExplanation) -> AnswerTable | None:
    """The table of an explained answer that has parts; ``None`` for everything else."""
    parts = [target for target in explanation.targets if target != explanation.answer]
    if explanation.answer is None or not parts:
        return None
    names, ranking = explanation.names, explanation.ranking
    shown = sorted(ranking[:_MOST_ROWS])
    scores = {k: explanation.words[k].scores for k in shown}
    is_effect = not any(math.isnan(own[part].effect) for own in scores.values() for part in parts)
    values = {k: [_choose(own[part], is_effect=is_effect) for part in parts]
              for k, own in scores.items()}  # fmt: skip
    highest = max((abs(value) for row in values.values() for value, _ in row), default=0.0)
    rows = [(names[k], [_make_cell(*each, highest) for each in values[k]]) for k in shown]
    return AnswerTable(
        [show_token(part) for part in parts], rows, is_effect, len(ranking) - len(shown)
    )


def _choose(own: Measures, *, is_effect: bool) -> tuple[float, bool]:
    """The number that is shown, and whether it may be 0."""
    if is_effect:
        return own.effect, own.effect_low <= 0 <= own.effect_high
    return own.score, False


def _make_cell(value: float, is_doubtful: bool, highest: float) -> Cell:
    opacity = abs(value) / highest if highest > 0 else 0.0
    kind = "" if opacity < 0.1 else "for" if value > 0 else "against"
    return Cell(format_signed(value, 2).replace("-", "\u2212"), kind, opacity, is_doubtful)


def show_token(token: str) -> str:
    r"""A part of an answer so that it can be seen.

    Example:
        >>> [show_token(token) for token in (" Paris", "\n", " ")]
        ['Paris', '\u21b5', '\u2423']
    """
    shown = token.replace("\n", "\u21b5").strip()
    return replace_controls(shown) if shown else "\u2423"
