"""Texts that are explained at the same time, so that their rows fill batches together.

Every text is explained by a thread of its own, of which only one runs at a time: until it asks
for rows, or is done. When all of them have asked, the rows of all go to the model at once. So the
rows that meet are always the same, however long a thread takes, and nothing that threads share
needs a lock.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Work = Callable[[list[Any]], Sequence[Any]]
_asking: ContextVar[_Task[Any] | None] = ContextVar("asking", default=None)


def together(key: Hashable, items: Sequence[Any], work: Work) -> Sequence[Any]:
    """``work(items)``, with the items of other texts where texts are explained together.

    Args:
        key: what may be worked on together; the same key must come with the same kind of work.
        items: what to work on.
        work: items to as many answers, each of which depends on its own item only.

    Example:
        >>> together("lengths", ["a", "bb"], lambda items: [len(item) for item in items])
        [1, 2]
    """
    task = _asking.get()
    if task is None or not items:
        return work(list(items))
    return task.ask(_Request(key, items, work))


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What came of a task.

    Attributes:
        number: of the task, in the order given.
        value: what it returned, or ``None``.
        error: what it raised, or ``None``.
    """

    number: int
    value: T | None
    error: Exception | None


def run_together(
    tasks: Iterable[tuple[int, Callable[[], T]]],
    *,
    most: int,
    most_size: int,
    answered: Callable[[int, int], None] = lambda number, n_items: None,
) -> Generator[Outcome[T], None, None]:
    """Run tasks at the same time, so that what they ask for by `together` is done together.

    The tasks begin in the order given, as others end. What each returns or raises comes as soon
    as it is there.

    Args:
        tasks: the size of each, and what it does.
        most: tasks at a time.
        most_size: sum of the sizes of those; a larger one runs alone.
        answered: told the number of a task and how many items it was given answers for, each time.

    Example:
        >>> def met(words):
        ...     return [f"{word} of {len(words)}" for word in words]
        >>> tasks = [(1, lambda: together("it", ["a"], met)), (1, lambda: together("it", "b", met))]
        >>> [outcome.value for outcome in run_together(tasks, most=2, most_size=9)]
        [['a of 2'], ['b of 2']]
    """
    waiting = deque(_Task(number, size, run) for number, (size, run) in enumerate(tasks))
    live: list[_Task[T]] = []
    kept: dict[Hashable, Work] = {}
    try:
        while waiting or live:
            while waiting and _fits(waiting[0], live, most, most_size):
                live.append(waiting.popleft())
                live[-1].resume()
                if live[-1].outcome is not None:
                    yield live.pop().outcome  # type: ignore[misc]
            _answer([task.request for task in live if task.request is not None], kept)
            for task in live:
                if task.request is not None:
                    answered(task.number, len(task.request.items))
                task.resume()
            yield from (task.outcome for task in live if task.outcome is not None)
            live = [task for task in live if task.outcome is None]
    finally:
        for task in live:
            task.cancel()


def _fits(task: _Task[Any], live: Sequence[_Task[Any]], most: int, most_size: int) -> bool:
    if not live:
        return True
    return len(live) < most and sum(t.size for t in live) + task.size <= most_size


@dataclass
class _Request:
    key: Hashable
    items: Sequence[Any]
    work: Work
    answers: Sequence[Any] | None = None
    error: Exception | None = None


def _answer(requests: Sequence[_Request], kept: dict[Hashable, Work]) -> None:
    """Do the work of all requests, those with the same key at once.

    The first work of a key is kept for it: it may have learnt what fits into memory.
    """
    by_key: dict[Hashable, list[_Request]] = {}
    for request in requests:
        by_key.setdefault(request.key, []).append(request)
    for key, own in by_key.items():
        work = kept.setdefault(key, own[0].work)
        try:
            answers = work([item for request in own for item in request.items])
        except Exception:
            _answer_one_by_one(own)
            continue
        start = 0
        for request in own:
            request.answers = answers[start : start + len(request.items)]
            start += len(request.items)


def _answer_one_by_one(requests: Sequence[_Request]) -> None:
    """Something in the heap fails: only who asked for it should know of it."""
    for request in requests:
        try:
            request.answers = request.work(list(request.items))
        except Exception as error:
            request.error = error


class _Cancelled(BaseException):
    """Ends a thread whose answer nobody waits for."""


class _Task(Generic[T]):
    """A thread that runs only when it is told to, until it asks for something or is done."""

    def __init__(self, number: int, size: int, run: Callable[[], T]) -> None:
        self.size = size
        self.request: _Request | None = None
        self.outcome: Outcome[T] | None = None
        self.number = number
        self._run = run
        self._failure: BaseException | None = None
        self._may_run = threading.Semaphore(0)
        self._has_stopped = threading.Semaphore(0)
        self._is_cancelled = False
        self._thread = threading.Thread(target=self._live, daemon=True)

    def resume(self) -> None:
        """Let it run up to its next request or its end."""
        if not self._thread.is_alive():
            self._thread.start()
        self._may_run.release()
        self._has_stopped.acquire()
        if self._failure is not None:
            raise self._failure
        if self.outcome is not None:
            self._thread.join()

    def ask(self, request: _Request) -> Sequence[Any]:
        """Called by the thread itself: wait for the answer."""
        self.request = request
        self._has_stopped.release()
        self._may_run.acquire()
        self.request = None
        if self._is_cancelled:
            raise _Cancelled
        if request.error is not None:
            raise request.error
        assert request.answers is not None
        return request.answers

    def cancel(self) -> None:
        """End the thread where it waits."""
        self._is_cancelled = True
        self._may_run.release()
        self._thread.join()

    def _live(self) -> None:
        _asking.set(self)
        self._may_run.acquire()
        try:
            self.outcome = Outcome(self.number, self._run(), None)
        except Exception as error:
            self.outcome = Outcome(self.number, None, error)
        except _Cancelled:
            pass
        except BaseException as error:
            self._failure = error
        self._has_stopped.release()
