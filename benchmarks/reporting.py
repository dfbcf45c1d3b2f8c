"""What every benchmark's report shares: reading results, means with intervals, tables.

Results are JSON lines: a header with the settings of the run, then a line for every variant of a
method and every input.
"""

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import bootstrap

from textsobol.sobol.arrays import Floats

RESAMPLES = 10_000
_DRAWN_AT_ONCE = 2**20  # numbers in memory, whatever the number of inputs

Line = Mapping[str, Any]


@dataclass(frozen=True)
class Results:
    """A file of results: the settings of the run, its lines, and the commands that made them."""

    settings: Mapping[str, Any]
    lines: Sequence[Line]
    commands: Sequence[str] = ()


@dataclass(frozen=True)
class Estimate:
    """A mean over inputs and its 95 % interval, which is NaN for a single input."""

    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Cell:
    """What a table says in one place; `place` is 1 for the best of its column, 2 for the next."""

    text: str
    place: int = 0
    after: str = ""  # what is not emphasised, such as an interval

    def markdown(self) -> str:
        """The best is bold, the second best underlined."""
        text = escaped(self.text)
        text = {1: f"**{text}**", 2: f"<u>{text}</u>"}.get(self.place, text)
        return f"{text} {escaped(self.after)}" if self.after else text


@dataclass(frozen=True)
class Table:
    """A table of groups of rows; a group without a name has no line of its own."""

    title: str
    caption: str
    header: Sequence[str]
    groups: Sequence[tuple[str, Sequence[Sequence[Cell]]]]

    def markdown(self) -> str:
        """The table alone, without title and caption.

        Example:
            >>> row = [Cell("Sobol"), Cell("0.412", place=1, after="[0.401, 0.423]")]
            >>> print(Table("", "", ["method", "deletion"], [("black box", [row])]).markdown())
            | method | deletion |
            |---|---:|
            | *black box* |  |
            | Sobol | **0.412** [0.401, 0.423] |
        """
        lines = [self.header]
        for name, rows in self.groups:
            if name:
                lines.append([f"*{escaped(name)}*", *[""] * (len(self.header) - 1)])
            lines.extend([cell.markdown() for cell in row] for row in rows)
        made = ["| " + " | ".join(line) + " |" for line in lines]
        # Names to the left, numbers to the right.
        return "\n".join([made[0], "|---|" + "---:|" * (len(self.header) - 1), *made[1:]])


def read_results(path: Path) -> Results:
    """Read a file of results, plain or as ``.gz``; a last line that a stop cut off is left out.

    Raises:
        ValueError: if there is no header, or another line than the last cannot be read.
    """
    lines = []
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                lines.append(json.loads(line))
            except ValueError as error:
                if line.endswith(b"\n"):
                    raise ValueError(f"{path}, line {number} is not JSON") from error
    if not lines or "settings" not in lines[0]:
        raise ValueError(f"{path} does not begin with a header of settings")
    headers = [line["settings"] for line in lines if "settings" in line]
    commands = dict.fromkeys(header["_command"] for header in headers if header.get("_command"))
    return Results(headers[-1], [line for line in lines if "settings" not in line], list(commands))


def mean_with_interval(values: Any, seed: int = 0) -> Estimate:
    """The mean and its 95 % interval: percentiles of the means of inputs drawn again.

    Example:
        >>> mean_with_interval([0.0, 1.0] * 50)
        Estimate(mean=0.5, low=0.4, high=0.6, n=100)
    """
    numbers = np.asarray(values, dtype=np.float64)
    n = len(numbers)
    if n == 0:
        raise ValueError("a mean needs at least one value")
    if n == 1:
        return Estimate(float(numbers[0]), np.nan, np.nan, 1)
    low, high = bootstrap(
        (numbers,),
        np.mean,
        n_resamples=RESAMPLES,
        batch=max(1, _DRAWN_AT_ONCE // n),
        method="percentile",
        rng=seed,
    ).confidence_interval
    return Estimate(float(numbers.mean()), float(low), float(high), n)


def paired_difference(a: Mapping[str, float], b: Mapping[str, float], seed: int = 0) -> Estimate:
    """The mean of a - b, and its interval, over the inputs that both have.

    Inputs differ more than methods do; the difference on the same inputs is far surer than the
    intervals of both means tell.

    Example:
        >>> difference = paired_difference({"x": 0.5, "y": 0.25, "z": 9.0}, {"y": 0.5, "x": 1.0})
        >>> difference.mean, difference.n
        (-0.375, 2)
    """
    both = pd.DataFrame({"a": pd.Series(a), "b": pd.Series(b)}).reindex(list(a.keys())).dropna()
    if both.empty:
        raise ValueError("the two have no input in common")
    return mean_with_interval(both["a"] - both["b"], seed)


def mean_curve(curves: Iterable[Sequence[float]]) -> Floats:
    """The mean of curves that may end early, as those of short texts; they stay at their end.

    Example:
        >>> mean_curve([[1.0, 0.5], [1.0, 1.0, 0.0]])
        array([1.  , 0.75, 0.25])
    """
    # Leaving them out where they have ended would change what the mean is over, and make it jump.
    longest = max(map(len, curves))
    return np.mean([[*curve, *[curve[-1]] * (longest - len(curve))] for curve in curves], axis=0)


def places(
    values: Sequence[float], *, higher_is_better: bool, eligible: Sequence[bool] | None = None
) -> list[int]:
    """Which values of a column are the best (1), the second best (2), or neither (0).

    Values that look the same in the table share a place; what is not eligible has none.

    Example:
        >>> places([0.5, 0.4001, 0.4, 0.1], higher_is_better=False,
        ...        eligible=[True, True, True, False])
        [2, 1, 1, 0]
    """
    shown = pd.Series([round(value, 3) for value in values])
    taking_part = shown if eligible is None else shown[list(eligible)]
    ranks = taking_part.rank(method="dense", ascending=not higher_is_better)
    return [int(rank) if rank <= 2 else 0 for rank in ranks.reindex(shown.index)]


def decimal(value: float, digits: int = 3, *, sign: bool = False) -> str:
    """A rounded number that is never ``-0.000``.

    Example:
        >>> decimal(-0.0001), decimal(0.25, 1), decimal(0.5, sign=True)
        ('0.000', '0.2', '+0.500')
    """
    rounded = round(value, digits) + 0.0  # -0.0 + 0.0 is 0.0
    return f"{rounded:+.{digits}f}" if sign and rounded else f"{rounded:.{digits}f}"


def interval(estimate: Estimate, *, sign: bool = False) -> str:
    """The interval in brackets, nothing if there is none.

    Example:
        >>> interval(Estimate(0.0, -0.01, 0.01, 9), sign=True)
        '[-0.010, +0.010]'
    """
    if np.isnan(estimate.low):
        return ""
    return f"[{decimal(estimate.low, sign=sign)}, {decimal(estimate.high, sign=sign)}]"


def escaped(text: str) -> str:
    r"""Text that means nothing to Markdown, not even inside a table.

    Example:
        >>> print(escaped("a|b *c* <d>"))
        a\|b \*c\* \<d>
    """
    for special in ("\\", "|", "*", "`", "<"):
        text = text.replace(special, f"\\{special}")
    return " ".join(text.split())
