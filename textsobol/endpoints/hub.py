"""Text-classification endpoints through `huggingface_hub.InferenceClient`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any
from urllib.parse import urlsplit

from textsobol.endpoints.answers import WrongAnswerError, parsed, shown
from textsobol.endpoints.asking import RemoteSettings
from textsobol.endpoints.cache import cache_file
from textsobol.endpoints.model import Remote
from textsobol.endpoints.patience import Patience

_ALL_LABELS = 1000
# Hosts that a saved token of the hub is meant for.
_OF_THE_HUB = (".huggingface.co", ".huggingface.cloud", ".hf.space")


def endpoint(
    model: str,
    *,
    token: str | None = None,
    function_to_apply: str | None = None,
    top_k: int | None = _ALL_LABELS,
    provider: str | None = None,
    headers: Mapping[str, str] | None = None,
    empty: str = "",
    timeout: float = 60.0,
    concurrency: int = 8,
    retries: int = 6,
    backoff: float = 0.5,
    longest_wait: float = 120.0,
    cache: str | PathLike[str] | None = None,
    max_calls: int | None = None,
) -> Remote:
    """A text-classification endpoint, hosted or self-hosted, to be explained.

    Args:
        model: the address of an endpoint, or the id of a model on the hub that an inference
            provider serves.
        token: for the server; by default the one that ``hf auth login`` saved or ``HF_TOKEN``
            holds, which is sent to hosts of the hub only.
        function_to_apply: what the server does to logits: ``softmax``, ``sigmoid`` (a text can
            have several labels) or ``none`` (regression). By default what it does by itself,
            and that must be softmax.
        top_k: labels to ask for: all.
        provider: of inference, for a model of the hub.
        headers: more HTTP headers.
        empty: is sent instead of an empty text, which some servers refuse.
        timeout: seconds for one call.
        concurrency: see `remote`.
        retries: see `remote`.
        backoff: see `remote`.
        longest_wait: see `remote`.
        cache: see `remote`. Answers are known by ``model`` and the settings above, not by
            what runs there: take another cache when the model changes.
        max_calls: see `remote`.

    Example:
        >>> model = endpoint("http://127.0.0.1:8080/predict", cache="answers")
        >>> model.name, model.settings.cache.name
        ('127.0.0.1:8080/predict', 'answers.sqlite')
    """
    if not model or (urlsplit(model).scheme in ("http", "https") and not urlsplit(model).hostname):
        raise ValueError(
            f"endpoint({model!r}): give an address such as https://host/path, or a hub id"
        )
    question = _Question(
        model, token, function_to_apply, top_k, provider, tuple((headers or {}).items()), empty,
        timeout,
    )  # fmt: skip
    return Remote(
        RemoteSettings(
            function=question,
            name=_shown_name(model),
            identity=json.dumps([model, function_to_apply, top_k, provider, empty]),
            activation=function_to_apply or "softmax",
            batch=1,
            single=True,
            concurrency=concurrency,
            patience=Patience(retries, backoff, longest_wait),
            cache=None if cache is None else cache_file(cache),
            max_calls=max_calls,
        )
    )


@dataclass(frozen=True)
class _Question:
    """Asks an endpoint for the labels of a text; plain values, so that it can be pickled."""

    model: str
    token: str | None = field(repr=False)
    function_to_apply: str | None
    top_k: int | None
    provider: str | None
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    empty: str
    timeout: float

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_client"}

    def __call__(self, text: str) -> list[dict[str, Any]]:
        found = self._client.text_classification(
            text if text.strip() else self.empty,
            top_k=self.top_k,
            function_to_apply=self.function_to_apply,
        )
        if not isinstance(found, list):
            raise WrongAnswerError(f"one label instead of all: {shown(found)}")
        return [{"label": one.label, "score": one.score} for one in found]

    @cached_property
    def _client(self) -> Any:
        try:
            from huggingface_hub import InferenceClient
        except ImportError as error:
            raise ImportError(
                "endpoints need huggingface_hub: pip install huggingface_hub"
            ) from error

        class Client(InferenceClient):
            """Understands endpoints that do not wrap the labels of a text in a list."""

            def _inner_post(self, *args: Any, **options: Any) -> Any:
                return _wrapped(super()._inner_post(*args, **options))

        headers: dict[str, Any] = dict(self.headers)
        if self.token is None and not _is_of_the_hub(self.model):
            headers.setdefault("authorization", None)  # a saved token is none of its business
        return Client(
            self.model,
            provider=self.provider,  # type: ignore[arg-type]
            token=self.token,
            headers=headers,
            timeout=self.timeout,
        )


def _wrapped(body: Any) -> Any:
    """The answer as the hub's own API gives it: a list with the list of a text's labels.

    Endpoints of a single container often answer with the bare list, of which the client would
    keep the first label only.
    """
    if not isinstance(body, bytes):
        return body
    try:
        answer = json.loads(body)
    except ValueError:
        raise WrongAnswerError(
            f"something that is not JSON: {shown(body.decode('utf-8', 'replace'))}"
        ) from None
    if not isinstance(answer, list) or not answer:
        raise WrongAnswerError(f"no list of labels: {shown(answer)}")
    rows = [answer] if isinstance(answer[0], dict) else answer
    if len(rows) != 1 or not isinstance(labels := parsed(rows[0]), dict):
        raise WrongAnswerError(f"no labels and scores of one text: {shown(answer)}")
    return json.dumps(
        [[{"label": name, "score": score} for name, score in labels.items()]]
    ).encode()


def _is_of_the_hub(model: str) -> bool:
    parts = urlsplit(model)
    if parts.scheme not in ("http", "https"):
        return True
    host = parts.hostname or ""
    return parts.scheme == "https" and f".{host}".endswith(_OF_THE_HUB)


def _shown_name(model: str) -> str:
    """Without user, password and query, which may hold secrets."""
    parts = urlsplit(model)
    if parts.scheme not in ("http", "https"):
        return model
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.hostname}{port}{parts.path.rstrip('/')}"
