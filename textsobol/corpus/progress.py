"""How far a job is: texts a second, and when it will be done."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from textsobol.corpus.reading import Plan

_MOST_BEFORE_THE_END = 0.95  # of a text's work
_SILENCE = 30.0  # seconds between lines, where there is no terminal for a bar


class JobProgress:
    """A bar on a terminal, else a line now and then.

    The end is told from the work that is left, not from the number of texts: long ones take
    much longer than short ones.

    Args:
        enabled: never shows anything when false.
    """

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled
        self._n_texts: int | None = None
        self._n_before = 0
        self._left: float | None = None
        self._n_done = 0
        self._work_done = 0.0
        self._parts: dict[int, float] = {}  # of texts that are not done, by their rows
        self._start = self._last = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> JobProgress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def expect(self, plans: Sequence[Plan], todo: Sequence[Plan]) -> None:
        """What there is in all, and what is left to do."""
        self._n_texts = sum(plan.n_texts for plan in plans)
        self._n_before = self._n_texts - sum(plan.n_texts for plan in todo)
        self._left = sum(plan.work for plan in todo)
        self._start = time.monotonic()
        if self._enabled and self._n_before:
            print(f"{self._n_before:,} of {self._n_texts:,} texts are done", file=sys.stderr)

    def part_done(self, work: float, share: float, row: int) -> None:
        """A share of a text: many are under way at once, and end at about the same time.

        Args:
            work: of the whole text.
            share: of it that was done; what is left for its end is never all gone before.
            row: of the text.
        """
        before = self._parts.get(row, 0.0)
        self._parts[row] = min(_MOST_BEFORE_THE_END * work, before + share * work)
        self._advance(0, self._parts[row] - before)

    def text_done(self, work: float, row: int) -> None:
        """One more text."""
        self._advance(1, work - self._parts.pop(row, 0.0))

    def shard_done(self, plan: Plan) -> None:
        """All texts of a shard at once."""
        self._advance(plan.n_texts, plan.work)

    def line(self) -> str:
        """What is known now."""
        seconds = max(1e-9, time.monotonic() - self._start)
        done = self._n_before + self._n_done
        of = "" if self._n_texts is None else f" of {self._n_texts:,}"
        said = f"{done:,}{of} texts"
        if self._left is None or self._n_texts is None or not self._work_done:
            return f"{said}, {self._n_done / seconds:.2f} texts a second"
        share = min(1.0, self._work_done / self._left)
        rate = share * (self._n_texts - self._n_before) / seconds
        left = seconds * (1 - share) / share
        return f"{said}, {rate:.2f} texts a second, about {duration(left)} left"

    def _advance(self, n_texts: int, work: float) -> None:
        self._n_done += n_texts
        self._work_done += work
        if not self._enabled:
            return
        if self._bar is None and self._task is None:
            self._task = self._show()
        if self._bar is not None:
            self._bar.update(self._task, completed=self._work_done, told=self.line())
        elif time.monotonic() - self._last >= _SILENCE:
            self._last = time.monotonic()
            print(self.line(), file=sys.stderr, flush=True)

    def _show(self) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        console = Console(stderr=True)
        if not (console.is_terminal or console.is_jupyter):
            return "lines"
        self._bar = Progress(BarColumn(), TextColumn("{task.fields[told]}"), console=console)
        self._bar.start()
        return self._bar.add_task("", total=self._left, told="")


def duration(seconds: float) -> str:
    """A time as a person says it.

    Example:
        >>> duration(40), duration(600), duration(7300), duration(200_000)
        ('40 s', '10 min', '2.0 h', '2.3 days')
    """
    for size, name, digits in ((86_400, "days", 1), (3600, "h", 1), (60, "min", 0)):
        if seconds >= 2 * size or (size < 86_400 and seconds >= size):
            return f"{seconds / size:.{digits}f} {name}"
    return f"{seconds:.0f} s"
