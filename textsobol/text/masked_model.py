"""A classifier and one text: masks of its words in, outputs out."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Hashable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from textsobol.endpoints.client import RemoteCost
from textsobol.errors import BlackBoxError
from textsobol.ledger import Ledger
from textsobol.masked_model import MaskedClassifier
from textsobol.methods.contract import Decision, Differentiable
from textsobol.outputs import compute_score_tensor, compute_scores
from textsobol.prompts.classifier import AskedPrompt
from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.steps import Engine
from textsobol.text.classifiers import Classifier, HuggingFaceClassifier, Prepared
from textsobol.text.embeddings import embed
from textsobol.text.gate_ways import has_own_gates
from textsobol.text.gates import GatedText, gate_gradients, takes_gates, window_gradients
from textsobol.text.inputs import Text
from textsobol.text.masked_text import MaskedText
from textsobol.text.records import Word
from textsobol.text.tokens import split_masks
from textsobol.text.windowed import WindowedClassifier
from textsobol.text.words import Span, add_punctuation, find_paragraphs, find_sentences

if TYPE_CHECKING:
    from torch import Tensor

_ROW_OF_STEPS = 40  # forward passes in full batches that one row of gates takes word by word


class MaskedTextModel(MaskedClassifier):
    """One text and one classifier; see `MaskedClassifier`.

    Attributes:
        text: the text, or the two texts of a pair.
        words: all its words.
        scored: numbers of the words that can be left out; the columns of masks.
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
    ) -> None:
        self.text = text
        self.words = words
        self.scored = [k for k, word in enumerate(words) if word.status == "scored"]
        if not self.scored:
            raise ValueError(f"nothing to explain: {_say_why(words)}")
        texts = [text] if isinstance(text, str) else list(text)
        self._seen = [whole[:cut] for whole, cut in zip(texts, cuts, strict=True)]
        self._spans = [
            [(word.start, min(word.end, cut)) for word in words
             if word.part == part and word.status == "scored"]
            for part, cut in enumerate(cuts)
        ]  # fmt: skip
        self._classifier = classifier
        self._perturbation = perturbation
        self._prepared = self.prepare()
        self.is_answer = self._prepared.answer is not None
        super().__init__(
            len(self.scored),
            activation=classifier.activation,
            score=score,
            names=classifier.labels,
            cost=self._prepared.cost,
        )

    def prepare(self) -> Prepared:
        """The text, ready to be masked; what is known of it is not shared."""
        return self._classifier.prepare(self._seen, self._spans, self._perturbation)

    @property
    def passes(self) -> int:
        """Forward passes that a mask costs."""
        return self._classifier.passes

    @property
    def is_remote(self) -> bool:
        """Whether forward passes are calls of a server."""
        return isinstance(self._prepared.cost, RemoteCost)

    @property
    def engine(self) -> Engine:
        """Runs the model; the same for all texts of a classifier."""
        return self._prepared.engine

    @property
    def answer(self) -> str | None:
        """The answer of a language model that is explained, or ``None`` for labels."""
        return self._prepared.answer

    @property
    def details(self) -> dict[str, Any]:
        """What an explanation records of the classifier and this text."""
        return self._classifier.details

    def inputs(self, masks: Array) -> Sequence[Any]:
        """Masked texts, or their tokens."""
        return self._prepared.inputs(masks)

    def keys(self, given: Sequence[Any], mask_keys: Sequence[bytes]) -> Sequence[Hashable]:
        """Different masks can give the same text: without either "very" of "very very good"."""
        return [self._prepared.key(each) for each in given]

    def find_punctuation(self) -> list[list[Span]]:
        """The punctuation marks of each text that are in no word; none of a prompt."""
        if isinstance(self._classifier, AskedPrompt):  # marks there belong to its wording
            return []
        found = []
        for part, text in enumerate(self._seen):
            own = [(word.start, min(word.end, len(text))) for word in self.words
                   if word.part == part and word.start < len(text)]  # fmt: skip
            words = set(own)
            found.append([span for span in add_punctuation(text, own) if span not in words])
        return found

    def with_features(self, spans: Sequence[Sequence[Span]]) -> Self:
        """A copy whose features are other spans of each text; both share the cost."""
        other = copy(self)
        other._spans = [list(own) for own in spans]
        other.n_features = sum(map(len, spans))
        other.ledger = Ledger(cost=self.cost)
        given = self._seen, spans, self._perturbation
        if isinstance(self._classifier, HuggingFaceClassifier):
            # Pieces of tokens pay off with many rows only; of these features few are made.
            make_rows = replace(self._classifier, token_path=False).make_rows(*given)
            other._prepared = replace(self._prepared, inputs=make_rows)
        else:
            inputs = self._classifier.prepare(*given).inputs
            other._prepared = replace(self._prepared, inputs=inputs)
        return other

    def measure_precision(self) -> float | None:
        """Largest difference of log-odds between the chosen dtype and the model as given.

        Of the whole text and three random masks, with the labels that are analysed. ``None`` if
        the model runs as it was given, or one of the two gives no finite numbers.
        """
        if self._prepared.reference is None:
            return None
        masks = np.random.default_rng(0).random((4, self.n_features)) < 0.5
        masks[0] = True
        outputs = [self._run_apart(masks, is_reference=own) for own in (False, True)]
        if not np.isfinite(outputs).all():
            return None
        chosen, own = (compute_scores(o, self._activation, "logit", self._chosen) for o in outputs)
        return float(f"{np.abs(chosen - own).max():.3g}")

    def _run_apart(self, masks: Array, *, is_reference: bool) -> Floats:
        """Outputs of the masks, of which nothing is remembered."""
        prepared = self.prepare()
        engine = prepared.reference if is_reference else prepared.engine
        assert engine is not None
        return engine(prepared.inputs(masks), lambda _: None).outputs

    def differentiable(self) -> Callable[[], Differentiable] | None:
        """The scores as a function of the token embeddings, for transformers models."""
        classifier = self._classifier
        if isinstance(classifier, WindowedClassifier):
            return _refuse_windows
        if not isinstance(classifier, HuggingFaceClassifier):
            return None
        return lambda: embed(classifier, self._seen, self._spans, self._score, self._chosen)

    @property
    def takes_gates(self) -> bool:
        """Whether the model has gates; see `textsobol.text.gates`."""
        return self._transformer is not None and takes_gates(self._transformer)

    @property
    def gates_refusal(self) -> str | None:
        """See `steps.MaskedModel`."""
        if self._transformer is None:
            return "only torch models with the interface of transformers can have gates"
        if not self.takes_gates:
            return "gates were tried on this model and did not do what they should"
        return None

    def passes_per_gates(self, *, is_decision: bool = False) -> int:
        """See `MaskedClassifier`; a recurrent model is slow with a single row of gates."""
        passes = super().passes_per_gates(is_decision=is_decision)
        if self._transformer is None:
            return passes
        if is_decision and has_own_gates(self._transformer):
            return _ROW_OF_STEPS
        # All windows first, then one by one with gradients.
        return passes + isinstance(self._classifier, WindowedClassifier)

    def slopes(self, gates: Floats, *, is_decision: bool) -> Floats:
        """Derivatives of the analysed scores, or of the decision's score."""
        labels, score = ([self._decided], "logit") if is_decision else (self._chosen, self._score)

        def compute(logits: Tensor) -> Tensor:
            return compute_score_tensor(logits, self._activation, score, labels)

        if isinstance(self._classifier, WindowedClassifier):
            slopes = window_gradients(self._gated, gates, compute, self._classifier.aggregate)
        else:
            ((text, _),) = self._gated
            _, slopes = gate_gradients(text, gates, compute)
        return -slopes if is_decision and self.is_no else slopes

    @property
    def _transformer(self) -> HuggingFaceClassifier | None:
        """The classifier of the text, or of its windows, if it is of transformers."""
        found = self._classifier
        found = found.inner if isinstance(found, WindowedClassifier) else found
        return found if isinstance(found, HuggingFaceClassifier) else None

    @cached_property
    def _gated(self) -> list[tuple[GatedText, Integers]]:
        """The text, or each of its windows, and the numbers of the words there."""
        assert self._transformer is not None
        cuts = [(self._seen, self._spans, np.arange(self.n_features))]
        if isinstance(self._classifier, WindowedClassifier):
            cuts = self._classifier.cut(self._seen, self._spans)
        return [
            (GatedText(self._transformer, texts, spans), columns) for texts, spans, columns in cuts
        ]

    def decision(self) -> Decision | None:
        """The prediction that a path tries to change."""
        return self._decision()

    def levels(self) -> Sequence[Integers]:
        """Groups: the two texts of a pair, paragraphs, sentences."""
        places: list[tuple[int, ...]] = []
        for part, (text, spans) in enumerate(zip(self._seen, self._spans, strict=True)):
            found = find_paragraphs(text), find_sentences(text)
            ends = [[end for _, end in units] for units in found]
            places += [(part, *(bisect(e, start) for e in ends)) for start, _ in spans]
        return list(np.array(places).T)

    def name_error(self, error: BlackBoxError) -> BlackBoxError:
        """Add the masked text to the error, unless it has one."""
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


def _say_why(words: Sequence[Word]) -> str:
    """Why no word can be left out."""
    if not words:
        return "the text has no words: unit='word+punctuation' also takes punctuation marks"
    return "no word of the text can be left out: all are ignored, or beyond the model's window"


def _refuse_windows() -> Differentiable:
    raise ValueError(
        "gradient methods see one window of the model, and this text needs several: give "
        "long='outside', or another method, such as 'sobol'"
    )
