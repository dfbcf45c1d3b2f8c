"""Runs methods: a method asks for the outputs of masks, and the driver gets them from the model.

A method is a generator; see `textsobol.steps`. The driver runs one (`run`, `stream`), or several in
turn so that they share batches (`run_together`). It never forwards the same input twice, enforces
the budget, checks the outputs and counts the cost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

import numpy as np

from textsobol.errors import BlackBoxError, GatesError, WrongScoresError
from textsobol.ledger import Ledger, hash_masks
from textsobol.steps import (
    Ask,
    AskGates,
    Call,
    Engine,
    Forwarded,
    Request,
    Steps,
    T,
    Tick,
    relay,
)

if TYPE_CHECKING:
    from textsobol.sobol.arrays import Array, Floats


_LARGEST_SCORE = 1e60  # fourth powers of it, which standard errors take, are still finite


def run(steps: Steps[T], tick: Tick = lambda _: None) -> T:
    """Run a generator to its result."""
    with closing(stream(steps, tick)) as found:
        *_, last = found
    result: T = last
    return result


def stream(steps: Steps[T], tick: Tick = lambda _: None) -> Generator[Any, Any]:
    """Yield the intermediate results of a generator, then its result.

    Close the iterator to stop early.
    """
    answer: Any = None
    try:
        while True:
            asked = steps.send(answer)
            while isinstance(asked, Request):
                asked = _advance(steps, asked, tick)
            answer = yield asked
    except StopIteration as end:
        yield end.value
    finally:
        steps.close()


def _advance(steps: Steps[T], asked: Request, tick: Tick) -> Any:
    """Send a generator its answer, or throw the error into it, and return what it yields next."""
    try:
        answer = _answer(asked, tick)
    except Exception as error:
        return steps.throw(error)
    return steps.send(answer)


def _answer(asked: Request, tick: Tick) -> Any:
    if isinstance(asked, Call):
        return asked.function(lambda masks: _answer(Ask(asked.model, masks), tick))
    if isinstance(asked, AskGates):
        return _answer_gates(asked, tick)
    pending = _Pending(asked)
    pending.forward_alone(tick)
    return pending.outputs()


def _answer_gates(asked: AskGates, tick: Tick) -> Floats:
    """Derivatives at gates; they are paid for like forward passes, and not remembered."""
    ledger, n_rows = asked.model.ledger, len(asked.gates)
    cost = n_rows * asked.model.passes_per_gates(is_decision=asked.is_decision)
    _check_budget(ledger, more=cost)
    mask = asked.gates[0] > 0
    try:
        slopes = asked.model.slopes(asked.gates, is_decision=asked.is_decision)
    except Exception as error:
        said = f"the gradients of the classifier failed: {type(error).__name__}: {error}"
        raise GatesError(said, mask) from error
    if not np.isfinite(slopes).all():
        raise GatesError("the classifier's gradients are not finite", mask)
    ledger.gate_passes += cost
    ledger.cost.gates += n_rows
    tick(cost)
    return slopes


def _check_budget(ledger: Ledger, *, more: int) -> None:
    if ledger.budget is not None and ledger.n_spent + more > ledger.budget:
        raise RuntimeError(f"the method exceeded its budget of {ledger.budget} forward passes")


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """The result of one of several generators.

    Attributes:
        number: which generator, in the order given.
        value: what it returned, or ``None``.
        error: what it raised, or ``None``.
    """

    number: int
    value: T | None
    error: Exception | None


def run_together(
    walks: Iterable[tuple[int, Steps[T]]],
    *,
    max_live: int,
    max_size: int,
    on_answer: Callable[[int, int], None] = lambda number, n_inputs: None,
) -> Generator[Outcome[T]]:
    """Run several generators in turn, so that inputs for the same model share batches.

    They start in the order given, as others finish; batches do not depend on timing. An error is
    thrown only into the generator whose inputs failed; the others continue.

    Args:
        walks: generators, each with its size.
        max_live: most generators that run at once.
        max_size: most total size of those; a larger generator runs alone.
        on_answer: called with a generator's number and how many inputs were forwarded for it.
    """
    waiting = deque(_Walk(number, size, steps) for number, (size, steps) in enumerate(walks))
    live: list[_Walk[T]] = []
    try:
        while waiting or live:
            while waiting and _fits(waiting[0], live, max_live, max_size):
                live.append(waiting.popleft())
                live[-1].advance(None)
            for walk, answer in _answers(live, on_answer):
                walk.advance(answer)
            done = [walk for walk in live if walk.outcome is not None]
            live = [walk for walk in live if walk.outcome is None]
            yield from (walk.outcome for walk in done if walk.outcome is not None)
    finally:
        for walk in (*live, *waiting):
            walk.steps.close()


def _fits(walk: _Walk[Any], live: Sequence[_Walk[Any]], max_live: int, max_size: int) -> bool:
    if not live:
        return True
    return len(live) < max_live and sum(other.size for other in live) + walk.size <= max_size


class _Walk(Generic[T]):
    """A generator, its current request and its outcome."""

    def __init__(self, number: int, size: int, steps: Steps[T]) -> None:
        self.number = number
        self.size = size
        self.steps = steps
        self.asked: Request | None = None
        self.outcome: Outcome[T] | None = None

    def advance(self, answer: Any) -> None:
        """Run to the next request or the end; intermediate results are dropped."""
        self.asked = None
        try:
            failed = isinstance(answer, Exception)
            asked = self.steps.throw(answer) if failed else self.steps.send(answer)
            while not isinstance(asked, Request):
                asked = self.steps.send(None)
            self.asked = asked
        except StopIteration as end:
            self.outcome = Outcome(self.number, end.value, None)
        except Exception as error:
            self.outcome = Outcome(self.number, None, error)


def _answers(
    live: Sequence[_Walk[Any]], on_answer: Callable[[int, int], None]
) -> list[tuple[_Walk[Any], Any]]:
    """Answers, or errors, for all generators with a request."""
    answers: list[tuple[_Walk[Any], Any]] = []
    together: dict[Engine, list[tuple[_Walk[Any], _Pending]]] = {}
    for walk in live:
        try:
            if isinstance(walk.asked, Call | AskGates):
                answers.append((walk, _answer(walk.asked, lambda _: None)))
            elif walk.asked is not None:
                pending = _Pending(walk.asked)
                together.setdefault(walk.asked.model.engine, []).append((walk, pending))
        except Exception as error:
            answers.append((walk, error))
    for group in together.values():
        _forward_together([pending for _, pending in group])
        for walk, pending in group:
            on_answer(walk.number, len(pending.new))
            answers.append((walk, pending.outputs() if pending.error is None else pending.error))
    return answers


def _forward_together(group: Sequence[_Pending]) -> None:
    """Forward the new inputs of several requests at once; request by request if that fails."""
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
    """Copy, so that one input does not keep the outputs of the whole batch in memory."""
    own = slice(start, stop)
    return Forwarded(
        forwarded.outputs[own].copy(),
        None if forwarded.tokens is None else forwarded.tokens[own],
        None if forwarded.padding is None else forwarded.padding[own],
        forwarded.passes,
    )


class _Pending:
    """A request: its masks, and those of their inputs that must be forwarded."""

    def __init__(self, asked: Ask) -> None:
        self.model = asked.model
        self.error: Exception | None = None
        ledger = asked.model.ledger
        self._keys = hash_masks(asked.masks)
        unknown: dict[bytes, int] = {}
        for place, key in enumerate(self._keys):
            if key not in ledger.place_of:
                unknown.setdefault(key, place)
        if unknown:
            _check_budget(ledger, more=len(unknown))
        self._masks = asked.masks[list(unknown.values())]
        given = asked.model.inputs(self._masks) if unknown else []
        keys = asked.model.keys(given, list(unknown))
        self._input_keys = dict(zip(unknown, keys, strict=True))
        fresh: dict[Hashable, int] = {}
        for place, given_key in enumerate(self._input_keys.values()):
            if given_key not in ledger.known.place_of:
                fresh.setdefault(given_key, place)
        self._fresh_keys, self._fresh_places = list(fresh), list(fresh.values())
        self.new = [given[place] for place in self._fresh_places]

    def forward_safely(self) -> None:
        """Forward the new inputs; keep an error in ``error``."""
        try:
            self.forward_alone(lambda _: None)
        except Exception as error:
            self.error = error

    def store_safely(self, forwarded: Forwarded) -> None:
        """Store outputs that were forwarded with other requests; keep an error in ``error``."""
        try:
            self._store(forwarded)
        except Exception as error:
            self.error = error

    def forward_alone(self, tick: Tick) -> None:
        """Forward the new inputs and store their outputs."""
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
            is_told = isinstance(error, WrongScoresError)
            said = "" if is_told else f"the classifier failed: {type(error).__name__}: "
            failure = BlackBoxError(f"{said}{error}", self._masks[self._fresh_places[0]])
            raise self.model.name_error(failure) from error
        self._store(forwarded)

    def _store(self, forwarded: Forwarded | None) -> None:
        ledger = self.model.ledger
        if forwarded is not None:
            self._check(forwarded.outputs)
            ledger.known.add(self._fresh_keys, forwarded.outputs)
            ledger.cost.passes += forwarded.passes * len(self.new)
            if forwarded.tokens is not None and forwarded.padding is not None:
                ledger.cost.tokens += int(forwarded.tokens.sum())
                ledger.cost.padding += int(forwarded.padding.sum())
        for key, given in self._input_keys.items():
            ledger.place_of[key] = ledger.known.place_of[given]
        ledger.n_asked += len(self._keys)

    def _check(self, outputs: Floats) -> None:
        if outputs.ndim != 2 or len(outputs) != len(self.new):
            said = (
                f"the classifier returned shape {outputs.shape} for {len(self.new)} inputs; "
                f"it must return (inputs, labels)"
            )
            raise self.model.name_error(BlackBoxError(said, self._masks[self._fresh_places[0]]))
        wrong = np.flatnonzero(~(np.abs(outputs) < _LARGEST_SCORE).all(axis=1))
        if wrong.size:
            is_finite = np.isfinite(outputs[wrong[0]]).all()
            must = f"smaller than {_LARGEST_SCORE:.0e}" if is_finite else "finite"
            said = f"the classifier returned {outputs[wrong[0]]}; scores must be {must}"
            mask = self._masks[self._fresh_places[wrong[0]]]
            raise self.model.name_error(BlackBoxError(said, mask))

    def outputs(self) -> Floats:
        """Outputs of all masks of the request ``(masks, labels)``."""
        return self.model.ledger.outputs(self._keys)


def run_with(score: Callable[[Array], Any], steps: Steps[T]) -> T:
    """Run a generator that yields masks; ``score`` scores them.

    Example:
        >>> def steps():
        ...     scores = yield np.eye(2, dtype=bool)
        ...     return scores.sum()
        >>> run_with(lambda masks: masks @ [1.0, 2.0], steps()).item()
        3.0
    """
    with closing(stream_with(score, steps)) as found:
        *_, last = found
    result: T = last
    return result


def stream_with(score: Callable[[Array], Any], steps: Steps[T]) -> Generator[Any, Any]:
    """Like `run_with`, but yield all intermediate results too."""

    def answer(asked: Any) -> Steps[Any]:
        if isinstance(asked, np.ndarray):
            return score(asked)
        return (yield asked)

    return stream(relay(steps, answer))
