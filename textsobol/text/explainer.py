"""`TextExplainer`: from a classifier and a text to an explanation."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from textsobol import __version__
from textsobol.sobol import BlackBoxError, SobolIndices, sobol_indices
from textsobol.sobol.arrays import Array, Floats
from textsobol.text.classifiers import Classifier, Outputs, Tick
from textsobol.text.explanation import TextExplanation, Word
from textsobol.text.inputs import (
    Text,
    checked_budget,
    checked_label,
    checked_texts,
    chosen_labels,
    n_pairs_among,
)
from textsobol.text.loading import as_classifier
from textsobol.text.masked import MaskedText
from textsobol.text.outputs import SCORES, analysed, probabilities
from textsobol.text.progress import LateProgress
from textsobol.text.scores import with_scores, word_pairs
from textsobol.text.tokens import split_masks, untouched
from textsobol.text.whatif import deletions
from textsobol.text.window import WindowWarning, visible_lengths
from textsobol.text.words import (
    Ignore,
    Segmenter,
    checked_spans,
    ignore_predicate,
    segmenter_for,
)

METHODS = ("sobol",)


class TextExplainer:
    """Explains which words made a text classifier decide as it did.

    Args:
        model: a text-classification or zero-shot-classification pipeline, a model (with
            ``tokenizer``), a pair (model, tokenizer), a directory or hub id, or a function from a
            list of texts to scores. It is never changed. Without one, the bundled classifier
            of film reviews is used.
        tokenizer: the model's tokenizer, when ``model`` is a model.
        labels: names of a function's scores.
        candidate_labels: what a zero-shot pipeline chooses from.
        unit: what is left out as one: ``word``, ``token`` (the tokenizer's words),
            ``sentence``, ``paragraph``, ``spacy`` or ``spacy:NAME``, or a callable from a text to
            spans.
        perturbation: what happens to a word that is left out: ``delete``, ``mask`` (the mask
            token stands in), ``pad`` (its tokens stay but are not seen), or a string that
            replaces it.
        ignore: words that always stay and get no score: ``stopwords``, a list, or a function
            of a word.
        score: what is analysed: ``logit``, the log-odds of a label, or ``probability``. A
            function's scores are analysed as they are.
        batch_tokens: most tokens of a batch; by default 16,384, on a CPU down to 1,024 for large
            models; halved by itself when memory runs out.
        batch_texts: most texts given to a function in one call.
        progress: show a bar on work of more than about two seconds.

    Example:
        >>> def shouting(texts):
        ...     return [text.count("!") + 2.0 * ("great" in text) for text in texts]
        >>> explainer = TextExplainer(shouting, labels=["excitement"])
        >>> explanation = explainer("A great film!!")
        >>> [word for word, score, interval in explanation.top(2)]
        ['great', '!!']
    """

    def __init__(
        self,
        model: Any = None,
        tokenizer: Any = None,
        *,
        labels: Sequence[str] | None = None,
        candidate_labels: Sequence[str] | None = None,
        unit: str | Segmenter = "word",
        perturbation: str = "delete",
        ignore: Ignore | None = None,
        score: str = "logit",
        batch_tokens: int | None = None,
        batch_texts: int = 256,
        progress: bool = True,
        _token_path: bool = True,
    ) -> None:
        if score not in SCORES:
            raise ValueError(f"unknown score {score!r}; known: {', '.join(SCORES)}")
        if batch_texts < 1 or (batch_tokens is not None and batch_tokens < 1):
            raise ValueError("batch_tokens and batch_texts must be at least 1")
        self._classifier: Classifier = as_classifier(
            model,
            tokenizer,
            labels=labels,
            candidate_labels=candidate_labels,
            batch_tokens=batch_tokens,
            batch_texts=batch_texts,
            token_path=_token_path,
        )
        self._segment = segmenter_for(unit, self._classifier.tokenizer)
        self._unit = unit if isinstance(unit, str) else getattr(unit, "__name__", "callable")
        self._perturbation = perturbation
        self._ignored = ignore_predicate(ignore)
        self._ignore = ignore if ignore is None or isinstance(ignore, str) else _described(ignore)
        self._score = score
        self._progress = progress

    def __call__(
        self,
        text: Text,
        *,
        budget: int | None = None,
        keep: float = 0.5,
        label: str | None = None,
        labels: Sequence[str] | None = None,
        method: str = "sobol",
        estimator: str = "auto",
        rows: int | None = None,
        seed: int = 0,
        interactions: int = 0,
        whatif: bool = False,
    ) -> TextExplanation:
        """Explain a text, or a pair (premise, hypothesis).

        Args:
            text: the text, or a pair of texts.
            budget: forward passes allowed; see `default_budget`.
            keep: probability that a word is present in a masked text.
            label: the label to look at; by default the likeliest of those analysed.
            labels: labels to analyse; all by default, from the same forward passes.
            method: ``sobol``.
            estimator: see `textsobol.sobol_indices`.
            rows: number of base rows, at most; with ``budget`` left out, exactly.
            seed: the same seed gives the same explanation.
            interactions: also analyse all pairs of that many words, those with the highest
                total index; with ``flip`` one more forward pass a pair and base row.
            whatif: also ask the classifier what it says when the words that speak most for a
                label are deleted one after another, for the five likeliest labels and the one
                looked at: up to 20 masked texts a label, on top of the budget.

        Raises:
            ValueError: when there is nothing to explain, or a setting is out of range.
            BlackBoxError: when the classifier fails; it names the text.
        """
        start = time.perf_counter()
        if method not in METHODS:
            raise ValueError(f"unknown method {method!r}; known: {', '.join(METHODS)}")
        text, texts = checked_texts(text)
        words, cuts = self._words(texts)
        scored = [k for k, word in enumerate(words) if word.status == "scored"]
        if not scored:
            raise ValueError("nothing to explain: no word of the text can be left out")
        spans = [
            [
                (words[k].start, min(words[k].end, cuts[part]))
                for k in scored
                if words[k].part == part
            ]
            for part in range(len(texts))
        ]
        shown = [whole[:cut] for whole, cut in zip(texts, cuts, strict=True)]
        passes = self._classifier.passes
        n_pairs = n_pairs_among(interactions, len(scored))
        budget = checked_budget(budget, rows, len(scored), passes, n_pairs)
        outputs, cost = self._classifier.prepare(shown, spans, self._perturbation)
        design_budget = None if budget is None else budget // passes - 1
        planned = 1 + (design_budget or (rows or 1) * (len(scored) + n_pairs + 2))
        with LateProgress(planned, enabled=self._progress) as progress:
            try:
                whole = _answer(outputs, np.ones((1, len(scored)), dtype=bool), progress.tick)
                all_labels = self._classifier.labels(whole.shape[1])
                chosen = chosen_labels(labels, all_labels)
                analysed_labels = [all_labels[k] for k in chosen]
                by_label = dict(zip(all_labels, self._shares(whole)[0].tolist(), strict=True))
                looked_at = checked_label(label, analysed_labels, by_label)

                def black_box(masks: Array) -> Floats:
                    values = outputs(masks, progress.tick)
                    return analysed(values, self._classifier.activation, self._score)[:, chosen]

                result = sobol_indices(
                    black_box,
                    len(scored),
                    estimator=estimator,
                    keep=keep,
                    budget=design_budget,
                    rows=rows,
                    seed=seed,
                    pairs=min(interactions, len(scored)) if n_pairs else None,
                )
                words = with_scores(words, scored, result, analysed_labels)
                curves, n_design = {}, cost.rows
                if whatif:

                    def answer(masks: Array) -> Floats:
                        progress.more(len(masks))
                        return self._shares(_answer(outputs, masks, progress.tick))

                    curves = deletions(answer, words, scored, by_label, analysed_labels, looked_at)
            except BlackBoxError as error:
                replacement = self._classifier.replacement(self._perturbation)
                masked = [MaskedText(t, s, replacement) for t, s in zip(shown, spans, strict=True)]
                raise _naming_the_text(error, masked) from error
        return TextExplanation(
            text=text,
            words=words,
            probabilities=by_label,
            label=looked_at,
            cost={
                "rows": result.n_rows + 1,
                # All masks include the full one, which is the prediction.
                "distinct": result.n_distinct + (result.settings.estimator != "exact"),
                "forwarded": cost.rows,
                "whatif": cost.rows - n_design,
                "padding": round(cost.padding_share, 4),
                "seconds": time.perf_counter() - start,
            },
            settings=self._settings(result, budget, method, analysed_labels),
            pairs=word_pairs(scored, result, analysed_labels),
            whatif=curves,
        )

    def many(self, texts: Iterable[Text], **settings: Any) -> Iterator[TextExplanation]:
        """Explain texts one by one, as they are asked for; an error names the text's number."""
        if isinstance(texts, str):
            raise ValueError("many() takes a list of texts; explain one text with explainer(text)")
        for number, text in enumerate(texts):
            try:
                explanation = self(text, **settings)
            except ValueError as error:
                raise ValueError(f"text {number}: {error}") from error
            yield explanation

    def _words(self, texts: Sequence[str]) -> tuple[Sequence[Word], list[int]]:
        """All words with their status, and how much of each text the model can see."""
        spans = []
        for text in texts:
            with untouched(self._classifier.tokenizer):
                spans.append(checked_spans(self._segment(text), text))
        cuts = visible_lengths(self._classifier, texts, spans)
        words = []
        for part, (text, own, cut) in enumerate(zip(texts, spans, cuts, strict=True)):
            for number, (start, end) in enumerate(own):
                word = text[start:end]
                # Only a first word can be cut inside; all others fit or do not.
                outside = end > cut and (number > 0 or start >= cut)
                status = "outside" if outside else "ignored" if self._ignored(word) else "scored"
                words.append(Word(word, start, end, status, part=part))
        n_outside = sum(word.status == "outside" for word in words)
        if n_outside:
            warnings.warn(
                f"{n_outside} of {len(words)} words lie outside the {self._classifier.name} "
                f"model's window; it cannot see them, and they are scored 0",
                WindowWarning,
                stacklevel=3,
            )
        return words, cuts

    def _shares(self, outputs: Floats) -> Floats:
        """What is shown of outputs ``(rows, labels)``."""
        return probabilities(outputs, self._classifier.activation)

    def _settings(
        self, result: SobolIndices, budget: int | None, method: str, labels: Sequence[str]
    ) -> dict[str, Any]:
        return {
            "model": self._classifier.name,
            "method": method,
            "estimator": result.settings.estimator,
            "design": result.settings.design,
            "keep": result.settings.keep,
            "base_rows": result.settings.rows,
            "budget": budget,
            "seed": result.settings.seed,
            "labels": list(labels),
            "unit": self._unit,
            "perturbation": self._perturbation,
            "ignore": self._ignore,
            **self._classifier.details,
            "score": self._score if self._classifier.activation != "none" else "output",
            "versions": _versions(),
        }


def _described(ignore: Ignore) -> str | list[str]:
    return getattr(ignore, "__name__", "callable") if callable(ignore) else sorted(ignore)


def _answer(outputs: Outputs, masks: Array, tick: Tick) -> Floats:
    """Outputs ``(rows, labels)`` outside of the design, for the prediction and for what-if."""
    try:
        values = outputs(masks, tick)
    except Exception as error:
        raise BlackBoxError(
            f"the classifier failed: {type(error).__name__}: {error}", masks[0]
        ) from error
    wrong = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if wrong.size:
        raise BlackBoxError(
            f"the classifier returned {values[wrong[0]]}; scores must be finite", masks[wrong[0]]
        )
    return values


def _naming_the_text(error: BlackBoxError, masked: Sequence[MaskedText]) -> BlackBoxError:
    """The same error with the text instead of the mask, unless it names one already."""
    if "text: " in str(error) or "for the text" in str(error):
        return error
    masks = split_masks(error.mask[None].astype(bool), masked)
    text = " / ".join(part.render(own)[0] for part, own in zip(masked, masks, strict=True))
    shown = text if len(text) <= 300 else text[:300] + " ..."
    return BlackBoxError(f"{error} (text: {shown!r})", error.mask)


def _versions() -> dict[str, str]:
    found = {"textsobol": __version__}
    for package in ("numpy", "scipy", "torch", "transformers", "tokenizers"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
