"""A language model behind a server as a scorer of answers, in the ways that the server knows."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from textsobol.endpoints.client import RemoteCost
from textsobol.endpoints.completions import read_text, read_tokens, write_question
from textsobol.endpoints.logprobs import cut_text, find_token
from textsobol.endpoints.model import Remote
from textsobol.errors import (
    BoundedScoreWarning,
    NoLogprobsError,
    RemoteError,
    WrongAnswerError,
    warn,
)
from textsobol.prompts.scoring import AnyPrompt, Prompts
from textsobol.prompts.tokenizing import PromptTokenizer
from textsobol.sobol.arrays import Floats
from textsobol.steps import Tick

ROUTES = ("prompt", "generated")
_ENOUGH_TESTED = 3  # next tokens with which a server is tested
_MOST_TRIED = 8
_TOLERANCE = 0.3  # between two log-probabilities of one token: servers compute with few digits
_MOST_WRITTEN = 24  # tokens of the model's own answer


@dataclass
class AnswerCost(RemoteCost):
    """What a server was asked for one explanation, and what it did not say.

    Attributes:
        scored: log-probabilities that were used.
        bounded: how many of these are only upper bounds, by answer.
        route: how answers were scored; see `llm_endpoint`.
        shown: how many next tokens the server shows.
    """

    scored: int = 0
    bounded: Counter[str] = field(default_factory=Counter)
    route: str | None = None
    shown: int = 0

    def findings(self) -> dict[str, Any]:
        """How answers were scored, and the fraction of scores that are bounds."""
        share = self.bounded.total() / self.scored if self.scored else 0.0
        return {"logprobs": self.route, **({"bounded": round(share, 4)} if share else {})}

    def warn(self) -> None:
        """Say how many scores are bounds."""
        n_bounded = self.bounded.total()
        if not n_bounded:
            return
        most = ", ".join(f"{answer!r} {n:,} times" for answer, n in self.bounded.most_common(3))
        warn(
            f"{n_bounded:,} of {self.scored:,} log-probabilities "
            f"({n_bounded / self.scored:.0%}) are only upper bounds: the answer was not among the "
            f"{self.shown} likeliest tokens that the server shows ({most}). Words that make an "
            f"answer this unlikely may matter more than their scores say. Ask for more tokens "
            f"(top_logprobs=), give answers that are one token of the model, or use a server that "
            f"scores whole answers, such as vLLM",
            BoundedScoreWarning,
        )


class _Routes:
    """How a server scores answers, to plain prompts and in chats, once it is known."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.known: dict[type, str] = {}

    def __reduce__(self) -> tuple[type[_Routes], tuple[()]]:
        return type(self), ()


@dataclass(frozen=True)
class LanguageServer:
    """Scores answers by an OpenAI-compatible server; made by `llm_endpoint`.

    Attributes:
        model: makes the calls.
        logprobs: the way to score answers that the user chose.
        top_logprobs: number of likeliest tokens to ask for.
        tokenizer: the model's tokenizer, or ``None``.
        cost: of one explanation.
        whole: the prompt that is explained, with nothing left out.
    """

    model: Remote
    logprobs: str | None
    top_logprobs: int
    tokenizer: Any = None
    cost: AnswerCost = field(default_factory=AnswerCost)
    whole: AnyPrompt | None = None
    _routes: _Routes = field(default_factory=_Routes)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def name(self) -> str:
        """The model's name, and where it runs."""
        return self.model.name

    @property
    def details(self) -> dict[str, Any]:
        """What was asked for."""
        return {"top_logprobs": self.top_logprobs}

    def for_prompt(
        self, prompt: AnyPrompt, answers: Sequence[str]
    ) -> tuple[LanguageServer, AnswerCost]:
        """A scorer for masked versions of a prompt, and the cost that it counts."""
        del answers  # what their tokens are is not known before the server is asked
        cost = AnswerCost()
        return replace(self, cost=cost, whole=prompt), cost

    def score_answers(self, prompts: Prompts, answers: Sequence[str], tick: Tick) -> Floats:
        """Log-probabilities of the answers ``(prompts, answers)``; see `AnswerScorer`."""
        scores = self._score(prompts, answers, tick)
        return np.array([[math.fsum(pieces) for pieces in row] for row in scores])

    def score_pieces(self, prompts: Prompts, answer: str, tick: Tick) -> Floats:
        """Log-probability of each token of the answer ``(prompts, tokens)``."""
        scores = [pieces for (pieces,) in self._score(prompts, [answer], tick)]
        if len({len(pieces) for pieces in scores}) > 1:
            raise ValueError(
                f"the answer {answer!r} has other tokens after some of the masked prompts: end the "
                f"prompt with something that is never left out"
            )
        return np.array(scores)

    def cut_answer(self, prompt: AnyPrompt, answer: str) -> list[str]:
        """The answer's tokens; if they are not known, it is one."""
        if self._route(prompt) == "prompt":
            question = write_question(prompt, answer)
            tokens = read_tokens(self._ask([question])[question])
            return cut_text(answer, [token for token, _ in tokens])
        if self.tokenizer is None:
            return [answer]
        cut = PromptTokenizer(self.tokenizer, has_encoder=False).cut_answer(prompt, answer)
        if any(len(tokens) > 1 for _, tokens in cut):
            raise ValueError(
                f"the answer {answer!r} has characters that are several tokens, which this server "
                f"does not show: give another answer"
            )
        if len(cut) > 1 and not isinstance(prompt, str):
            raise ValueError(
                f"the answer {answer!r} is {len(cut)} tokens, and this server shows only the next "
                f"token of a chat: give answers of one token"
            )
        return [piece for piece, _ in cut]

    def write_answer(self, prompt: AnyPrompt) -> str:
        """The model's own answer: always the likeliest token. That of a plain prompt is a line."""
        question = write_question(prompt, _MOST_WRITTEN)
        text = read_text(self._ask([question])[question])
        if not text.strip():
            raise ValueError(
                f"the answer of the model {self.name} to this prompt is empty; give the answer "
                f"to explain: target=..."
            )
        if isinstance(prompt, str):
            text = text[: len(text) - len(text.lstrip())] + text.strip().splitlines()[0]
        return text

    def _route(self, prompt: AnyPrompt) -> str:
        with self._routes.lock:
            if type(prompt) not in self._routes.known:
                self._routes.known[type(prompt)] = self._find_route(prompt)
            self.cost.route = self._routes.known[type(prompt)]
        return self.cost.route

    def _find_route(self, prompt: AnyPrompt) -> str:
        """Ask the server for what it can, and whether it agrees with itself."""
        if self.logprobs == "generated":
            return "generated"
        why = self._find_fault(prompt, self._ask_next([prompt])[0])
        if why is None:
            return "prompt"
        if self.logprobs == "prompt":
            raise RemoteError(f"{why}; give logprobs='generated' instead of 'prompt'")
        return "generated"

    def _find_fault(self, prompt: AnyPrompt, shown: Mapping[str, float]) -> str | None:
        """Why the server's scores of whole answers cannot be used; ``None`` if they can.

        It must give likely next tokens the same log-probability, whether they are sent with the
        prompt or come next. Some servers score the tokens beside them instead.
        """
        likely = sorted(shown, key=lambda token: (-shown[token], token))
        n_tested = 0
        for token in [token for token in likely if token.strip().isalnum()][:_MOST_TRIED]:
            question = write_question(prompt, token)
            try:
                found = read_tokens(self._ask([question])[question])
            except RemoteError as error:
                if isinstance(error.__cause__, NoLogprobsError):
                    return str(error)
                if not isinstance(error.__cause__, WrongAnswerError):
                    raise
                continue  # joined with the end of the prompt, it is another token
            if len(found) == 1:
                value, n_tested = found[0][1], n_tested + 1
                if abs(value - shown[token]) > _TOLERANCE:
                    return (
                        f"{self.name} gives the token {token!r} the log-probability {value:.3f} as "
                        f"a part of the prompt and {shown[token]:.3f} as the next one: which is "
                        f"right?"
                    )
            if n_tested == _ENOUGH_TESTED:
                return None
        if n_tested:
            return None
        return f"{self.name} shows no next token with which its scores could be tested"

    def _score(self, prompts: Prompts, answers: Sequence[str], tick: Tick) -> list[list[Any]]:
        """Log-probabilities of tokens, for every prompt by answer."""
        whole = prompts[0] if self.whole is None else self.whole
        by_route = {"prompt": self._score_whole, "generated": self._score_next}
        scores = by_route[self._route(whole)](prompts, answers, whole, tick)
        self.cost.scored += len(prompts) * len(answers)
        return scores

    def _score_whole(
        self, prompts: Prompts, answers: Sequence[str], _: AnyPrompt, tick: Tick
    ) -> list[list[Any]]:
        """Of answers that are sent with the prompt."""
        questions = [[write_question(prompt, each) for each in answers] for prompt in prompts]
        flat = [question for row in questions for question in row]
        found = self._ask(flat, _tick_every(len(answers), tick))
        return [[[value for _, value in read_tokens(found[question])] for question in row]
                for row in questions]  # fmt: skip

    def _score_next(
        self, prompts: Prompts, answers: Sequence[str], whole: AnyPrompt, tick: Tick
    ) -> list[list[Any]]:
        """Of the next token, and then of the tokens after it, one by one."""
        cut = [self.cut_answer(whole, answer) for answer in answers]
        scores: list[list[Any]] = [[[] for _ in answers] for _ in prompts]
        bounded = np.zeros((len(prompts), len(answers)), dtype=bool)
        for place in range(max(map(len, cut))):
            waiting = [
                (row, column)
                for row in range(len(prompts))
                for column in range(len(answers))
                if place < len(cut[column])
            ]
            asked = [_extend(prompts[row], cut[column][:place]) for row, column in waiting]
            shown = self._ask_next(asked, _do_not_tick if place else tick)
            for (row, column), own in zip(waiting, shown, strict=True):
                value, is_bound = find_token(
                    own, cut[column][place], is_whole=self.tokenizer is not None
                )
                scores[row][column].append(value)
                bounded[row, column] |= is_bound
        counts = zip(answers, bounded.sum(axis=0).tolist(), strict=True)
        self.cost.bounded.update({answer: n for answer, n in counts if n})
        return scores

    def _ask_next(
        self, prompts: Sequence[Any], tick: Tick | None = None
    ) -> list[Mapping[str, float]]:
        """The likeliest next tokens of every prompt."""
        questions = [write_question(prompt) for prompt in prompts]
        found = self._ask(questions, tick)
        self.cost.shown = max([self.cost.shown, *map(len, found.values())])
        return [found[question] for question in questions]

    def _ask(self, questions: Sequence[str], tick: Tick | None = None) -> Mapping[str, Any]:
        return self.model.ask(questions, cost=self.cost, tick=tick or _do_not_tick)


def _extend(prompt: Any, pieces: Sequence[str]) -> Any:
    return prompt + "".join(pieces) if pieces else prompt


def _do_not_tick(n_texts: int) -> None:
    """Of calls that complete no prompt."""


def _tick_every(n_calls: int, tick: Tick) -> Callable[[int], None]:
    """Tick for one prompt after so many calls."""
    n_done = 0

    def count(n_texts: int) -> None:
        nonlocal n_done
        before, n_done = n_done, n_done + n_texts
        tick(n_done // n_calls - before // n_calls)

    return count
