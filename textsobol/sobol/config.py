"""The checked settings of an analysis, and how many masks it will score."""

import math
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from textsobol.sobol.arrays import Integers
from textsobol.sobol.checks import (
    Pairs,
    check_groups,
    check_least,
    check_pairs,
    check_precision,
    check_whole,
    require,
)
from textsobol.sobol.designs import DESIGNS, check_keep
from textsobol.sobol.pick_freeze import PICK_FREEZE

ESTIMATORS = ("flip", "exact", *PICK_FREEZE)
SIGNS = ("mean", "occlusion", None)
MEMBERS = ("together", "independent")
DEFAULT_BASE_MASKS = 32  # the paper's N
DEFAULT_BASE_MASKS_FOR_PRECISION = 64
MOST_EXACT_FEATURES = 20  # a million masks


@dataclass(frozen=True)
class Config:
    """Checked settings: what will be scored, and how.

    Attributes are the arguments of `sobol_indices`, except:

    Attributes:
        groups: group of each feature ``(n_features,)``; without groups, its own number.
        is_grouped: whether groups were given.
        estimator: never ``auto``.
        design: ``None`` for ``exact``.
        n_base: number of base masks N; 0 for ``exact``. With ``precision``, the number if every
            feature is flipped in all of them.
        most_base: with ``precision``, most base masks; ``None`` for as many as the passes buy.
        pairs: the requested pairs ``(pairs, 2)``, or ``None``.
        top_pairs: number of top features whose pairs are analysed, or 0.
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
    leader_masks: int
    sign: str | None
    budget: int | None
    seed: int
    precision: float | None
    stable_top: int

    @property
    def n_indices(self) -> int:
        """Number of features, or of groups."""
        return int(self.groups.max()) + 1

    @property
    def units(self) -> Integers:
        """The unit of each feature ``(n_features,)``; features of a unit are masked as one."""
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
        """Forward passes per base mask."""
        if self.estimator == "flip":
            return 1 + self.n_units + self.n_pairs
        return 2 + self.n_indices

    @property
    def extra_masks(self) -> int:
        """Masks for the sign and for leaders, besides base masks with all flips."""
        for_sign = 1 + self.n_indices if self.sign == "occlusion" else 0
        return for_sign + self.leader_masks * (1 + count_leaders(self.n_units))

    @property
    def passes(self) -> int:
        """Forward passes for base masks and all their flips."""
        if self.budget is None:
            return self.n_base * self.passes_per_base_mask
        return self.budget - self.extra_masks

    @property
    def default_base(self) -> int:
        """Base masks if neither ``base_masks`` nor ``budget`` is given."""
        return DEFAULT_BASE_MASKS if self.precision is None else DEFAULT_BASE_MASKS_FOR_PRECISION

    @property
    def n_masks(self) -> int:
        """Masks of the whole design, repeated ones included."""
        is_exact = self.estimator == "exact"
        n_masks = 2**self.n_units if is_exact else self.n_base * self.passes_per_base_mask
        return n_masks + self.extra_masks


def make_config(
    n_features: int,
    *,
    estimator: str = "flip",
    design: str | None = None,
    keep: float | None = 0.5,
    budget: int | None = None,
    base_masks: int | None = None,
    seed: int = 0,
    sign: str | None = "mean",
    groups: ArrayLike | None = None,
    members: str = "together",
    pairs: Pairs | None = None,
    precision: float | None = None,
    stable_top: int = 5,
    leader_masks: int = 0,
) -> Config:
    """Check the settings, resolve ``auto`` and count the base masks that the budget buys."""
    n_features = check_whole("n_features", n_features)
    if n_features < 1:
        raise ValueError(f"n_features={n_features}: there must be at least 1 feature")
    require(estimator, ("auto", *ESTIMATORS), "estimator")
    require(sign, SIGNS, "sign")
    require(members, MEMBERS, "members")
    require(design, (*DESIGNS, None), "design")
    check_keep(keep)
    check_least("leader_masks", leader_masks, 0)
    check_least("seed", seed, 0)
    check_least("stable_top", stable_top, 1)
    for name, number in (("base_masks", base_masks), ("budget", budget)):
        if number is not None:
            check_least(name, number, 1)
    check_precision(precision)

    group_of = check_groups(groups, n_features)
    chosen, top = check_pairs(pairs, int(group_of.max()) + 1)
    config = Config(
        n_features=n_features,
        groups=group_of,
        is_grouped=groups is not None,
        members="together" if groups is None else members,
        estimator=estimator,
        design=design,
        keep=keep,
        n_base=0,
        most_base=None,
        pairs=chosen,
        top_pairs=top,
        leader_masks=leader_masks,
        sign=sign,
        budget=budget,
        seed=seed,
        precision=precision,
        stable_top=stable_top,
    )
    if estimator == "auto":
        config = replace(config, estimator=_choose_estimator(config, base_masks))
        if config.estimator == "exact":
            config, base_masks = replace(config, design=None), None
    _check_estimator(config, base_masks)
    if config.estimator == "exact":
        _check_exact(config)
        return config
    config = replace(config, design=config.design or _choose_design(config))
    return replace(config, n_base=_count_base_masks(config, base_masks), most_base=base_masks)


def count_leaders(n_features: int) -> int:
    """Number of leaders: 18 % of the features, at least 10.

    Example:
        >>> count_leaders(6), count_leaders(40), count_leaders(200)
        (6, 10, 36)
    """
    return min(n_features, max(10, math.ceil(0.18 * n_features)))


def presence_variance(keep: float | None) -> float:
    """Variance of one column of the masks: p q, or 1/12 for real values."""
    return 1 / 12 if keep is None else keep * (1 - keep)


def _choose_design(config: Config) -> str:
    if config.keep is None:
        return "sobol"
    # Pick-freeze estimators assume independent masks; those of a balanced design are not.
    return "latin" if config.estimator == "flip" else "random"


def _choose_estimator(config: Config, base_masks: int | None) -> str:
    """``exact`` when all masks cost no more than the sampling would, else the best sampler."""
    if config.keep is None:
        return "jansen"
    allowances = [] if config.budget is None else [config.budget]
    if base_masks is not None or config.budget is None:
        allowances.append((base_masks or config.default_base) * (config.n_units + 1))
    if config.n_units <= MOST_EXACT_FEATURES and 2**config.n_units <= min(allowances):
        return "exact"
    return "jansen" if config.members == "independent" else "flip"


def _check_estimator(config: Config, base_masks: int | None) -> None:
    """Refuse settings that the estimator does not support."""
    name = config.estimator
    is_flip, is_exact, is_pick_freeze = name == "flip", name == "exact", name in PICK_FREEZE
    is_independent = config.members == "independent"
    has_precision, has_pairs = config.precision is not None, config.n_pairs > 0
    if config.keep is None and not is_pick_freeze:
        problem = (
            f"estimator={name!r} needs binary masks and so a keep rate; for real-valued masks "
            f"(keep=None) use one of: {', '.join(PICK_FREEZE)}"
        )
    elif is_flip and is_independent:
        problem = (
            "estimator='flip' flips a group as a whole; use members='together', or "
            "estimator='jansen' for members that are masked independently"
        )
    elif has_precision and is_pick_freeze:
        problem = f"precision needs estimator='flip', 'auto' or 'exact', not {name!r}"
    elif has_precision and has_pairs:
        problem = "pairs need a fixed number of base masks: leave out precision, or pairs"
    elif config.leader_masks and (not is_flip or has_precision or has_pairs):
        problem = "leader_masks need estimator='flip', without precision and pairs"
    elif has_pairs and is_pick_freeze:
        problem = f"pairs need estimator='flip' or 'exact', not {name!r}"
    elif has_pairs and is_independent:
        problem = "pairs of groups need members='together'"
    elif is_exact and (config.design is not None or base_masks is not None):
        problem = "estimator='exact' scores every mask: leave out design and base_masks"
    else:
        return
    raise ValueError(problem)


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


def _count_base_masks(config: Config, base_masks: int | None) -> int:
    least = 1 if config.estimator == "flip" else 2
    if base_masks is not None and base_masks < least:
        raise ValueError(
            f"base_masks={base_masks}: estimator={config.estimator!r} needs at least {least}"
        )
    if config.budget is None:
        return base_masks or config.default_base
    per_mask, extra = config.passes_per_base_mask, config.extra_masks
    affordable = (config.budget - extra) // per_mask
    if affordable < least:
        raise ValueError(
            f"budget={config.budget} is below the smallest design of "
            f"estimator={config.estimator!r} for {config.n_indices} features: "
            f"{least * per_mask + extra} masks ({least} x {per_mask}"
            + (f" + {extra}" if extra else "")
            + (" for sign='occlusion'" if extra and not config.leader_masks else "")
            + (f"; {config.n_pairs} of each {per_mask} are pairs" if config.n_pairs else "")
            + ")"
        )
    return min(base_masks or affordable, affordable)


def list_pairs(features: Integers) -> Integers:
    """All pairs of the given features ``(pairs, 2)``."""
    return np.array(list(combinations(features.tolist(), 2)), dtype=np.int64)
