"""What a benchmark runs: ways to explain, each with the kinds of score that come of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.rivals import RIVALS
from benchmarks.rivals.apart import APART
from benchmarks.rivals.ridge import Ridge
from textsobol.methods import METHODS as OWN_METHODS

METHODS = {**OWN_METHODS, **RIVALS, "ridge": Ridge(), **APART}


@dataclass(frozen=True, kw_only=True)
class Way:
    """One way to explain, which gives one or several orders of the features.

    Attributes:
        method: name in the registry.
        names: of the results, one for each kind of score.
        titles: how tables call them.
        scores: the kinds of score.
        keep: keep rate, of ours only.
        options: of the method.
        shown_as: how results name what was run, where that is not the method itself.
    """

    method: str
    names: Sequence[str]
    titles: Sequence[str]
    scores: Sequence[str | None] = (None,)
    keep: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    shown_as: str | None = None

    @property
    def kind(self) -> str:
        """How the report groups it."""
        return METHODS[self.method].kind if self.shown_as is None else "search"

    def budget(self, n_features: int) -> int | None:
        """Masks that may be scored; ``None`` where options say so."""
        return METHODS[self.method].natural_masks(n_features)
