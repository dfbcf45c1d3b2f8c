"""`TextExplainer`: from a classifier and a text to an explanation."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from textsobol import __version__
from textsobol.sobol import BlackBoxError, SobolIndices, sobol_indices
from textsobol.sobol.arrays import Array, Floats
from textsobol.text.classifiers import Classifier, Outputs, Tick
from textsobol.text.explanation import TextExplanation, Word, WordScore
from textsobol.text.loading import as_classifier
from textsobol.text.masked import MaskedText
from textsobol.text.outputs import SCORES, analysed, probabilities
from textsobol.text.progress import LateProgress
from textsobol.text.tokens import split_masks, untouched
from textsobol.text.window import WindowWarning, visible_lengths
from textsobol.text.words import (
    Ignore,
    Segmenter,
    checked_spans,
    ignore_predicate,
    segmenter_for,
)

Text = str | tuple[str, str]
METHODS = ("sobol",)
_TOP = 10  # the top whose stability is told
_RESAMPLES = 200


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
        labels: Sequence[str] | None = None,
        method: str = "sobol",
        estimator: str = "auto",
        rows: int | None = None,
        seed: int = 0,
    ) -> TextExplanation:
        """Explain a text, or a pair (premise, hypothesis).

        Args:
            text: the text, or a pair of texts.
            budget: forward passes allowed; see `default_budget`.
            keep: probability that a word is present in a masked text.
            labels: labels to analyse; all by default, from the same forward passes.
            method: ``sobol``.
            estimator: see `textsobol.sobol_indices`.
            rows: number of base rows, at most; with ``budget`` left out, exactly.
            seed: the same seed gives the same explanation.

        Raises:
            ValueError: when there is nothing to explain, or a setting is out of range.
            BlackBoxError: when the classifier fails; it names the text.
        """
        start = time.perf_counter()
        if method not in METHODS:
            raise ValueError(f"unknown method {method!r}; known: {', '.join(METHODS)}")
        text, texts = _checked_texts(text)
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
        budget = _checked_budget(budget, rows, len(scored), passes)
        outputs, cost = self._classifier.prepare(shown, spans, self._perturbation)
        design_budget = None if budget is None else budget // passes - 1
        planned = 1 + (design_budget or (rows or 1) * (len(scored) + 2))
        with LateProgress(planned, enabled=self._progress) as progress:
            try:
                whole = _predict(outputs, len(scored), progress.tick)
                all_labels = self._classifier.labels(whole.shape[1])
                chosen = _chosen_labels(labels, all_labels)

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
                )
            except BlackBoxError as error:
                replacement = self._classifier.replacement(self._perturbation)
                masked = [MaskedText(t, s, replacement) for t, s in zip(shown, spans, strict=True)]
                raise _naming_the_text(error, masked) from error
        shares = probabilities(whole, self._classifier.activation)[0]
        by_label = {label: float(p) for label, p in zip(all_labels, shares, strict=True)}
        analysed_labels = [all_labels[k] for k in chosen]
        return TextExplanation(
            text=text,
            words=_with_scores(words, scored, result, analysed_labels),
            probabilities=by_label,
            label=max(analysed_labels, key=lambda label: by_label[label]),
            cost={
                "rows": result.n_rows + 1,
                # All masks include the full one, which is the prediction.
                "distinct": result.n_distinct + (result.settings.estimator != "exact"),
                "forwarded": cost.rows,
                "padding": round(cost.padding_share, 4),
                "seconds": time.perf_counter() - start,
            },
            settings=self._settings(result, budget, method, analysed_labels),
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

    def _words(self, texts: Sequence[str]) -> tuple[list[Word], list[int]]:
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


def default_budget(n_words: int) -> int:
    """Forward passes for a text of that many words, when none are given.

    Four base rows, 4 (d + 1) passes, rank the words of a long text well. A short text gets
    up to 512 passes or 32 base rows, whichever is less, since they cost little there. One more
    pass is the prediction.

    Example:
        >>> [default_budget(n) for n in (5, 20, 60, 230)]
        [193, 513, 513, 925]
    """
    return 1 + max(4 * (n_words + 1), min(512, 32 * (n_words + 1)))


def _described(ignore: Ignore) -> str | list[str]:
    return getattr(ignore, "__name__", "callable") if callable(ignore) else sorted(ignore)


def _checked_texts(text: Any) -> tuple[Text, list[str]]:
    """The text as it is kept in an explanation, and its one or two parts."""
    if isinstance(text, Mapping) and set(text) == {"text", "text_pair"}:
        text = (text["text"], text["text_pair"])
    if isinstance(text, list):
        raise ValueError("a list of texts goes to explainer.many(texts); a pair is a tuple")
    parts = list(text) if isinstance(text, tuple) else [text]
    if not 1 <= len(parts) <= 2 or not all(isinstance(part, str) for part in parts):
        raise ValueError("a text is a string, or a pair of strings (premise, hypothesis)")
    for part in parts:
        if not part.strip():
            raise ValueError("nothing to explain: the text is empty or blank")
        try:
            part.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueError(
                f"the text has half of a surrogate pair at character {error.start}, which no "
                f"tokenizer can read; mend it with text.encode('utf-8', 'replace').decode()"
            ) from None
    return text, parts


def _checked_budget(budget: int | None, rows: int | None, n_words: int, passes: int) -> int | None:
    if budget is None:
        return None if rows is not None else passes * default_budget(n_words)
    least = passes * (n_words + 2)
    if budget < least:
        each = f" for each of the {passes} labels" if passes > 1 else ""
        raise ValueError(
            f"budget={budget}: {n_words} words need at least {least} forward passes, one for the "
            f"prediction and {n_words + 1} for one base row{each}"
        )
    return budget


def _chosen_labels(asked: Sequence[str] | None, known: Sequence[str]) -> list[int]:
    if asked is None:
        return list(range(len(known)))
    asked = [asked] if isinstance(asked, str) else list(asked)
    unknown = [label for label in asked if label not in known]
    if unknown or not asked:
        raise ValueError(
            f"unknown label {', '.join(map(repr, unknown))}; known: {', '.join(known)}"
        )
    return [known.index(label) for label in asked]


def _with_scores(
    words: Sequence[Word], scored: Sequence[int], result: SobolIndices, labels: Sequence[str]
) -> tuple[Word, ...]:
    low, high = result.interval(0.95)
    n_base = result.settings.rows
    if result.settings.estimator == "flip" and n_base == 1:
        stability = np.zeros_like(result.total)  # one row cannot tell
    else:
        k = min(_TOP, len(scored))
        stability = result.rank_stability(k, resamples=_RESAMPLES)
    finished = list(words)
    for place, k in enumerate(scored):
        scores = {}
        for column, label in enumerate(labels):
            at = (place, column)
            sign = float(np.sign(result.signed[at]))
            ends = sorted((sign * float(low[at]), sign * float(high[at])))
            scores[label] = WordScore(
                score=float(result.signed[at]),
                error=float(result.total_error[at]),
                low=ends[0],
                high=ends[1],
                total=float(result.total[at]),
                first=float(result.first[at]),
                effect=float(result.effect[at]),
                stability=float(stability[at]),
            )
        finished[k] = replace(words[k], scores=scores)
    return tuple(finished)


def _predict(outputs: Outputs, n_words: int, tick: Tick) -> Floats:
    """Outputs for the whole text ``(1, labels)``."""
    mask = np.ones((1, n_words), dtype=bool)
    try:
        whole = outputs(mask, tick)
    except Exception as error:
        raise BlackBoxError(
            f"the classifier failed on the whole text: {type(error).__name__}: {error}", mask[0]
        ) from error
    if not np.isfinite(whole).all():
        raise BlackBoxError(f"the classifier returned {whole[0]}; scores must be finite", mask[0])
    return whole


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
