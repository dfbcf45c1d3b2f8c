"""Divide the masks that `Sobol` may score: indices first, then pairs and the path."""

from __future__ import annotations

from dataclasses import dataclass

from textsobol.search.budget import (
    USUAL_PASSES,
    BaseMasks,
    count_flip_passes,
    divide_base_masks,
    divide_budget,
)
from textsobol.sobol.config import MOST_EXACT_FEATURES
from textsobol.sobol.pick_freeze import PICK_FREEZE

MOST_BASE_MASKS_OF_PAIRS = 32
_PLENTY = 2**63


@dataclass(frozen=True)
class Wanted:
    """What the options require.

    Attributes:
        estimator: see `textsobol.sobol_indices`.
        sign: see `textsobol.sobol_indices`.
        interactions: number of features whose pairs are analysed.
        is_binary: whether masks are binary; the whole input is then a known mask.
    """

    estimator: str = "auto"
    sign: str | None = "mean"
    interactions: int = 0
    is_binary: bool = True

    @classmethod
    def of(
        cls, estimator: str, sign: str | None, interactions: int = 0, *, keep: float | None
    ) -> Wanted:
        """Resolve ``auto``, which is ``jansen`` for real-valued masks."""
        is_binary = keep is not None
        chosen = estimator if is_binary or estimator != "auto" else "jansen"
        return cls(chosen, sign, interactions, is_binary)

    @property
    def least_base(self) -> int:
        """Fewest base masks of the estimator."""
        return 2 if self.estimator in PICK_FREEZE else 1

    def per_base(self, n_features: int) -> int:
        """Masks to score per base mask, without pairs."""
        return n_features + (2 if self.estimator in PICK_FREEZE else 1)

    def for_sign(self, n_features: int) -> int:
        """Further masks for the sign."""
        return n_features + (not self.is_binary) if self.sign == "occlusion" else 0

    def least_masks(self, n_features: int) -> int:
        """Fewest masks without groups, the whole input included.

        Example:
            >>> [Wanted(name).least_masks(10) for name in ("flip", "jansen", "exact")]
            [12, 25, 1024]
            >>> Wanted("auto", sign="occlusion").least_masks(10)
            22
        """
        if self.estimator == "exact":
            # The estimator itself refuses more features.
            return 1 << n_features if n_features <= MOST_EXACT_FEATURES else 1
        least = 1 + self.least_base * self.per_base(n_features) + self.for_sign(n_features)
        least += count_pairs(self.interactions, n_features)
        if self.estimator == "auto" and n_features <= MOST_EXACT_FEATURES:
            return min(least, 1 << n_features)
        return least


@dataclass(frozen=True)
class Division:
    """How many masks each part may score.

    Attributes:
        indices: for the indices, or ``None`` for as many as they need.
        masks: the base masks that this buys; ``None`` if the options set them.
        path: for the path.
        flip: for making the flip set irreducible.
        pairs: for pairs, after the indices.
        is_exact: whether all masks are scored, so that path and flip set cost nothing.
    """

    indices: int | None
    masks: BaseMasks | None = None
    path: int = 0
    flip: int = 0
    pairs: int = 0
    is_exact: bool = False


def count_pairs(interactions: int, n_features: int) -> int:
    """Number of pairs of the ``interactions`` top features."""
    if interactions < 0 or interactions == 1:
        raise ValueError(f"interactions={interactions}: must be 0, or at least 2 words")
    k = min(interactions, n_features)
    return k * (k - 1) // 2


def check_sobol_budget(
    budget: int, n_features: int, wanted: Wanted, *, noun: str, passes: int = 1
) -> None:
    """Refuse a budget that is too small to mask every feature by itself.

    Args:
        budget: in forward passes.
        n_features: number of features.
        wanted: what the options require.
        noun: what features are called.
        passes: forward passes per mask.

    Example:
        >>> check_sobol_budget(20, 10, Wanted("jansen"), noun="words")
        Traceback (most recent call last):
        ValueError: budget=20: 10 words need at least 25 forward passes with estimator='jansen',
        one for the prediction and 24 for two base masks
    """
    least = passes * wanted.least_masks(n_features)
    if budget >= least:
        return
    n_pairs = count_pairs(wanted.interactions, n_features)
    pairs = f" and {n_pairs} pairs" if n_pairs else ""
    is_own = wanted.estimator in ("auto", "flip")
    by = "" if is_own else f" with estimator={wanted.estimator!r}"
    each = f" for each of the {passes} labels" if passes > 1 else ""
    n_base = wanted.least_base * wanted.per_base(n_features) + n_pairs
    base = "one base mask" if wanted.least_base == 1 else "two base masks"
    why = f"one for the prediction and {n_base} for {base}"
    if wanted.sign == "occlusion":
        n_sign = wanted.for_sign(n_features)
        why = f"one for the prediction, {n_base} for {base} and {n_sign} for sign='occlusion'"
    if wanted.estimator == "exact":
        why = "one for every mask"
    raise ValueError(
        f"budget={budget}: {n_features} {noun}{pairs} need at least {least} forward passes{by}, "
        f"{why}{each}"
    )


def divide(
    left: int | None,
    n_units: int,
    wanted: Wanted,
    *,
    base_masks: int | None,
    path: bool,
    block: int,
    may_lead: bool,
) -> Division:
    """Divide the rest of a budget after the whole input was scored.

    The indices always get their smallest design, even if little is left for the path.

    Args:
        left: masks, at least `Wanted.least_masks`; ``None`` without a budget.
        n_units: number of units.
        wanted: what the options require.
        base_masks: most base masks.
        path: whether to search for a path.
        block: base masks per balanced block.
        may_lead: whether some base masks may flip the leaders only.
    """
    if wanted.estimator == "exact" or _fits(left, n_units, wanted, base_masks):
        return Division(None, path=_PLENTY, flip=_PLENTY, is_exact=True)
    if left is None:
        if not path:
            return Division(None)
        # Without a budget the path gets what it would get of the usual one.
        usual = divide_budget(1 + USUAL_PASSES * (n_units + 1), n_units, block=block)
        return Division(None, None, usual.path_passes, usual.flip_passes)
    pairs = 0
    if wanted.interactions and wanted.estimator in ("auto", "flip"):
        pairs = _passes_for_pairs(left, n_units, wanted)
    may_lead &= wanted.estimator == "auto"
    for_sign = wanted.for_sign(n_units)
    for_base = left - pairs - for_sign
    if not path:
        masks = divide_base_masks(for_base, n_units, block=block) if may_lead else None
        return Division(left - pairs, masks, pairs=pairs)
    masks = divide_budget(1 + for_base, n_units, block=block).masks
    per_base = wanted.per_base(n_units)
    n_passes = max(wanted.least_base * per_base, masks.passes(n_units))
    if base_masks is not None:
        n_passes = min(n_passes, max(wanted.least_base, base_masks) * per_base)
    for_search = for_base - n_passes
    for_flip = count_flip_passes(for_search)
    return Division(
        n_passes + for_sign, masks if may_lead else None, for_search - for_flip, for_flip, pairs
    )


def _fits(left: int | None, n_units: int, wanted: Wanted, base_masks: int | None) -> bool:
    """Whether the budget allows all masks."""
    if left is None or wanted.estimator != "auto":
        return False
    allowed = left if base_masks is None else min(left, base_masks * (n_units + 1) - 1)
    return buys_all_masks(allowed, n_units)


def buys_all_masks(passes: int, n_features: int) -> bool:
    """Whether so many forward passes, besides that of the whole input, score all masks."""
    return n_features <= MOST_EXACT_FEATURES and 1 << n_features <= passes + 1


def _passes_for_pairs(left: int, n_units: int, wanted: Wanted) -> int:
    """Masks for pairs: a third of the rest, at most what 32 base masks need.

    At least one base mask must fit besides them, and one mask per pair.
    """
    n_pairs = count_pairs(wanted.interactions, n_units)
    per_base_mask = 1 + min(wanted.interactions, n_units) + n_pairs
    affordable = min(left // 3, left - 1 - n_units - wanted.for_sign(n_units))
    return max(n_pairs, min(MOST_BASE_MASKS_OF_PAIRS * per_base_mask, affordable))
