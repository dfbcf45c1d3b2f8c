"""What is asked about every prompt: scores of labels, or of one answer and its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import accumulate
from typing import Any, Protocol

import numpy as np

from textsobol.prompts.answers import join_answers
from textsobol.prompts.scoring import AnswerScorer, AnyPrompt, Prompts
from textsobol.sobol.arrays import Floats
from textsobol.steps import Tick
from textsobol.text.inputs import refuse_surrogates


class Question(Protocol):
    """From prompts to the outputs that are analysed."""

    @property
    def activation(self) -> str:
        """How outputs become probabilities; see `outputs.compute_probabilities`."""

    @property
    def answers(self) -> list[str]:
        """All answers that are scored."""

    @property
    def names(self) -> list[str]:
        """The name of each output."""

    @property
    def answer(self) -> str | None:
        """The one answer that is explained, or ``None``."""

    @property
    def details(self) -> dict[str, Any]:
        """What an explanation records."""

    def ask(self, scorer: Any, prompts: Prompts, tick: Tick) -> Floats:
        """Outputs ``(prompts, names)``."""


@dataclass(frozen=True)
class LabelQuestion:
    """Log-probabilities of labels, which are the sums of those of their answers.

    Attributes:
        labels: the label of each answer.
        answers: all answers of all labels.
        calibration: by label, what is subtracted.
    """

    labels: list[str]
    answers: list[str]
    calibration: Mapping[str, float] | None = None
    activation: str = "softmax"
    answer: str | None = None

    @property
    def names(self) -> list[str]:
        """The labels."""
        return list(dict.fromkeys(self.labels))

    @property
    def details(self) -> dict[str, Any]:
        """The log-probabilities that were subtracted, if any."""
        return {} if self.calibration is None else {"calibration": dict(self.calibration)}

    def ask(self, scorer: AnswerScorer, prompts: Prompts, tick: Tick) -> Floats:
        """Log-probabilities ``(prompts, labels)``, less those of the text without content."""
        scores = join_answers(scorer.score_answers(prompts, self.answers, tick), self.labels)
        if self.calibration is not None:
            scores = scores - np.array([self.calibration[name] for name in self.names])
        return scores


@dataclass(frozen=True)
class AnswerQuestion:
    """Log-probabilities of one answer and of parts of it.

    Attributes:
        answer: the answer.
        is_own: whether the model wrote it.
        parts: the pieces of the answer that each part is made of, by name; see
            `scoring.AnswerWriter.cut_answer`.
    """

    answer: str
    is_own: bool
    parts: Mapping[str, Sequence[int]]
    activation: str = "log"

    @property
    def answers(self) -> list[str]:
        """The answer."""
        return [self.answer]

    @property
    def names(self) -> list[str]:
        """The answer, and its parts."""
        return [self.answer, *self.parts]

    @property
    def details(self) -> dict[str, Any]:
        """The answer, and whose it is."""
        return {"answer": self.answer, "is_own_answer": self.is_own}

    def ask(self, scorer: Any, prompts: Prompts, tick: Tick) -> Floats:
        """Log-probabilities ``(prompts, names)`` of the answer and of its parts."""
        if not self.parts:
            return np.asarray(scorer.score_answers(prompts, [self.answer], tick))
        pieces = scorer.score_pieces(prompts, self.answer, tick)
        parts = [pieces[:, list(own)].sum(axis=1) for own in self.parts.values()]
        return np.stack([pieces.sum(axis=1), *parts], axis=1)


def ask_answer(
    scorer: Any, prompt: AnyPrompt, target: str | None, phrases: Sequence[str] | int | None
) -> AnswerQuestion:
    """What is asked of an answer: of its tokens, or of some phrases of it.

    Args:
        scorer: the model.
        prompt: the whole prompt.
        target: the answer; by default the model's own.
        phrases: by default its tokens.
    """
    if isinstance(phrases, int):
        raise ValueError(f"targets={phrases}: give a list of phrases of the answer")
    if target is None and not hasattr(scorer, "write_answer"):
        raise ValueError(f"{scorer.name} does not write answers here: give target=...")
    if target is not None:
        if not isinstance(target, str):
            raise ValueError(f"target={target!r}: an answer is a string")
        if not target.strip():
            raise ValueError(f"target={target!r}: the answer to explain is blank")
        refuse_surrogates(target, "target=")
    answer = scorer.write_answer(prompt) if target is None else target
    has_pieces = hasattr(scorer, "cut_answer")
    if phrases is not None and not has_pieces:
        raise ValueError(f"{scorer.name} scores whole answers only: leave out targets=")
    pieces = scorer.cut_answer(prompt, answer) if has_pieces else [answer]
    asked = [phrases] if isinstance(phrases, str) else phrases
    parts = _name_pieces(pieces) if asked is None else _find_phrases(pieces, asked)
    return AnswerQuestion(answer, target is None, {k: v for k, v in parts.items() if k != answer})


def _name_pieces(pieces: Sequence[str]) -> dict[str, list[int]]:
    """Each piece by itself; those that are the same have a number.

    Example:
        >>> _name_pieces([" a", " b", " a"])
        {' a (1)': [0], ' b': [1], ' a (2)': [2]}
    """
    names = [
        f"{piece} ({pieces[:k].count(piece) + 1})" if pieces.count(piece) > 1 else piece
        for k, piece in enumerate(pieces)
    ]
    return {name: [k] for k, name in enumerate(names)}


def _find_phrases(pieces: Sequence[str], phrases: Sequence[str]) -> dict[str, list[int]]:
    """The pieces that each phrase is made of, or reaches into.

    Example:
        >>> _find_phrases([" Par", "is", " in France"], ["Paris"])
        {'Paris': [0, 1]}
    """
    answer, ends = "".join(pieces), list(accumulate(map(len, pieces)))
    found = {}
    for phrase in phrases:
        start = answer.find(phrase)
        if not phrase.strip() or start < 0:
            raise ValueError(f"the target {phrase!r} is no phrase of the answer {answer!r}")
        begins = [end - len(piece) for piece, end in zip(pieces, ends, strict=True)]
        found[phrase] = [
            k
            for k, (begin, end) in enumerate(zip(begins, ends, strict=True))
            if begin < start + len(phrase) and end > start
        ]
    return found


def refuse_misspelt_label(target: str, labels: Sequence[str]) -> None:
    """Raise an error for a target that is nearly a label: it is hardly meant as an answer."""
    close = get_close_matches(target.strip().lower(), [label.lower() for label in labels], 1, 0.8)
    if close:
        raise ValueError(
            f"label {target!r} is not known; labels: {', '.join(labels)}. Another target is "
            f"explained as an answer of the model"
        )
