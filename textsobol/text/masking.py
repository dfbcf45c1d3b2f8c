"""From a classifier and a text to its masked versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from textsobol.prompts.classifier import PromptClassifier
from textsobol.text.classifiers import Classifier
from textsobol.text.inputs import Text, checked_texts
from textsobol.text.masked_model import MaskedTextModel
from textsobol.text.truncation import find_spans, find_visible_words
from textsobol.text.windowed import with_windows
from textsobol.text.windows import Windows
from textsobol.text.words import Segmenter


@dataclass(frozen=True)
class Masking:
    """How texts are masked.

    Attributes:
        segment: finds the words.
        is_ignored: whether a word is never left out.
        windows: how texts beyond the model's window are explained; ``None``: not as a whole.
        perturbation: what happens to absent words.
        score: what is analysed.
    """

    segment: Segmenter
    is_ignored: Callable[[str], bool]
    windows: Windows | None
    perturbation: str
    score: str

    def mask(
        self,
        classifier: Classifier | PromptClassifier,
        text: Text,
        target: str | None = None,
        targets: Sequence[str] | int | None = None,
    ) -> MaskedTextModel:
        """The masked text; a prompt also asks what is explained, a label or an answer."""
        text, texts = checked_texts(text)
        if isinstance(classifier, PromptClassifier):
            asked = classifier.ask(text, self.segment, target, targets)
            text = asked.shown
            spans = find_spans(asked.segment, [text], asked.tokenizer)
            words, cuts = find_visible_words(asked, self.is_ignored, [text], spans)
            words, classifier = asked.name_words(words), asked
        else:
            spans = find_spans(self.segment, texts, classifier.tokenizer)
            classifier = with_windows(classifier, self.windows, texts, spans)
            words, cuts = find_visible_words(classifier, self.is_ignored, texts, spans)
        return MaskedTextModel(
            classifier, text, words, cuts, perturbation=self.perturbation, score=self.score
        )
