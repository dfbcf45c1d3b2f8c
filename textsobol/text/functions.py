"""Any function from a list of texts to scores, as a classifier."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from textsobol.outputs import copy_scores, to_log_odds
from textsobol.sobol.arrays import Floats
from textsobol.steps import Forwarded, Tick
from textsobol.text.classifiers import Prepared
from textsobol.text.masked_text import MaskedText
from textsobol.text.words import Span


class FunctionClassifier:
    """Any function from a list of texts to scores.

    Args:
        function: returns an array ``(texts,)`` or ``(texts, labels)``, or what a pipeline
            returns: for every text a list of ``{"label": ..., "score": ...}``.
        label_names: names of the labels, or ``None``.
        name: the function's name in an explanation.
        batch_texts: maximum number of texts per call.
        is_probability: whether its scores are probabilities, whose log-odds can be analysed.
    """

    tokenizer = None
    passes = 1

    def __init__(
        self,
        function: Callable[[list[str]], Any],
        label_names: Sequence[str] | None,
        name: str,
        batch_texts: int,
        *,
        is_probability: bool = False,
    ) -> None:
        self._function = function
        self._label_names = None if label_names is None else list(map(str, label_names))
        self.activation = "sigmoid" if is_probability else "none"
        self._is_probability = is_probability
        self.details: dict[str, Any] = (
            {} if label_names is None else {"label_names": self._label_names}
        )
        self.name = name
        self._batch_texts = batch_texts

    def replacement(self, perturbation: str) -> str:
        """What replaces a word that is left out."""
        if perturbation in ("mask", "pad"):
            raise ValueError(
                f"perturbation={perturbation!r} needs a model with a tokenizer; use 'delete' or a "
                f"replacement string"
            )
        return "" if perturbation == "delete" else perturbation

    def prepare(
        self, texts: Sequence[str], spans: Sequence[Sequence[Span]], perturbation: str
    ) -> Prepared:
        """The masked texts of a text."""
        replacement = self.replacement(perturbation)
        if len(texts) != 1:
            raise ValueError("a function classifies single texts, not pairs")
        masked = MaskedText(texts[0], spans[0], replacement)
        return Prepared(inputs=masked.render, key=str, engine=self.score_texts)

    def score_texts(self, texts: Sequence[str], tick: Tick) -> Forwarded:
        """Scores of texts; those of about the same length share a call."""
        order = sorted(set(texts), key=lambda text: (-len(text), text))
        found: dict[str, Floats] = {}
        for start in range(0, len(order), self._batch_texts):
            batch = order[start : start + self._batch_texts]
            found.update(zip(batch, self._call(batch), strict=True))
            tick(len(batch))
        return Forwarded(np.stack([found[text] for text in texts]))

    def _call(self, texts: list[str]) -> Floats:
        try:
            returned = self._function(list(texts))
        except Exception as error:
            culprit = self._find_failing(texts)
            raise RuntimeError(f"{type(error).__name__}: {error} (text: {culprit!r})") from error
        scores = self._read(returned)
        if len(scores) != len(texts):
            raise ValueError(
                f"the classifier returned {len(scores)} scores for {len(texts)} texts "
                f"(first text: {texts[0]!r})"
            )
        is_finite = np.isfinite(scores).all(axis=1)
        if not is_finite.all():
            row = int(np.argmin(is_finite))
            raise ValueError(f"the classifier returned {scores[row]} for the text {texts[row]!r}")
        return to_log_odds(scores) if self._is_probability else scores

    def _find_failing(self, texts: list[str]) -> str:
        """The first text that fails alone; the first of the batch if none does."""
        for text in texts:
            try:
                self._function([text])
            except Exception:
                return text
        return texts[0]

    def _read(self, returned: Any) -> Floats:
        """Scores ``(texts, labels)`` from what the function returned."""
        if isinstance(returned, list) and returned and _is_answer(returned[0]):
            answers = [[answer] if isinstance(answer, dict) else answer for answer in returned]
            return np.array([self._sort_scores(answer) for answer in answers])
        must = "it must return scores (texts,) or (texts, labels)"
        try:
            scores = copy_scores(returned)
        except (TypeError, ValueError):
            kind = type(returned).__name__
            raise ValueError(
                f"the classifier returned {kind}; {must}, or lists of label and score"
            ) from None
        if scores.ndim not in (1, 2) or scores.size == 0:
            raise ValueError(f"the classifier returned shape {scores.shape}; {must}")
        return scores.reshape(len(scores), -1)

    def _sort_scores(self, answer: Sequence[dict[str, Any]]) -> list[float]:
        """A text's scores in the order of the labels, which the first answer sets."""
        by_label = {str(one["label"]): float(one["score"]) for one in answer}
        if len(by_label) < len(answer):
            names = [str(one["label"]) for one in answer]
            raise ValueError(f"the classifier returned a label twice: {', '.join(names)}")
        if self._label_names is None:
            self._label_names = sorted(by_label)
        if set(by_label) != set(self._label_names):
            raise ValueError(
                f"the classifier returned the labels {sorted(by_label)}, expected "
                f"{sorted(self._label_names)}; a pipeline must return all labels: top_k=None"
            )
        return [by_label[name] for name in self._label_names]

    def window(self, texts: Sequence[str]) -> int | None:
        """Not known."""
        return None

    def labels(self, n_outputs: int) -> list[str]:
        """The names given, those of the pipeline's answer, or numbers."""
        if self._label_names is None:
            return [str(k) for k in range(n_outputs)]
        if len(self._label_names) != n_outputs:
            raise ValueError(
                f"{len(self._label_names)} labels were named, but the classifier gives "
                f"{n_outputs} scores"
            )
        return self._label_names


def _is_answer(value: Any) -> bool:
    """Whether it is a pipeline's answer for one text."""
    if isinstance(value, list) and value:
        value = value[0]
    return isinstance(value, dict) and {"label", "score"} <= set(value)
