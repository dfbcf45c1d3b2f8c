"""Any function from a list of texts to scores, as a classifier."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from textsobol.errors import WrongScoresError
from textsobol.labels import are_numbers, rename_labels, sort_labels
from textsobol.outputs import copy_scores, to_log_odds
from textsobol.sobol.arrays import Array, Floats
from textsobol.steps import Forwarded, Tick
from textsobol.text.classifiers import Prepared
from textsobol.text.inputs import Text
from textsobol.text.masked_text import MaskedText
from textsobol.text.text_model import ACTIVATION_OF, NamedFunction
from textsobol.text.tokens import split_masks
from textsobol.text.words import Span


class FunctionClassifier:
    """Any function from a list of texts to scores.

    Args:
        function: returns an array ``(texts,)`` or ``(texts, labels)``, a data frame with a column
            for every label, for every text a dict of scores by label, or what a pipeline returns:
            for every text a list of ``{"label": ..., "score": ...}``. Of pairs of texts, it is
            given a list of tuples.
        label_names: names of labels that have none, or ``None``.
        batch_texts: maximum number of texts per call.
    """

    tokenizer = None
    passes = 1

    def __init__(
        self, function: NamedFunction, label_names: Sequence[str] | None, batch_texts: int
    ) -> None:
        self.name = function.name
        self.activation = ACTIVATION_OF[function.returns]
        self._function = function.function
        self._is_probability = function.returns == "probabilities"
        self._given = None if label_names is None else list(map(str, label_names))
        self._own = None if function.labels is None else list(function.labels)
        self._keys: list[str] | None = None  # labels of answers that name them, in our order
        if self._own is not None:
            rename_labels(self._own, self._given)
        self.details: dict[str, Any] = {} if label_names is None else {"label_names": self._given}
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
        """The masked texts of a text, or the masked pairs of a pair."""
        replacement = self.replacement(perturbation)
        parts = [MaskedText(text, own, replacement) for text, own in zip(texts, spans, strict=True)]

        def make_pairs(masks: Array) -> list[tuple[str, ...]]:
            own_masks = split_masks(masks, parts)
            rendered = (part.render(own) for part, own in zip(parts, own_masks, strict=True))
            return list(zip(*rendered, strict=True))

        make_inputs = parts[0].render if len(parts) == 1 else make_pairs
        return Prepared(inputs=make_inputs, key=str, engine=self.score_texts)

    def score_texts(self, texts: Sequence[Text], tick: Tick) -> Forwarded:
        """Scores of texts; those of about the same length share a call."""
        order = sorted(set(texts), key=lambda text: (-_count_characters(text), text))
        found: dict[Text, Floats] = {}
        for start in range(0, len(order), self._batch_texts):
            batch = order[start : start + self._batch_texts]
            found.update(zip(batch, self._call(batch), strict=True))
            tick(len(batch))
        return Forwarded(np.stack([found[text] for text in texts]))

    def _call(self, texts: list[Text]) -> Floats:
        try:
            returned = self._function(list(texts))
        except Exception as error:
            culprit = self._find_failing(texts)
            raise WrongScoresError(
                f"the classifier failed: {type(error).__name__}: {error} (text: {culprit!r})"
            ) from error
        scores = self._read(returned)
        if len(scores) != len(texts):
            raise WrongScoresError(
                f"the classifier was given {len(texts)} texts and returned scores of "
                f"{len(scores)}; it must score every text (first text: {texts[0]!r})"
            )
        is_finite = np.isfinite(scores).all(axis=1)
        if not is_finite.all():
            row = int(np.argmin(is_finite))
            raise WrongScoresError(
                f"the classifier returned {scores[row]} for the text {texts[row]!r}; scores must "
                f"be finite"
            )
        return to_log_odds(scores) if self._is_probability else scores

    def _find_failing(self, texts: list[Text]) -> Text:
        """The first text that fails alone; the first of the batch if none does."""
        for text in texts:
            try:
                self._function([text])
            except Exception:
                return text
        return texts[0]

    def _read(self, returned: Any) -> Floats:
        """Scores ``(texts, labels)`` from what the function returned."""
        if isinstance(returned, Iterator):
            returned = list(returned)
        if isinstance(returned, list) and returned:
            if _is_answer(returned[0]):
                answers = [[answer] if isinstance(answer, dict) else answer for answer in returned]
                return self._sort_scores([_by_label(answer) for answer in answers])
            if all(isinstance(each, Mapping) and each for each in returned):
                return self._sort_scores([_by_label(each.items()) for each in returned])
        must = "it must return scores (texts,) or (texts, labels)"
        columns = _read_columns(returned)
        try:
            scores = copy_scores(returned)
        except WrongScoresError:
            raise
        except (TypeError, ValueError):
            kind = type(returned).__name__
            raise WrongScoresError(
                f"the classifier returned a value of type {kind} that is no array of numbers; "
                f"{must}, or lists of label and score"
            ) from None
        if scores.ndim not in (1, 2) or scores.size == 0:
            raise WrongScoresError(f"the classifier returned shape {scores.shape}; {must}")
        scores = scores.reshape(len(scores), -1)
        if columns is None:
            return scores
        order = self._match(columns, sort_labels(columns) if are_numbers(columns) else columns)
        return scores[:, [columns.index(name) for name in order]]

    def _sort_scores(self, answers: Sequence[Mapping[str, float]]) -> Floats:
        """Scores in the order of the labels, which the first answer sets."""
        rows = []
        for answer in answers:
            order = self._match(list(answer), sort_labels(answer))
            rows.append([answer[name] for name in order])
        return np.array(rows)

    def _match(self, names: Sequence[str], order: Sequence[str]) -> list[str]:
        """The names in our order: that of earlier answers, of what was given, or ``order``."""
        if len(set(names)) < len(names):
            raise WrongScoresError(f"the classifier returned a label twice: {', '.join(names)}")
        if self._keys is None:
            self._keys = list(self._own or self._choose_order(names, order))
        if set(names) != set(self._keys):
            raise WrongScoresError(
                f"the classifier returned the labels {sorted(names)}, expected "
                f"{sorted(self._keys)}; a pipeline must return all labels: top_k=None"
            )
        return self._keys

    def _choose_order(self, names: Sequence[str], order: Sequence[str]) -> Sequence[str]:
        if self._given is None or set(self._given) == set(names):
            return self._given or order
        is_renamed = are_numbers(names) and len(names) == len(self._given)
        return order if is_renamed else self._given

    def window(self, texts: Sequence[str]) -> int | None:
        """Not known."""
        return None

    def labels(self, n_outputs: int) -> list[str]:
        """The model's own names, those given or of its answers, or numbers."""
        own = self._own or self._keys or [str(k) for k in range(n_outputs)]
        if len(own) != n_outputs:
            raise ValueError(
                f"the classifier has {len(own)} labels, {', '.join(own)}, but returns {n_outputs} "
                f"scores"
            )
        return rename_labels(own, self._given)


def _count_characters(text: Text) -> int:
    return len(text) if isinstance(text, str) else sum(map(len, text))


def _is_answer(value: Any) -> bool:
    """Whether it is a pipeline's answer for one text."""
    if isinstance(value, list) and value:
        value = value[0]
    return isinstance(value, dict) and {"label", "score"} <= set(value)


def _by_label(answer: Any) -> dict[str, float]:
    """Scores by label, of a pipeline's answer or of pairs of label and score."""
    pairs = [(one["label"], one["score"]) if isinstance(one, dict) else one for one in answer]
    names = [str(label) for label, _ in pairs]
    if len(set(names)) < len(names):
        raise WrongScoresError(f"the classifier returned a label twice: {', '.join(names)}")
    return {name: float(score) for name, (_, score) in zip(names, pairs, strict=True)}


def _read_columns(returned: Any) -> list[str] | None:
    """The names of a data frame's columns; ``None`` for everything else."""
    if not hasattr(returned, "columns") or not hasattr(returned, "to_numpy"):
        return None
    return [str(name) for name in returned.columns]
