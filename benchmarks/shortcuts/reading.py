"""Results that run has written, as measures by text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reporting import Line, read_results
from benchmarks.shortcuts.measures import gap, measure
from benchmarks.shortcuts.obedience import is_used
from benchmarks.shortcuts.plants import PLANTS, Plant
from benchmarks.shortcuts.variants import EXACT

ByText = Mapping[str, float]


@dataclass(frozen=True)
class Found:
    """What methods found in one model.

    Attributes:
        settings: of the run.
        commands: that made the results.
        measures: by variant and text, all measures, and numbers of words and passes.
    """

    settings: Mapping[str, Any]
    commands: Sequence[str]
    measures: Mapping[str, Mapping[str, ByText]]

    @property
    def plant(self) -> Plant:
        """What decides."""
        return PLANTS[self.settings["plant"]]

    @property
    def base(self) -> str:
        """The model before words were planted."""
        return str(self.settings["trained"]["base"])

    @cached_property
    def is_used(self) -> bool:
        """Whether the model uses its plant: else what methods find proves nothing."""
        return is_used(self.settings["use"])

    def of(self, variant: str, name: str) -> ByText:
        """A measure by text; empty where the variant does not have it."""
        every = self.measures.get(variant, {})
        return {text: own[name] for text, own in every.items() if name in own}

    def found(self, variant: str, name: str) -> ByText:
        """Precision or rank, of what the plant is ranked by; scores without signs are sizes."""
        signed = {} if self.plant.by_size else self.of(variant, name)
        return signed or self.of(variant, f"{name} by size")


def load(paths: Iterable[Path]) -> list[Found]:
    """Read files of results, one for every model; in the order of the plants."""
    found = []
    for path in paths:
        results = read_results(path)
        measures: dict[str, dict[str, ByText]] = {}
        for line in results.lines:
            measures.setdefault(line["variant"], {})[line["text"]] = _measured(line)
        found.append(Found(results.settings, results.commands, _complete(measures)))
    order = list(PLANTS)
    return sorted(found, key=lambda each: (each.base, order.index(each.plant.name)))


def _complete(measures: Mapping[str, Mapping[str, ByText]]) -> dict[str, Mapping[str, ByText]]:
    """Without variants that a stop has left with fewer texts than others: these may be easier.

    Indices from all masks are of short texts only.
    """
    most = max(map(len, measures.values()), default=0)
    return {name: own for name, own in measures.items() if len(own) == most or name == EXACT}


def _measured(line: Line) -> ByText:
    scores = np.array(line["scores"])
    found = measure(scores, line["planted"], line["distractors"], is_signed=line["is_signed"])
    if "effects" in line:
        found["gap of effects"] = gap(np.array(line["effects"]), line["planted"])
    return {**found, **{name: float(line[name]) for name in ("words", "passes")}}
