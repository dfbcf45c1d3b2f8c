"""What a method may ask for: generators that yield masks and are sent scores.

A method yields an `Ask` and is sent the model's outputs for its masks; what else it yields is an
intermediate result; what it returns is its result. `textsobol.driver` serves it. Estimators and
searches know no model: they yield plain arrays of masks, and `translate` makes asks of them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

if TYPE_CHECKING:
    from textsobol.errors import BlackBoxError
    from textsobol.ledger import Ledger
    from textsobol.sobol.arrays import Array, Floats, Integers

T = TypeVar("T")
Steps = Generator[Any, Any, T]
Tick = Callable[[int], None]

PIECE_CELLS = 2**20  # of the masks that are asked for at a time


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
