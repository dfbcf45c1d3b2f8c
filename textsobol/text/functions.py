"""Any function from a list of texts to scores, seen as a classifier."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

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
        name: how the function is called in an explanation.
        batch_texts: most texts of one call.
    """

    activation = "none"
    tokenizer = None
    passes = 1

    def __init__(
        self,
        function: Callable[[list[str]], Any],
        label_names: Sequence[str] | None,
        name: str,
        batch_texts: int,
    ) -> None:
        self._function = function
        self._label_names = None if label_names is None else list(label_names)
        self._given_labels = self._label_names
        self.name = name
        self._batch_texts = batch_texts

    @property
    def details(self) -> dict[str, Any]:
        """The names that were given; nothing else is known of a function."""
        return {} if self._given_labels is None else {"label_names": self._given_labels}

    def replacement(self, perturbation: str) -> str:
        """What stands in for a word that is left out."""
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
        return Prepared(inputs=masked.render, key=str, engine=self.scores_of)

    def scores_of(self, texts: Sequence[str], tick: Tick) -> Forwarded:
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
            culprit = self._first_failing(texts)
            raise RuntimeError(f"{type(error).__name__}: {error} (text: {culprit!r})") from error
        scores = _score_array(returned, self)
        if len(scores) != len(texts):
            raise ValueError(
                f"the classifier returned {len(scores)} scores for {len(texts)} texts "
                f"(first text: {texts[0]!r})"
            )
        finite = np.isfinite(scores).all(axis=1)
        if not finite.all():
            row = int(np.argmin(finite))
            raise ValueError(f"the classifier returned {scores[row]} for the text {texts[row]!r}")
        return scores

    def _first_failing(self, texts: list[str]) -> str:
        """The text on which the function fails by itself; the first of the batch if none does."""
        for text in texts:
            try:
                self._function([text])
            except Exception:
                return text
        return texts[0]

    def window(self, texts: Sequence[str]) -> int | None:
        """A function does not say what it can see."""
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

    def name_labels(self, names: Sequence[str]) -> list[str]:
        """Fix the order of labels that come by name."""
        if self._label_names is None:
            self._label_names = sorted(names)
        if set(names) != set(self._label_names):
            raise ValueError(
                f"the classifier returned the labels {sorted(names)}, expected "
                f"{sorted(self._label_names)}; a pipeline must return all labels: top_k=None"
            )
        return self._label_names


def _score_array(returned: Any, classifier: FunctionClassifier) -> Floats:
    """An array ``(texts, labels)`` from whatever the function returned."""
    if hasattr(returned, "detach"):
        returned = returned.detach().float().cpu().numpy()
    if isinstance(returned, list) and returned and _is_answer(returned[0]):
        rows = [[answer] if isinstance(answer, dict) else answer for answer in returned]
        by_label = [{str(one["label"]): float(one["score"]) for one in row} for row in rows]
        names = classifier.name_labels(list(by_label[0]))
        for row in by_label:
            classifier.name_labels(list(row))
        return np.array([[row[name] for name in names] for row in by_label])
    try:
        scores = np.asarray(returned, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"the classifier returned {type(returned).__name__}; it must return scores "
            f"(texts,) or (texts, labels), or lists of label and score"
        ) from None
    if scores.ndim not in (1, 2) or scores.size == 0:
        raise ValueError(
            f"the classifier returned shape {scores.shape}; it must return scores (texts,) or "
            f"(texts, labels)"
        )
    return scores.reshape(len(scores), -1)


def _is_answer(value: Any) -> bool:
    """Whether it is a pipeline's answer for one text."""
    if isinstance(value, list) and value:
        value = value[0]
    return isinstance(value, dict) and {"label", "score"} <= set(value)
