"""Text-classification endpoints through `huggingface_hub.InferenceClient`."""

import json
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any
from urllib.parse import urlsplit

from huggingface_hub import InferenceClient

from textsobol.endpoints.answers import parse_answer, show
from textsobol.endpoints.model import Remote, remote
from textsobol.errors import WrongAnswerError

_ALL_LABELS = 1000
_HUB_HOSTS = (".huggingface.co", ".huggingface.cloud", ".hf.space")


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
            holds, which is sent to hosts of the hub only.
        function_to_apply: what the server applies to logits: ``softmax``, ``sigmoid`` (a text
            can have several labels) or ``none`` (regression). By default the server decides,
            and that must be softmax.
        top_k: number of labels to ask for; all by default.
        provider: the inference provider of a hub model.
        headers: additional HTTP headers.
        empty: sent instead of an empty text, which some servers refuse.
        timeout: seconds for one call.
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
    address = urlsplit(model)
    is_address = address.scheme in ("http", "https")
    if not model or (is_address and not address.hostname):
        raise ValueError(
            f"endpoint({model!r}): give an address such as https://host/path, or a hub id"
        )
    all_headers: dict[str, Any] = dict(headers or {})
    if token is None and not _is_on_hub(model):
        all_headers.setdefault("authorization", None)  # a saved token is for the hub only
    options = {"provider": provider, "token": token, "headers": all_headers, "timeout": timeout}
    parameters = {"function_to_apply": function_to_apply, "top_k": top_k}
    port = f":{address.port}" if address.port else ""
    # Without user, password and query, which may be secret.
    public_name = f"{address.hostname}{port}{address.path.rstrip('/')}"
    made = remote(
        _Classify(model, parameters, empty, **options),
        name=public_name if is_address else model,
        activation=function_to_apply or "softmax",
        single=True, concurrency=concurrency, retries=retries, backoff=backoff,
        longest_wait=longest_wait, cache=cache, max_calls=max_calls,
    )  # fmt: skip
    identity = json.dumps([model, function_to_apply, top_k, provider, empty])
    return Remote(replace(made.settings, identity=identity))


class _Classify(InferenceClient):
    """From a text to all of its labels."""

    def __init__(self, model: str, parameters: dict[str, Any], empty: str, **options: Any) -> None:
        super().__init__(model, **options)
        self._parameters = parameters
        self._empty = empty

    def __repr__(self) -> str:
        return type(self).__name__  # an address may hold secrets

    def __call__(self, text: str) -> list[dict[str, Any]]:
        labels = self.text_classification(text if text.strip() else self._empty, **self._parameters)
        return [{"label": one.label, "score": one.score} for one in labels]

    def _inner_post(self, *args: Any, **options: Any) -> Any:
        """The answer in the form of the hub's own API: a list of the list of labels.

        Self-hosted endpoints often return the inner list, and the client would keep only its first
        label.
        """
        body: Any = super()._inner_post(*args, **options)
        try:
            answer = json.loads(body)
        except ValueError:
            text = show(body.decode("utf-8", "replace"))
            raise WrongAnswerError(f"something that is not JSON: {text}") from None
        if not isinstance(answer, list) or not answer:
            raise WrongAnswerError(f"no list of labels: {show(answer)}")
        rows = [answer] if isinstance(answer[0], dict) else answer
        if len(rows) != 1 or not isinstance(labels := parse_answer(rows[0]), dict):
            raise WrongAnswerError(f"no labels and scores of one text: {show(answer)}")
        return [[{"label": name, "score": score} for name, score in labels.items()]]


def _is_on_hub(model: str) -> bool:
    address = urlsplit(model)
    if address.scheme not in ("http", "https"):
        return True
    return address.scheme == "https" and f".{address.hostname}".endswith(_HUB_HOSTS)
