"""Text-classification endpoints through `huggingface_hub.InferenceClient`."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any
from urllib.parse import urlsplit

from huggingface_hub import InferenceClient, constants, get_token
from huggingface_hub.errors import OfflineModeIsEnabled

from textsobol.endpoints.addresses import (
    check_address,
    check_headers,
    check_timeout,
    get_public_name,
    is_on_hub,
    make_redaction,
)
from textsobol.endpoints.answers import parse_answer, parse_json, show
from textsobol.endpoints.model import Remote, remote
from textsobol.endpoints.transport import HttpError, Transport
from textsobol.errors import WrongAnswerError
from textsobol.redaction import strip_secrets

_ALL_LABELS = 1000
_HUB_ID = re.compile(r"[\w.\-]+(/[\w.\-]+)?")


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
    """A hosted or self-hosted text-classification endpoint, to be explained.

    Args:
        model: the address of an endpoint, or the id of a hub model that an inference provider
            serves.
        token: for the server; by default the one that ``hf auth login`` saved or ``HF_TOKEN``
            holds, which is sent to servers of the hub only, not to Spaces.
        function_to_apply: what the server applies to logits: ``softmax``, ``sigmoid`` (a text
            can have several labels) or ``none`` (regression). By default the server decides,
            and that must be softmax.
        top_k: number of labels to ask for; all by default.
        provider: the inference provider of a hub model.
        headers: additional HTTP headers.
        empty: sent instead of an empty text, which some servers refuse.
        timeout: seconds for one call, from the connection to the last byte of the answer.
        concurrency: see `remote`.
        retries: see `remote`.
        backoff: see `remote`.
        longest_wait: see `remote`.
        cache: see `remote`. Answers are stored under ``model`` and the settings above, which do
            not say what runs there: use another cache when that changes.
        max_calls: see `remote`.

    Example:
        >>> model = endpoint("http://127.0.0.1:8080/predict", cache="answers")
        >>> model.name, model.settings.cache.name
        ('127.0.0.1:8080/predict', 'answers.sqlite')
    """
    is_address = _HUB_ID.fullmatch(model) is None
    if is_address:
        check_address(model, "endpoint(): give an address such as https://host/path, or a hub id")
    check_headers(token, headers or {})
    check_timeout(timeout)
    classify = _Classify(
        model, {"function_to_apply": function_to_apply, "top_k": top_k}, empty,
        provider=provider, token=token, headers=headers or {}, timeout=timeout,
    )  # fmt: skip
    made = remote(
        classify,
        name=get_public_name(model) if is_address else model,
        activation=function_to_apply or "softmax",
        single=True, concurrency=concurrency, retries=retries, backoff=backoff,
        longest_wait=longest_wait, cache=cache, max_calls=max_calls,
    )  # fmt: skip
    # Without secrets: they do not shape answers, and a digest of them would be stored.
    identity = json.dumps([strip_secrets(model), function_to_apply, top_k, provider, empty])
    return Remote(replace(made.settings, identity=identity, redaction=classify.redaction))


class _Classify(InferenceClient):
    """From a text to all of its labels.

    The hub's client prepares the request; `Transport` makes it.
    """

    def __init__(
        self,
        model: str,
        parameters: dict[str, Any],
        empty: str,
        *,
        token: str | None,
        headers: Mapping[str, str],
        timeout: float,
        provider: Any,
    ) -> None:
        own = {name.lower(): value for name, value in headers.items()}
        super().__init__(model, provider=provider, token=token, headers=own, timeout=timeout)
        self._parameters = parameters
        self._empty = empty
        self._transport = Transport(timeout)
        saved = get_token() if token is None and is_on_hub(model) else None
        self.redaction = make_redaction(model, token or saved, own)

    def __repr__(self) -> str:
        return type(self).__name__  # an address may hold secrets

    def __call__(self, text: str) -> list[dict[str, Any]]:
        labels = self.text_classification(text if text.strip() else self._empty, **self._parameters)
        return [{"label": one.label, "score": one.score} for one in labels]

    def _inner_post(self, request_parameters: Any, **options: Any) -> Any:
        """The answer in the form of the hub's own API: a list of the list of labels.

        Self-hosted endpoints often return the inner list, and the client would keep only its first
        label.
        """
        if constants.HF_HUB_OFFLINE:
            raise OfflineModeIsEnabled("the environment variable HF_HUB_OFFLINE is set")
        url, data = request_parameters.url, request_parameters.data
        body = json.dumps(request_parameters.json).encode() if data is None else data
        headers = self.build_headers(url, request_parameters.headers)
        try:
            answer = parse_json(self._transport.post(url, body, headers), self.redaction)
        except HttpError as error:
            raise HttpError(error.status, error.headers, self.redaction(error.body)) from None
        if not isinstance(answer, list) or not answer:
            raise WrongAnswerError(f"no list of labels: {show(answer)}")
        rows = [answer] if isinstance(answer[0], dict) else answer
        if len(rows) != 1 or not isinstance(labels := parse_answer(rows[0]), dict):
            raise WrongAnswerError(f"no labels and scores of one text: {show(answer)}")
        return [[{"label": name, "score": score} for name, score in labels.items()]]

    def build_headers(self, url: str, prepared: Mapping[str, Any]) -> dict[str, str]:
        """What is sent: a saved token to the hub only, and what the user gave in any case."""
        sent = {name.lower(): str(value) for name, value in prepared.items() if value is not None}
        if self.token is None and "authorization" not in self.headers:
            sent.pop("authorization", None)
            saved = get_token() if is_on_hub(url) and urlsplit(url).username is None else None
            if saved is not None:
                sent["authorization"] = f"Bearer {saved}"
        return sent | self.headers
