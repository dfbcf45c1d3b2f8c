"""What will be scored: settings checked, and the number of rows found, before any is made."""

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from textsobol.sobol.arrays import Integers
from textsobol.sobol.designs import DESIGNS, check_keep
from textsobol.sobol.pick_freeze import PICK_FREEZE

ESTIMATORS = ("flip", "exact", *PICK_FREEZE)
SIGNS = ("mean", "occlusion", None)
MEMBERS = ("together", "independent")
DEFAULT_ROWS = 32  # the paper's N
MOST_ROWS = 64  # base rows' worth of passes to find a stable top with, when no budget is given
MOST_EXACT_FEATURES = 20  # a million masks

Pairs = int | Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Config:
    """A checked analysis: what will be scored, and how.

    Attributes:
        n_features: columns of the masks that the black box is given.
        groups: group of each feature ``(n_features,)``; its own number when there are none.
        is_grouped: whether groups were asked for.
        members: whether members of a group are masked ``together`` or ``independent``.
        estimator: name of the estimator, never ``auto``.
        design: name of the design; ``None`` for ``exact``.
        keep: keep rate, or ``None`` for real-valued masks.
        n_base: number of base rows N; 0 for ``exact``. With a ``precision``, what the passes buy
            as long as every feature is flipped.
        most_base: most base rows, with a ``precision``; ``None`` for as many as can be paid.
        pairs: the pairs asked for ``(pairs, 2)``, or ``None``.
        top_pairs: number of top features whose pairs are asked for, or 0.
        leader_rows: base rows more, in which only the leading features are flipped.
        sign: where the sign of a signed index comes from.
        budget: forward passes allowed, or ``None``.
        seed: of the design.
        precision: stability of the top at which to stop, or ``None`` for a fixed number of rows.
        stable_top: number of features at that top.
    """

    n_features: int
    groups: Integers
    is_grouped: bool
    members: str
    estimator: str
    design: str | None
    keep: float | None
    n_base: int
    most_base: int | None
    pairs: Integers | None
    top_pairs: int
    leader_rows: int
    sign: str | None
    budget: int | None
    seed: int
    precision: float | None
    stable_top: int

    @property
    def n_indices(self) -> int:
        """Number of features, or of groups when there are groups."""
        return int(self.groups.max()) + 1

    @property
    def units(self) -> Integers:
        """The unit of each feature: what is present or absent on its own ``(n_features,)``."""
        return np.arange(self.n_features) if self.members == "independent" else self.groups

    @property
    def n_units(self) -> int:
        """Number of columns of the design."""
        return int(self.units.max()) + 1

    @property
    def unit_groups(self) -> Integers:
        """The group of each unit ``(n_units,)``."""
        return self.groups if self.members == "independent" else np.arange(self.n_indices)

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        if self.pairs is not None:
            return len(self.pairs)
        return self.top_pairs * (self.top_pairs - 1) // 2

    @property
    def passes_per_base_mask(self) -> int:
        """Rows that every base row costs."""
        if self.estimator == "flip":
            return 1 + self.n_units + self.n_pairs
        return 2 + self.n_indices

    @property
    def extra_rows(self) -> int:
        """Rows beside those of the base rows in which every feature is flipped."""
        of_sign = 1 + self.n_indices if self.sign == "occlusion" else 0
        return of_sign + self.leader_rows * (1 + count_leaders(self.n_units))

    @property
    def passes(self) -> int:
        """Rows that may be scored for base rows and flips."""
        if self.budget is None:
            return self.n_base * self.passes_per_base_mask
        return self.budget - self.extra_rows

    @property
    def usual_base(self) -> int:
        """Number of base rows when nothing else is said."""
        return DEFAULT_ROWS if self.precision is None else MOST_ROWS

    @property
    def n_rows(self) -> int:
        """Rows of the whole design, repeats included."""
        rows = (
            2**self.n_units
            if self.estimator == "exact"
            else self.n_base * self.passes_per_base_mask
        )
        return rows + self.extra_rows


def make_config(
    n_features: int,
    *,
    estimator: str = "flip",
    design: str | None = None,
    keep: float | None = 0.5,
    budget: int | None = None,
    rows: int | None = None,
    seed: int = 0,
    sign: str | None = "mean",
    groups: ArrayLike | None = None,
    members: str = "together",
    pairs: Pairs | None = None,
    precision: float | None = None,
    stable_top: int = 5,
    leader_rows: int = 0,
) -> Config:
    """Check the settings, resolve ``auto`` and find how many base rows the budget buys."""
    n_features = _whole_number("n_features", n_features)
    if n_features < 1:
        raise ValueError(f"n_features={n_features}: there must be at least 1 feature")
    _require(estimator, ("auto", *ESTIMATORS), "estimator")
    _require(sign, SIGNS, "sign")
    _require(members, MEMBERS, "members")
    if design is not None:
        _require(design, DESIGNS, "design")
    check_keep(keep)
    if _whole_number("leader_rows", leader_rows) < 0:
        raise ValueError(f"leader_rows={leader_rows}: must be 0 or more")
    for name, number in (("rows", rows), ("budget", budget)):
        if number is not None and _whole_number(name, number) < 1:
            raise ValueError(f"{name}={number}: must be at least 1")
    if _whole_number("seed", seed) < 0:
        raise ValueError(f"seed={seed}: must be 0 or more")
    _check_precision(precision, stable_top)

    if groups is None:
        members = "together"
    group_of = _checked_groups(groups, n_features)
    chosen, top = _checked_pairs(pairs, int(group_of.max()) + 1)
    config = Config(
        n_features=n_features,
        groups=group_of,
        is_grouped=groups is not None,
        members=members,
        estimator=estimator,
        design=design,
        keep=keep,
        n_base=0,
        most_base=None,
        pairs=chosen,
        top_pairs=top,
        leader_rows=leader_rows,
        sign=sign,
        budget=budget,
        seed=seed,
        precision=precision,
        stable_top=stable_top,
    )
    if estimator == "auto":
        estimator = _best_estimator(config, rows)
        config = replace(
            config, estimator=estimator, design=None if estimator == "exact" else design
        )
        rows = None if estimator == "exact" else rows
    _check_estimator(config, rows)
    if config.design is None and estimator != "exact":
        config = replace(config, design=_default_design(config))
    if estimator == "exact":
        _check_exact(config)
        return config
    return replace(config, n_base=_affordable_base_rows(config, rows), most_base=rows)


def count_leaders(n_features: int) -> int:
    """How many features lead: 18 %, but 10 at least.

    Example:
        >>> count_leaders(6), count_leaders(40), count_leaders(200)
        (6, 10, 36)
    """
    return min(n_features, max(10, math.ceil(0.18 * n_features)))


def spread_of(keep: float | None) -> float:
    """Variance of one feature's mask: p q, or that of a uniform number."""
    return 1 / 12 if keep is None else keep * (1 - keep)


def _check_precision(precision: float | None, stable_top: int) -> None:
    if precision is not None and not isinstance(precision, float | int | np.number):
        raise TypeError(f"precision={precision!r}: must be a number between 0 and 1, or None")
    if precision is not None and not 0 < precision < 1:
        raise ValueError(
            f"precision={precision}: must lie between 0 and 1, both excluded, for example 0.95"
        )
    if _whole_number("stable_top", stable_top) < 1:
        raise ValueError(f"stable_top={stable_top}: must be at least 1")


def _whole_number(name: str, value: object) -> int:
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} must be a whole number, not {type(value).__name__}") from None


def _require(value: str | None, known: Sequence[str | None], what: str) -> None:
    if value not in known:
        raise ValueError(
            f"unknown {what} {value!r}; known: {', '.join(str(name) for name in known)}"
        )


def _default_design(config: Config) -> str:
    if config.keep is None:
        return "sobol"
    # The variance of jansen and its kin is that of independent rows, which the rows of a
    # balanced design are not.
    return "latin" if config.estimator == "flip" else "random"


def _best_estimator(config: Config, rows: int | None) -> str:
    """``exact`` when all masks cost no more than the sampling would, else the best sampler."""
    if config.keep is None:
        return "jansen"
    allowances = [] if config.budget is None else [config.budget]
    if rows is not None or config.budget is None:
        allowances.append((rows or config.usual_base) * (config.n_units + 1))
    if config.n_units <= MOST_EXACT_FEATURES and 2**config.n_units <= min(allowances):
        return "exact"
    return "jansen" if config.members == "independent" else "flip"


def _check_estimator(config: Config, rows: int | None) -> None:
    """Refuse settings that an estimator cannot honour."""
    if config.keep is None and config.estimator not in PICK_FREEZE:
        raise ValueError(
            f"estimator={config.estimator!r} needs binary masks and so a keep rate; for "
            f"real-valued masks (keep=None) use one of: {', '.join(PICK_FREEZE)}"
        )
    if config.estimator == "flip" and config.members == "independent":
        raise ValueError(
            "estimator='flip' flips a group as a whole; use members='together', or "
            "estimator='jansen' for members that are masked independently"
        )
    if config.precision is not None and config.estimator not in ("flip", "exact"):
        raise ValueError(
            f"precision needs estimator='flip', 'auto' or 'exact', not {config.estimator!r}"
        )
    if config.precision is not None and config.n_pairs:
        raise ValueError("pairs need a fixed number of rows: leave out precision, or pairs")
    if config.leader_rows and (config.estimator != "flip" or config.precision or config.n_pairs):
        raise ValueError("leader_rows need estimator='flip', without precision and pairs")
    if config.n_pairs and config.estimator not in ("flip", "exact"):
        raise ValueError(f"pairs need estimator='flip' or 'exact', not {config.estimator!r}")
    if config.n_pairs and config.members == "independent":
        raise ValueError("pairs of groups need members='together'")
    if config.estimator == "exact" and (config.design is not None or rows is not None):
        raise ValueError("estimator='exact' scores every mask: leave out design and rows")


def _check_exact(config: Config) -> None:
    if config.n_units > MOST_EXACT_FEATURES:
        raise ValueError(
            f"estimator='exact' would score 2^{config.n_units} masks; it takes at most "
            f"{MOST_EXACT_FEATURES} features. Use estimator='flip', or 'auto'"
        )
    if config.budget is not None and config.budget < 2**config.n_units:
        raise ValueError(
            f"budget={config.budget} is below the {2**config.n_units} masks of {config.n_units} "
            f"features that estimator='exact' scores; raise it, or use estimator='auto'"
        )


def _affordable_base_rows(config: Config, rows: int | None) -> int:
    least = 1 if config.estimator == "flip" else 2
    if rows is not None and rows < least:
        raise ValueError(f"rows={rows}: estimator={config.estimator!r} needs at least {least}")
    if config.budget is None:
        return config.usual_base if rows is None else rows
    affordable = (config.budget - config.extra_rows) // config.passes_per_base_mask
    if affordable < least:
        smallest = least * config.passes_per_base_mask + config.extra_rows
        raise ValueError(
            f"budget={config.budget} is below the smallest design of "
            f"estimator={config.estimator!r} "
            f"for {config.n_indices} features: {smallest} rows "
            f"({least} x {config.passes_per_base_mask}"
            + (f" + {config.extra_rows}" if config.extra_rows else "")
            + (" for sign='occlusion'" if config.extra_rows and not config.leader_rows else "")
            + (f"; {config.n_pairs} of a base row's rows are pairs" if config.n_pairs else "")
            + ")"
        )
    return affordable if rows is None else min(rows, affordable)


def _checked_groups(groups: ArrayLike | None, n_features: int) -> Integers:
    if groups is None:
        return np.arange(n_features)
    wanted = f"groups must be {n_features} whole numbers, the group of each feature, from 0"
    try:
        numbers = np.asarray(groups)
    except ValueError:
        raise ValueError(f"{wanted}; got lists of different lengths") from None
    if numbers.shape != (n_features,) or not np.issubdtype(numbers.dtype, np.integer):
        raise ValueError(f"{wanted}; got shape {numbers.shape} of {numbers.dtype}")
    if not np.array_equal(np.unique(numbers), np.arange(numbers.max() + 1)):
        raise ValueError("groups must be numbered 0, 1, 2, ... without a gap")
    return numbers.astype(np.int64)


def _checked_pairs(pairs: Pairs | None, n_indices: int) -> tuple[Integers | None, int]:
    """The pairs as an array, or the number of top features whose pairs are wanted."""
    if pairs is None:
        return None, 0
    if isinstance(pairs, int | np.integer):
        top = min(int(pairs), n_indices)
        if top < 2:
            raise ValueError(f"pairs={pairs}: pairs of the top features need at least 2 features")
        return None, top
    chosen = np.asarray(pairs)
    if (
        chosen.size == 0
        or chosen.ndim != 2
        or chosen.shape[1] != 2
        or not np.issubdtype(chosen.dtype, np.integer)
        or (chosen[:, 0] == chosen[:, 1]).any()
        or chosen.min() < 0
        or chosen.max() >= n_indices
    ):
        raise ValueError(
            f"pairs must be two different features each, numbered 0 to {n_indices - 1}: {pairs}"
        )
    return chosen.astype(np.int64), 0


def pairs_among(features: Integers) -> Integers:
    """All pairs of the given features ``(pairs, 2)``."""
    return np.array(list(combinations(features.tolist(), 2)), dtype=np.int64)
