"""`llm_endpoint`: a language model behind an OpenAI-compatible server, as a scorer of answers."""

from __future__ import annotations

import json
import math
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np

from textsobol.endpoints.addresses import (
    check_address,
    check_headers,
    check_timeout,
    get_public_name,
)
from textsobol.endpoints.client import RemoteCost
from textsobol.endpoints.completions import Completions, clean_address, write_question
from textsobol.endpoints.logprobs import find_token
from textsobol.endpoints.model import Remote, remote
from textsobol.errors import BoundedScoreWarning, NoLogprobsError, RemoteError, warn
from textsobol.prompts.scoring import AnyPrompt, Prompts
from textsobol.redaction import strip_secrets
from textsobol.sobol.arrays import Floats
from textsobol.steps import Tick

ROUTES = ("prompt", "generated")
_MOST_TRIES = 3  # likely tokens with which a server is tested
_TOLERANCE = 0.3  # between two log-probabilities of one token: servers compute with few digits


def llm_endpoint(
    address: str,
    model: str,
    *,
    token: str | None = None,
    headers: Mapping[str, str] | None = None,
    logprobs: str | None = None,
    top_logprobs: int = 20,
    tokenizer: Any = None,
    extra_body: Mapping[str, Any] | None = None,
    timeout: float = 60.0,
    concurrency: int = 8,
    retries: int = 6,
    backoff: float = 0.5,
    longest_wait: float = 120.0,
    cache: str | PathLike[str] | None = None,
    max_calls: int | None = None,
) -> LanguageServer:
    """A language model behind an OpenAI-compatible server, for a `TextExplainer` with a prompt.

    Plain prompts go to ``/completions``, chats to ``/chat/completions``. A server has two ways to
    say how likely an answer is, and the first explanation asks which it knows:

    - ``prompt``: it scores all tokens of an answer that is sent with the prompt (vLLM; servers
      with ``echo``), with a call for every prompt and answer.
    - ``generated``: it shows the likeliest next tokens (llama.cpp, TGI, hosted models), with one
      call for a prompt. An answer should be one token; of longer ones the tokens must be known
      (``tokenizer``). If a token is not among those shown, the largest log-probability that it
      can have is used, and an explanation says so: a `BoundedScoreWarning`, and ``bounded`` in its
      settings.

    Args:
        address: of the server, such as ``http://localhost:8000/v1``.
        model: the model's name on the server.
        token: for the server, sent as a bearer token. By default ``OPENAI_API_KEY`` for
            api.openai.com, the saved token for servers of the hub, and none for others.
        headers: additional HTTP headers.
        logprobs: ``prompt`` or ``generated``; by default the first that the server knows.
        top_logprobs: number of likeliest tokens to ask for; some servers allow only 5.
        tokenizer: the model's tokenizer, or its directory or hub id; it says what the tokens of an
            answer are.
        extra_body: what else a request holds, such as
            ``{"chat_template_kwargs": {"enable_thinking": False}}``.
        timeout: seconds for one call, from the connection to the last byte of the answer.
        concurrency: see `remote`.
        retries: see `remote`.
        backoff: see `remote`.
        longest_wait: see `remote`.
        cache: see `remote`. Answers are stored under ``address``, ``model`` and ``extra_body``.
        max_calls: see `remote`.

    Example:
        >>> server = llm_endpoint("http://localhost:8000", "SmolLM2", cache="answers")
        >>> server
        LanguageServer('SmolLM2 at localhost:8000/v1')
    """
    check_address(address, "llm_endpoint(): give an address such as http://localhost:8000/v1")
    check_headers(token, headers or {})
    check_timeout(timeout)
    if not model:
        raise ValueError("llm_endpoint() needs the model's name on the server")
    if logprobs is not None and logprobs not in ROUTES:
        raise ValueError(f"unknown logprobs {logprobs!r}; known: {', '.join(ROUTES)}")
    if top_logprobs < 1:
        raise ValueError(f"top_logprobs={top_logprobs}: must be at least 1")
    address = clean_address(address)
    own = {name.lower(): value for name, value in (headers or {}).items()}
    ask = Completions(
        address, model, token=token, headers=own, top_logprobs=top_logprobs,
        extra_body=extra_body or {}, timeout=timeout,
    )  # fmt: skip
    made = remote(
        ask, name=f"{model} at {get_public_name(address)}", single=True, concurrency=concurrency,
        retries=retries, backoff=backoff, longest_wait=longest_wait, cache=cache,
        max_calls=max_calls,
    )  # fmt: skip
    # Without secrets: they do not shape answers, and a digest of them would be stored.
    shape = [strip_secrets(address), model, extra_body or {}, top_logprobs]
    identity = json.dumps(shape, sort_keys=True)
    settings = replace(made.settings, identity=identity, redaction=ask.redaction)
    return LanguageServer(Remote(settings), logprobs, top_logprobs, _load_tokenizer(tokenizer))


@dataclass
class AnswerCost(RemoteCost):
    """What a server was asked for one explanation, and what it did not say.

    Attributes:
        scored: log-probabilities of answers that were used.
        bounded: how many of these are only upper bounds, by answer.
        route: how answers were scored; see `llm_endpoint`.
        shown: how many tokens the server shows.
    """

    scored: int = 0
    bounded: Counter[str] = field(default_factory=Counter)
    route: str | None = None
    shown: int = 0

    def findings(self) -> dict[str, Any]:
        """How answers were scored, and the fraction of scores that are bounds."""
        share = round(self.bounded.total() / self.scored, 4) if self.scored else 0.0
        return {"logprobs": self.route, **({"bounded": share} if share else {})}

    def warn(self) -> None:
        """Say how many scores are bounds."""
        if not self.bounded:
            return
        n_bounded = self.bounded.total()
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
    """How a server scores answers, plain and in chats, once it is known."""

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
    routes: _Routes = field(default_factory=_Routes)

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
        del answers  # the server's tokens are not known yet
        cost = AnswerCost()
        return replace(self, cost=cost, whole=prompt), cost

    def score_answers(self, prompts: Prompts, answers: Sequence[str], tick: Tick) -> Floats:
        """Log-probabilities of the answers ``(prompts, answers)``; see `AnswerScorer`."""
        whole = prompts[0] if self.whole is None else self.whole
        with self.routes.lock:
            route = self.routes.known.get(type(whole)) or self._find_route(whole)
            self.routes.known[type(whole)] = self.cost.route = route
        score = self._score_whole if route == "prompt" else self._score_generated
        scores = score(prompts, answers, tick)
        self.cost.scored += scores.size
        return scores

    def _find_route(self, prompt: AnyPrompt) -> str:
        """Ask the server for what it can, and whether it agrees with itself.

        A server that scores whole answers must give the likeliest next token the same
        log-probability as it does when it shows what comes next. Some do not: they score other
        tokens, one too far.
        """
        if self.logprobs == "generated":
            return "generated"
        shown = self._ask_next([prompt])[write_question(prompt)]
        likeliest = sorted(shown, key=lambda token: (-shown[token], token))
        error: RemoteError | None = None
        for token in [token for token in likeliest if token.strip().isalnum()][:_MOST_TRIES]:
            question = write_question(prompt, token)
            try:
                answer = _read_tokens(self._ask([question])[question])
            except RemoteError as caught:
                if not isinstance(caught.__cause__, NoLogprobsError):
                    raise
                error = caught
                break
            if len(answer) == 1:
                if abs(answer[0] - shown[token]) <= _TOLERANCE:
                    return "prompt"
                error = RemoteError(
                    f"{self.name} gives the token {token!r} the log-probability {answer[0]:.3f} "
                    f"as a part of a prompt and {shown[token]:.3f} as the next token: one is wrong"
                )
                break
        if self.logprobs == "prompt":
            raise error or RemoteError(
                f"{self.name} shows no next token that could be used to test how it scores whole "
                f"answers: give logprobs='generated'"
            )
        return "generated"

    def _score_whole(self, prompts: Prompts, answers: Sequence[str], tick: Tick) -> Floats:
        questions = [[write_question(prompt, each) for each in answers] for prompt in prompts]
        flat = [question for row in questions for question in row]
        found = self._ask(flat, _tick_every(len(answers), tick))
        scores = {question: math.fsum(_read_tokens(found[question])) for question in found}
        return np.array([[scores[question] for question in row] for row in questions])

    def _score_generated(self, prompts: Prompts, answers: Sequence[str], tick: Tick) -> Floats:
        pieces = [self._cut_answer(answer) for answer in answers]
        n_most = max(map(len, pieces))
        if n_most > 1 and not isinstance(prompts[0], str):
            long = next(answer for answer, own in zip(answers, pieces, strict=True) if len(own) > 1)
            raise ValueError(
                f"the answer {long!r} is several tokens, and this server shows only the next token "
                f"of a chat: give answers of one token"
            )
        scores = np.zeros((len(prompts), len(answers)))
        is_open = np.ones_like(scores, dtype=bool)
        is_bound = np.zeros_like(is_open)
        for place in range(n_most):
            asked = {
                (row, column): _extend(prompts[row], pieces[column][:place])
                for row, column in zip(*is_open.nonzero(), strict=True)
            }
            shown = self._ask_next(list(asked.values()), tick if place == 0 else _do_not_tick)
            for (row, column), prompt in asked.items():
                value, is_bounded = find_token(
                    shown[write_question(prompt)], pieces[column][place],
                    is_whole=self.tokenizer is not None,
                )  # fmt: skip
                scores[row, column] += value
                is_bound[row, column] = is_bounded
                # What is left of a bound only makes it smaller.
                is_open[row, column] = not is_bounded and place + 1 < len(pieces[column])
        for answer, n_bounded in zip(answers, is_bound.sum(axis=0), strict=True):
            self.cost.bounded[answer] += int(n_bounded)
        self.cost.bounded += Counter()  # without those that are 0
        return scores

    def _cut_answer(self, answer: str) -> list[str]:
        """The answer's tokens; an answer whose tokens are not known is one."""
        if self.tokenizer is None:
            return [answer]
        spans = self.tokenizer(answer, add_special_tokens=False, return_offsets_mapping=True)
        pieces = [answer[start:end] for start, end in spans["offset_mapping"]]
        if "".join(pieces) != answer:
            raise ValueError(
                f"the tokens of the answer {answer!r} are not pieces of its text: give another"
            )
        return pieces

    def _ask_next(
        self, prompts: Iterable[AnyPrompt], tick: Tick | None = None
    ) -> dict[str, dict[str, float]]:
        """The likeliest next tokens, by question."""
        found = self._ask([write_question(prompt) for prompt in prompts], tick)
        shown = {key: answer for key, answer in found.items() if isinstance(answer, dict)}
        self.cost.shown = max([self.cost.shown, *map(len, shown.values())])
        return shown

    def _ask(self, questions: Sequence[str], tick: Tick | None = None) -> Mapping[str, Any]:
        return self.model.ask(questions, cost=self.cost, tick=tick or _do_not_tick)


def _read_tokens(answer: Any) -> list[float]:
    """Log-probabilities of an answer's tokens, in their order."""
    return [answer[label] for label in sorted(answer)]


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
        if n_done // n_calls > before // n_calls:
            tick(n_done // n_calls - before // n_calls)

    return count


def _load_tokenizer(tokenizer: Any) -> Any:
    if not isinstance(tokenizer, str | PathLike):
        return tokenizer
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(tokenizer)
