"""Progress on stderr: a bar for one explanation, and for a job of many texts."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Self

_FIRST_ESTIMATE = 1.0  # seconds before the remaining time is estimated
_LONG = 2.0  # seconds; shorter explanations get no bar
_ANNOUNCED = 30.0  # seconds; longer explanations say first what they cost
_BATCHES = 10  # that say how long the others take
_BETWEEN_LINES = 30.0  # seconds, for a job without a terminal


Expect = Callable[[int, Callable[[float], str]], None]
"""Given the most masks of an explanation, and how to say what they cost in so many seconds."""


class _Bar:
    """A bar on a terminal or in a notebook, closed at the end of the ``with`` block."""

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled
        self._start = time.monotonic()
        self._bar: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _open(self, *, is_job: bool, **task: Any) -> bool:
        """Show the bar; false if there is no terminal."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        console = Console(stderr=True)
        if console.is_terminal or console.is_jupyter:
            one = "explaining", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
            columns = (BarColumn(), "{task.description}") if is_job else one
            self._bar = Progress(*columns, console=console, transient=not is_job)
            self._bar.start()
            self._bar.add_task("", **task)
        return self._bar is not None

    def _update(self, **changes: Any) -> None:
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], **changes)


class LateProgress(_Bar):
    """Counts forward passes; the bar appears if the work will take over 2 seconds."""

    def __init__(self, total: int, *, enabled: bool) -> None:
        super().__init__(enabled=enabled)
        self._total, self._done = total, 0
        self._n_batches = 0
        self._announce: Callable[[float], str] | None = None

    def tick(self, n_passes: int) -> None:
        """Count forward passes as done."""
        self._done += n_passes
        self._n_batches += n_passes > 0
        self._update(completed=self._done)
        elapsed = time.monotonic() - self._start
        if self._bar is None and self._enabled and self._done and elapsed > _FIRST_ESTIMATE:
            is_long = elapsed * self._total / self._done > _LONG
            task = {"total": self._total, "completed": self._done}
            self._enabled = is_long and self._open(is_job=False, **task)
        if self._announce is not None and self._n_batches >= _BATCHES:
            seconds = elapsed * self._total / max(1, self._done)
            if seconds > _ANNOUNCED:
                print(self._announce(seconds), file=sys.stderr, flush=True)
            self._announce = None

    def expect(self, n_passes: int, announce: Callable[[float], str] | None = None) -> None:
        """Add forward passes to the total; ``announce`` says what they cost if that is much."""
        self._total += n_passes
        self._announce = announce if self._enabled else None
        self._update(total=self._total)


class JobProgress(_Bar):
    """Counts the texts of a job: a bar on a terminal, else a line every 30 seconds.

    The time left is estimated from the work: long texts take much longer than short ones.
    """

    def __init__(self, *, enabled: bool) -> None:
        super().__init__(enabled=enabled)
        self._n_texts: int | None = None  # unknown for a stream
        self._n_before = self._n_done = 0
        self._work_left = self._work_done = 0.0
        self._parts: dict[int, float] = {}  # work done on unfinished texts, by row
        self._last = self._start
        self._has_bar: bool | None = None  # unknown before the first step

    def expect(self, n_texts: int, n_left: int, work: float) -> None:
        """Set the number of texts, how many are left, and the work for these."""
        self._n_texts, self._n_before, self._work_left = n_texts, n_texts - n_left, work
        self._start = time.monotonic()
        if self._enabled and self._n_before:
            print(f"{self._n_before:,} of {n_texts:,} texts are done", file=sys.stderr)

    def count_part(self, row: int, work: float, fraction: float) -> None:
        """Count a fraction of a text's work; at most 95 % before the text is done."""
        before = self._parts.get(row, 0.0)
        self._parts[row] = min(0.95 * work, before + fraction * work)
        self.count_texts(0, self._parts[row] - before)

    def count_text(self, row: int, work: float) -> None:
        """Count a text as done."""
        self.count_texts(1, work - self._parts.pop(row, 0.0))

    def count_texts(self, n_texts: int, work: float) -> None:
        """Count several texts and their work as done."""
        self._n_done += n_texts
        self._work_done += work
        if not self._enabled:
            return
        if self._has_bar is None:
            self._has_bar = self._open(is_job=True, total=self._work_left or None)
        if self._has_bar:
            self._update(completed=self._work_done, description=self.describe())
        elif time.monotonic() - self._last >= _BETWEEN_LINES:
            self._last = time.monotonic()
            print(self.describe(), file=sys.stderr, flush=True)

    def describe(self) -> str:
        """Texts done, texts per second, and the time left if known."""
        seconds = max(1e-9, time.monotonic() - self._start)
        total = "" if self._n_texts is None else f" of {self._n_texts:,}"
        done = f"{self._n_before + self._n_done:,}{total} texts"
        if self._n_texts is None or not self._work_done:
            return f"{done}, {self._n_done / seconds:.2f} texts per second"
        done_part = min(1.0, self._work_done / self._work_left)
        rate = done_part * (self._n_texts - self._n_before) / seconds
        left = seconds * (1 - done_part) / done_part
        return f"{done}, {rate:.2f} texts per second, about {format_duration(left)} left"


def format_duration(seconds: float) -> str:
    """A duration in words.

    Example:
        >>> [format_duration(seconds) for seconds in (40, 600, 7300, 200_000)]
        ['40 s', '10 min', '2.0 h', '2.3 days']
    """
    for size, name, digits in ((86_400, "days", 1), (3600, "h", 1), (60, "min", 0)):
        if seconds >= 2 * size or (size < 86_400 and seconds >= size):
            return f"{seconds / size:.{digits}f} {name}"
    return f"{seconds:.0f} s"
