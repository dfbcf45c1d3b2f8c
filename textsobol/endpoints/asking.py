"""Asking for texts: some calls at a time, patiently, and no text twice."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, as_completed, wait
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from textsobol.endpoints.answers import ACTIVATIONS, Answer, WrongAnswerError, one_each, parsed
from textsobol.endpoints.cache import AnswerCache, key_of
from textsobol.endpoints.failures import is_passing, last_words, retry_after, status_of
from textsobol.endpoints.patience import Patience
from textsobol.inference import Cost

Check = Callable[[Answer, str], Any]
"""Raises `WrongAnswerError` when an answer cannot be that of the text."""
_SHOWN = 300  # characters of a text in an error


class RemoteError(RuntimeError):
    """A model elsewhere did not answer, or not with scores; the message names the text."""


@dataclass
class RemoteCost(Cost):
    """What was asked of a model elsewhere.

    Attributes:
        calls: calls that were made, those that failed too.
        cached: texts whose answer was on disk.
        retried: calls that were made again after a failure.
        waited: seconds between a failure and the next call, in all.
    """

    calls: int = 0
    cached: int = 0
    retried: int = 0
    waited: float = 0.0

    def told(self) -> dict[str, float]:
        """What an explanation tells of it."""
        return {
            "calls": self.calls,
            "cached": self.cached,
            "retried": self.retried,
            "waited": round(self.waited, 3),
        }


@dataclass(frozen=True)
class RemoteSettings:
    """What makes a `Remote`: plain values, but for the function.

    Attributes:
        function: from a list of texts to scores, or from one text to its scores.
        name: how the model is called.
        identity: tells its answers from those of other models in a cache.
        activation: what scores are; see `AnswerReader`.
        batch: texts of one call.
        single: whether the function takes one text instead of a list.
        concurrency: calls at the same time.
        patience: what happens after a failure.
        cache: file with answers, or ``None``.
        max_calls: calls allowed in all, or ``None``.
    """

    function: Callable[..., Any] = field(repr=False)
    name: str
    identity: str = field(repr=False)
    activation: str
    batch: int
    single: bool
    concurrency: int
    patience: Patience
    cache: Path | None
    max_calls: int | None

    def __post_init__(self) -> None:
        if self.activation not in ACTIVATIONS:
            known = ", ".join(ACTIVATIONS)
            raise ValueError(f"unknown activation {self.activation!r}; known: {known}")
        if self.batch < 1 or self.concurrency < 1:
            raise ValueError("batch and concurrency must be at least 1")
        if self.single and self.batch > 1:
            raise ValueError("a function of a single text is called with one: leave batch out")
        if self.max_calls is not None and self.max_calls < 0:
            raise ValueError("max_calls must not be negative")


class Here:
    """What lives in one process only: threads, the open cache, what is being asked."""

    def __init__(self, settings: RemoteSettings) -> None:
        self.process = os.getpid()
        self.cache = None if settings.cache is None else AnswerCache(settings.cache)
        self.threads = ThreadPoolExecutor(settings.concurrency, thread_name_prefix="textsobol")
        self.lock = threading.Lock()
        self.asked: dict[bytes, Future[Answer]] = {}
        self.calls = 0
        self.not_before = 0.0  # when a server that asked for a pause may be called again


class _StoppedError(Exception):
    """Nobody waits for the answer any longer."""


class Round:
    """One time that texts are asked for together."""

    def __init__(
        self, here: Here, settings: RemoteSettings, check: Check, cost: RemoteCost
    ) -> None:
        self._here = here
        self._settings = settings
        self._check = check
        self._cost = cost
        self._stopped = threading.Event()
        self._own: list[str] = []  # texts that this round is to settle
        self._jobs: list[tuple[Future[None], list[str]]] = []

    def answers(self, texts: Sequence[str], tick: Callable[[int], None]) -> dict[str, Answer]:
        """Answers of all texts but those that somebody else asked for and gave up."""
        found = {}
        try:
            text_of = self._claimed(texts)
            self._submit(self._not_cached(self._own))
            for answer in as_completed(text_of):
                try:
                    found[text_of[answer]] = answer.result()
                except CancelledError:
                    continue
                tick(1)
        except BaseException as error:
            self._stop()
            if isinstance(error, Exception):  # whoever presses Ctrl-C wants to go at once
                wait([job for job, _ in self._jobs])
            raise
        return found

    def _submit(self, texts: list[str]) -> None:
        size = self._settings.batch
        for start in range(0, len(texts), size):
            chunk = texts[start : start + size]
            self._jobs.append((self._here.threads.submit(self._answer, chunk), chunk))

    def _stop(self) -> None:
        """Make no more calls; those under way end by themselves and keep their answers."""
        self._stopped.set()
        under_way = {text for job, chunk in self._jobs if not job.cancel() for text in chunk}
        self._release(text for text in self._own if text not in under_way)

    def _key(self, text: str) -> bytes:
        return key_of(self._settings.identity, text)

    def _claimed(self, texts: Sequence[str]) -> dict[Future[Answer], str]:
        """What each text's answer will come as; those that nobody asks for yet are our own."""
        text_of = {}
        with self._here.lock:
            for text in texts:
                key = self._key(text)
                if key not in self._here.asked:
                    self._own.append(text)
                    self._here.asked[key] = Future()
                text_of[self._here.asked[key]] = text
        return text_of

    def _not_cached(self, texts: list[str]) -> list[str]:
        """Settle what is in the cache; the texts that are not."""
        if self._here.cache is None or not texts:
            return texts
        known = self._here.cache.get(map(self._key, texts))
        for text in [text for text in texts if self._key(text) in known]:
            answer = known[self._key(text)]
            with self._here.lock:
                self._cost.cached += 1
            try:
                self._check(answer, text)
            except WrongAnswerError as error:
                self._settle(text, error=self._failure(f"the cache holds {error}", [text]))
            else:
                self._settle(text, answer)
        return [text for text in texts if self._key(text) not in known]

    def _answer(self, texts: list[str]) -> None:
        """Ask for some texts, in a thread, and settle each of them whatever happens."""
        try:
            returned = dict(zip(texts, self._asked(texts), strict=True))
            good, wrong = self._sorted_out(returned)
            if self._here.cache is not None and good:
                self._here.cache.keep({self._key(text): a for text, a in good.items()})
        except _StoppedError:
            self._release(texts)
        except BaseException as error:
            self._stopped.set()  # at once: the caller may be slow to hear of it
            for text in texts:
                self._settle(text, error=error)
        else:
            if wrong:
                self._stopped.set()
            for text, answer in good.items():
                self._settle(text, answer)
            for text, failure in wrong.items():
                self._settle(text, error=failure)

    def _sorted_out(
        self, returned: dict[str, Any]
    ) -> tuple[dict[str, Answer], dict[str, RemoteError]]:
        """Good answers, and what is wrong with the others."""
        good, wrong = {}, {}
        for text, value in returned.items():
            try:
                answer = parsed(value)
                self._check(answer, text)
            except WrongAnswerError as error:
                wrong[text] = self._failure(f"answered with {error}", [text])
                wrong[text].__cause__ = error
            else:
                good[text] = answer
        return good, wrong

    def _asked(self, texts: list[str]) -> list[Any]:
        """Call until there is an answer, or no hope of one."""
        settings = self._settings
        for failures in count(1):
            self._pause(0.0)
            self._count_call(texts, is_first=failures == 1)
            try:
                returned = settings.function(texts[0] if settings.single else list(texts))
                return [returned] if settings.single else one_each(returned, len(texts))
            except WrongAnswerError as error:
                raise self._failure(f"answered with {error}", texts) from error
            except Exception as error:
                self._after(error, failures, texts)
        raise AssertionError("counting never ends")

    def _after(self, error: Exception, failures: int, texts: list[str]) -> None:
        """Wait for the next call, or give up."""
        patience, said = self._settings.patience, last_words(error)
        if not is_passing(error):
            raise self._failure(f"failed: {said}{_hint(error, texts)}", texts) from error
        if failures > patience.retries:
            raise self._failure(f"failed {failures} times, at last with {said}", texts) from error
        asked = retry_after(error)
        if asked is not None and asked > patience.longest_wait:
            raise self._failure(
                f"asks to wait {asked:.0f} s, more than longest_wait={patience.longest_wait:g}: "
                f"{said}",
                texts,
            ) from error
        if asked is not None:
            with self._here.lock:
                self._here.not_before = max(self._here.not_before, time.monotonic() + asked)
        self._pause(patience.wait(failures, asked))

    def _pause(self, seconds: float) -> None:
        """Wait so long, or until the server may be called again; not if nobody waits."""
        start = time.monotonic()
        with self._here.lock:
            seconds = max(seconds, self._here.not_before - start)
        if self._stopped.wait(max(0.0, seconds)):
            raise _StoppedError
        if seconds > 0:
            with self._here.lock:
                self._cost.waited += time.monotonic() - start

    def _count_call(self, texts: list[str], *, is_first: bool) -> None:
        with self._here.lock:
            limit = self._settings.max_calls
            if limit is not None and self._here.calls >= limit:
                kept = "" if self._here.cache is None else "; what was answered is in the cache"
                raise self._failure(f"is not called more than max_calls={limit} times{kept}", texts)
            self._here.calls += 1
            self._cost.calls += 1
            self._cost.retried += not is_first

    def _settle(
        self, text: str, answer: Answer | None = None, *, error: BaseException | None = None
    ) -> None:
        """Give the answer, or the error, to all who wait for it."""
        with self._here.lock:
            waited_for = self._here.asked.pop(self._key(text))
        if error is not None:
            waited_for.set_exception(error)
        else:
            assert answer is not None
            waited_for.set_result(answer)

    def _release(self, texts: Iterable[str]) -> None:
        """Let others ask for texts that this round gave up."""
        for text in texts:
            with self._here.lock:
                waited_for = self._here.asked.pop(self._key(text), None)
            if waited_for is not None:
                waited_for.cancel()
                waited_for.set_running_or_notify_cancel()

    def _failure(self, what: str, texts: list[str]) -> RemoteError:
        text = texts[0] if len(texts[0]) <= _SHOWN else texts[0][:_SHOWN] + " ..."
        several = f"the first of {len(texts)} texts of the call, " if len(texts) > 1 else ""
        return RemoteError(f"{self._settings.name} {what} ({several}text: {text!r})")


def _hint(error: Exception, texts: list[str]) -> str:
    """What a person may do about a refusal."""
    status = status_of(error)
    if status in (401, 403):
        return "; is the token right?"
    if status in (404, 405):
        return "; is the address right?"
    if status is not None and not all(text.strip() for text in texts):
        return "; some servers refuse empty texts: endpoint(..., empty='.') sends something else"
    return ""
