"""A prompt and what scores its answers, as a classifier of masked texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from textsobol.prompts.answers import list_answers
from textsobol.prompts.layout import Layout
from textsobol.prompts.local import LocalScorer
from textsobol.prompts.prompt import Prompt
from textsobol.prompts.questions import (
    LabelQuestion,
    Question,
    ask_answer,
    refuse_misspelt_label,
)
from textsobol.prompts.scoring import AnswerScorer
from textsobol.steps import Forwarded, Tick
from textsobol.text.classifiers import Prepared
from textsobol.text.records import Word
from textsobol.text.words import Segmenter, Span


class PromptClassifier:
    """A language model that classifies by a prompt, or whose answer to it is explained.

    Args:
        prompt: the prompt.
        scorer: the model.
        reference: the model as given, if ``scorer`` runs a copy in another dtype.
    """

    passes = 1

    def __init__(
        self, prompt: Prompt, scorer: AnswerScorer, reference: AnswerScorer | None = None
    ) -> None:
        self._prompt = prompt
        self._scorer = scorer
        self._reference = reference
        self.name = scorer.name
        self.tokenizer = scorer.tokenizer
        self.model = scorer.model if isinstance(scorer, LocalScorer) else None
        self.activation = "log" if prompt.answers is None else "softmax"
        self.details = {**scorer.details, "prompt": prompt.to_dict()}

    def replacement(self, perturbation: str) -> str:
        """Nothing, or the string given."""
        if perturbation in ("mask", "pad"):
            raise ValueError(
                f"perturbation={perturbation!r}: language models have no token for what is "
                f"missing; use 'delete' or a replacement string"
            )
        return "" if perturbation == "delete" else perturbation

    def ask(
        self,
        text: str | tuple[str, str],
        segment: Segmenter,
        target: str | None = None,
        targets: Sequence[str] | int | None = None,
    ) -> AskedPrompt:
        """A text in the prompt, as a classifier of its masked versions.

        Args:
            text: the text.
            segment: finds the words.
            target: a label, or an answer to explain.
            targets: labels, or phrases of the answer.
        """
        if not isinstance(text, str):
            raise ValueError(
                "a prompt takes one text, not a pair; other texts are its parts: "
                "Prompt(..., parts={name: text})"
            )
        return AskedPrompt(self, Layout(self._prompt, text), segment, self._find_question(
            text, target, targets), self._prompt.fill(text))  # fmt: skip

    def _find_question(
        self, text: str, target: str | None, targets: Sequence[str] | int | None
    ) -> Question:
        labels = None if self._labels is None else self._labels.names
        if self._labels is None or (target is not None and str(target) not in self._labels.names):
            if labels is not None and target is not None:
                refuse_misspelt_label(target, labels)
            return ask_answer(self._scorer, self._prompt.fill(text), target, targets)
        return self._labels

    @cached_property
    def _labels(self) -> LabelQuestion | None:
        """The labels, calibrated if that was asked for."""
        if self._prompt.answers is None:
            return None
        labels, answers = zip(*list_answers(self._prompt.answers), strict=True)
        question = LabelQuestion(list(labels), list(answers))
        if self._prompt.calibrate is None:
            return question
        whole = self._prompt.fill(self._prompt.calibrate)
        scorer, _ = self._scorer.for_prompt(whole, question.answers)
        scores = question.ask(scorer, [whole], lambda _: None)[0].tolist()
        return replace(question, calibration=dict(zip(question.names, scores, strict=True)))


class AskedPrompt:
    """One text in a prompt, as a `Classifier` of that text alone.

    Attributes:
        shown: the text that is displayed; see `Layout.shown`.
        answer: the answer that is explained, or ``None`` for labels.
    """

    passes = 1

    def __init__(
        self, classifier: PromptClassifier, layout: Layout, segment: Segmenter, question: Question,
        whole: Any,
    ) -> None:  # fmt: skip
        self.name = classifier.name
        self.tokenizer = classifier.tokenizer
        self.replacement = classifier.replacement
        self.shown = layout.shown
        self.answer = question.answer
        self.activation = question.activation
        self.details = {**classifier.details, **question.details}
        self._layout = layout
        self._features = layout.features(segment)
        self._question = question
        self._classifier = classifier
        self._whole = whole

    def segment(self, text: str) -> list[Span]:
        """The features of the displayed text."""
        return [span for span, _ in self._features]

    def name_words(self, words: Sequence[Word]) -> list[Word]:
        """The words, with the names of those that are parts of the prompt."""
        names = dict(self._features)
        return [replace(word, name=names[word.start, word.end]) for word in words]

    def prepare(
        self, texts: Sequence[str], spans: Sequence[Sequence[Span]], perturbation: str
    ) -> Prepared:
        """The masked versions of the prompt."""
        masked = self._layout.masked(spans[0], self.replacement(perturbation))
        own = self._whole, self._question.answers
        scorer, cost = self._classifier._scorer.for_prompt(*own)
        given = self._classifier._reference
        reference = None if given is None else partial(self._ask, given.for_prompt(*own)[0])
        return Prepared(
            masked.render, str, partial(self._ask, scorer), cost=cost, reference=reference,
            answer=self.answer,
        )  # fmt: skip

    def _ask(self, scorer: AnswerScorer, prompts: Any, tick: Tick) -> Forwarded:
        return Forwarded(self._question.ask(scorer, prompts, tick))

    def window(self, texts: Sequence[str]) -> int | None:
        """Not of the text alone: prompts that are too long are refused."""
        return None

    def labels(self, n_outputs: int) -> list[str]:
        """The labels, or the answer and its parts."""
        return self._question.names
