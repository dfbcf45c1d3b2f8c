"""Calls of an OpenAI-compatible server: what is sent, and the log-probabilities that come back."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from huggingface_hub import get_token

from textsobol.endpoints.addresses import is_on_hub, make_redaction
from textsobol.endpoints.answers import parse_json
from textsobol.endpoints.logprobs import (
    WHAT_TO_DO,
    cut_end,
    read_echoed,
    read_generated,
    read_prompt_logprobs,
    read_written,
)
from textsobol.endpoints.retry import describe_error
from textsobol.endpoints.transport import HttpError, Transport
from textsobol.errors import NoLogprobsError
from textsobol.prompts.scoring import AnyPrompt

_REFUSED = (400, 422, 501)
_ASKED_FOR = ("logprobs", "top_n_tokens")  # the second is TGI's own name
_PATHS = ("/chat/completions", "/completions")


_LONGEST_PIECE = 500  # characters of a text that is kept as labels


def write_question(prompt: AnyPrompt, answer: str | int | None = None) -> str:
    """A question to the server, as a text: how likely is the answer, or what comes next?

    With a number: what are the next tokens, so many?
    """
    return json.dumps([prompt, answer], ensure_ascii=False)


def read_tokens(reply: Mapping[str, float]) -> list[tuple[str, float]]:
    """The answer's tokens in their order, with their log-probabilities."""
    return [(label.partition(" ")[2], reply[label]) for label in sorted(reply)]


def read_text(reply: Mapping[str, float]) -> str:
    """The text of the next tokens."""
    return "".join(token for token, _ in read_tokens(reply))


class Completions:
    """From a question to tokens with their log-probabilities.

    Of an answer these are its own tokens, numbered; else the likeliest next tokens. A text that the
    model writes comes back in numbered pieces.

    Args:
        address: of the server, without ``/completions``.
        model: the model's name on the server.
        token: for the server.
        headers: additional headers, in lower case.
        top_logprobs: number of likeliest tokens to ask for.
        extra_body: what else a request holds.
        timeout: seconds for a call.
    """

    def __init__(
        self,
        address: str,
        model: str,
        *,
        token: str | None,
        headers: Mapping[str, str],
        top_logprobs: int,
        extra_body: Mapping[str, Any],
        timeout: float,
    ) -> None:
        self._address, self._model = address, model
        token = token or _find_saved_token(address)
        own = {"authorization": f"Bearer {token}"} if token else {}
        self._headers = {"content-type": "application/json", **own, **headers}
        self._top = top_logprobs
        self._extra_body = dict(extra_body)
        self._transport = Transport(timeout)
        self.redaction = make_redaction(address, token, headers)

    def __repr__(self) -> str:
        return type(self).__name__  # an address may hold secrets

    def __call__(self, question: str) -> list[dict[str, Any]]:
        """Tokens as labels, log-probabilities as scores."""
        prompt, answer = json.loads(question)
        if answer is None:
            found = self._ask_next(prompt)
            return [{"label": token, "score": value} for token, value in found.items()]
        tokens = (
            self._ask_answer(prompt, answer)
            if isinstance(answer, str)
            else self._ask_text(prompt, answer)
        )
        return [
            {"label": f"{number:05} {token}", "score": value}
            for number, (token, value) in enumerate(tokens)
        ]

    def _ask_next(self, prompt: AnyPrompt) -> dict[str, float]:
        if isinstance(prompt, str):
            asked: dict[str, Any] = {"prompt": prompt, "logprobs": self._top}
        else:
            asked = {"messages": prompt, "logprobs": True, "top_logprobs": self._top}
        try:
            return read_generated(self._post(asked))
        except HttpError as error:
            if error.status in (*_REFUSED, 500) and any(name in error.body for name in _ASKED_FOR):
                said = describe_error(error, self.redaction)
                raise NoLogprobsError(
                    f"no log-probabilities: {said}. If {self._top} are too many for it, give a "
                    f"smaller top_logprobs=. {WHAT_TO_DO}"
                ) from None
            raise

    def _ask_answer(self, prompt: AnyPrompt, answer: str) -> list[tuple[str, float]]:
        """The answer is sent as a part of the prompt, whose tokens have log-probabilities."""
        try:
            if isinstance(prompt, str):
                asked: dict[str, Any] = {"prompt": prompt + answer, "logprobs": 1, "echo": True}
                return cut_end(read_echoed(self._post(asked)), answer)
            asked = {
                "messages": [*prompt, {"role": "assistant", "content": answer}],
                "add_generation_prompt": False, "continue_final_message": True,
                "prompt_logprobs": 0,
            }  # fmt: skip
            return cut_end(read_prompt_logprobs(self._post(asked)), answer)
        except HttpError as error:
            if error.status in _REFUSED:
                said = describe_error(error, self.redaction)
                raise NoLogprobsError(f"a refusal to score a whole answer: {said}") from None
            raise

    def _ask_text(self, prompt: AnyPrompt, n_tokens: int) -> list[tuple[str, float]]:
        name = "prompt" if isinstance(prompt, str) else "messages"
        text = read_written(self._post({name: prompt, "max_tokens": n_tokens}))
        starts = range(0, max(1, len(text)), _LONGEST_PIECE)
        return [(text[start : start + _LONGEST_PIECE], 0.0) for start in starts]

    def _post(self, asked: Mapping[str, Any]) -> Any:
        path = _PATHS[0] if "messages" in asked else _PATHS[1]
        # The likeliest token is generated, and none that could be shown besides the likeliest.
        own = {"model": self._model, "max_tokens": 1, "temperature": 0}
        data = json.dumps({**own, **asked, **self._extra_body}).encode()
        try:
            reply = self._transport.post(_add_path(self._address, path), data, self._headers)
        except HttpError as error:
            raise HttpError(error.status, error.headers, self.redaction(error.body)) from None
        return parse_json(reply, self.redaction)


def clean_address(address: str) -> str:
    """The address up to ``/v1``, whichever of a server's addresses was given.

    Example:
        >>> clean_address("http://localhost:8000"), clean_address("https://a.b/v1/chat/completions")
        ('http://localhost:8000/v1', 'https://a.b/v1')
    """
    parts = urlsplit(address)
    path = parts.path.rstrip("/")
    for end in _PATHS:
        path = path.removesuffix(end)
    return urlunsplit(parts._replace(path=path or "/v1", fragment=""))


def _add_path(address: str, end: str) -> str:
    parts = urlsplit(address)
    return urlunsplit(parts._replace(path=parts.path + end))


def _find_saved_token(address: str) -> str | None:
    """A token of this machine's user, for the server that it belongs to only."""
    parts = urlsplit(address)
    if parts.username is not None:
        return None
    if parts.scheme == "https" and parts.netloc.lower() == "api.openai.com":
        return os.environ.get("OPENAI_API_KEY") or None
    return get_token() if is_on_hub(address) else None
