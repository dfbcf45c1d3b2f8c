"""A progress bar that appears only when a person would begin to wonder."""

import time
from types import TracebackType
from typing import Any

_PATIENCE = 1.0  # seconds before the first look
_LONG = 2.0  # seconds that a whole job may take without a bar


class LateProgress:
    """Counts rows; shows a bar on a terminal or notebook once the work will take long.

    Args:
        total: number of rows to come.
        enabled: never shows anything when false.
    """

    def __init__(self, total: int, *, enabled: bool) -> None:
        self._total = total
        self._enabled = enabled
        self._done = 0
        self._start = time.perf_counter()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> "LateProgress":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def tick(self, n_rows: int) -> None:
        """Count ``n_rows`` more as done."""
        self._done += n_rows
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done)
            return
        elapsed = time.perf_counter() - self._start
        if self._enabled and self._done and elapsed > _PATIENCE:
            if elapsed * self._total / self._done > _LONG:
                self._show()
            else:
                self._enabled = False

    def more(self, n_rows: int) -> None:
        """Expect ``n_rows`` on top of the total."""
        self._total += n_rows
        if self._bar is not None:
            self._bar.update(self._task, total=self._total)

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        console = Console(stderr=True)
        if not (console.is_terminal or console.is_jupyter):
            self._enabled = False
            return
        self._bar = Progress(
            "explaining", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
            console=console, transient=True,
        )  # fmt: skip
        self._bar.start()
        self._task = self._bar.add_task("", total=self._total, completed=self._done)
