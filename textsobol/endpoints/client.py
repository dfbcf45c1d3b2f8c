"""Call a remote model: several calls at a time, with retries, and no text twice."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, as_completed, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from tenacity import RetryCallState, Retrying

from textsobol.endpoints import retry
from textsobol.endpoints.answers import ACTIVATIONS, Answer, parse_answer, shorten, split_batch
from textsobol.endpoints.cache import AnswerCache
from textsobol.errors import RemoteError, WrongAnswerError
from textsobol.ledger import Cost
from textsobol.redaction import Redaction

_LONGEST_MESSAGE = 600

Check = Callable[[Answer, str], Any]
"""Raises `WrongAnswerError` if an answer cannot be the answer for the text."""

Job = Future[dict[str, Answer | RemoteError]]
"""One call and its retries: for each of its texts an answer, or what is wrong with it."""


@dataclass
class RemoteCost(Cost):
    """What a remote model was asked.

    Attributes:
        calls: calls made, failed ones included.
        cached: texts whose answer was on disk.
        retried: calls that repeated a failed one.
        waited: total seconds between a failure and the next call.
    """

    calls: int = 0
    cached: int = 0
    retried: int = 0
    waited: float = 0.0

    def metadata(self) -> dict[str, float]:
        """What an explanation reports."""
        return {k: round(getattr(self, k), 3) for k in ("calls", "cached", "retried", "waited")}


@dataclass(frozen=True)
class RemoteSettings:
    """Everything that defines a `Remote`; see `remote`.

    ``identity`` distinguishes the model's answers from those of others in a cache.
    """

    function: Callable[..., Any] = field(repr=False)
    name: str
    identity: str = field(repr=False)
    activation: str
    batch: int
    single: bool
    concurrency: int
    retry: retry.RetryPolicy
    cache: Path | None
    max_calls: int | None
    redaction: Redaction = field(default_factory=Redaction, repr=False)

    def __post_init__(self) -> None:
        if self.activation not in ACTIVATIONS:
            known = ", ".join(ACTIVATIONS)
            raise ValueError(f"unknown activation {self.activation!r}; known: {known}")
        if self.batch < 1 or self.concurrency < 1:
            raise ValueError("batch and concurrency must be at least 1")
        if self.single and self.batch > 1:
            raise ValueError("with single=True, each call gets one text: leave out batch=")
        if self.max_calls is not None and self.max_calls < 0:
            raise ValueError("max_calls must not be negative")


class CallError(Exception):
    """What a call failed with: the kind and message of the original error, without secrets."""


class ProcessState:
    """What cannot leave the process: threads, the open cache, jobs in progress."""

    def __init__(self, settings: RemoteSettings) -> None:
        self.process = os.getpid()
        path = settings.cache
        self.cache = None if path is None else AnswerCache(path, settings.identity)
        self.threads = ThreadPoolExecutor(settings.concurrency, thread_name_prefix="textsobol")
        self.lock = threading.Lock()
        self.jobs: WeakValueDictionary[str, Job] = WeakValueDictionary()  # by text
        self.calls = 0
        self.not_before = 0.0  # when a server that asked for a pause may be called again


@dataclass
class Request:
    """The texts that one caller wants at a time."""

    state: ProcessState
    settings: RemoteSettings
    check: Check
    cost: RemoteCost

    def __post_init__(self) -> None:
        self._cancelled = threading.Event()
        self._own: list[Job] = []

    def answers(self, texts: Sequence[str], tick: Callable[[int], None]) -> dict[str, Answer]:
        """Answers for all texts except those that another request started and cancelled."""
        try:
            answers, texts_of = self._start(texts)
            tick(len(answers))
            for job in as_completed(texts_of):
                try:
                    outcomes = job.result()
                except CancelledError:
                    continue
                for text in texts_of[job]:
                    outcome = outcomes[text]
                    if isinstance(outcome, RemoteError):
                        raise outcome
                    answers[text] = outcome
                tick(len(texts_of[job]))
        except BaseException as error:
            # Calls in progress end by themselves, and their answers are kept.
            self._cancelled.set()
            for job in self._own:
                job.cancel()
            if isinstance(error, Exception):  # Ctrl-C must not wait
                wait(self._own)
            raise
        return answers

    def _start(self, texts: Sequence[str]) -> tuple[dict[str, Answer], dict[Job, list[str]]]:
        """Cached answers, and for the other texts the jobs that will bring them."""
        texts_of: dict[Job, list[str]] = {}
        with self.state.lock:
            jobs, size = self.state.jobs, self.settings.batch
            running = {text: job for text in texts if (job := jobs.get(text)) and not job.done()}
            for text, job in running.items():
                texts_of.setdefault(job, []).append(text)
            others = [text for text in texts if text not in running]
            cached = self._read_cache(others)
            missing = [text for text in others if text not in cached]
            for start in range(0, len(missing), size):
                chunk = missing[start : start + size]
                job = self.state.threads.submit(self._run, chunk)
                self._own.append(job)
                texts_of[job] = chunk
                jobs.update(dict.fromkeys(chunk, job))
        return cached, texts_of

    def _read_cache(self, texts: list[str]) -> dict[str, Answer]:
        answers = {} if self.state.cache is None else self.state.cache.get(texts)
        self.cost.cached += len(answers)
        for text, answer in answers.items():
            try:
                self.check(answer, text)
            except WrongAnswerError as error:
                raise self._error(f"the cache holds {error}", [text]) from None
        return answers

    def _run(self, texts: list[str]) -> dict[str, Answer | RemoteError]:
        """Ask for some texts, in a thread, and keep the good answers."""
        retrying = Retrying(
            before=self._start_call,
            after=self._check_failure,
            wait=self.settings.retry.wait,
            sleep=self._sleep,
        )
        try:
            returned = zip(texts, retrying(self._call, texts), strict=True)
            outcomes = {text: self._read(answer, text) for text, answer in returned}
            good = {t: one for t, one in outcomes.items() if not isinstance(one, RemoteError)}
            if len(good) < len(texts):
                self._cancelled.set()
            if self.state.cache is not None:
                self.state.cache.keep(good)
        except BaseException:
            self._cancelled.set()  # at once: the caller may be slow to notice
            raise
        return outcomes

    def _read(self, returned: Any, text: str) -> Answer | RemoteError:
        try:
            answer = parse_answer(returned)
            self.check(answer, text)
        except WrongAnswerError as error:
            wrong = self._error(f"answered with {error}", [text])
            wrong.__cause__ = self._copy_without_secrets(error)
            return wrong
        return answer

    def _call(self, texts: list[str]) -> list[Any]:
        if self.settings.single:
            return [self.settings.function(texts[0])]
        return split_batch(self.settings.function(list(texts)), len(texts))

    def _start_call(self, attempt: RetryCallState) -> None:
        """Wait until the server may be called, and count the call if it is allowed."""
        self._sleep(0.0)
        with self.state.lock:
            limit = self.settings.max_calls
            if limit is not None and self.state.calls >= limit:
                kept = "" if self.state.cache is None else "; what was answered is in the cache"
                what = f"is not called more than max_calls={limit} times{kept}"
                raise self._error(what, attempt.args[0])
            self.state.calls += 1
            self.cost.calls += 1
            self.cost.retried += attempt.attempt_number > 1

    def _check_failure(self, attempt: RetryCallState) -> None:
        """Give up if a retry is useless; else make all calls wait as long as the server asks."""
        error, texts, policy = retry.get_error(attempt), attempt.args[0], self.settings.retry
        said = retry.describe_error(error, self.settings.redaction)
        asked = retry.get_retry_after(error) or 0.0
        if isinstance(error, WrongAnswerError):
            what = f"answered with {error}"
        elif not retry.is_transient(error):
            what = f"failed: {said}{retry.suggest_fix(error, texts)}"
        elif attempt.attempt_number > policy.retries:
            what = f"failed {attempt.attempt_number} times, finally with {said}"
        elif asked > policy.longest_wait:
            limit = f"longest_wait={policy.longest_wait:g}"
            what = f"asks to wait {asked:g} s, more than {limit}: {said}"
        else:
            with self.state.lock:
                until = time.monotonic() + asked
                self.state.not_before = max(self.state.not_before, until)
            return
        raise self._error(what, texts) from self._copy_without_secrets(error, said)

    def _sleep(self, seconds: float) -> None:
        """Wait, at least until the server may be called again, unless cancelled."""
        start = time.monotonic()
        with self.state.lock:
            seconds = max(seconds, self.state.not_before - start)
        if self._cancelled.wait(min(max(0.0, seconds), threading.TIMEOUT_MAX)):
            raise CancelledError
        if seconds > 0:
            with self.state.lock:
                self.cost.waited += time.monotonic() - start

    def _copy_without_secrets(self, error: BaseException, said: str = "") -> Exception:
        """The cause of an error that people see, with the lines of code that it came from."""
        copy: Exception
        if isinstance(error, WrongAnswerError):
            copy = type(error)(self._clean(str(error)))
        else:
            kind = type(error).__name__
            copy = CallError(said if said.startswith(kind) else f"{kind}: {said}")
        return copy.with_traceback(error.__traceback__)

    def _error(self, what: str, texts: list[str]) -> RemoteError:
        several = f"the first of {len(texts)} texts of the call, " if len(texts) > 1 else ""
        text, what = shorten(texts[0], 300), self._clean(what)
        return RemoteError(f"{self.settings.name} {what} ({several}text: {text!r})")

    def _clean(self, what: str) -> str:
        return retry.clean(self.settings.redaction(what), _LONGEST_MESSAGE)
