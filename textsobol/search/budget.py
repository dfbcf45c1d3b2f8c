"""Divide a budget of forward passes between Sobol indices and the search."""

from __future__ import annotations

from typing import NamedTuple

from textsobol.search.path import DEPTH, count_search_passes
from textsobol.sobol.config import count_leaders
from textsobol.sobol.designs import choose_block_size

# benchmarks/imdb/NOTES.md says how these numbers were chosen.
USUAL_PASSES = 8  # per feature
_BASE_PART = 0.705  # of the passes go to base masks, if there are leaders
_SMALL_BASE_PART = 0.625  # the same without leaders
_LEAST_TO_LEAD = 5  # base masks; with a smaller budget there are no leaders
_LEAST_BASE_MASKS = 4  # in which all features are flipped, besides those of the leaders
_FLIP_PART, _MOST_FLIP_PASSES = 12, 40  # a twelfth of the search's passes, 40 at most
_BLOCK = 4  # masks of a balanced block at keep rate 0.5


class BaseMasks(NamedTuple):
    """Numbers of base masks: with all features flipped, and with only the leaders flipped."""

    n_base: int
    n_leader: int

    def passes(self, n_features: int) -> int:
        """Their cost in forward passes."""
        return self.n_base * (n_features + 1) + self.n_leader * (count_leaders(n_features) + 1)

    def add(self, passes: int, n_features: int, *, block: int) -> BaseMasks:
        """Spend more passes on base masks: on those of the leaders, if there are any.

        Example:
            >>> BaseMasks(4, 8).add(100, 100, block=4)
            BaseMasks(n_base=4, n_leader=12)
            >>> BaseMasks(2, 0).add(100, 40, block=4)
            BaseMasks(n_base=4, n_leader=0)
        """
        if not self.n_leader:
            n_base = self.n_base + passes // (n_features + 1)
            return BaseMasks(max(self.n_base, _round_to_blocks(n_base, block)), 0)
        n_all = sum(self) + passes // (count_leaders(n_features) + 1)
        return BaseMasks(self.n_base, _round_to_blocks(n_all, block) - self.n_base)


class DividedBudget(NamedTuple):
    """Base masks, and forward passes to search the path and to make the flip set irreducible."""

    masks: BaseMasks
    path_passes: int
    flip_passes: int


def divide_base_masks(passes: int, n_features: int, *, block: int = _BLOCK) -> BaseMasks:
    """Base masks for all features, and further ones for the leaders only.

    Most features of a text hardly matter, and four base masks show which. Flipping only the
    others, the leaders, in two of three base masks narrows their intervals at the same cost. Base
    masks come in whole blocks, so that all combinations of two features are equally frequent.

    Example:
        >>> divide_base_masks(6 * 101, 100)
        BaseMasks(n_base=4, n_leader=8)
        >>> divide_base_masks(4 * 101, 100)
        BaseMasks(n_base=4, n_leader=0)
    """
    for_all = _round_to_blocks(passes // (n_features + 1), block)
    led = BaseMasks(0, 0)
    if for_all >= _LEAST_TO_LEAD and count_leaders(n_features) < n_features:
        while (more := _add_leaders(sum(led) + block)).passes(n_features) <= passes:
            led = more
    return led if sum(led) > for_all else BaseMasks(for_all, 0)


def _round_to_blocks(n_masks: int, block: int) -> int:
    """Round down to whole blocks; numbers below two blocks stay."""
    return n_masks - n_masks % block if n_masks >= 2 * block else n_masks


def _add_leaders(n_masks: int) -> BaseMasks:
    """Split base masks: a third for all features, the rest for the leaders."""
    n_base = min(n_masks, max(_LEAST_BASE_MASKS, n_masks // 3))
    return BaseMasks(n_base, n_masks - n_base)


def divide_budget(
    budget: int, n_features: int, *, depth: int = DEPTH, block: int = _BLOCK
) -> DividedBudget:
    """Divide a budget: about two thirds for base masks, the rest for path and flip set.

    There is always one base mask. With eight passes per feature, base masks get at least the
    passes of five. They also get all passes that a complete greedy search would leave.

    Args:
        budget: forward passes, including the one for the whole input.
        n_features: number of features.
        depth: most deletions of the path.
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
    n_affordable = max(1, round(_SMALL_BASE_PART * left / per_base_mask))
    for_base = n_affordable * per_base_mask
    if n_affordable >= _LEAST_TO_LEAD:
        for_base = int(_BASE_PART * left)
    if budget >= USUAL_PASSES * n_features:
        for_base = max(for_base, min(left, _LEAST_TO_LEAD * per_base_mask))
    complete = count_search_passes(n_features, depth) + _MOST_FLIP_PASSES
    masks = divide_base_masks(max(for_base, left - complete), n_features, block=block)
    for_search = left - masks.passes(n_features)
    flip_passes = count_flip_passes(for_search)
    return DividedBudget(masks, for_search - flip_passes, flip_passes)


def count_flip_passes(passes: int) -> int:
    """How many of a search's passes go to making the flip set irreducible."""
    return min(_MOST_FLIP_PASSES, passes // _FLIP_PART)


def find_budget(n_base: int, n_features: int, *, path: bool, keep: float | None = 0.5) -> int:
    """The smallest budget that buys ``n_base`` base masks, with or without a path.

    Example:
        >>> find_budget(20, 100, path=False)
        910
        >>> sum(divide_budget(find_budget(20, 100, path=True), 100).masks)
        20
    """
    per_base_mask = n_features + 1
    budget = 1 + per_base_mask
    block = choose_block_size(keep)

    def count_masks() -> int:
        if path:
            return sum(divide_budget(budget, n_features, block=block).masks)
        return sum(divide_base_masks(budget - 1, n_features, block=block))

    while count_masks() < n_base:
        budget += per_base_mask
    return budget
