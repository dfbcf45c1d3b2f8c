"""`llm_endpoint`: a language model behind an OpenAI-compatible server, as a scorer of answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

from textsobol.endpoints.addresses import (
    check_address,
    check_headers,
    check_timeout,
    get_public_name,
)
from textsobol.endpoints.completions import Completions, clean_address
from textsobol.endpoints.language_server import ROUTES, LanguageServer
from textsobol.endpoints.model import Remote, remote
from textsobol.redaction import strip_secrets


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

    Plain prompts go to ``/completions``, chats to ``/chat/completions``. Servers score answers in
    one of two ways, and the first explanation finds out which:

    - ``prompt``: the server scores all tokens of an answer that is sent with the prompt (vLLM;
      servers with ``echo``), with one call per prompt and answer.
    - ``generated``: it returns the likeliest next tokens (llama.cpp, TGI, hosted models), with one
      call per prompt. An answer should be one token; for longer ones the tokens must be known
      (``tokenizer``). If a token is not among those returned, the largest log-probability that it
      can have is used. A `BoundedScoreWarning` then says so, and ``bounded`` in the settings of
      the explanation.

    Args:
        address: of the server, such as ``http://localhost:8000/v1``.
        model: the model's name on the server.
        token: for the server, sent as a bearer token. By default ``OPENAI_API_KEY`` for
            api.openai.com, the saved token for servers of the hub, and none for others.
        headers: additional HTTP headers.
        logprobs: ``prompt`` or ``generated``; by default the first that works with the server.
        top_logprobs: number of likeliest tokens to request; some servers allow only 5.
        tokenizer: the model's tokenizer, or its directory or hub id; it says what the tokens of an
            answer are.
        extra_body: additional fields of a request, such as
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


def _load_tokenizer(tokenizer: Any) -> Any:
    if not isinstance(tokenizer, str | PathLike):
        return tokenizer
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(tokenizer)
