"""One thread that owns the models: it runs what requests ask for, and stops what nobody wants.

A job has a short part, such as a prediction, and may have a long one, an explanation. Short parts
go first: they also run between two batches of a long part. Between two batches a job ends if the
client went away, if the same page asked for something newer, or if its time is over.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from textsobol.errors import name_error
from textsobol.redaction import Redaction
from textsobol.render.printable import replace_controls

Send = Callable[[str, Any], None]
_LONGEST_MESSAGE = 600
_MOST_SHORT = 64  # jobs that wait for their short part
# What users can fix, and see in one line; the command line has the same list.
_EXPECTED = (ValueError, TypeError, RuntimeError, ImportError, OSError)


class Stopped(BaseException):
    """Ends a job between two batches. No ``except Exception`` on the way takes it for a failure."""


class BusyError(Exception):
    """Too many texts wait for their turn."""


@dataclass(eq=False)
class Job:
    """What a request asks for.

    Attributes:
        tab: the page that asked.
        send: takes the events of the job, and ``end`` when it is over.
        short: the part that goes before everything long.
        long: the part that waits for its turn, or ``None``.
        seconds: longest time for the long part.
        is_newest: whether it replaces what the same page asked for before.
    """

    tab: str
    send: Send
    short: Callable[[Job], None]
    long: Callable[[Job], None] | None = None
    seconds: float = 120.0
    is_newest: bool = False
    is_cancelled: bool = False
    is_ended: bool = False
    deadline: float = field(default=float("inf"))
    pulse: Callable[[int], None] = field(default=lambda n_masks: None)

    def cancel(self) -> None:
        """Ask the job to end; it does so before its next batch."""
        self.is_cancelled = True

    def check(self) -> None:
        """End the job if nobody wants it, or its time is over."""
        if self.is_cancelled:
            raise Stopped
        if time.monotonic() > self.deadline:
            seconds = f"{self.seconds:g}"
            self.send("stopped", {"message": f"stopped after {seconds} s, the limit of one text"})
            raise Stopped


class Worker:
    """Runs jobs, one after the other, in a thread of its own.

    Args:
        most_waiting: most long parts that wait.
    """

    def __init__(self, most_waiting: int) -> None:
        self._most_waiting = most_waiting
        self._changed = threading.Condition()
        self._short: deque[Job] = deque()
        self._long: deque[Job] = deque()
        self._running: list[Job] = []  # a long part, and the short one that runs within it
        self._is_closed = False
        self._thread: threading.Thread | None = None

    def submit(self, job: Job) -> None:
        """Queue a job; the same page's earlier explanation ends if this one replaces it.

        Raises:
            BusyError: when too many others wait.
        """
        with self._changed:
            if job.is_newest:
                self._cancel(job.tab)
            jobs = (*self._short, *self._long, *self._running)
            n_long = sum(other.long is not None and not other.is_cancelled for other in jobs)
            is_full = job.long is not None and n_long > self._most_waiting  # one of them runs
            if is_full or self._is_closed or len(self._short) >= _MOST_SHORT:
                raise BusyError("too many texts wait for their turn; try again in a moment")
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="textsobol", daemon=True)
                self._thread.start()
            self._short.append(job)
            self._changed.notify_all()

    def cancel(self, tab: str) -> None:
        """End what a page asked for."""
        with self._changed:
            self._cancel(tab)

    def _cancel(self, tab: str) -> None:
        for job in (*self._short, *self._long, *self._running):
            if job.tab == tab and job.is_newest:
                job.cancel()

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs and nothing waits."""
        with self._changed:
            return not (self._running or self._short or self._long)

    def close(self) -> None:
        """End all jobs and the thread."""
        with self._changed:
            self._is_closed = True
            for job in (*self._short, *self._long, *self._running):
                job.cancel()
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(timeout=30)

    def _work(self) -> None:
        while True:
            with self._changed:
                while not (self._short or self._long or self._is_closed):
                    self._changed.wait()
                if self._is_closed and not self._short and not self._long:
                    return
                is_short = bool(self._short)
                job = self._short.popleft() if is_short else self._long.popleft()
                self._running.append(job)
            if is_short:
                self._run_short(job)
            else:
                self._run_long(job)

    def _run_short(self, job: Job) -> None:
        job.pulse = lambda n_masks: job.check()
        has_more = self._run(job, job.short) and job.long is not None
        with self._changed:
            self._running.remove(job)
            if has_more:
                self._long.append(job)
        if not has_more:
            _end(job)

    def _run_long(self, job: Job) -> None:
        assert job.long is not None
        job.pulse = lambda n_masks: self._pulse(job)
        job.deadline = time.monotonic() + job.seconds
        self._run(job, job.long)
        with self._changed:
            self._running.remove(job)
        _end(job)

    def _pulse(self, job: Job) -> None:
        """Between two batches of a long part: check it, then run the short parts that wait."""
        job.check()
        while True:
            with self._changed:
                if not self._short:
                    return
                short = self._short.popleft()
                self._running.append(short)
            self._run_short(short)
            job.check()

    def _run(self, job: Job, part: Callable[[Job], None]) -> bool:
        """Run a part of a job; whether it came to its end."""
        try:
            job.check()
            part(job)
        except Stopped:
            return False
        except Exception as error:
            job.send("error", {"message": describe_failure(error)})
            return False
        return True


def _end(job: Job) -> None:
    if not job.is_ended:
        job.is_ended = True
        job.send("end", None)


def describe_failure(error: Exception) -> str:
    """What went wrong in one line, without secrets; a mistake of our own is logged."""
    if not isinstance(error, _EXPECTED):
        frames = traceback.extract_tb(error.__traceback__)
        where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "?"
        print(f"textsobol serve: {type(error).__name__} at {where}", file=sys.stderr)
        return f"internal error: {type(error).__name__}"
    return replace_controls(Redaction()(name_error(error)))[:_LONGEST_MESSAGE]
