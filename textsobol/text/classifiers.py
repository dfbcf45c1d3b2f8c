"""Classifiers of every kind, seen as one: masks of a text's words to outputs.

What is given is never changed: a model's mode, device and dtype and a tokenizer's settings
are afterwards what they were.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from textsobol.inference import Cost
from textsobol.sobol.arrays import Array, Floats
from textsobol.text.batches import LogitRunner
from textsobol.text.masked import MaskedText
from textsobol.text.tokens import (
    PaddedRows,
    Row,
    StringRows,
    encode,
    plain_ids,
    rows_maker,
    untouched,
)
from textsobol.text.words import Span

Tick = Callable[[int], None]
Outputs = Callable[[Array, Tick], Floats]
"""Masks ``(rows, words)`` to raw outputs ``(rows, labels)``."""


class Classifier(Protocol):
    """What an explainer needs to know of a model."""

    @property
    def name(self) -> str:
        """How the model is called in an explanation."""

    @property
    def activation(self) -> str:
        """How outputs become what is shown; see `outputs.probabilities`."""

    @property
    def tokenizer(self) -> Any:
        """The model's tokenizer, or ``None``."""

    @property
    def passes(self) -> int:
        """Forward passes that one masked text costs."""

    @property
    def details(self) -> dict[str, Any]:
        """What else of the classifier belongs into an explanation."""

    def replacement(self, perturbation: str) -> str:
        """What stands in for a word that is left out."""

    def prepare(
        self, texts: Sequence[str], spans: Sequence[Sequence[Span]], perturbation: str
    ) -> tuple[Outputs, Cost]:
        """A function of masks for one text or pair, and the account of what it forwards."""

    def window(self, texts: Sequence[str]) -> int | None:
        """Most tokens the model can see of the texts themselves, or ``None`` if not known."""

    def labels(self, n_outputs: int) -> list[str]:
        """Names of the outputs."""


@dataclass(frozen=True)
class HuggingFaceClassifier:
    """A sequence classifier of transformers with its tokenizer.

    Attributes:
        model: the model.
        tokenizer: its tokenizer.
        activation: how logits become probabilities.
        name: how the model is called.
        max_length: most tokens, special ones included, or ``None`` when it is not known.
        batch_tokens: most tokens of a batch, or ``None`` for what suits the device.
        token_path: assemble tokens from pieces where that is right; else always tokenize
            every text.
    """

    model: Any
    tokenizer: Any
    activation: str
    name: str
    max_length: int | None
    batch_tokens: int | None
    token_path: bool = True
    passes: int = 1

    @property
    def details(self) -> dict[str, Any]:
        """The window."""
        return {"window": self.max_length}

    def prepare(
        self, texts: Sequence[str], spans: Sequence[Sequence[Span]], perturbation: str
    ) -> tuple[Outputs, Cost]:
        """A function of masks, and the account of what it forwards."""
        replacement = self.replacement(perturbation)
        parts = [MaskedText(text, own, replacement) for text, own in zip(texts, spans, strict=True)]
        runner = LogitRunner(self.model, self.tokenizer, self.batch_tokens)
        with untouched(self.tokenizer):
            if perturbation == "pad":
                make_rows: Any = PaddedRows(self.tokenizer, parts, spans)
            elif self.token_path:
                make_rows = rows_maker(self.tokenizer, parts)
            else:
                make_rows = StringRows(self.tokenizer, parts)

        def outputs(masks: Array, tick: Tick) -> Floats:
            with untouched(self.tokenizer):
                rows = make_rows(masks)
            return runner([self._within_window(row) for row in rows], tick)

        return outputs, runner.cost

    def replacement(self, perturbation: str) -> str:
        """What stands in for a word that is left out."""
        if perturbation in ("delete", "pad"):
            return ""
        if perturbation != "mask":
            return perturbation
        if self.tokenizer.mask_token is None:
            raise ValueError(
                "perturbation='mask': this tokenizer has no mask token; use 'delete', 'pad' or "
                "a replacement string"
            )
        return str(self.tokenizer.mask_token)

    def _within_window(self, row: Row) -> Row:
        """The row, cut before its last token if replacements made it too long."""
        if self.max_length is None or len(row.ids) <= self.max_length:
            return row
        kept = [*range(self.max_length - 1), -1]
        return Row(row.ids[kept], row.types[kept])

    def window(self, texts: Sequence[str]) -> int | None:
        """Most tokens that the texts themselves may have."""
        if self.max_length is None:
            return None
        with untouched(self.tokenizer):
            n_special = len(encode(self.tokenizer, *([""] for _ in texts))[0].ids)
        return self.max_length - n_special

    def labels(self, n_outputs: int) -> list[str]:
        """The labels of the model's configuration."""
        names = getattr(self.model.config, "id2label", None) or {}
        return [str(names.get(k, k)) for k in range(n_outputs)]


@dataclass(frozen=True)
class ZeroShotClassifier:
    """A natural-language-inference model asked whether the text entails each label."""

    inference: HuggingFaceClassifier
    candidate_labels: Sequence[str]
    hypothesis: str
    multi_label: bool
    entailment: int

    @property
    def name(self) -> str:
        """How the model is called."""
        return self.inference.name

    @property
    def activation(self) -> str:
        """One label of many, or each label for itself."""
        return "sigmoid" if self.multi_label else "softmax"

    @property
    def tokenizer(self) -> Any:
        """The model's tokenizer."""
        return self.inference.tokenizer

    @property
    def passes(self) -> int:
        """One for every label."""
        return len(self.candidate_labels)

    @property
    def details(self) -> dict[str, Any]:
        """The window and the question."""
        return {
            **self.inference.details,
            "hypothesis": self.hypothesis,
            "candidate_labels": list(self.candidate_labels),
            "multi_label": self.multi_label,
        }

    def replacement(self, perturbation: str) -> str:
        """What stands in for a word that is left out."""
        return self.inference.replacement(perturbation)

    def prepare(
        self, texts: Sequence[str], spans: Sequence[Sequence[Span]], perturbation: str
    ) -> tuple[Outputs, Cost]:
        """One entailment question for every label."""
        if len(texts) != 1:
            raise ValueError("zero-shot classification takes one text, not a pair")
        cost = Cost()
        questions = [
            self.inference.prepare(
                [texts[0], self.hypothesis.format(label)], [spans[0], []], perturbation
            )
            for label in self.candidate_labels
        ]

        def outputs(masks: Array, tick: Tick) -> Floats:
            answers = [
                ask(masks, tick if k == 0 else lambda _: None)
                for k, (ask, _) in enumerate(questions)
            ]
            cost.rows = sum(own.rows for _, own in questions)
            cost.tokens = sum(own.tokens for _, own in questions)
            cost.padding = sum(own.padding for _, own in questions)
            entailment = np.stack([answer[:, self.entailment] for answer in answers], axis=1)
            if not self.multi_label:
                return entailment
            # As in transformers: entailment against contradiction, whose logit is at the
            # other end.
            contradiction = -1 if self.entailment == 0 else 0
            return entailment - np.stack([a[:, contradiction] for a in answers], axis=1)

        return outputs, cost

    def window(self, texts: Sequence[str]) -> int | None:
        """What the longest hypothesis leaves."""
        room = self.inference.window([*texts, ""])
        if room is None:
            return None
        with untouched(self.tokenizer):
            questions = [self.hypothesis.format(label) for label in self.candidate_labels]
            return room - max(map(len, plain_ids(self.tokenizer, questions)))

    def labels(self, n_outputs: int) -> list[str]:
        """The candidate labels."""
        return list(self.candidate_labels)
