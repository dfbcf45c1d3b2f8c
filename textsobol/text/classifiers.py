"""Classifiers of every kind, seen as one: masks of a text's words to outputs.

What is given is never changed: a model's mode, device and dtype and a tokenizer's settings
are afterwards what they were.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

from textsobol.ledger import Cost
from textsobol.sobol.arrays import Array
from textsobol.steps import Engine, Forwarded, Tick
from textsobol.text.batches import LogitRunner, row_key
from textsobol.text.masked_text import MaskedText
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


@dataclass(frozen=True)
class Prepared:
    """One text or pair, ready to be masked and given to a model.

    Attributes:
        inputs: masks ``(rows, words)`` to what the model is given for each.
        key: a key for what it is given, equal for equal inputs only.
        engine: runs the model.
        cost: what was forwarded.
    """

    inputs: Callable[[Array], Sequence[Any]]
    key: Callable[[Any], Hashable]
    engine: Engine
    cost: Cost = field(default_factory=Cost)


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
    ) -> Prepared:
        """One text or pair, ready to be masked; the model is not run."""

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
    ) -> Prepared:
        """The token rows of masked texts."""
        replacement = self.replacement(perturbation)
        parts = [MaskedText(text, own, replacement) for text, own in zip(texts, spans, strict=True)]
        with untouched(self.tokenizer):
            if perturbation == "pad":
                make_rows: Any = PaddedRows(self.tokenizer, parts, spans)
            elif self.token_path:
                make_rows = rows_maker(self.tokenizer, parts)
            else:
                make_rows = StringRows(self.tokenizer, parts)

        def inputs(masks: Array) -> list[Row]:
            with untouched(self.tokenizer):
                rows = make_rows(masks)
            return [self._within_window(row) for row in rows]

        return Prepared(inputs, row_key, self.runner)

    @cached_property
    def runner(self) -> LogitRunner:
        """Runs the model; one for all texts, so that they share batches."""
        return LogitRunner(self.model, self.tokenizer, self.batch_tokens)

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
    ) -> Prepared:
        """One entailment question for every label."""
        if len(texts) != 1:
            raise ValueError("zero-shot classification takes one text, not a pair")
        questions = [
            self.inference.prepare(
                [texts[0], self.hypothesis.format(label)], [spans[0], []], perturbation
            )
            for label in self.candidate_labels
        ]

        def inputs(masks: Array) -> list[tuple[Row, ...]]:
            return list(zip(*(question.inputs(masks) for question in questions), strict=True))

        def key(rows: tuple[Row, ...]) -> tuple[bytes, ...]:
            return tuple(map(row_key, rows))

        return Prepared(inputs, key, self.entailments)

    def entailments(self, questions: Sequence[tuple[Row, ...]], tick: Tick) -> Forwarded:
        """For every text how much it entails each label ``(texts, labels)``."""
        n_texts, n_labels = len(questions), len(self.candidate_labels)
        rows = [row for own in questions for row in own]
        found = self.inference.runner(rows, lambda _: None)
        tick(n_texts)
        logits = found.outputs.reshape(n_texts, n_labels, -1)
        outputs = logits[:, :, self.entailment]
        if self.multi_label:
            # As in transformers: entailment against contradiction, whose logit is at the other end.
            outputs = outputs - logits[:, :, -1 if self.entailment == 0 else 0]
        assert found.tokens is not None
        assert found.padding is not None
        tokens, padding = (
            each.reshape(n_texts, n_labels).sum(axis=1) for each in (found.tokens, found.padding)
        )
        return replace(found, outputs=outputs, tokens=tokens, padding=padding, passes=n_labels)

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
