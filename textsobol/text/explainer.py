"""`TextExplainer`: from a classifier and a text to an explanation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from textsobol.driver import run, stream
from textsobol.labels import checked_label
from textsobol.methods import TEXT_METHODS, Attribution, Method, method_named
from textsobol.methods.division import Wanted, check_sobol_budget, n_pairs_among
from textsobol.methods.settings import SOBOL_DEFAULTS, checked_options, method_budget, record
from textsobol.outputs import SCORES
from textsobol.progress import LateProgress
from textsobol.provenance import versions
from textsobol.steps import Steps, map_results
from textsobol.text.classifiers import Classifier
from textsobol.text.explanation import TextExplanation
from textsobol.text.inputs import Text, check_keep, checked_texts, default_budget
from textsobol.text.loading import as_classifier
from textsobol.text.masked_model import MaskedTextModel
from textsobol.text.scores import (
    advised_passes,
    measured_words,
    rows_of,
    sums_of,
    word_pairs,
    word_path,
)
from textsobol.text.truncation import visible_words
from textsobol.text.words import Ignore, Segmenter, ignore_predicate, segmenter_for


class TextExplainer:
    """Explains which words made a text classifier decide as it did.

    Args:
        model: a text-classification or zero-shot-classification pipeline, a model (with
            ``tokenizer``), a pair (model, tokenizer), a directory or hub id, a function from a
            list of texts to scores, or a model elsewhere: see `textsobol.endpoint` and
            `textsobol.remote`. It is never changed. Without one, the bundled classifier of film
            reviews is used.
        tokenizer: the model's tokenizer, when ``model`` is a model.
        labels: names of a function's scores, or all labels of an endpoint.
        candidate_labels: what a zero-shot pipeline chooses from.
        unit: what is left out as one: ``word``, ``token`` (the tokenizer's words),
            ``sentence``, ``paragraph``, ``spacy`` or ``spacy:NAME``, or a callable from a text to
            spans.
        perturbation: what happens to a word that is left out: ``delete``, ``mask`` (the mask
            token stands in), ``pad`` (its tokens stay but are not seen), or a string that
            replaces it.
        ignore: words that always stay and get no score: ``stopwords``, a list, or a function
            of a word.
        score: what is analysed: ``logit``, the log-odds of a label, ``probability``, or
            ``output``, the number before softmax. A function's scores are analysed as they are.
        batch_tokens: most tokens of a batch; by default 16,384, on a CPU down to 1,024 for large
            models; halved by itself when memory runs out.
        batch_texts: most texts given to a function in one call.
        progress: show a bar on work of more than about two seconds.

    Example:
        >>> def shouting(texts):
        ...     return [text.count("!") + 2.0 * ("great" in text) for text in texts]
        >>> explainer = TextExplainer(shouting, labels=["excitement"])
        >>> explanation = explainer("A great film!!")
        >>> [each.word for each in explanation.top(2)]
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
        self.progress = progress

    @property
    def name(self) -> str:
        """How the model is called in explanations."""
        return self._classifier.name

    @property
    def model(self) -> Any:
        """The torch model, where there is one; it is what was given, not a copy."""
        return getattr(self._classifier, "model", None)

    @property
    def described(self) -> dict[str, Any]:
        """The model and all that was chosen with it, for the record."""
        return {
            "model": self._classifier.name,
            "unit": self._unit,
            "perturbation": self._perturbation,
            "ignore": self._ignore,
            **self._classifier.details,
            "score": self._score if self._classifier.activation != "none" else "output",
        }

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
        design: str | None = None,
        rows: int | None = None,
        sign: str | None = "mean",
        seed: int = 0,
        interactions: int = 0,
        precision: float | None = None,
        stable_top: int = 5,
        path: bool = True,
    ) -> TextExplanation:
        """Explain a text, or a pair (premise, hypothesis).

        Args:
            text: the text, or a pair of texts.
            budget: forward passes allowed; see `default_budget`.
            keep: probability that a word is present in a masked text.
            label: the label to look at; by default the likeliest of those analysed.
            labels: labels to analyse; all by default, from the same forward passes.
            method: ``sobol``, or another attribution method to compare with; see
                `textsobol.methods`.
            estimator: see `textsobol.sobol_indices`.
            design: see `textsobol.sobol_indices`.
            sign: see `textsobol.sobol_indices`.
            rows: number of base masks, at most; what they leave of a budget goes to the path.
            seed: the same seed gives the same explanation.
            interactions: also analyse all pairs of that many words, those with the highest
                scores. They get up to a third of the budget.
            precision: instead of a fixed number of base masks, go on until the words with the
                highest total index are the same ones in this share of bootstrap resamples, for
                example 0.95; up to ``budget``, or 64 base masks' worth of passes.
            stable_top: number of words that ``precision`` is about.
            path: also search for the words whose deletion brings the prediction down soonest
                (``explanation.path``, ``explanation.flip``), with part of the budget.

        Raises:
            ValueError: when there is nothing to explain, or a setting is out of range.
            BlackBoxError: when the classifier fails; it names the text.
        """
        with LateProgress(1, enabled=self.progress) as progress:
            steps = self.walk(
                text, budget=budget, keep=keep, label=label, labels=labels, method=method,
                estimator=estimator, design=design, rows=rows, sign=sign, seed=seed,
                interactions=interactions, precision=precision, stable_top=stable_top, path=path,
                expect=progress.more,
            )  # fmt: skip
            return run(steps, progress.tick)

    def walk(
        self,
        text: Text,
        *,
        budget: int | None = None,
        label: str | None = None,
        labels: Sequence[str] | None = None,
        method: str = "sobol",
        seed: int = 0,
        expect: Callable[[int], None] = lambda n_masks: None,
        stages: bool = False,
        **options: Any,
    ) -> Steps[TextExplanation]:
        """The same, as a generator that `textsobol.driver` serves, alone or with others.

        Args:
            text: see `__call__`.
            budget: see `__call__`.
            label: see `__call__`.
            labels: see `__call__`.
            method: see `__call__`.
            seed: see `__call__`.
            expect: called with the number of masks that will be asked for.
            stages: also yield functions that make explanations of what is known on the way.
            options: of the method; see `__call__`.
        """
        start = time.perf_counter()
        known = method_named(method, TEXT_METHODS)
        options = checked_options(method, {**SOBOL_DEFAULTS, **options})
        check_keep(options.get("keep", 0.5))
        model = self._mask(text)
        yield from model.predict(labels)
        target = checked_label(label, model.labels, model.probabilities)
        if known.kind == "search":  # for one label: it is far too long for many
            model = model.with_target(target)
        budget = self._checked_budget(known, budget, model.n_features, options)
        n_masks = None if budget is None else budget // self._classifier.passes
        model.ledger.budget = n_masks
        expect(n_masks or (options.get("rows") or 1) * (model.n_features + 2))

        def explanation(found: Attribution) -> TextExplanation:
            sign = options.get("sign", "mean")
            made = record(method, found, budget=budget, seed=seed, sign=sign)
            return self._explanation(model, found, target, start, made)

        if stages:
            options["stages"] = True
        steps = known.steps(model.problem(target), budget=n_masks, seed=seed, **options)
        found = yield from map_results(steps, lambda found: partial(explanation, found))
        return explanation(found)

    def _checked_budget(
        self, method: Method, budget: int | None, n_words: int, options: Mapping[str, Any]
    ) -> int | None:
        """Forward passes, or ``None`` for what ``rows`` or ``precision`` take."""
        passes = self._classifier.passes
        if "estimator" not in options:
            return method_budget(
                method, budget, n_words, noun="words", passes=passes, usual=default_budget
            )
        n_pairs = n_pairs_among(options["interactions"], n_words)
        wanted = Wanted.of(
            options["estimator"], options["sign"], options["interactions"], keep=options["keep"]
        )
        if budget is not None and (n_pairs or options["estimator"] != "auto"):
            check_sobol_budget(budget, n_words, wanted, noun="words", passes=passes)
        if budget is None and not (options["rows"] is None and options["precision"] is None):
            return None
        return method_budget(
            method, budget, n_words, noun="words", passes=passes,
            usual=lambda n: max(default_budget(n, n_pairs), wanted.least_masks(n)),
        )  # fmt: skip

    def stream(
        self,
        text: Text,
        *,
        budget: int | None = None,
        keep: float = 0.5,
        label: str | None = None,
        labels: Sequence[str] | None = None,
        rows: int | None = None,
        design: str | None = None,
        seed: int = 0,
        path: bool = True,
    ) -> Iterator[TextExplanation]:
        """Explain a text, with better and better answers on the way.

        The first comes after one base mask, the last is what ``explainer(text)`` gives; together
        they cost no more than that. Stop whenever it is enough.

        Args:
            text: see `__call__`.
            budget: see `__call__`.
            keep: see `__call__`.
            label: see `__call__`.
            labels: see `__call__`.
            rows: see `__call__`.
            design: see `__call__`.
            seed: see `__call__`.
            path: see `__call__`.

        Example:
            >>> explainer = TextExplainer(lambda texts: [text.count("!") for text in texts])
            >>> for explanation in explainer.stream("Oh no! What a plot !!", budget=20):
            ...     best = explanation.top(1)[0].word
            >>> best
            '!!'
        """
        steps = self.walk(
            text, budget=budget, keep=keep, label=label, labels=labels, rows=rows, design=design,
            seed=seed, path=path, stages=True,
        )  # fmt: skip
        for found in stream(steps):
            yield found if isinstance(found, TextExplanation) else found()

    def _explanation(
        self,
        model: MaskedTextModel,
        found: Attribution,
        label: str,
        start: float,
        made: Mapping[str, Any],
    ) -> TextExplanation:
        return TextExplanation(
            text=model.text,
            words=measured_words(model.words, model.labels, found),
            probabilities=model.probabilities,
            label=label,
            cost={
                **rows_of(found),
                "forwarded": model.cost.rows + found.passes,
                "padding": round(model.cost.padding_share, 4),
                **model.cost.metadata(),
                "seconds": time.perf_counter() - start,
            },
            settings={**self._settings(model), **made},
            pairs=word_pairs(model, found),
            path=word_path(model, found),
            sums=sums_of(model.labels, found.indices, model.scores(model.problem().whole)[0]),
            advised=advised_passes(model.labels, found, passes=self._classifier.passes),
            evidence=found,
        )

    def masked(self, text: Text, *, labels: Sequence[str] | None = None) -> MaskedTextModel:
        """The text with its words, ready to be asked about; what metrics work on."""
        return run(self._mask(text).predict(labels))

    def _mask(self, text: Text) -> MaskedTextModel:
        text, texts = checked_texts(text)
        words, cuts = visible_words(self._classifier, self._segment, self._ignored, texts)
        return MaskedTextModel(
            self._classifier, text, words, cuts, perturbation=self._perturbation, score=self._score
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

    def _settings(self, model: MaskedTextModel) -> dict[str, Any]:
        return {**self.described, "labels": list(model.labels), "versions": versions()}


def _described(ignore: Ignore) -> str | list[str]:
    return getattr(ignore, "__name__", "callable") if callable(ignore) else sorted(ignore)
