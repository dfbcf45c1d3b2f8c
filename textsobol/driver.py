"""Ask and tell: methods ask what a model says of masks, and the driver answers.

A method is a generator. It yields an `Ask` and is sent the model's outputs for its masks; what else
it yields is an intermediate result; what it returns is its result. The driver serves one generator
(`run`, `stream`) or many in turn, so that their masked inputs fill batches together
(`run_together`). It never gives a model the same input twice, keeps to the budget, checks what
comes back, and counts what it costs.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

if TYPE_CHECKING:
    from textsobol.sobol.arrays import Array, Floats, Integers

T = TypeVar("T")
Steps = Generator[Any, Any, T]
Tick = Callable[[int], None]

PIECE_CELLS = 2**20  # of the masks that are asked for at a time
# A long key is replaced by its 128-bit digest: a quarter of the memory at d = 1,000.
_LONGEST_PLAIN_KEY = 32


class BlackBoxError(RuntimeError):
    """The model raised, or returned something that cannot be a score.

    Attributes:
        mask: the offending mask ``(features,)``; the first one of the batch when the model raised
            or returned a wrong shape and no single mask is to blame.
    """

    def __init__(self, message: str, mask: Array) -> None:
        super().__init__(message)
        self.mask = mask


@dataclass(frozen=True)
class Forwarded:
    """What a model said of some inputs.

    Attributes:
        outputs: ``(inputs, labels)``.
        tokens: tokens that each input took in its batch ``(inputs,)``, where there are any.
        padding: how many of these are padding ``(inputs,)``.
        passes: forward passes that every input took.
    """

    outputs: Floats
    tokens: Integers | None = None
    padding: Integers | None = None
    passes: int = 1


Engine = Callable[[Sequence[Any], Tick], Forwarded]
"""Runs a model: inputs to what it says of them, in batches of its own; ticks for every batch."""


@dataclass
class Cost:
    """What was forwarded for one input."""

    rows: int = 0
    tokens: int = 0
    padding: int = 0

    @property
    def padding_share(self) -> float:
        """Share of the forwarded tokens that is padding."""
        return self.padding / self.tokens if self.tokens else 0.0

    def metadata(self) -> dict[str, float]:
        """What else an explanation says of it."""
        return {}


class _Known:
    """Outputs of all inputs that were ever forwarded, each once."""

    def __init__(self) -> None:
        self.place_of: dict[Hashable, int] = {}
        self._pieces: list[Floats] = []

    def add(self, keys: Sequence[Hashable], outputs: Floats) -> None:
        for key in keys:
            self.place_of[key] = len(self.place_of)
        self._pieces.append(outputs)

    def outputs(self, places: Sequence[int]) -> Floats:
        if len(self._pieces) != 1:
            self._pieces = [np.concatenate(self._pieces)]
        return np.asarray(self._pieces[0][list(places)])


class Ledger:
    """What is known of one input: the outputs of every mask that was asked for, and the cost.

    Attributes:
        budget: distinct masks that may be asked for, or ``None``.
        cost: what was forwarded.
        n_asked: masks that were asked for, repeated ones included.
    """

    def __init__(self, *, budget: int | None = None, cost: Cost | None = None) -> None:
        self.budget = budget
        self.cost = Cost() if cost is None else cost
        self.n_asked = 0
        self.known = _Known()
        self.place_of: dict[bytes, int] = {}

    @property
    def n_distinct(self) -> int:
        """Number of distinct masks that were asked for."""
        return len(self.place_of)

    def restart(self) -> None:
        """Count anew; what is known stays known, and costs no forward pass."""
        self.budget, self.n_asked, self.place_of = None, 0, {}

    def outputs(self, keys: Sequence[bytes]) -> Floats:
        """Outputs ``(rows, labels)`` of masks that were all asked for before, by `mask_keys`."""
        return self.known.outputs([self.place_of[key] for key in keys])


class MaskedModel(Protocol):
    """A model and one input: masks of its features in, outputs out."""

    @property
    def n_features(self) -> int:
        """Number of features that can be left out."""

    @property
    def ledger(self) -> Ledger:
        """What is known of this input."""

    @property
    def engine(self) -> Engine:
        """Runs the model; masked models that share one share batches."""

    def inputs(self, masks: Array) -> Sequence[Any]:
        """What the model is given for each of the masks ``(rows, features)``."""

    def keys(self, given: Sequence[Any], mask_keys: Sequence[bytes]) -> Sequence[Hashable]:
        """A key for everything that the model is given, equal for equal inputs only.

        Args:
            given: what `inputs` made of masks.
            mask_keys: keys of these masks, for models to whom every mask is another input.
        """

    def name_error(self, error: BlackBoxError) -> BlackBoxError:
        """The same error, with a word on the input that caused it."""


@dataclass(frozen=True)
class Ask:
    """Masks whose outputs a generator wants to be sent.

    Attributes:
        model: what they are masks of.
        masks: ``(rows, features)``.
    """

    model: MaskedModel
    masks: Array


@dataclass(frozen=True)
class Call:
    """A library that calls back: ``function`` is run, and what it returns is sent back.

    Attributes:
        model: what it asks about.
        function: from a function of masks ``(rows, features)`` to outputs, to anything.
    """

    model: MaskedModel
    function: Callable[[Callable[[Array], Floats]], Any]


def run(steps: Steps[T], tick: Tick = lambda _: None) -> T:
    """The result of a generator."""
    *_, last = stream(steps, tick)
    result: T = last
    return result


def stream(steps: Steps[T], tick: Tick = lambda _: None) -> Iterator[Any]:
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
) -> Iterator[Outcome[T]]:
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


def relay(steps: Steps[T], answer: Callable[[Any], Steps[Any]]) -> Steps[T]:
    """The same steps, with something between them and whoever serves them.

    Args:
        steps: any generator.
        answer: from what it yields to steps of their own, which return what it is sent.
    """
    sent: Any = None
    try:
        while True:
            sent = yield from answer(steps.send(sent))
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        steps.close()


def translate(
    steps: Steps[T],
    to_ask: Callable[[Array], Any],
    to_answer: Callable[[Floats], Floats] = lambda outputs: outputs,
) -> Steps[T]:
    """A generator that yields masks, with its masks and what it is sent in another form.

    Args:
        steps: yields masks ``(rows, features)`` and is sent scores; other things that it yields
            are passed on.
        to_ask: masks to what is yielded instead.
        to_answer: what comes back, to what ``steps`` is sent.
    """

    def answer(asked: Any) -> Steps[Any]:
        if isinstance(asked, np.ndarray):
            return to_answer((yield to_ask(asked)))
        return (yield asked)

    return relay(steps, answer)


def map_results(steps: Steps[T], make: Callable[[Any], Any]) -> Steps[T]:
    """The same steps, with every intermediate result made into something else."""

    def answer(asked: Any) -> Steps[Any]:
        return (yield asked if isinstance(asked, Ask | Call) else make(asked))

    return relay(steps, answer)


def answer_by(score: Callable[[Array], Any], steps: Steps[T]) -> T:
    """Run a generator that yields masks, with a function that scores them.

    Example:
        >>> def steps():
        ...     scores = yield np.eye(2, dtype=bool)
        ...     return scores.sum()
        >>> answer_by(lambda masks: masks @ [1.0, 2.0], steps()).item()
        3.0
    """
    *_, last = stream_by(score, steps)
    result: T = last
    return result


def stream_by(score: Callable[[Array], Any], steps: Steps[T]) -> Iterator[Any]:
    """The same, with all intermediate results."""

    def answer(asked: Any) -> Steps[Any]:
        if isinstance(asked, np.ndarray):
            return score(asked)
        return (yield asked)

    return stream(relay(steps, answer))


def ask(pieces: Iterable[Array]) -> Steps[Floats]:
    """Ask for masks that come in pieces, as many at a time as memory allows; scores of all."""
    scores: list[Floats] = []
    waiting: list[Array] = []
    n_cells = 0
    for piece in pieces:
        if waiting and n_cells + piece.size > PIECE_CELLS:
            scores.append((yield np.concatenate(waiting)))
            waiting, n_cells = [], 0
        waiting.append(piece)
        n_cells += piece.size
    if waiting:
        scores.append((yield np.concatenate(waiting)))
    return np.concatenate(scores)


def mask_keys(masks: Array) -> list[bytes]:
    """A key for every mask, equal for equal masks only."""
    packed = np.packbits(masks, axis=1) if masks.dtype == bool else masks
    raw = np.ascontiguousarray(packed)
    keys: list[bytes] = raw.view(f"V{raw.shape[1] * raw.itemsize}").ravel().tolist()
    if not keys or len(keys[0]) <= _LONGEST_PLAIN_KEY:
        return keys
    return [hashlib.blake2b(key, digest_size=16).digest() for key in keys]
