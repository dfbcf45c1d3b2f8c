"""One runner for all benchmarks: makes what is missing, input by input, and tells how far it is."""

from __future__ import annotations

import sys
import time
import warnings
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks.store import Store
from benchmarks.ways import Way

# Seconds that the estimate of the remaining time looks back on: one input may take minutes.
_LOOKS_BACK = 3600.0
_SILENCE = 60.0  # seconds between lines of progress


class Identified(Protocol):
    """An input with a name of its own."""

    @property
    def id(self) -> str:
        """Tells it from all others."""


AnyInput = TypeVar("AnyInput", bound=Identified)
AnyWay = TypeVar("AnyWay", bound=Way)


def fill(
    store: Store,
    inputs: Sequence[AnyInput],
    asked: Sequence[AnyWay],
    explain: Callable[[AnyInput, Sequence[AnyWay]], Iterable[Iterable[dict[str, Any]]]],
    planned: Callable[[AnyInput, Sequence[AnyWay]], Sequence[int]],
    *,
    model: str,
    of: str,
) -> int:
    """Fill the store with what is not there yet; returns how many results were added.

    Args:
        store: whose key is the model, the variant and the input.
        inputs: what to explain.
        asked: all ways to explain that are wanted.
        explain: an input and the ways that it misses to the results of each of them in turn.
        planned: the same to about how many forward passes each of them makes.
        model: its name.
        of: the field of a result that names the input, such as ``review``.
    """
    todo = [(one, _missing(asked, one, store, model, of)) for one in inputs]
    plans = [(one, missing, planned(one, missing)) for one, missing in todo if missing]
    if not plans:
        return 0
    n_before = len(store.done)
    n_planned = sum(sum(passes) for *_, passes in plans)
    told = _LinesOfProgress(n_planned)
    with progress_bar(n_planned, "passes") as bar, warnings.catch_warnings():
        # The paper's design is aliased, and some texts are longer than the window.
        warnings.simplefilter("ignore")
        task = bar.add_task(model, total=n_planned)
        for one, missing, passes in plans:
            for results, n_passes in zip(explain(one, missing), passes, strict=True):
                for result in results:
                    if store.key_of(result) not in store.done:
                        store.add(result)
                bar.advance(task, n_passes)
                told.advance(n_passes)
    return len(store.done) - n_before


def seed_of(one: Identified, seed: int) -> int:
    """A seed of its own for every input, whatever the order."""
    return zlib.crc32(f"{seed} {one.id}".encode())


def progress_bar(total: int, what: str) -> Progress:
    """How far a run is, and how long it will still take.

    Args:
        total: of all that will be done.
        what: it counts: forward passes, best, which take about the same time each.
    """
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn(f"{{task.percentage:>3.0f}} % of {total:,} {what}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        speed_estimate_period=_LOOKS_BACK,
    )


class _LinesOfProgress:
    """A line now and then, where there is no terminal for a bar: a long run must not look dead."""

    def __init__(self, n_planned: int) -> None:
        self._n_planned, self._n_done = n_planned, 0
        self._enabled = not Console(stderr=True).is_terminal
        self._start = self._last = time.monotonic()

    def advance(self, n_passes: int) -> None:
        self._n_done += n_passes
        now = time.monotonic()
        if not self._enabled or now - self._last < _SILENCE:
            return
        self._last = now
        left = (now - self._start) * (self._n_planned - self._n_done) / max(1, self._n_done)
        print(
            f"{100 * self._n_done / self._n_planned:.0f} % of {self._n_planned:,} passes, "
            f"about {left / 60:.0f} minutes left",
            file=sys.stderr,
            flush=True,
        )


def _missing(
    asked: Sequence[AnyWay], one: Identified, store: Store, model: str, of: str
) -> list[AnyWay]:
    def is_missing(way: Way) -> bool:
        keys = [{"model": model, "variant": name, of: one.id} for name in way.names]
        return any(store.key_of(key) not in store.done for key in keys)

    return [way for way in asked if is_missing(way)]
