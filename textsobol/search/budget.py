"""How a budget of forward passes is divided between Sobol indices and the search."""

from __future__ import annotations

from typing import NamedTuple

from textsobol.search.path import DEPTH, complete_search_passes
from textsobol.sobol.config import count_leaders
from textsobol.sobol.designs import latin_block_size

# benchmarks/imdb/NOTES.md says how these numbers were chosen.
USUAL_PASSES = 8  # for every feature
_BASE_PART = 0.705  # of the passes, where some features lead
_SMALL_BASE_PART = 0.625  # of fewer
_LEAST_TO_LEAD = 5  # base masks that the passes buy, from which on some features lead
_LEAST_BASE_MASKS = 4  # beside leader masks
_FLIP_PART, _MOST_FLIP_PASSES = 12, 40  # a twelfth of the search's passes, 40 at most
_BLOCK = 4  # masks of a balanced block at keep rate 0.5


class BaseMasks(NamedTuple):
    """Base masks in which every feature is flipped, and those in which only the leaders are."""

    n_base: int
    n_leader: int

    def passes(self, n_features: int) -> int:
        """Forward passes that they take."""
        return self.n_base * (n_features + 1) + self.n_leader * (count_leaders(n_features) + 1)

    def add(self, passes: int, n_features: int, *, block: int) -> BaseMasks:
        """More base masks, only for the leading features if there are leaders already.

        Example:
            >>> BaseMasks(4, 8).add(100, 100, block=4)
            BaseMasks(n_base=4, n_leader=12)
            >>> BaseMasks(2, 0).add(100, 40, block=4)
            BaseMasks(n_base=4, n_leader=0)
        """
        if not self.n_leader:
            n_base = self.n_base + passes // (n_features + 1)
            return BaseMasks(max(self.n_base, _in_whole_blocks(n_base, block)), 0)
        n_all = sum(self) + passes // (count_leaders(n_features) + 1)
        return BaseMasks(self.n_base, _in_whole_blocks(n_all, block) - self.n_base)


class DividedBudget(NamedTuple):
    """Base masks, and forward passes to search the path and to make the flip set irreducible."""

    masks: BaseMasks
    path_passes: int
    flip_passes: int


def divide_base_masks(passes: int, n_features: int, *, block: int = _BLOCK) -> BaseMasks:
    """Base masks for all features, and more of them for the few that lead.

    Most features of a text hardly matter, and four base masks show which. Flipping only the
    others, the leaders, in two base masks of three makes their intervals narrower at the same
    cost. Base masks come in whole blocks of ``block``, so that two features which only decide
    together meet equally often.

    Example:
        >>> divide_base_masks(6 * 101, 100)
        BaseMasks(n_base=4, n_leader=8)
        >>> divide_base_masks(4 * 101, 100)
        BaseMasks(n_base=4, n_leader=0)
    """
    for_all = _in_whole_blocks(passes // (n_features + 1), block)
    led = BaseMasks(0, 0)
    if for_all >= _LEAST_TO_LEAD and count_leaders(n_features) < n_features:
        while (more := _with_leaders(sum(led) + block)).passes(n_features) <= passes:
            led = more
    return led if sum(led) > for_all else BaseMasks(for_all, 0)


def _in_whole_blocks(n_masks: int, block: int) -> int:
    """The number rounded down to whole blocks, from two blocks on."""
    return n_masks - n_masks % block if n_masks >= 2 * block else n_masks


def _with_leaders(n_masks: int) -> BaseMasks:
    """Base masks of which a third are for all features."""
    n_base = min(n_masks, max(_LEAST_BASE_MASKS, n_masks // 3))
    return BaseMasks(n_base, n_masks - n_base)


def divide_budget(
    budget: int, n_features: int, *, depth: int = DEPTH, block: int = _BLOCK
) -> DividedBudget:
    """Divide a budget: about two thirds for base masks, the rest for path and flip set.

    There is always one base mask. Base masks get at least the passes of five where the budget has
    eight passes for every feature, and all that a complete greedy search would leave over.

    Args:
        budget: forward passes, that of the whole input included.
        n_features: number of features.
        depth: deletions of the path, at most.
        block: base masks of a balanced block.

    Raises:
        ValueError: the budget is too small for the whole input and one base mask.

    Example:
        >>> divide_budget(1 + 8 * 101, 100)
        DividedBudget(masks=BaseMasks(n_base=4, n_leader=8), path_passes=231, flip_passes=21)
    """
    per_base_mask = n_features + 1
    left = budget - 1
    if left < per_base_mask:
        raise ValueError(
            f"budget={budget}: {n_features} features need at least {per_base_mask + 1} passes"
        )
    n_worth = max(1, round(_SMALL_BASE_PART * left / per_base_mask))
    for_base = n_worth * per_base_mask
    if n_worth >= _LEAST_TO_LEAD:
        for_base = int(_BASE_PART * left)
    if budget >= USUAL_PASSES * n_features:
        for_base = max(for_base, min(left, _LEAST_TO_LEAD * per_base_mask))
    complete = complete_search_passes(n_features, depth) + _MOST_FLIP_PASSES
    masks = divide_base_masks(max(for_base, left - complete), n_features, block=block)
    for_search = left - masks.passes(n_features)
    flip_passes = flip_part(for_search)
    return DividedBudget(masks, for_search - flip_passes, flip_passes)


def flip_part(passes: int) -> int:
    """Passes of a search that make the flip set irreducible."""
    return min(_MOST_FLIP_PASSES, passes // _FLIP_PART)


def budget_for_base_masks(
    n_base: int, n_features: int, *, path: bool, keep: float | None = 0.5
) -> int:
    """The budget that buys ``n_base`` base masks for the leaders, with the path or without.

    Example:
        >>> budget_for_base_masks(20, 100, path=False)
        910
        >>> sum(divide_budget(budget_for_base_masks(20, 100, path=True), 100).masks)
        20
    """
    per_base_mask = n_features + 1
    budget = 1 + per_base_mask
    block = latin_block_size(keep)

    def count_masks() -> int:
        if path:
            return sum(divide_budget(budget, n_features, block=block).masks)
        return sum(divide_base_masks(budget - 1, n_features, block=block))

    while count_masks() < n_base:
        budget += per_base_mask
    return budget
