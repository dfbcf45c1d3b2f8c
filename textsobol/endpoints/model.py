"""A model elsewhere, as an explainer takes it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any

from textsobol.endpoints.answers import Answer
from textsobol.endpoints.asking import Check, Here, RemoteCost, RemoteSettings, Round
from textsobol.endpoints.cache import cache_file, key_of
from textsobol.endpoints.patience import Patience


class Remote:
    """A model elsewhere; made by `remote` or `endpoint`, given to a `TextExplainer`.

    It can be called itself: a list of texts to a list of answers. It can be pickled if its
    function can.
    """

    def __init__(self, settings: RemoteSettings) -> None:
        self.settings = settings
        self._lock = threading.Lock()
        self._here: Here | None = None

    def __reduce__(self) -> tuple[type[Remote], tuple[RemoteSettings]]:
        return type(self), (self.settings,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.settings.name!r})"

    @property
    def name(self) -> str:
        """How the model is called."""
        return self.settings.name

    def __call__(self, texts: Sequence[str]) -> list[Answer]:
        """The answers for texts: scores, by label where the model names labels."""
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
        """The answer of every text, from the cache or from the model.

        Args:
            texts: the texts, in any order; repeated ones are asked once.
            check: called with an answer and its text before the answer is kept.
            cost: account to add to.
            tick: called with the number of texts that are answered, again and again.

        Raises:
            RemoteError: when a text could not be answered. All answers that came before are in
                the cache.
        """
        # In an order of their own: calls do not depend on how texts were asked for.
        waiting = sorted(set(texts), key=lambda text: (-len(text), text))
        cost = RemoteCost() if cost is None else cost
        answers: dict[str, Answer] = {}
        while waiting:
            answers.update(Round(self._live(), self.settings, check, cost).answers(waiting, tick))
            # What somebody else asked for and did not wait for is asked for again.
            waiting = [text for text in waiting if text not in answers]
        return answers

    def forget(self, text: str) -> None:
        """Take the answer for a text out of the cache."""
        cache = self._live().cache
        if cache is not None:
            cache.forget(key_of(self.settings.identity, text))

    def _live(self) -> Here:
        """Threads and open files do not outlive a fork: every process has its own."""
        with self._lock:
            if self._here is None or self._here.process != os.getpid():
                self._here = Here(self.settings)
            return self._here


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
    """A function that calls a model elsewhere, with everything that this needs.

    Calls run in threads. Those that fail with HTTP 408, 425, 429 or 5xx, a time-out or a broken
    connection are made again; ``Retry-After`` is kept to.

    Args:
        function: from a list of texts to scores, as `TextExplainer` takes it; it must raise when
            the call fails. It is called by several threads at once.
        name: how the model is called, and what tells its answers from those of other models in
            the cache: let it change with the model.
        activation: what scores are: ``none`` (analysed as they are), or probabilities:
            ``softmax`` (of one label of many) or ``sigmoid`` (each label for itself), whose
            log-odds are analysed.
        batch: most texts of one call; 16 by default.
        single: the function takes one text and returns its scores.
        concurrency: most calls at the same time.
        retries: how often a call is made again, at most.
        backoff: seconds before the first of them; twice as long before every further one.
        longest_wait: most seconds of one wait.
        cache: a file or directory for answers; no text is asked for again in a later run.
        max_calls: calls allowed in all, in one process.

    Example:
        >>> def praise(text):  # would call a server
        ...     return [text.count("good"), text.count("film")]
        >>> model = remote(praise, single=True)
        >>> model(["a good film", "good, good!"])
        [[1.0, 1.0], [2.0, 0.0]]
        >>> from textsobol import TextExplainer
        >>> explanation = TextExplainer(model, labels=["praise", "topic"])("a good film")
        >>> explanation.for_label("topic").top(1)[0].word, explanation.cost["calls"]
        ('film', 8)
    """
    if cache is not None and name is None:
        raise ValueError("a cache needs name=: it tells the answers of different models apart")
    called = name or str(getattr(function, "__name__", type(function).__name__))
    return Remote(
        RemoteSettings(
            function=function,
            name=called,
            identity=called,
            activation=activation,
            batch=batch or (1 if single else 16),
            single=single,
            concurrency=concurrency,
            patience=Patience(retries, backoff, longest_wait),
            cache=None if cache is None else cache_file(cache),
            max_calls=max_calls,
        )
    )
