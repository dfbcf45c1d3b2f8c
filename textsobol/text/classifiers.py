"""Classifiers of every kind behind one interface: masks of a text's words in, outputs out.

Nothing that a user gives is changed: a model keeps its mode, device and dtype, and a tokenizer its
settings.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Protocol

from textsobol.labels import rename_labels
from textsobol.ledger import Cost
from textsobol.sobol.arrays import Array
from textsobol.steps import Engine, Forwarded, Tick
from textsobol.text.batches import LogitRunner, make_row_key
from textsobol.text.masked_text import MaskedText
from textsobol.text.precision import convert
from textsobol.text.tokens import (
    PaddedRows,
    Row,
    StringRows,
    choose_rows,
    encode,
    encode_plain,
    keep_settings,
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
        reference: runs the model as given, if ``engine`` runs a copy in another dtype.
        answer: the answer of a language model that is explained: the first output is its, and the
            others are of parts of it. ``None`` for labels.
    """

    inputs: Callable[[Array], Sequence[Any]]
    key: Callable[[Any], Hashable]
    engine: Engine
    cost: Cost = field(default_factory=Cost)
    reference: Engine | None = None
    answer: str | None = None


class Classifier(Protocol):
    """What an explainer needs to know of a model."""

    @property
    def name(self) -> str:
        """The model's name in an explanation."""

    @property
    def activation(self) -> str:
        """How outputs become what is shown; see `outputs.compute_probabilities`."""

    @property
    def tokenizer(self) -> Any:
        """The model's tokenizer, or ``None``."""

    @property
    def passes(self) -> int:
        """Forward passes that one masked text costs."""

    @property
    def details(self) -> dict[str, Any]:
        """What else an explanation records of the classifier."""

    def replacement(self, perturbation: str) -> str:
        """What replaces a word that is left out; refuses ``mask`` and ``pad`` where it cannot."""

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
    """A sequence classifier of transformers with its tokenizer; see `Classifier`.

    Attributes:
        max_length: most tokens, special ones included, or ``None`` when it is not known.
        batch_tokens: maximum tokens of a batch, or ``None`` for what suits the device.
        token_path: assemble tokens from pieces where that is right; else always tokenize
            every text.
        dtype: of the copy of the model that makes the passes; ``None``: the model itself does.
        label_names: names for labels that have none of their own.
    """

    model: Any
    tokenizer: Any
    activation: str
    name: str
    max_length: int | None
    batch_tokens: int | None
    token_path: bool = True
    passes: int = 1
    dtype: str | None = None
    label_names: Sequence[str] | None = None

    @property
    def details(self) -> dict[str, Any]:
        """The window, and what was chosen of dtype and names of labels."""
        names = None if self.label_names is None else list(map(str, self.label_names))
        chosen = {"dtype": self.dtype, "label_names": names}
        return {"window": self.max_length, **{k: v for k, v in chosen.items() if v is not None}}

    def prepare(
        self, texts: Sequence[str], spans: Sequence[Sequence[Span]], perturbation: str
    ) -> Prepared:
        """The token rows of masked texts."""
        make_inputs = self.make_rows(texts, spans, perturbation)
        return Prepared(make_inputs, make_row_key, self.runner, reference=self.reference)

    def make_rows(
        self, texts: Sequence[str], spans: Sequence[Sequence[Span]], perturbation: str
    ) -> Callable[[Array], list[Row]]:
        """From masks to token rows."""
        replacement = self.replacement(perturbation)
        parts = [MaskedText(text, own, replacement) for text, own in zip(texts, spans, strict=True)]
        with keep_settings(self.tokenizer):
            if perturbation == "pad":
                make_rows: Any = PaddedRows(self.tokenizer, parts, spans)
            else:
                make_rows = (choose_rows if self.token_path else StringRows)(self.tokenizer, parts)

        def make_inputs(masks: Array) -> list[Row]:
            with keep_settings(self.tokenizer):
                return [self._cut(row) for row in make_rows(masks)]

        return make_inputs

    @cached_property
    def runner(self) -> LogitRunner:
        """Runs the model; one for all texts, so that they share batches."""
        model = self.model if self.dtype is None else convert(self.model, self.dtype)
        return LogitRunner(model, self.tokenizer, self.batch_tokens)

    @cached_property
    def reference(self) -> LogitRunner | None:
        """Runs the model as given, to compare a copy in another dtype with."""
        if self.dtype is None:
            return None
        return LogitRunner(self.model, self.tokenizer, self.batch_tokens)

    def replacement(self, perturbation: str) -> str:
        """Nothing, the mask token, or the string given."""
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

    def _cut(self, row: Row) -> Row:
        """The row, cut before its last token if replacements made it longer than the window."""
        if self.max_length is None or len(row.ids) <= self.max_length:
            return row
        kept = [*range(self.max_length - 1), -1]
        return Row(row.ids[kept], row.types[kept])

    def window(self, texts: Sequence[str]) -> int | None:
        """What special tokens leave of the maximum length."""
        if self.max_length is None:
            return None
        with keep_settings(self.tokenizer):
            return self.max_length - len(encode(self.tokenizer, *([""] for _ in texts))[0].ids)

    def labels(self, n_outputs: int) -> list[str]:
        """The labels of the model's configuration; those given if it names none."""
        names = getattr(self.model.config, "id2label", None) or {}
        return rename_labels([str(names.get(k, k)) for k in range(n_outputs)], self.label_names)


class ZeroShotClassifier:
    """A model of natural-language inference that says whether a text entails each label."""

    def __init__(
        self,
        inference: HuggingFaceClassifier,
        candidate_labels: Sequence[str],
        hypothesis: str,
        *,
        is_multi_label: bool,
        entailment: int,
    ) -> None:
        self._inference = inference
        self._labels = list(candidate_labels)
        self._hypotheses = [hypothesis.format(label) for label in candidate_labels]
        self._is_multi_label = is_multi_label
        self._entailment = entailment
        self.name = inference.name
        self.tokenizer = inference.tokenizer
        self.replacement = inference.replacement
        self.activation = "sigmoid" if is_multi_label else "softmax"
        self.passes = len(candidate_labels)
        self.details = {
            **inference.details,
            "hypothesis": hypothesis,
            "candidate_labels": self._labels,
            "multi_label": is_multi_label,
        }

    def prepare(
        self, texts: Sequence[str], spans: Sequence[Sequence[Span]], perturbation: str
    ) -> Prepared:
        """One entailment question for every label."""
        if len(texts) != 1:
            raise ValueError("zero-shot classification takes one text, not a pair")
        questions = [
            self._inference.prepare([texts[0], hypothesis], [spans[0], []], perturbation)
            for hypothesis in self._hypotheses
        ]

        def make_inputs(masks: Array) -> list[tuple[Row, ...]]:
            return list(zip(*(question.inputs(masks) for question in questions), strict=True))

        def make_key(rows: tuple[Row, ...]) -> tuple[bytes, ...]:
            return tuple(map(make_row_key, rows))

        reference = self._inference.reference
        return Prepared(
            make_inputs,
            make_key,
            self.score_entailment,
            reference=None if reference is None else partial(self._score_with, reference),
        )

    def score_entailment(self, questions: Sequence[tuple[Row, ...]], tick: Tick) -> Forwarded:
        """For every text how much it entails each label ``(texts, labels)``."""
        return self._score_with(self._inference.runner, questions, tick)

    def _score_with(
        self, runner: LogitRunner, questions: Sequence[tuple[Row, ...]], tick: Tick
    ) -> Forwarded:
        shape = len(questions), self.passes
        found = runner([row for own in questions for row in own], lambda _: None)
        tick(len(questions))
        logits = found.outputs.reshape(*shape, -1)
        outputs = logits[:, :, self._entailment]
        if self._is_multi_label:
            # As in transformers: entailment against contradiction, whose logit is at the other end.
            outputs = outputs - logits[:, :, -1 if self._entailment == 0 else 0]
        assert found.tokens is not None
        assert found.padding is not None
        tokens, padding = (
            each.reshape(shape).sum(axis=1) for each in (found.tokens, found.padding)
        )
        return replace(found, outputs=outputs, tokens=tokens, padding=padding, passes=self.passes)

    def window(self, texts: Sequence[str]) -> int | None:
        """What the longest hypothesis leaves."""
        room = self._inference.window([*texts, ""])
        if room is None:
            return None
        with keep_settings(self.tokenizer):
            return room - max(map(len, encode_plain(self.tokenizer, self._hypotheses)))

    def labels(self, n_outputs: int) -> list[str]:
        """The candidate labels."""
        return self._labels
