"""One runner for all benchmarks: makes what is missing, input by input, and tells how far it is."""

from __future__ import annotations

import sys
import warnings
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from tqdm import tqdm

from benchmarks.store import Store
from benchmarks.ways import Way


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
    with progress_bar(n_planned, "passes", model) as bar, warnings.catch_warnings():
        # The paper's design is aliased, and some texts are longer than the window.
        warnings.simplefilter("ignore")
        for one, missing, passes in plans:
            for results, n_passes in zip(explain(one, missing), passes, strict=True):
                for result in results:
                    if store.key_of(result) not in store.done:
                        store.add(result)
                bar.update(n_passes)
    return len(store.done) - n_before


def seed_of(one: Identified, seed: int) -> int:
    """A seed of its own for every input, whatever the order."""
    return zlib.crc32(f"{seed} {one.id}".encode())


def progress_bar(total: int, what: str, model: str) -> Any:
    """How far a run is and how long it will still take; a line a minute without a terminal."""
    seconds = 0.1 if sys.stderr.isatty() else 60.0
    return tqdm(
        total=total, unit=f" {what}", desc=model, smoothing=0, mininterval=seconds,
        maxinterval=10 * seconds, miniters=1,
    )  # fmt: skip


def _missing(
    asked: Sequence[AnyWay], one: Identified, store: Store, model: str, of: str
) -> list[AnyWay]:
    def is_missing(way: Way) -> bool:
        keys = [{"model": model, "variant": name, of: one.id} for name in way.names]
        return any(store.key_of(key) not in store.done for key in keys)

    return [way for way in asked if is_missing(way)]
