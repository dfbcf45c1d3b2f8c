"""Labels and the answers that stand for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations

import numpy as np

from textsobol.sobol.arrays import Floats
from textsobol.text.inputs import refuse_surrogates

Answers = Mapping[str, str | Sequence[str]]


def list_answers(answers: Answers) -> list[tuple[str, str]]:
    """Every label with each of its answers.

    Example:
        >>> list_answers({"bad": " bad", "good": [" good", " great"]})
        [('bad', ' bad'), ('good', ' good'), ('good', ' great')]
    """
    return [
        (str(label), answer)
        for label, own in answers.items()
        for answer in ([own] if isinstance(own, str) else own)
    ]


def check_answers(answers: Answers) -> None:
    """Refuse answers that cannot be distinguished.

    Raises:
        ValueError: that says what to change.
    """
    if not isinstance(answers, Mapping) or len(answers) < 2:
        raise ValueError(
            "answers= maps at least two labels to their answers, such as "
            "{'negative': ' negative', 'positive': ' positive'}; without answers=, the "
            "log-probability of one answer is explained, the target of a call"
        )
    for label, own in answers.items():
        texts = [own] if isinstance(own, str) else own
        is_list = isinstance(texts, Sequence) and len(texts) > 0
        if not is_list or not all(isinstance(text, str) and text for text in texts):
            raise ValueError(
                f"the answer of label {label!r} must be a string, or a list of strings, and not "
                f"empty"
            )
        refuse_surrogates(str(label), "a label")
        for text in texts:
            refuse_surrogates(text, "an answer")
        if [str(each) for each in answers].count(str(label)) > 1:
            raise ValueError(f"the label {str(label)!r} is there twice: as a number and a text")
    _check_prefixes(list_answers(answers))


def _check_prefixes(answers: Sequence[tuple[str, str]]) -> None:
    """Refuse an answer that begins with another one."""
    for (label, answer), (other_label, other) in permutations(answers, 2):
        if not other.startswith(answer):
            continue
        if label != other_label and answer == other:
            raise ValueError(
                f"the labels {label!r} and {other_label!r} have the same answer {answer!r}: give "
                f"each its own"
            )
        if label == other_label:
            raise ValueError(
                f"label {label!r} has the answers {answer!r} and {other!r}; the first counts "
                f"wherever the second does: leave out the second"
            )
        raise ValueError(
            f"the answer {answer!r} of label {label!r} is how the answer {other!r} of label "
            f"{other_label!r} begins, so that it would always be the likelier one: give other "
            f"answers, or what ends them, such as {answer + chr(10)!r} and {other + chr(10)!r}"
        )


def check_tokens(answers: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse answers that a tokenizer cannot tell apart, though their characters differ.

    Raises:
        ValueError: that names both answers.
    """
    for (answer, own), (other, longer) in permutations(answers.items(), 2):
        if longer[: len(own)] == own:
            raise ValueError(
                f"for this model's tokenizer the answer {other!r} begins with all tokens of "
                f"{answer!r}: give answers with different tokens"
            )


def join_answers(scores: Floats, labels: Sequence[str]) -> Floats:
    """Log-probabilities of answers ``(prompts, answers)`` to those of labels, by log-sum-exp.

    Args:
        scores: log-probabilities.
        labels: the label of each answer.

    Example:
        >>> np.exp(join_answers(np.log([[0.5, 0.2, 0.1]]), ["bad", "good", "good"])).round(3)
        array([[0.5, 0.3]])
    """
    names = list(dict.fromkeys(labels))
    columns = [
        np.logaddexp.reduce(scores[:, [name == label for label in labels]], axis=1)
        for name in names
    ]
    return np.stack(columns, axis=1)
