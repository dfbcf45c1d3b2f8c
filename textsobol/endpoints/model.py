"""`remote` and the `Remote` model it makes, for an explainer."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any

from textsobol.endpoints.answers import Answer
from textsobol.endpoints.cache import get_cache_path
from textsobol.endpoints.client import Check, ProcessState, RemoteCost, RemoteSettings, Request
from textsobol.endpoints.retry import RetryPolicy
from textsobol.redaction import Redaction, strip_secrets


class Remote:
    """A remote model for a `TextExplainer`, made by `remote` or `endpoint`.

    Call it with a list of texts to get a list of answers. It can be pickled if its function can.
    """

    def __init__(self, settings: RemoteSettings) -> None:
        self.settings = settings
        self.name = settings.name
        self._lock = threading.Lock()
        self._state: ProcessState | None = None

    def __reduce__(self) -> tuple[type[Remote], tuple[RemoteSettings]]:
        return type(self), (self.settings,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def __call__(self, texts: Sequence[str]) -> list[Answer]:
        """The answers for texts: scores, by label if the model names labels."""
        answers = self.ask(texts)
        return [answers[text] for text in texts]

    def ask(
        self,
        texts: Iterable[str],
        *,
        check: Check = lambda answer, text: None,
        cost: RemoteCost | None = None,
        tick: Callable[[int], None] = lambda n_texts: None,
    ) -> dict[str, Answer]:
        """The answer for every text, from the cache or from the model.

        Args:
            texts: the texts, in any order; repeated ones are asked once.
            check: called with an answer and its text before the answer is kept.
            cost: where calls and waits are counted.
            tick: called repeatedly with the number of texts that were just answered.

        Raises:
            RemoteError: if a text could not be answered. Earlier answers stay in the cache.
        """
        # Sorted, so that calls do not depend on the order of the texts.
        waiting = sorted(set(texts), key=lambda text: (-len(text), text))
        cost = RemoteCost() if cost is None else cost
        answers: dict[str, Answer] = {}
        while waiting:
            request = Request(self._process_state(), self.settings, check, cost)
            answers.update(request.answers(waiting, tick))
            # Texts that another caller was asking for, but cancelled, are asked for again.
            waiting = [text for text in waiting if text not in answers]
        return answers

    def forget(self, text: str) -> None:
        """Delete the answer for a text from the cache."""
        cache = self._process_state().cache
        if cache is not None:
            cache.forget(text)

    def _process_state(self) -> ProcessState:
        """Threads and open files do not survive a fork, so every process has its own."""
        with self._lock:
            if self._state is None or self._state.process != os.getpid():
                self._state = ProcessState(self.settings)
            return self._state


def remote(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    activation: str = "none",
    batch: int | None = None,
    single: bool = False,
    concurrency: int = 8,
    retries: int = 6,
    backoff: float = 0.5,
    longest_wait: float = 120.0,
    cache: str | PathLike[str] | None = None,
    max_calls: int | None = None,
) -> Remote:
    """A function that calls a remote model, made robust: threads, retries, and a cache.

    Calls that fail with HTTP 408, 425, 429 or 5xx, a time-out or a broken connection are
    repeated; ``Retry-After`` is respected.

    Args:
        function: from a list of texts to scores, as `TextExplainer` takes it; it must raise an
            error if the call fails. Several threads call it at once.
        name: the model's name, which also distinguishes its answers from those of other models
            in the cache: change it when the model changes.
        activation: what scores are: ``none`` (analysed as they are), or probabilities:
            ``softmax`` (one label of many) or ``sigmoid`` (each label by itself), whose
            log-odds are analysed.
        batch: maximum number of texts per call; 16 by default.
        single: whether the function takes one text and returns its scores.
        concurrency: maximum number of calls at the same time.
        retries: maximum number of times a call is repeated.
        backoff: seconds before the first retry; doubled before every further one.
        longest_wait: maximum seconds of one wait.
        cache: a file or directory for answers; later runs do not ask for the same text again.
        max_calls: maximum number of calls in total, in one process.

    Example:
        >>> def praise(text):  # would call a server
        ...     return [text.count("good"), text.count("film")]
        >>> model = remote(praise, single=True)
        >>> model(["a good film", "good, good!"])
        [[1.0, 1.0], [2.0, 0.0]]
        >>> from textsobol import TextExplainer
        >>> explanation = TextExplainer(model, label_names=["praise", "topic"])("a good film")
        >>> explanation.for_target("topic").top(1)[0].word, explanation.cost["calls"]
        ('film', 8)
    """
    if cache is not None and name is None:
        raise ValueError("a cache needs name=: it distinguishes the answers of different models")
    name = name or str(getattr(function, "__name__", type(function).__name__))
    redaction = Redaction()
    settings = RemoteSettings(
        function, redaction(name), identity=strip_secrets(name), activation=activation,
        batch=batch or (1 if single else 16), single=single, concurrency=concurrency,
        retry=RetryPolicy(retries, backoff, longest_wait),
        cache=None if cache is None else get_cache_path(cache), max_calls=max_calls,
        redaction=redaction,
    )  # fmt: skip
    return Remote(settings)
