"""How much work an explanation is: the method is rehearsed on random scores, without the model.

A method whose masks are the same for two sets of random scores does not look at the scores, and
makes just as many forward passes on the model's. Others may end sooner than their budget allows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Hashable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from textsobol.driver import run
from textsobol.errors import BlackBoxError
from textsobol.estimate import Estimate
from textsobol.ledger import Ledger
from textsobol.methods.gradients import open_model
from textsobol.sobol.arrays import Array, Floats
from textsobol.steps import Ask, Engine, Forwarded, Steps, Tick
from textsobol.text.masked_model import MaskedTextModel
from textsobol.text.task import Task
from textsobol.text.tokens import Row
from textsobol.text.windowed import WindowRunner
from textsobol.text.words import Span

_MOST_CELLS = 2**25  # masks times words that are rehearsed
_SAMPLE = 64  # random masks that stand for more
_BATCHES = 10  # that say how fast the model is
_PART = 10  # or a tenth of the passes, if that is less


def estimate_cost(task: Task, seed: int) -> Estimate:
    """What the explanation will cost; about ten batches of it say how long it takes."""
    model, method = task.model, task.method
    first = rehearse(task, seed, noise=1)
    is_fixed = first.is_complete and (
        method.kind == "white box"
        or first.ledger.place_of.keys() == rehearse(task, seed, noise=2).ledger.place_of.keys()
    )
    cost = first.ledger.cost
    n_uncounted = method.count_more_passes(len(model.labels))
    passes = cost.passes + n_uncounted if is_fixed else task.most_passes
    times = 1.0 if is_fixed else passes / cost.passes
    # Gradients see the whole text.
    n_whole = n_uncounted + model.passes * first.ledger.gate_passes if is_fixed else 0
    tokens = times * cost.tokens + n_whole * model.cost.tokens / model.passes
    seconds = None
    if not model.is_remote:
        sample = measure_sample(model, first.draw(cost.passes // _PART))
        if tokens:
            seconds = tokens * sample.seconds / sample.tokens
        else:  # none, or known only when the model runs, such as those that prompts share
            scale = (passes + n_whole) / sample.passes
            seconds, tokens = scale * sample.seconds, scale * sample.tokens
    windows = cost.metadata().get("windows")
    return Estimate(
        passes,
        is_most=not is_fixed,
        windows=None if windows is None else round(times * windows),
        tokens=round(tokens) or None,
        seconds=seconds,
    )


def rehearse(task: Task, seed: int, *, noise: int) -> Rehearsal:
    """Let the method explain random scores; ``noise`` is their seed.

    Of work that would itself take long, a few random masks stand for all.
    """
    model = task.model
    rehearsal = Rehearsal(model, noise)
    whole = np.ones((1, model.n_features), dtype=bool)
    if task.method.kind == "white box":
        open_model(model.problem(task.target))  # refuses what has no gradients
        run(_ask(rehearsal, whole))
        return rehearsal
    if task.most_masks * model.n_features > _MOST_CELLS:
        run(_ask(rehearsal, np.random.default_rng(noise).random((_SAMPLE, model.n_features)) < 0.5))
        rehearsal.is_complete = False
        return rehearsal
    run(_ask(rehearsal, whole))
    rehearsal.ledger.budget = task.n_masks
    problem = replace(model.problem(task.target), model=rehearsal)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of random scores
        found = run(task.method.attribute(problem, budget=task.n_masks, seed=seed))
    marks = model.find_punctuation()
    if found.indices is not None and any(marks) and rehearsal.ledger.has_room:
        rehearsal.score_without(marks)
    return rehearsal


@dataclass(frozen=True)
class Sample:
    """Forward passes that were made, their tokens, and how long they took."""

    passes: int
    tokens: int
    seconds: float


def measure_sample(model: MaskedTextModel, masks: Array) -> Sample:
    """What some masks cost; the first forward passes of all may be slow.

    The model runs on more and more of the masks, up to about ten batches; the last and largest
    number counts.
    """
    runner = Rehearsal(model, None)
    n_batches, start, n, sample = 0, 0, 1, Sample(1, 0, 0.0)

    def tick(n_passes: int) -> None:
        nonlocal n_batches
        n_batches += n_passes > 0

    while start < len(masks) and n_batches < _BATCHES:
        n = min(n, len(masks) - start)
        cost = runner.ledger.cost
        before, began = (cost.passes, cost.tokens - cost.padding), time.perf_counter()
        run(_ask(runner, masks[start : start + n]), tick)
        elapsed = time.perf_counter() - began
        passes, tokens = cost.passes - before[0], cost.tokens - cost.padding - before[1]
        sample = Sample(passes, tokens, elapsed) if passes else sample
        start, n = start + n, 2 * n
    return sample


def _ask(rehearsal: Rehearsal, masks: Array) -> Steps[None]:
    yield Ask(rehearsal, masks)


class Rehearsal:
    """A masked text with random scores; see `textsobol.steps.MaskedModel`.

    Attributes:
        n_features: number of words that can be left out.
        ledger: what was asked for, and what that costs.
        engine: makes up outputs, and counts the tokens that the model would be given.
        is_complete: whether the method came to its end.
    """

    def __init__(self, model: MaskedTextModel, noise: int | None) -> None:
        """Prepare a rehearsal.

        Args:
            model: the masked text, which was classified; it stays as it is.
            noise: seed of the random outputs; ``None``: the model is run.
        """
        prepared = model.prepare()
        self.n_features, self.is_complete = model.n_features, True
        self.ledger = Ledger(cost=prepared.cost)
        self.engine: Engine = prepared.engine
        if noise is not None and isinstance(prepared.engine, WindowRunner):
            self.engine = replace(prepared.engine, engine=self._make_up)
        elif noise is not None:
            self.engine = self._make_up
        self._random = np.random.default_rng(noise)
        self._prepared, self._model = prepared, model
        self._masks: list[Array] = []

    def inputs(self, masks: Array) -> Sequence[Any]:
        """See `MaskedTextModel`."""
        self._masks.append(np.packbits(masks, axis=1))
        return self._prepared.inputs(masks)

    def score_without(self, spans: Sequence[Sequence[Span]]) -> None:
        """Count the forward pass of `textsobol.text.doubts.weigh_punctuation`."""
        text = self._model.with_features(spans)
        apart = copy(self)
        apart._prepared, apart.n_features, apart._masks = text.prepare(), text.n_features, []
        apart.ledger = Ledger(cost=self.ledger.cost)
        run(_ask(apart, np.zeros((1, text.n_features), dtype=bool)))

    def keys(self, given: Sequence[Any], mask_keys: Sequence[bytes]) -> Sequence[Hashable]:
        """See `MaskedTextModel`."""
        return [self._prepared.key(each) for each in given]

    def draw(self, number: int) -> Array:
        """So many of the masks that were asked for, at least one."""
        every = np.concatenate(self._masks)
        drawn = np.random.default_rng(0).permutation(len(every))[: max(1, number)]
        return np.unpackbits(every[drawn], axis=1, count=self.n_features).astype(bool)

    @property
    def takes_gates(self) -> bool:
        """See `MaskedTextModel`."""
        return self._model.takes_gates

    @property
    def gates_refusal(self) -> str | None:
        """See `MaskedTextModel`."""
        return self._model.gates_refusal

    def passes_per_gates(self, *, is_decision: bool = False) -> int:
        """See `MaskedTextModel`."""
        return self._model.passes_per_gates(is_decision=is_decision)

    def slopes(self, gates: Floats, *, is_decision: bool) -> Floats:
        """Random derivatives."""
        n_labels = 1 if is_decision else len(self._model.labels)
        return self._random.normal(size=(*gates.shape, n_labels))

    def name_error(self, error: BlackBoxError) -> BlackBoxError:
        """See `MaskedTextModel`."""
        return self._model.name_error(error)

    def _make_up(self, inputs: Sequence[Any], tick: Tick) -> Forwarded:
        outputs = self._random.normal(size=(len(inputs), len(self._model.probabilities)))
        tokens = np.array([_count_tokens(each) for each in inputs], dtype=np.int64)
        return Forwarded(outputs, tokens, np.zeros_like(tokens), self._model.passes)


def _count_tokens(given: Any) -> int:
    """Tokens of what a model is given: a row, or one for every label; a text has none."""
    if isinstance(given, Row):
        return len(given.ids)
    return sum(map(_count_tokens, given)) if isinstance(given, tuple) else 0
