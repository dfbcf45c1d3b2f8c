"""Check the answers of remote models, and turn them into classifier outputs."""

import json
import reprlib
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.special import logit

from textsobol.errors import LabelMismatchError, WrongAnswerError
from textsobol.outputs import LEAST_PROBABILITY
from textsobol.redaction import Redaction
from textsobol.sobol.arrays import Floats

Answer = list[float] | dict[str, float]
"""The scores of one text: in a fixed order, or by label."""

ACTIVATIONS = ("softmax", "sigmoid", "none")
_ROUNDING = 0.01  # how far the sum of rounded probabilities may be from 1
_LARGEST_SCORE = 1e100  # its square is still a number
_LONGEST_LABEL = 1000
_SHOWN_BYTES = 2000  # of something that is not JSON
_SHORT = reprlib.Repr()
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = 20
_SHORT.maxstring = _SHORT.maxother = 300
_SHORT.maxlong = 40


def parse_json(body: bytes, redaction: Redaction) -> Any:
    """JSON without the secrets that a server may return."""
    try:
        parsed = json.loads(body, object_pairs_hook=_join_pairs)
        return redaction.hide_known(parsed)
    except RecursionError:
        raise WrongAnswerError("something that is nested too deeply") from None
    except WrongAnswerError:
        raise
    except ValueError:
        text = show(redaction(body[:_SHOWN_BYTES].decode("utf-8", "replace")))
        raise WrongAnswerError(f"something that is not JSON: {text}") from None


def _join_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    joined = dict(pairs)
    if len(joined) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise WrongAnswerError(f"an object in which {show(twice)} comes twice")
    return joined


def split_batch(returned: Any, n_texts: int) -> list[Any]:
    """One item per text, from what a function returned for ``n_texts`` texts."""
    if hasattr(returned, "detach"):
        returned = returned.detach().float().cpu()
    if hasattr(returned, "tolist"):
        returned = returned.tolist()
    if not isinstance(returned, list | tuple):
        raise WrongAnswerError(f"not a list of scores but {show(returned)}")
    if len(returned) != n_texts:
        raise WrongAnswerError(f"{len(returned)} answers for {n_texts} texts: {show(returned)}")
    return list(returned)


def parse_answer(answer: Any) -> Answer:
    """The scores of one text, from a model's answer for it.

    Example:
        >>> parse_answer([{"label": "B", "score": 0.75}, {"label": "A", "score": 0.25}])
        {'A': 0.25, 'B': 0.75}
        >>> parse_answer(2)
        [2.0]
    """
    if hasattr(answer, "tolist"):
        answer = answer.tolist()
    parts = list(answer) if isinstance(answer, list | tuple) else [answer]
    if not parts:
        raise WrongAnswerError("an empty list of scores")
    if not all(isinstance(part, dict) for part in parts):
        return [_parse_score(part, answer) for part in parts]
    if not all({"label", "score"} <= set(part) for part in parts):
        raise WrongAnswerError(f"no labels and scores in {show(answer)}")
    named = {_parse_label(part["label"]): _parse_score(part["score"], answer) for part in parts}
    if len(named) < len(parts):
        raise WrongAnswerError(f"a label comes twice in {show(answer)}")
    return dict(sorted(named.items()))


def _parse_label(value: Any) -> str:
    if hasattr(value, "item"):
        value = value.item()
    is_number = isinstance(value, int) and abs(value) < _LARGEST_SCORE
    if not is_number and not (isinstance(value, str) and len(value) <= _LONGEST_LABEL):
        raise WrongAnswerError(f"{show(value)} is no label")
    return str(value)


def _parse_score(value: Any, answer: Any) -> float:
    if hasattr(value, "item"):
        value = value.item()
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not -_LARGEST_SCORE <= value <= _LARGEST_SCORE:  # NaN is neither
        raise WrongAnswerError(f"{show(value)} is no score, in {show(answer)}")
    return float(value)


def show(value: Any) -> str:
    """A short form of a value, for messages; it takes no long time for a large or deep one."""
    try:
        return shorten(_SHORT.repr(value))
    except ValueError:  # Python writes no integer of more than 4,300 digits
        return f"something of type {type(value).__name__}"


def shorten(text: str, limit: int = 200) -> str:
    """The text, or its beginning, for messages."""
    return text if len(text) <= limit else text[:limit] + " ..."


def _join(labels: Iterable[str]) -> str:
    return shorten(", ".join(labels), 100)


class AnswerReader:
    """Turns answers into outputs, always of the same labels in the same order.

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
        self._first_text: str | None = None
        self.reset()

    def reset(self) -> str | None:
        """Let the next answer set the labels, and return the text whose answer set them."""
        first_text, self._first_text = self._first_text, None
        self.names = self._given
        self._n_scores = None if self._given is None else len(self._given)
        return first_text

    def outputs(self, answer: Answer, text: str) -> Floats:
        """The outputs of a text ``(labels,)``; an answer that does not fit raises an error."""
        with self._lock:  # the first answer sets the labels
            scores = np.array(self._sort_scores(answer))
            self._check_probabilities(scores, answer)
            if self._n_scores is None:
                self.names = list(answer) if isinstance(answer, dict) else None
                self._n_scores, self._first_text = len(scores), text
        if self._activation == "softmax":
            return np.asarray(np.log(np.maximum(scores, LEAST_PROBABILITY)))
        if self._activation == "sigmoid":
            return np.asarray(logit(np.clip(scores, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)))
        return scores

    def _sort_scores(self, answer: Answer) -> list[float]:
        """Scores in the order of the labels."""
        if isinstance(answer, list):
            if self._n_scores not in (None, len(answer)):
                raise self._mismatch(f"{len(answer)} scores, expected {self._n_scores}", answer)
            return answer
        if self.names is None:
            if self._n_scores is not None:
                raise self._mismatch("scores by label, earlier ones had none", answer)
            return list(answer.values())
        if not set(answer) <= set(self.names):
            expected = _join(self.names)
            raise self._mismatch(f"the labels {_join(answer)}, expected {expected}", answer)
        missing = [name for name in self.names if name not in answer]
        rest = max(0.0, 1.0 - sum(answer.values()))
        can_infer = self._activation == "softmax" and (
            len(missing) == 1 or rest <= LEAST_PROBABILITY
        )
        if missing and not can_infer:
            raise self._mismatch(f"no score of the labels {_join(missing)}", answer)
        return [answer[name] if name in answer else rest / len(missing) for name in self.names]

    def _mismatch(self, what: str, answer: Answer) -> WrongAnswerError:
        message = f"{what}: {show(answer)}"
        if self._given is not None:
            return WrongAnswerError(message)
        return LabelMismatchError(
            f"{message}. If not all answers hold all labels, name them: "
            f"TextExplainer(..., label_names=[...])"
        )

    def _check_probabilities(self, scores: Floats, answer: Answer) -> None:
        if self._activation == "none":
            return
        total = float(scores.sum())
        fix = "Then endpoint(..., function_to_apply={0!r}) or remote(..., activation={0!r})."
        if scores.min() < 0 or scores.max() > 1 + _ROUNDING:
            raise WrongAnswerError(
                f"no probabilities: {show(answer)}. Should they be analysed as they are? "
                f"{fix.format('none')}"
            )
        if self._activation == "softmax" and abs(total - 1) > _ROUNDING:
            raise WrongAnswerError(
                f"probabilities whose sum is {total:.3g}, not 1: {show(answer)}. Can a text have "
                f"several labels? {fix.format('sigmoid')} Or are labels missing? Name all: "
                f"TextExplainer(..., label_names=[...])"
            )
