"""Do explanations converge, and do they hang on the model's weights? For any kind of input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.reporting import Line
from benchmarks.runner import AnyInput, progress_bar
from benchmarks.store import Store
from textsobol.metrics.agreement import spearman
from textsobol.sobol.arrays import Floats

SANITY_CAPTION = (
    "Rank correlation of the scores with those of the trained model, while its layers become "
    "random from the output down; near 0 is right: the explanation hangs on the weights.\n"
)

Explain = Callable[[AnyInput, str | None], tuple[Floats, str]]
"""An input and a label, by default the predicted one, to signed scores and the label."""


def convergence(
    inputs: Sequence[AnyInput],
    methods: Sequence[str],
    passes: Sequence[int],
    prepare: Callable[[AnyInput, str], Callable[[int], Mapping[str, Any]]],
    store: Store,
    *,
    model: str,
    of: str,
    asked: str,
) -> None:
    """Measure every method with ever more passes on every input, where that is not done yet.

    Args:
        inputs: what to explain.
        methods: names of what is compared.
        passes: how many are asked for.
        prepare: an input and a method to what is measured with so many passes. Called once for
            all passes: what they are compared with is found then.
        store: whose key is the model, the method, the passes and the input.
        model: its name.
        of: the field of a result that names the input.
        asked: the field with the passes.
    """

    def named(one: AnyInput, method: str, number: int) -> dict[str, Any]:
        return {"model": model, "method": method, asked: number, of: one.id}

    missing = [
        (one, method, number)
        for one in inputs
        for method in methods
        for number in passes
        if store.key_of(named(one, method, number)) not in store.done
    ]
    prepared: tuple[Any, ...] = ()
    with progress_bar(len(missing), "results", model) as bar:
        for one, method, number in missing:
            if prepared[:2] != (one.id, method):
                prepared = (one.id, method, prepare(one, method))
            store.add({**named(one, method, number), **prepared[2](number)})
            bar.update()


def sanity(
    inputs: Sequence[AnyInput],
    explain: Explain[AnyInput],
    stages: Iterable[tuple[str, Explain[AnyInput]]],
    store: Store,
    *,
    model: str,
    of: str,
) -> None:
    """Rank correlation of an explanation with that of a model whose upper layers are random.

    Args:
        inputs: what to explain.
        explain: by the model as it is.
        stages: what has become random last, and explanations by the model as it is then.
        store: whose key is the model, the stage and the input.
        model: its name.
        of: the field of a result that names the input.
    """
    original: dict[str, tuple[Floats, str]] = {}
    for stage, explain_then in stages:
        for one in inputs:
            line = {"model": model, "stage": stage, of: one.id}
            if store.key_of(line) in store.done:
                continue
            if one.id not in original:
                original[one.id] = explain(one, None)
            signed, label = original[one.id]
            found, _ = explain_then(one, label)
            store.add(
                {
                    **line,
                    "correlation": or_none(spearman(found, signed)),
                    "absolute": or_none(spearman(np.abs(found), np.abs(signed))),
                }
            )


def sanity_rows(lines: Sequence[Line]) -> Iterator[list[str]]:
    """Rows of a table: what has become random last, the correlation that is left, of how many."""
    columns = ["correlation", "absolute"]
    found = pd.DataFrame(lines).astype(dict.fromkeys(columns, float))
    for stage, own in found.groupby("stage", sort=False)[columns]:
        yield [stage, *(f"{mean:+.3f}" for mean in own.mean()), str(own["correlation"].count())]


def or_none(value: float) -> float | None:
    """JSON has no NaN."""
    return None if np.isnan(value) else value


def mean_and_spread(lines: Sequence[Line], name: str) -> tuple[float, float]:
    """Mean and standard deviation of a field, over the lines that tell it."""
    known = pd.Series([line[name] for line in lines], dtype=float)
    return float(known.mean()), float(known.std(ddof=0))
