"""Answers of models elsewhere: what was returned, checked, and as outputs of a classifier."""

import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from textsobol.sobol.arrays import Floats

Answer = list[float] | dict[str, float]
"""Of one text: scores in a fixed order, or by label."""

ACTIVATIONS = ("softmax", "sigmoid", "none")
# Probabilities that are rounded may miss 1 by that much.
_ROUNDING = 0.01
# Below this a probability of single precision beside 1 is not told from 0: log-odds end there.
_LEAST = 1e-7
_SHOWN = 200


class WrongAnswerError(ValueError):
    """An answer that cannot be the scores of a text."""


class LabelMismatchError(WrongAnswerError):
    """An answer whose labels are not those of an earlier one; either may be wrong."""


def one_each(returned: Any, n_texts: int) -> list[Any]:
    """What a function returned for ``n_texts`` texts, in as many parts."""
    if hasattr(returned, "detach"):
        returned = returned.detach().float().cpu()
    if hasattr(returned, "tolist"):
        returned = returned.tolist()
    if not isinstance(returned, list | tuple):
        raise WrongAnswerError(f"not a list of scores but {shown(returned)}")
    if len(returned) != n_texts:
        raise WrongAnswerError(f"{len(returned)} answers for {n_texts} texts: {shown(returned)}")
    return list(returned)


def parsed(answer: Any) -> Answer:
    """The scores of one text, from what was returned for it.

    Example:
        >>> parsed([{"label": "B", "score": 0.75}, {"label": "A", "score": 0.25}])
        {'A': 0.25, 'B': 0.75}
        >>> parsed(2)
        [2.0]

    Raises:
        WrongAnswerError: when there are none.
    """
    if hasattr(answer, "tolist"):
        answer = answer.tolist()
    parts = list(answer) if isinstance(answer, list | tuple) else [answer]
    if parts and all(isinstance(part, dict) for part in parts):
        if not all({"label", "score"} <= set(part) for part in parts):
            raise WrongAnswerError(f"no labels and scores in {shown(answer)}")
        named = {str(part["label"]): _number(part["score"], answer) for part in parts}
        if len(named) < len(parts):
            raise WrongAnswerError(f"a label comes twice in {shown(answer)}")
        return dict(sorted(named.items()))
    if not parts:
        raise WrongAnswerError("an empty list of scores")
    return [_number(part, answer) for part in parts]


def _number(value: Any, answer: Any) -> float:
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise WrongAnswerError(f"{shown(value)} is no score, in {shown(answer)}")
    return float(value)


def shown(value: Any) -> str:
    """A short form for messages."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + " ..."


class AnswerReader:
    """Answers to outputs, always of the same labels in the same order.

    Args:
        labels: names of all labels; by default those of the first answer, sorted.
        activation: what scores are: ``softmax`` and ``sigmoid`` are probabilities, whose log
            or log-odds become the outputs; with ``none`` scores are the outputs.

    Example:
        >>> reader = AnswerReader(["A", "B", "C"], "softmax")
        >>> np.exp(reader.outputs({"C": 0.5, "A": 0.25}, "a text")).round(2)  # B has the rest
        array([0.25, 0.25, 0.5 ])
    """

    def __init__(self, labels: Sequence[str] | None, activation: str) -> None:
        self._given = None if labels is None else list(labels)
        self._activation = activation
        self._lock = threading.Lock()
        self.start_again()

    def start_again(self) -> str | None:
        """Let the next answer fix the labels; which text's answer did so before?"""
        fixed_by = getattr(self, "_fixed_by", None)
        self._names = self._given
        self._n_scores = None if self._given is None else len(self._given)
        self._fixed_by: str | None = None
        return fixed_by

    @property
    def names(self) -> list[str] | None:
        """Names of the labels, where they are known."""
        return self._names

    def outputs(self, answer: Answer, text: str) -> Floats:
        """The outputs of a text ``(labels,)``.

        Raises:
            WrongAnswerError: when the answer does not fit.
        """
        with self._lock:  # the first answer fixes the labels
            scores = np.array(self._arranged(answer))
            if self._activation != "none":
                self._check_probabilities(scores, answer)
            if self._n_scores is None:
                self._names = list(answer) if isinstance(answer, dict) else None
                self._n_scores, self._fixed_by = len(scores), text
        if self._activation == "softmax":
            return np.asarray(np.log(np.maximum(scores, _LEAST)))
        if self._activation == "sigmoid":
            inside = np.clip(scores, _LEAST, 1 - _LEAST)
            return np.asarray(np.log(inside) - np.log1p(-inside))
        return scores

    def _arranged(self, answer: Answer) -> list[float]:
        """Scores in the order of the labels."""
        if isinstance(answer, list):
            if self._n_scores not in (None, len(answer)):
                raise self._mismatch(f"{len(answer)} scores, expected {self._n_scores}", answer)
            return answer
        if self._names is None:
            if self._n_scores is not None:
                raise self._mismatch("scores by label, earlier ones had none", answer)
            return list(answer.values())
        missing = [name for name in self._names if name not in answer]
        unknown = [name for name in answer if name not in self._names]
        if unknown:
            raise self._mismatch(
                f"the labels {', '.join(answer)}, expected {', '.join(self._names)}", answer
            )
        rest = self._rest(answer, missing)
        return [answer.get(name, rest) for name in self._names]

    def _rest(self, answer: dict[str, float], missing: list[str]) -> float:
        """What is left for each missing label, where the answer determines it."""
        if not missing:
            return 0.0
        rest = max(0.0, 1.0 - sum(answer.values()))
        if self._activation == "softmax" and (len(missing) == 1 or rest <= _LEAST):
            return rest / len(missing)
        raise self._mismatch(f"no score of the labels {', '.join(missing)}", answer)

    def _mismatch(self, what: str, answer: Answer) -> WrongAnswerError:
        if self._given is not None:
            return WrongAnswerError(f"{what}: {shown(answer)}")
        return LabelMismatchError(
            f"{what}: {shown(answer)}. If not all answers hold all labels, name them: "
            f"TextExplainer(..., labels=[...])"
        )

    def _check_probabilities(self, scores: Floats, answer: Answer) -> None:
        if scores.min() < 0 or scores.max() > 1 + _ROUNDING:
            raise WrongAnswerError(
                f"no probabilities: {shown(answer)}. Are they to be analysed as they are? "
                f"{self._other('none')}"
            )
        total = float(scores.sum())
        if self._activation == "softmax" and abs(total - 1) > _ROUNDING:
            raise WrongAnswerError(
                f"probabilities whose sum is {total:.3g}, not 1: {shown(answer)}. Can a text have "
                f"several labels? {self._other('sigmoid')} Or are labels missing? Name all: "
                f"TextExplainer(..., labels=[...])"
            )

    @staticmethod
    def _other(activation: str) -> str:
        return (
            f"Then endpoint(..., function_to_apply={activation!r}) or "
            f"remote(..., activation={activation!r})."
        )
