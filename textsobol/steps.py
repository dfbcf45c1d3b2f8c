"""What a method may yield: requests for scores, and intermediate results.

A method is a generator. When it yields an `Ask`, `textsobol.driver` sends it the model's outputs
for these masks. Anything else it yields is an intermediate result; what it returns is its result.
Estimators and searches know no model: they yield arrays of masks, and `translate` makes the asks.
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

PASSES_PER_GATES = 3  # what a row of gates costs: a forward pass, and a backward pass for one label
PIECE_CELLS = 2**20  # most cells (masks x features) of one request


@dataclass(frozen=True)
class Forwarded:
    """Outputs of a model, and what they cost.

    Attributes:
        outputs: ``(inputs, labels)``.
        tokens: tokens of each input in its batch ``(inputs,)``, for models with tokens.
        padding: how many of these are padding ``(inputs,)``.
        passes: forward passes per input.
    """

    outputs: Floats
    tokens: Integers | None = None
    padding: Integers | None = None
    passes: int = 1


Engine = Callable[[Sequence[Any], Tick], Forwarded]
"""Runs a model on inputs, in batches of its own choice; ticks after every batch."""


class MaskedModel(Protocol):
    """A model and one input: masks of its features in, outputs out."""

    @property
    def n_features(self) -> int:
        """Number of features that can be left out."""

    @property
    def ledger(self) -> Ledger:
        """The known outputs and the cost of this input."""

    @property
    def engine(self) -> Engine:
        """Runs the model; masked models with the same engine share batches."""

    def inputs(self, masks: Array) -> Sequence[Any]:
        """The model's input for each of the masks ``(masks, features)``."""

    def keys(self, given: Sequence[Any], mask_keys: Sequence[bytes]) -> Sequence[Hashable]:
        """A key for every input, equal only for equal inputs.

        Args:
            given: inputs made by `inputs`.
            mask_keys: keys of their masks, for models where every mask is a different input.
        """

    @property
    def takes_gates(self) -> bool:
        """Whether the model has gradients with respect to gates."""

    @property
    def gates_refusal(self) -> str | None:
        """Why it has none, if that is worth a word: of texts, not of pictures."""

    def passes_per_gates(self, *, is_decision: bool = False) -> int:
        """What one row of gates costs, in forward passes."""

    def slopes(self, gates: Floats, *, is_decision: bool) -> Floats:
        """Derivatives with respect to all gates; see `AskGates`."""

    def name_error(self, error: BlackBoxError) -> BlackBoxError:
        """Add to the error the input that caused it."""


@dataclass(frozen=True)
class Ask:
    """A request for the outputs of masks.

    Attributes:
        model: the masked model.
        masks: ``(masks, features)``.
    """

    model: MaskedModel
    masks: Array


@dataclass(frozen=True)
class Call:
    """A request to run a library that calls the model itself; its result is sent back.

    Attributes:
        model: the masked model.
        function: runs the library; is given a function from masks ``(masks, features)`` to outputs.
    """

    model: MaskedModel
    function: Callable[[Callable[[Array], Floats]], Any]


@dataclass(frozen=True)
class Gates:
    """A request of an estimator or search: how much does each feature matter at these gates?

    Attributes:
        values: between 0 (absent) and 1 (present) ``(rows, features)``.
    """

    values: Floats


@dataclass(frozen=True)
class AskGates:
    """A request for the derivatives of scores with respect to all gates; needs gradients.

    The answer is ``(rows, features, labels)``.

    Attributes:
        model: the masked model.
        gates: between 0 and 1 ``(rows, features)``.
        is_decision: derivatives of the score of the decision instead, which has one label.
    """

    model: MaskedModel
    gates: Floats
    is_decision: bool = False


Request = Ask | AskGates | Call
"""What the driver answers; anything else that a generator yields is an intermediate result."""


def relay(steps: Steps[T], answer: Callable[[Any], Steps[Any]]) -> Steps[T]:
    """Wrap a generator: ``answer`` handles what it yields.

    Args:
        steps: any generator.
        answer: from a yielded value to a generator that returns what ``steps`` is sent.
    """
    sent: Any = None
    failure: Exception | None = None
    try:
        while True:
            asked = steps.send(sent) if failure is None else steps.throw(failure)
            sent = failure = None
            try:
                sent = yield from answer(asked)
            except Exception as error:  # for the wrapped generator to handle, or to pass on
                failure = error
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
    """Wrap a generator of masks: convert its masks, and the answers it is sent.

    Args:
        steps: yields masks ``(masks, features)`` and is sent scores; anything else it yields is
            passed on.
        to_ask: converts masks to what is yielded instead.
        to_answer: converts the answer to what ``steps`` is sent.
    """

    def answer(asked: Any) -> Steps[Any]:
        if isinstance(asked, np.ndarray):
            return to_answer((yield to_ask(asked)))
        return (yield asked)

    return relay(steps, answer)


def map_results(steps: Steps[T], make: Callable[[Any], Any]) -> Steps[T]:
    """Wrap a generator: convert its intermediate results by ``make``."""

    def answer(asked: Any) -> Steps[Any]:
        return (yield asked if isinstance(asked, Request) else make(asked))

    return relay(steps, answer)


def ask(pieces: Iterable[Array]) -> Steps[Floats]:
    """Yield masks that come in pieces, up to `PIECE_CELLS` at a time; return all scores."""
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
