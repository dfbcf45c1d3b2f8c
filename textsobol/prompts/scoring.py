"""What scores answers: a model on this machine, or a server; prompts in, log-probabilities out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from textsobol.ledger import Cost
from textsobol.sobol.arrays import Floats
from textsobol.steps import Tick

Message = dict[str, str]
AnyPrompt = str | list[Message]
"""A plain prompt, or the messages of a chat with ``role`` and ``content``."""
Prompts = Sequence[AnyPrompt]
"""All plain, or all chats."""


class AnswerScorer(Protocol):
    """Gives the log-probability of answers after prompts."""

    @property
    def name(self) -> str:
        """The model's name in an explanation."""

    @property
    def tokenizer(self) -> Any:
        """The model's tokenizer, or ``None`` if it is not known."""

    @property
    def details(self) -> dict[str, Any]:
        """What else an explanation records, as plain values."""

    def for_prompt(self, prompt: AnyPrompt, answers: Sequence[str]) -> tuple[AnswerScorer, Cost]:
        """A scorer for masked versions of a prompt, and the cost that it counts.

        Raises:
            ValueError: if the prompt or an answer cannot be scored; it says what to do. An answer
                may have no tokens, or the prompt may be longer than the model's window.
        """

    def score_answers(self, prompts: Prompts, answers: Sequence[str], tick: Tick) -> Floats:
        """Natural logarithms of the probabilities of the answers ``(prompts, answers)``.

        That of an answer is the sum over its tokens; whatever may follow it does not count.

        Args:
            prompts: all plain, or all chats.
            answers: how the model's text would go on, such as ``" positive"``.
            tick: called with the number of prompts that were scored since the last call.
        """


class AnswerWriter(AnswerScorer, Protocol):
    """A scorer whose answers can also be explained piece by piece."""

    def write_answer(self, prompt: AnyPrompt) -> str:
        """The model's own answer: always the likeliest token, up to the end of the answer."""

    def cut_answer(self, prompt: AnyPrompt, answer: str) -> list[str]:
        """The answer in pieces, as small as can be scored: its tokens."""

    def score_pieces(self, prompts: Prompts, answer: str, tick: Tick) -> Floats:
        """Log-probability of each piece after all before it ``(prompts, pieces)``."""
