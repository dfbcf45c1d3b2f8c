"""How the results of a benchmark are read: what its report measures, compares, says and draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.reporting import Line

if TYPE_CHECKING:
    from benchmarks.summary import Variant


@dataclass(frozen=True)
class Value:
    """A number that a line tells, or ``None`` where it does not."""

    of: Callable[[Line], float | None]
    higher_is_better: bool
    with_interval: bool = False  # in tables
    title: str = ""  # in tables, if not its name


@dataclass(frozen=True)
class Drawing:
    """How figures of deletion look."""

    x_label: str
    x_of: Callable[[int], Sequence[float]]  # points of a curve to the places of those drawn
    passes_label: str
    passes_in_words: Callable[[float], str]
    references: Sequence[str]  # methods whose passes cannot be chosen, drawn as levels
    is_usual: Callable[[Variant], bool]  # drawn unless asked for; all would be too many lines


@dataclass(frozen=True)
class Reading:
    """How the results of a benchmark are read.

    Attributes:
        of: the field of a line that names its input, such as ``review``; with an s, inputs.
        asked: the field with the passes that were asked for, where a method can choose.
        cost: a line to the passes that were made, in the same unit.
        cost_name: of that unit, in the header of the table; with underscores in the CSV.
        cost_digits: that the table shows of it.
        keeps: whether keep rates are compared, and have a column.
        values: what is measured, by name and in the order of the table; ``deletion`` is the first.
        compared: what deletion is compared with, input by input: a method and its variant, or
            ``None`` for any, by name.
        differences: the columns of these comparisons, by name; ``best`` is the best of all.
        is_right: whether the model was right on the input of a line.
        same: settings that results in one table must share.
        described: settings to what a caption says after the number of inputs.
        shows_n: whether every figure tells the number of its inputs.
        drawing: how figures look.
    """

    of: str
    asked: str
    cost: Callable[[Line], float]
    cost_name: str
    cost_digits: int
    keeps: bool
    values: Mapping[str, Value]
    compared: Mapping[str, tuple[str, str | None]]
    differences: Mapping[str, str]
    is_right: Callable[[Line], bool]
    same: Sequence[str]
    described: Callable[[Mapping[str, Any]], str]
    shows_n: bool
    drawing: Drawing
