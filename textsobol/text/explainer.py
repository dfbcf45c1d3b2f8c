"""`TextExplainer`: from a classifier and a text to an explanation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any, cast

from textsobol.driver import run, stream
from textsobol.estimate import Estimate
from textsobol.labels import NAME_LABELS, are_numbers
from textsobol.methods import Attribution, Method, find_method
from textsobol.methods.method import check_call, record
from textsobol.outputs import SCORES
from textsobol.progress import Expect, LateProgress
from textsobol.prompts.loading import as_prompt_classifier
from textsobol.prompts.prompt import Prompt
from textsobol.provenance import versions
from textsobol.steps import Steps, map_results
from textsobol.text.classifiers import Classifier
from textsobol.text.doubts import note_doubts, weigh_punctuation
from textsobol.text.explanation import TextExplanation
from textsobol.text.given import describe_given
from textsobol.text.inputs import Text, refuse_surrogates
from textsobol.text.loading import as_classifier
from textsobol.text.masked_model import MaskedTextModel
from textsobol.text.masking import Masking
from textsobol.text.rehearsal import estimate_cost
from textsobol.text.scores import (
    advise_passes,
    compute_sums,
    count_masks,
    make_pairs,
    make_path,
    make_word_records,
)
from textsobol.text.segmenters import describe_unit, get_segmenter
from textsobol.text.task import begin
from textsobol.text.windows import Windows, read_long
from textsobol.text.words import Ignore, describe_ignore, make_ignore_predicate


class TextExplainer:
    """Explains which words made a text classifier decide as it did.

    Args:
        model: a text-classification or zero-shot-classification pipeline, a model (with
            ``tokenizer``), a pair (model, tokenizer), a directory or hub id, an ONNX Runtime
            session or optimum model (with ``tokenizer``), a classifier of scikit-learn, spaCy,
            Keras or SetFit that takes texts, any object with ``labels`` and ``predict(texts)``
            (see `textsobol.TextModel`), a function from a list of texts to scores, or a remote
            model: see `textsobol.endpoint` and `textsobol.remote`. It is never changed. By
            default, the bundled classifier of film reviews.
        tokenizer: the model's tokenizer, if ``model`` is a model.
        prompt: makes a language model a classifier, or explains its answers; see
            `textsobol.Prompt`. The model is then one that writes text: a causal one, one with an
            encoder and a decoder, or one on a server: see `textsobol.llm_endpoint`.
        label_names: names of a function's scores, all labels of an endpoint, or names for labels
            that a model only numbers, such as ``LABEL_0`` or ``0``.
        candidate_labels: the labels of a zero-shot pipeline.
        unit: what a feature is: ``word``, ``word+punctuation``, ``token`` (the tokenizer's words),
            ``sentence``, ``paragraph``, ``spacy`` or ``spacy:NAME``, a spaCy pipeline, or a
            callable from a text to spans. Chinese, Japanese, Thai, Lao, Khmer and Burmese, which
            have no spaces, are cut into words by jieba, SudachiPy, PyThaiNLP or ICU if they are
            installed; the setting ``segmenters`` of an explanation says which.
        perturbation: what happens to an absent word: ``delete``, ``mask`` (replaced by the mask
            token), ``pad`` (its tokens stay, but attention skips them), or a string to replace it.
        ignore: words that are always present and get no score: ``stopwords``, a list, or a
            function of a word.
        long: what happens to words beyond the model's window: ``outside`` (the model cannot see
            them; they score 0, with one warning), or ``window``: windows slide over the text, so
            that every word gets a score; see `Windows`, such as ``Windows(aggregate="max")``.
            If no window is known, as for a function, the model is given the whole text.
        score: what is analysed: ``logit``, the log-odds of a label, ``probability``, or
            ``output``, the number before softmax. By default the log-odds; a function's scores,
            and distances of support vector machines, are analysed as they are, unless ``logit``
            or ``probability`` says that they are probabilities.
        batch_tokens: most tokens of a batch; by default 16,384, on a CPU down to 1,024 for large
            models; halved by itself when memory runs out.
        batch_texts: most texts given to a function in one call.
        dtype: ``float32``, ``bfloat16`` or ``float16``: a copy of the transformers model in that
            dtype makes the forward passes. It is made when the first text is explained.
            ``bfloat16`` is up to twice as fast on a CPU that supports it, and changes scores a
            little: the setting ``precision_difference`` of an explanation is the largest
            difference in log-odds from your model, measured on the whole text and three random
            masks, with eight passes that the budget does not count. Gradients come from your model.
        trust_remote_code: run Python code that comes with a model; see SECURITY.md.
        progress: show a bar if the work takes more than about two seconds; if it will take more
            than about 30 seconds, also print what it will cost.

    Example:
        >>> def shouting(texts):
        ...     return [text.count("!") + 2.0 * ("great" in text) for text in texts]
        >>> explainer = TextExplainer(shouting, label_names=["excitement"])
        >>> explanation = explainer("A great film!!")
        >>> [each.word for each in explanation.top(2)]
        ['great', '!!']
    """

    def __init__(
        self,
        model: Any = None,
        tokenizer: Any = None,
        *,
        prompt: Prompt | None = None,
        label_names: Sequence[str] | None = None,
        candidate_labels: Sequence[str] | None = None,
        unit: Any = "word",
        perturbation: str = "delete",
        ignore: Ignore | None = None,
        long: str | Windows = "outside",
        score: str | None = None,
        batch_tokens: int | None = None,
        batch_texts: int = 256,
        dtype: str | None = None,
        trust_remote_code: bool = False,
        progress: bool = True,
        _token_path: bool = True,
    ) -> None:
        if score is not None and score not in SCORES:
            raise ValueError(f"unknown score {score!r}; known: {', '.join(SCORES)}")
        if batch_texts < 1 or (batch_tokens is not None and batch_tokens < 1):
            raise ValueError("batch_tokens and batch_texts must be at least 1")
        refuse_surrogates(perturbation, "perturbation=")
        options: dict[str, Any] = {
            "batch_tokens": batch_tokens, "trust_remote_code": trust_remote_code, "dtype": dtype,
        }  # fmt: skip
        self._classifier: Classifier
        if prompt is None:
            self._classifier = as_classifier(
                model, tokenizer, label_names=label_names, candidate_labels=candidate_labels,
                batch_texts=batch_texts, token_path=_token_path, score=score, **options,
            )  # fmt: skip
        else:
            if label_names is not None or candidate_labels is not None:
                raise ValueError(
                    "a prompt names its labels in answers=: leave out label_names= and "
                    "candidate_labels="
                )
            if read_long(long) is not None:
                raise ValueError(
                    "windows cannot slide over a prompt, whose model sees all of it or nothing: "
                    "shorten the text, or give a model with a larger window"
                )
            # It becomes a classifier with every text; see `_mask`.
            asked = as_prompt_classifier(model, tokenizer, prompt, **options)
            self._classifier = cast(Classifier, asked)
        self._given = describe_given(model)
        self._masking = Masking(
            get_segmenter(unit, self._classifier.tokenizer), make_ignore_predicate(ignore),
            read_long(long), perturbation, score or "logit",
        )  # fmt: skip
        self._unit, self._ignore = describe_unit(unit), describe_ignore(ignore)
        self.progress = progress

    @property
    def name(self) -> str:
        """The name of the model in explanations."""
        return self._classifier.name

    @property
    def model(self) -> Any:
        """The torch model that was given, not a copy; ``None`` for other models."""
        return getattr(self._classifier, "model", None)

    @property
    def settings(self) -> dict[str, Any]:
        """The model and the options, for an explanation's settings."""
        return {
            "model": self._classifier.name,
            "given": self._given,
            "unit": self._unit,
            "perturbation": self._masking.perturbation,
            "ignore": self._ignore,
            **self._classifier.details,
            **({} if self._masking.windows is None else self._masking.windows.settings),
            "score": self._masking.score if self._classifier.activation != "none" else "output",
        }

    def __call__(
        self,
        text: Text,
        *,
        target: str | None = None,
        targets: Sequence[str] | int | None = None,
        method: str | Method = "sobol",
        budget: int | None = None,
        seed: int = 0,
    ) -> TextExplanation:
        """Explain a text, or a pair (premise, hypothesis).

        Args:
            text: the text, or a pair of texts.
            target: the label that is explained; by default the likeliest of ``targets``. With a
                prompt, anything but a label is an answer whose log-probability is explained; if the
                prompt has no labels, by default the model's own answer.
            targets: labels to analyse, or how many of the likeliest besides ``target``; by default
                all. They share the forward passes. Of an answer, phrases to analyse besides it; by
                default its tokens.
            method: the name of an attribution method, or a method with options, such as
                ``Sobol(keep=0.9)``; see `textsobol.methods`.
            budget: forward passes allowed; see `default_budget`.
            seed: the same seed gives the same explanation.

        Raises:
            ValueError: if there is nothing to explain, or a setting is out of range.
            BlackBoxError: if the classifier fails; it names the text.
        """
        with LateProgress(1, enabled=self.progress) as progress:
            steps = self.walk(
                text, target=target, targets=targets, method=method, budget=budget, seed=seed,
                expect=progress.expect,
            )  # fmt: skip
            return run(steps, progress.tick)

    def stream(
        self,
        text: Text,
        *,
        target: str | None = None,
        targets: Sequence[str] | int | None = None,
        method: str | Method = "sobol",
        budget: int | None = None,
        seed: int = 0,
    ) -> Iterator[TextExplanation]:
        """Explain a text step by step: yield better and better explanations; see `__call__`.

        The first comes from gate gradients if the model has them, else from one base mask; the last
        equals ``explainer(text)``. Together they cost no more forward passes than the last. Stop at
        any time.

        Example:
            >>> explainer = TextExplainer(lambda texts: [text.count("!") for text in texts])
            >>> for explanation in explainer.stream("Oh no! What a plot !!", budget=20):
            ...     best = explanation.top(1)[0].word
            >>> best
            '!!'
        """
        steps = self.walk(
            text, target=target, targets=targets, method=method, budget=budget, seed=seed,
            is_streamed=True,
        )  # fmt: skip
        with closing(stream(steps)) as results:
            for found in results:
                yield found if isinstance(found, TextExplanation) else found()

    def walk(
        self,
        text: Text,
        *,
        target: str | None = None,
        targets: Sequence[str] | int | None = None,
        method: str | Method = "sobol",
        budget: int | None = None,
        seed: int = 0,
        is_streamed: bool = False,
        expect: Expect = lambda n_masks, announce: None,
    ) -> Steps[TextExplanation]:
        """From a text to its explanation, as a generator that `textsobol.driver` runs.

        Arguments are those of `__call__`. With ``is_streamed`` it also yields functions that make
        intermediate explanations. ``expect`` is called with the most masks that will be scored, and
        a function that says what they cost if they take so many seconds.
        """
        start = time.perf_counter()
        method, budget = find_method(method).for_texts(), check_call(budget, seed)
        own = self._masking.mask(self._classifier, text, target, targets)
        task = yield from begin(own, method, budget=budget, target=target, targets=targets)
        model, target, budget = task.model, task.target, task.budget
        notes = note_doubts(
            model, self._classifier, self._masking.segment,
            is_bundled=self._given["kind"] == "bundled model",
        )  # fmt: skip
        expect(task.most_masks, task.announce)
        problem = model.problem(target, is_streamed=is_streamed)
        steps = method.attribute(problem, budget=task.n_masks, seed=seed)

        def explain(found: Attribution) -> TextExplanation:
            made = {**record(method, found, budget=budget, seed=seed), **notes}
            return self._make_explanation(model, found, target, start, made)

        def explain_later(found: Attribution) -> Callable[[], TextExplanation]:
            return partial(explain, replace(found, is_intermediate=True))

        found = yield from map_results(steps, explain_later)
        notes |= yield from weigh_punctuation(model, found, target)
        model.cost.warn()
        return explain(found)

    def _make_explanation(
        self,
        model: MaskedTextModel,
        found: Attribution,
        target: str,
        start: float,
        made: Mapping[str, Any],
    ) -> TextExplanation:
        return TextExplanation(
            text=model.text,
            words=make_word_records(model.words, model.labels, found),
            probabilities=model.probabilities,
            target=target,
            cost={
                **count_masks(found),
                "forwarded": model.cost.passes + found.passes,
                "padding": round(model.cost.padding_share, 4),
                **model.cost.metadata(),
                "seconds": time.perf_counter() - start,
            },
            settings={**self._record_settings(model), **model.cost.findings(), **made},
            pairs=make_pairs(model, found),
            path=make_path(model, found),
            sums=compute_sums(model.labels, found, model.score_masks(model.problem().whole)[0]),
            advised=advise_passes(model.labels, found, passes=model.passes, budget=made["budget"]),
            evidence=found,
        )

    def estimate(
        self,
        text: Text,
        *,
        target: str | None = None,
        targets: Sequence[str] | int | None = None,
        method: str | Method = "sobol",
        budget: int | None = None,
        seed: int = 0,
    ) -> Estimate:
        """What ``explainer(text)`` with the same arguments would cost: passes, tokens, seconds.

        The text is classified, and about ten batches are run to see how fast the model is; at most
        a tenth of the work. A remote model is called once only, and its time is not estimated.

        Example:
            >>> explainer = TextExplainer(lambda texts: [text.count("!") for text in texts])
            >>> explainer.estimate("Oh no! What a plot !!", method="occlusion").passes
            7
        """
        method, budget = find_method(method).for_texts(), check_call(budget, seed)
        steps = begin(
            self._masking.mask(self._classifier, text, target, targets),
            method,
            budget=budget,
            target=target,
            targets=targets,
        )
        return estimate_cost(run(steps), seed)

    def masked(self, text: Text, *, targets: Sequence[str] | int | None = None) -> MaskedTextModel:
        """The masked model of a text, for metrics."""
        model = self._masking.mask(self._classifier, text, None, targets)
        return run(model.predict(None if model.answer is not None else targets))

    def many(self, texts: Iterable[Text], **settings: Any) -> Iterator[TextExplanation]:
        """Explain texts one by one, lazily; an error names the text's number."""
        if isinstance(texts, str):
            raise ValueError("many() takes a list of texts; explain one text with explainer(text)")
        for number, text in enumerate(texts):
            try:
                explanation = self(text, **settings)
            except ValueError as error:
                raise ValueError(f"text {number}: {error}") from error
            yield explanation

    def _record_settings(self, model: MaskedTextModel) -> dict[str, Any]:
        is_numbered = len(model.probabilities) > 1 and are_numbers(model.probabilities)
        made: dict[str, Any] = {"hint": NAME_LABELS} if is_numbered else {}
        if model.answer is not None and self._masking.score != "probability":
            made["score"] = "log-probability"
        return {
            **self.settings, **model.details, "labels": list(model.labels), **made,
            "versions": versions(),
        }  # fmt: skip
