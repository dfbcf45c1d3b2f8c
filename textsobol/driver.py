"""Ask and tell: methods ask what a model says of masks, and the driver answers.

A method is a generator; see `textsobol.steps`. The driver serves one (`run`, `stream`), or many in
turn, so that their masked inputs fill batches together (`run_together`). It never gives a model the
same input twice, keeps to the budget, checks what comes back, and counts what it costs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

import numpy as np

from textsobol.errors import BlackBoxError
from textsobol.ledger import mask_keys
from textsobol.steps import Ask, Call, Engine, Forwarded, Steps, T, Tick, relay

if TYPE_CHECKING:
    from textsobol.sobol.arrays import Array, Floats


def run(steps: Steps[T], tick: Tick = lambda _: None) -> T:
    """The result of a generator."""
    with closing(stream(steps, tick)) as found:
        *_, last = found
    result: T = last
    return result


def stream(steps: Steps[T], tick: Tick = lambda _: None) -> Generator[Any, Any]:
    """The intermediate results of a generator as they come, and its result at last.

    To stop, close the iterator.
    """
    answer: Any = None
    try:
        while True:
            asked = steps.send(answer)
            while isinstance(asked, Ask | Call):
                asked = _advance(steps, asked, tick)
            answer = yield asked
    except StopIteration as end:
        yield end.value
    finally:
        steps.close()


def _advance(steps: Steps[T], asked: Ask | Call, tick: Tick) -> Any:
    """Answer a generator; what it yields next. It learns of errors, so that it can clean up."""
    try:
        answer = _answer(asked, tick)
    except Exception as error:
        return steps.throw(error)
    return steps.send(answer)


def _answer(asked: Ask | Call, tick: Tick) -> Any:
    if isinstance(asked, Call):
        return asked.function(lambda masks: _answer(Ask(asked.model, masks), tick))
    pending = _Pending(asked)
    pending.forward_alone(tick)
    return pending.outputs()


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What came of one generator of several.

    Attributes:
        number: of the generator, in the order given.
        value: what it returned, or ``None``.
        error: what it raised, or ``None``.
    """

    number: int
    value: T | None
    error: Exception | None


def run_together(
    walks: Iterable[tuple[int, Steps[T]]],
    *,
    most: int,
    most_size: int,
    answered: Callable[[int, int], None] = lambda number, n_inputs: None,
) -> Generator[Outcome[T]]:
    """Serve several generators in turn, so that what they ask of one model shares its batches.

    They begin in the order given, as others end. What meets in a batch does not depend on time.
    A generator whose inputs fail is told so alone; the others go on.

    Args:
        walks: the size of each, and the generator.
        most: generators at a time.
        most_size: sum of the sizes of those; a larger one runs alone.
        answered: called with the number of a generator and how many inputs were forwarded for it.
    """
    waiting = deque(_Walk(number, size, steps) for number, (size, steps) in enumerate(walks))
    live: list[_Walk[T]] = []
    try:
        while waiting or live:
            while waiting and _fits(waiting[0], live, most, most_size):
                live.append(waiting.popleft())
                live[-1].advance(None)
            for walk, answer in _answers(live, answered):
                walk.advance(answer)
            done = [walk for walk in live if walk.outcome is not None]
            live = [walk for walk in live if walk.outcome is None]
            yield from (walk.outcome for walk in done if walk.outcome is not None)
    finally:
        for walk in (*live, *waiting):
            walk.steps.close()


def _fits(walk: _Walk[Any], live: Sequence[_Walk[Any]], most: int, most_size: int) -> bool:
    if not live:
        return True
    return len(live) < most and sum(other.size for other in live) + walk.size <= most_size


class _Walk(Generic[T]):
    """A generator, what it asks for, and what came of it."""

    def __init__(self, number: int, size: int, steps: Steps[T]) -> None:
        self.number = number
        self.size = size
        self.steps = steps
        self.asked: Ask | Call | None = None
        self.outcome: Outcome[T] | None = None

    def advance(self, answer: Any) -> None:
        """Up to the next ask or the end; nobody reads intermediate results here."""
        self.asked = None
        try:
            failed = isinstance(answer, Exception)
            asked = self.steps.throw(answer) if failed else self.steps.send(answer)
            while not isinstance(asked, Ask | Call):
                asked = self.steps.send(None)
            self.asked = asked
        except StopIteration as end:
            self.outcome = Outcome(self.number, end.value, None)
        except Exception as error:
            self.outcome = Outcome(self.number, None, error)


def _answers(
    live: Sequence[_Walk[Any]], answered: Callable[[int, int], None]
) -> list[tuple[_Walk[Any], Any]]:
    """The answer, or the error, of every generator that asks."""
    answers: list[tuple[_Walk[Any], Any]] = []
    together: dict[Engine, list[tuple[_Walk[Any], _Pending]]] = {}
    for walk in live:
        try:
            if isinstance(walk.asked, Call):
                answers.append((walk, _answer(walk.asked, lambda _: None)))
            elif walk.asked is not None:
                pending = _Pending(walk.asked)
                together.setdefault(walk.asked.model.engine, []).append((walk, pending))
        except Exception as error:
            answers.append((walk, error))
    for group in together.values():
        _forward_together([pending for _, pending in group])
        for walk, pending in group:
            answered(walk.number, len(pending.new))
            answers.append((walk, pending.outputs() if pending.error is None else pending.error))
    return answers


def _forward_together(group: Sequence[_Pending]) -> None:
    """Forward the new inputs of several asks at once; one by one if anything fails."""
    inputs = [given for pending in group for given in pending.new]
    if inputs and len(group) > 1:
        try:
            forwarded = group[0].model.engine(inputs, lambda _: None)
        except Exception:
            forwarded = None
        if forwarded is not None:
            start = 0
            for pending in group:
                pending.store_safely(_slice(forwarded, start, start + len(pending.new)))
                start += len(pending.new)
            return
    for pending in group:
        pending.forward_safely()


def _slice(forwarded: Forwarded, start: int, stop: int) -> Forwarded:
    """Copies: what one input keeps must not hold the outputs of all others."""
    own = slice(start, stop)
    return Forwarded(
        forwarded.outputs[own].copy(),
        None if forwarded.tokens is None else forwarded.tokens[own],
        None if forwarded.padding is None else forwarded.padding[own],
        forwarded.passes,
    )


class _Pending:
    """An ask: which of its masks and inputs are new, and then the outputs of all."""

    def __init__(self, asked: Ask) -> None:
        self.model = asked.model
        self.error: Exception | None = None
        ledger = asked.model.ledger
        self._keys = mask_keys(asked.masks)
        unknown: dict[bytes, int] = {}
        for row, key in enumerate(self._keys):
            if key not in ledger.place_of:
                unknown.setdefault(key, row)
        n_masks = ledger.n_distinct + len(unknown)
        if unknown and ledger.budget is not None and n_masks > ledger.budget:
            raise RuntimeError(f"more than the budget of {ledger.budget} forward passes asked for")
        rows = list(unknown.values())
        self._masks = asked.masks[rows]
        given = asked.model.inputs(self._masks) if rows else []
        keys = asked.model.keys(given, list(unknown))
        self._input_keys = dict(zip(unknown, keys, strict=True))
        fresh: dict[Hashable, int] = {}
        for row, given_key in enumerate(self._input_keys.values()):
            if given_key not in ledger.known.place_of:
                fresh.setdefault(given_key, row)
        self._fresh_keys, self._fresh_rows = list(fresh), list(fresh.values())
        self.new = [given[row] for row in self._fresh_rows]

    def forward_safely(self) -> None:
        """Forward what is new; an error is kept for whoever asked."""
        try:
            self.forward_alone(lambda _: None)
        except Exception as error:
            self.error = error

    def store_safely(self, forwarded: Forwarded) -> None:
        """The same, with what was forwarded together with others."""
        try:
            self._store(forwarded)
        except Exception as error:
            self.error = error

    def forward_alone(self, tick: Tick) -> None:
        """Forward what is new and remember it."""
        tick(len(self._keys) - len(self.new))
        if not self.new:
            self._store(None)
            return
        try:
            forwarded = self.model.engine(self.new, tick)
        except BlackBoxError as error:
            named = self.model.name_error(error)
            if named is error:
                raise
            raise named from error
        except Exception as error:
            failure = BlackBoxError(
                f"the classifier failed: {type(error).__name__}: {error}",
                self._masks[self._fresh_rows[0]],
            )
            raise self.model.name_error(failure) from error
        self._store(forwarded)

    def _store(self, forwarded: Forwarded | None) -> None:
        ledger = self.model.ledger
        if forwarded is not None:
            self._check(forwarded.outputs)
            ledger.known.add(self._fresh_keys, forwarded.outputs)
            ledger.cost.rows += forwarded.passes * len(self.new)
            if forwarded.tokens is not None and forwarded.padding is not None:
                ledger.cost.tokens += int(forwarded.tokens.sum())
                ledger.cost.padding += int(forwarded.padding.sum())
        for key, given in self._input_keys.items():
            ledger.place_of[key] = ledger.known.place_of[given]
        ledger.n_asked += len(self._keys)

    def _check(self, outputs: Floats) -> None:
        wrong = np.flatnonzero(~np.isfinite(outputs).all(axis=1))
        if wrong.size:
            said = f"the classifier returned {outputs[wrong[0]]}; scores must be finite"
            mask = self._masks[self._fresh_rows[wrong[0]]]
            raise self.model.name_error(BlackBoxError(said, mask))

    def outputs(self) -> Floats:
        """Of all masks that were asked for ``(rows, labels)``."""
        return self.model.ledger.outputs(self._keys)


def answer_by(score: Callable[[Array], Any], steps: Steps[T]) -> T:
    """Run a generator that yields masks, with a function that scores them.

    Example:
        >>> def steps():
        ...     scores = yield np.eye(2, dtype=bool)
        ...     return scores.sum()
        >>> answer_by(lambda masks: masks @ [1.0, 2.0], steps()).item()
        3.0
    """
    with closing(stream_by(score, steps)) as found:
        *_, last = found
    result: T = last
    return result


def stream_by(score: Callable[[Array], Any], steps: Steps[T]) -> Generator[Any, Any]:
    """The same, with all intermediate results."""

    def answer(asked: Any) -> Steps[Any]:
        if isinstance(asked, np.ndarray):
            return score(asked)
        return (yield asked)

    return stream(relay(steps, answer))
