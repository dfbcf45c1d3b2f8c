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
import numpy.typing as npt

RESAMPLES = 10_000
_DRAWN_AT_ONCE = 2**20  # numbers in memory, whatever the number of inputs
# What looks for good deletions, and what knows nothing, explain nothing: they are only limits.
_NO_ATTRIBUTION = ("search", "baseline")

Line = Mapping[str, Any]


@dataclass(frozen=True)
class Results:
    """A file of results: the settings of the run, its lines, and the commands that made them."""

    settings: Mapping[str, Any]
    lines: Sequence[Line]
    commands: Sequence[str] = ()


@dataclass(frozen=True)
class Variant:
    """A method with its settings, and what it came to on every input."""

    method: str
    name: str
    title: str
    kind: str
    keep: float | None
    asked: float | None  # passes, where a method can choose
    score: str | None
    lines: Mapping[str, Line]

    @property
    def is_attribution(self) -> bool:
        """Whether it explains, rather than marks what the best or the worst could be."""
        return self.kind not in _NO_ATTRIBUTION


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
    commands = dict.fromkeys(str(header.get("_command", "")) for header in headers)
    return Results(
        headers[-1],
        [line for line in lines if "settings" not in line],
        [command for command in commands if command],
    )


def by_variant(lines: Iterable[Line], *, of: str, asked: str = "") -> list[Variant]:
    """Group lines by method and variant, in the order in which they come first.

    Raises:
        ValueError: if an input comes twice for a variant.

    Args:
        lines: of a file of results.
        of: the field that names the input, such as ``"review"``.
        asked: the field with the passes that were asked for, if there is one.

    Example:
        >>> line = {"method": "lime", "variant": "4", "title": "LIME", "kind": "black box",
        ...         "review": "test-17", "rows": 496}
        >>> [variant] = by_variant([line, {**line, "review": "test-18"}], of="review")
        >>> variant.title, list(variant.lines)
        ('LIME', ['test-17', 'test-18'])
    """
    grouped: dict[tuple[str, str], dict[str, Line]] = {}
    for line in lines:
        own = grouped.setdefault((line["method"], line["variant"]), {})
        if line[of] in own:
            raise ValueError(f"{line['variant']}: two results for {line[of]}")
        own[line[of]] = line
    return [_variant(found, asked) for found in grouped.values()]


def _variant(lines: Mapping[str, Line], asked: str) -> Variant:
    first = next(iter(lines.values()))
    return Variant(
        method=first["method"],
        name=first["variant"],
        title=first["title"],
        kind=first["kind"],
        keep=first.get("keep"),
        asked=first.get(asked),
        score=first.get("score"),
        lines=lines,
    )


def mean_with_interval(
    values: Sequence[float] | npt.NDArray[np.float64], seed: int = 0
) -> Estimate:
    """The mean and its 95 % interval: percentiles of the means of inputs drawn again.

    Example:
        >>> mean_with_interval([0.0, 1.0] * 50)
        Estimate(mean=0.5, low=0.4, high=0.6, n=100)
    """
    numbers = np.asarray(values, dtype=np.float64)
    n = len(numbers)
    if n == 0:
        raise ValueError("a mean needs at least one value")
    mean = float(numbers.mean())
    if n == 1:
        return Estimate(mean, float("nan"), float("nan"), 1)
    rng = np.random.default_rng(seed)
    at_once = max(1, _DRAWN_AT_ONCE // n)
    means = np.empty(RESAMPLES)
    for start in range(0, RESAMPLES, at_once):
        part = means[start : start + at_once]
        part[:] = numbers[rng.integers(n, size=(len(part), n))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return Estimate(mean, float(low), float(high), n)


def paired_difference(a: Mapping[str, float], b: Mapping[str, float], seed: int = 0) -> Estimate:
    """The mean of a - b, and its interval, over the inputs that both have.

    Inputs differ more than methods do; the difference on the same inputs is far surer than the
    intervals of both means tell.

    Example:
        >>> difference = paired_difference({"x": 0.5, "y": 0.25, "z": 9.0}, {"y": 0.5, "x": 1.0})
        >>> difference.mean, difference.n
        (-0.375, 2)
    """
    common = [key for key in a if key in b]
    if not common:
        raise ValueError("the two have no input in common")
    return mean_with_interval([a[key] - b[key] for key in common], seed)


def mean_curve(curves: Sequence[Sequence[float]]) -> npt.NDArray[np.float64]:
    """The mean of curves that may end early, as those of short texts; they stay at their end.

    Leaving them out where they have ended would change what the mean is over, and make it jump.

    Example:
        >>> mean_curve([[1.0, 0.5], [1.0, 1.0, 0.0]])
        array([1.  , 0.75, 0.25])
    """
    longest = max(map(len, curves))
    return np.mean([[*curve, *[curve[-1]] * (longest - len(curve))] for curve in curves], axis=0)


def places(
    values: Sequence[float],
    *,
    higher_is_better: bool,
    eligible: Sequence[bool] | None = None,
    digits: int = 3,
) -> list[int]:
    """Which values of a column are the best (1), the second best (2), or neither (0).

    Args:
        values: the column.
        higher_is_better: whether the best is the highest.
        eligible: which of them take part; by default all.
        digits: what is shown; values that look the same share a place.

    Example:
        >>> places([0.5, 0.4001, 0.4, 0.1], higher_is_better=False,
        ...        eligible=[True, True, True, False])
        [2, 1, 1, 0]
    """
    takes_part = [True] * len(values) if eligible is None else eligible
    shown = [round(value, digits) for value in values]
    ranked = sorted(
        {value for value, takes in zip(shown, takes_part, strict=True) if takes},
        reverse=higher_is_better,
    )[:2]
    return [
        ranked.index(value) + 1 if takes and value in ranked else 0
        for value, takes in zip(shown, takes_part, strict=True)
    ]


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
