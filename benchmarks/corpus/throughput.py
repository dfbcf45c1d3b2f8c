"""A job against the same masks of the same texts given to the classifier as one big batch.

Times are those of the processor, since other work may share the machine; the best of some
repetitions, in turn.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from textsobol import TextExplainer, explain_corpus
from textsobol.sobol.arrays import Array
from textsobol.text.batches import LogitRunner
from textsobol.text.classifiers import HuggingFaceClassifier
from textsobol.text.tokens import Row

Asked = tuple[Sequence[str], Sequence[Any], str, list[Array]]


@dataclass(frozen=True)
class Throughput:
    """Seconds of the processor for the same texts.

    Attributes:
        job: the whole job, reading and writing included.
        one_by_one: the explanations, one text after another.
        big_batch: all masks of all texts as one batch: tokens, sorting, forward passes.
        forward: the forward passes alone.
        rows: number of them.
        tokens: of those, padding included.
    """

    job: float
    one_by_one: float
    big_batch: float
    forward: float
    rows: int
    tokens: int


def throughput(explainer: TextExplainer, table: Path, repeats: int, **settings: Any) -> Throughput:
    """Measure a job on a table; see `Throughput`."""
    calls, settings = settings, {**settings, "shard_size": 128}  # as in a job of many texts
    asked: list[Asked] = []
    rows: list[Row] = []
    with _recorded(asked, rows), tempfile.TemporaryDirectory() as out:
        found = explain_corpus(explainer, table, out=out, id_column="id", **settings)
        seeds = [one.settings["seed"] for one in found]
        texts = [one.text for one in found]
    classifier = explainer._classifier
    assert isinstance(classifier, HuggingFaceClassifier)
    runner = LogitRunner(classifier.model, classifier.tokenizer, classifier.batch_tokens)

    def job() -> None:
        with tempfile.TemporaryDirectory() as out:
            explain_corpus(explainer, table, out=out, id_column="id", **settings)

    def one_by_one() -> None:
        for text, seed in zip(texts, seeds, strict=True):
            explainer(text, **{**calls, "seed": seed})

    def big_batch() -> None:
        runner([row for one in asked for row in _inputs(classifier, one)], lambda _: None)

    def forward() -> None:
        runner(rows, lambda _: None)

    widths = runner(rows, lambda _: None).tokens
    assert widths is not None
    tokens = int(widths.sum())
    ways: list[Callable[[], None]] = [job, one_by_one, big_batch, forward]
    times = np.array([[_cpu(way) for way in ways] for _ in range(repeats)])
    best = dict(zip(("job", "one_by_one", "big_batch", "forward"), times.min(axis=0), strict=True))
    return Throughput(**best, rows=len(rows), tokens=tokens)


def _inputs(classifier: HuggingFaceClassifier, one: Asked) -> Sequence[Row]:
    texts, spans, perturbation, masks = one
    return classifier.prepare(texts, spans, perturbation).inputs(np.concatenate(masks))


@contextmanager
def _recorded(asked: list[Asked], rows: list[Row]) -> Iterator[None]:
    """Keep what is asked of the classifier, and what is forwarded."""
    prepare, forward = HuggingFaceClassifier.prepare, LogitRunner.__call__

    def preparing(self: Any, texts: Any, spans: Any, perturbation: str) -> Any:
        prepared = prepare(self, texts, spans, perturbation)
        masks: list[Array] = []
        asked.append((texts, spans, perturbation, masks))

        def keeping(own: Array) -> Any:
            masks.append(own)
            return prepared.inputs(own)

        return replace(prepared, inputs=keeping)

    def forwarding(self: Any, given: Sequence[Row], tick: Any) -> Any:
        rows.extend(given)
        return forward(self, given, tick)

    with (
        mock.patch.object(HuggingFaceClassifier, "prepare", preparing),
        mock.patch.object(LogitRunner, "__call__", forwarding),
    ):
        yield


def _cpu(work: Callable[[], None]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
