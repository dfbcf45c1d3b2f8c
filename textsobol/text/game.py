"""A text that can be asked about: masks of its words to scores and to probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from textsobol.methods.contract import Differentiable, Game
from textsobol.sobol import BlackBoxError
from textsobol.sobol.arrays import Array, Floats
from textsobol.text.classifiers import Classifier, HuggingFaceClassifier, Tick
from textsobol.text.embeddings import embedded
from textsobol.text.explanation import Word
from textsobol.text.inputs import Text, checked_label, chosen_labels
from textsobol.text.masked import MaskedText
from textsobol.text.outputs import analysed, probabilities
from textsobol.text.tokens import split_masks


class TextGame:
    """One text and one classifier; all that is asked of them goes through here.

    Rows that were forwarded once are known, whoever asked for them.

    Attributes:
        text: the text, or the two texts of a pair.
        words: all its words.
        scored: numbers of the words that can be left out; the columns of masks.
        labels: the labels that are analysed.
        probabilities: what the classifier says of the whole text, for all labels.
        cost: what was forwarded so far.
    """

    def __init__(
        self,
        classifier: Classifier,
        text: Text,
        words: Sequence[Word],
        cuts: Sequence[int],
        *,
        perturbation: str,
        score: str,
        labels: Sequence[str] | None,
        tick: Tick = lambda _: None,
    ) -> None:
        self.text = text
        self.words = words
        self.scored = [k for k, word in enumerate(words) if word.status == "scored"]
        if not self.scored:
            raise ValueError("nothing to explain: no word of the text can be left out")
        texts = [text] if isinstance(text, str) else list(text)
        self._seen = [whole[:cut] for whole, cut in zip(texts, cuts, strict=True)]
        self._spans = [
            [(word.start, min(word.end, cut)) for word in words
             if word.part == part and word.status == "scored"]
            for part, cut in enumerate(cuts)
        ]  # fmt: skip
        self._classifier = classifier
        self._perturbation = perturbation
        self._score = score
        self._tick = tick
        self._outputs, self.cost = classifier.prepare(self._seen, self._spans, perturbation)
        whole = self._checked_outputs(np.ones((1, len(self.scored)), dtype=bool))
        every = classifier.labels(whole.shape[1])
        self._chosen = chosen_labels(labels, every)
        self.labels = [every[k] for k in self._chosen]
        shares = probabilities(whole, classifier.activation)[0]
        self.probabilities = dict(zip(every, shares.tolist(), strict=True))

    @property
    def n_features(self) -> int:
        """Number of words that can be left out."""
        return len(self.scored)

    @property
    def prediction(self) -> str:
        """The label with the highest probability."""
        return max(self.probabilities, key=lambda label: self.probabilities[label])

    def looked_at(self, label: str) -> TextGame:
        """The same game, with one label analysed; rows known to one are known to both."""
        checked_label(label, list(self.probabilities), self.probabilities)
        other = copy(self)
        other._chosen = [list(self.probabilities).index(label)]
        other.labels = [label]
        return other

    def scores(self, masks: Array) -> Floats:
        """What is analysed: masks ``(rows, words)`` to scores ``(rows, analysed labels)``."""
        values = self._outputs(masks, self._tick)
        return analysed(values, self._classifier.activation, self._score)[:, self._chosen]

    def shares(self, masks: Array) -> Floats:
        """What is shown: masks ``(rows, words)`` to probabilities ``(rows, all labels)``."""
        return probabilities(self._checked_outputs(masks), self._classifier.activation)

    def for_methods(self) -> Game:
        """The game as attribution methods see it."""
        has_gradients = isinstance(self._classifier, HuggingFaceClassifier)
        return Game(self.scores, self.n_features, self._differentiable if has_gradients else None)

    def named(self, error: BlackBoxError) -> BlackBoxError:
        """The same error with the text instead of the mask, unless it names one already."""
        if "text: " in str(error) or "for the text" in str(error):
            return error
        replacement = self._classifier.replacement(self._perturbation)
        parts = [
            MaskedText(t, s, replacement) for t, s in zip(self._seen, self._spans, strict=True)
        ]
        masks = split_masks(error.mask[None].astype(bool), parts)
        text = " / ".join(part.render(own)[0] for part, own in zip(parts, masks, strict=True))
        shown = text if len(text) <= 300 else text[:300] + " ..."
        return BlackBoxError(f"{error} (text: {shown!r})", error.mask)

    def _differentiable(self) -> Differentiable:
        assert isinstance(self._classifier, HuggingFaceClassifier)
        return embedded(self._classifier, self._seen, self._spans, self._score, self._chosen)

    def _checked_outputs(self, masks: Array) -> Floats:
        """Outputs ``(rows, labels)`` of masks that do not go through the core's evaluator."""
        try:
            values = self._outputs(masks, self._tick)
        except Exception as error:
            failure = BlackBoxError(
                f"the classifier failed: {type(error).__name__}: {error}", masks[0]
            )
            raise self.named(failure) from error
        wrong = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if wrong.size:
            said = f"the classifier returned {values[wrong[0]]}; scores must be finite"
            raise self.named(BlackBoxError(said, masks[wrong[0]]))
        return values
