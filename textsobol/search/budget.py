"""How a budget of forward passes is divided between Sobol indices and the search."""

from __future__ import annotations

from typing import NamedTuple

from textsobol.search.path import DEPTH, complete_search_passes

# What these numbers were chosen by is in benchmarks/imdb/NOTES.md.
USUAL_PASSES = 8  # for every feature
_BASE_MASKS = 5  # of them
_FLIP_PART, _MOST_FLIP_PASSES = 12, 40  # a twelfth of the search's passes, 40 at most


class DividedBudget(NamedTuple):
    """What every part of an explanation may spend.

    Attributes:
        n_base: base masks, of ``features + 1`` forward passes each.
        path_passes: forward passes of the search for the path.
        flip_passes: forward passes that make the flip set irreducible.
    """

    n_base: int
    path_passes: int
    flip_passes: int


def divide_budget(budget: int, n_features: int, *, depth: int = DEPTH) -> DividedBudget:
    """Divide a budget: five eighths for base masks, the rest for path and flip set.

    There are five base masks at least where the budget has eight passes for every feature, and one
    in any case. What a complete greedy search would leave over also goes to base masks.

    Args:
        budget: forward passes, that of the whole input included.
        n_features: number of features.
        depth: deletions of the path, at most.

    Raises:
        ValueError: the budget is too small for the whole input and one base mask.

    Example:
        >>> divide_budget(1 + 8 * 101, 100)
        DividedBudget(n_base=5, path_passes=278, flip_passes=25)
        >>> divide_budget(10_000, 100)
        DividedBudget(n_base=80, path_passes=1879, flip_passes=40)
    """
    per_base_mask = n_features + 1
    left = budget - 1
    if left < per_base_mask:
        raise ValueError(
            f"budget={budget}: {n_features} features need at least {per_base_mask + 1} passes"
        )
    affordable = left // per_base_mask
    n_base = max(1, round(_BASE_MASKS / USUAL_PASSES * left / per_base_mask))
    if budget >= USUAL_PASSES * n_features:
        n_base = max(n_base, min(affordable, _BASE_MASKS))
    complete = complete_search_passes(n_features, depth) + _MOST_FLIP_PASSES
    n_base = max(n_base, (left - complete) // per_base_mask)
    for_search = left - n_base * per_base_mask
    flip_passes = min(_MOST_FLIP_PASSES, for_search // _FLIP_PART)
    return DividedBudget(n_base, for_search - flip_passes, flip_passes)


def budget_for_base_masks(n_base: int, n_features: int, *, path: bool) -> int:
    """The budget that buys so many base masks, beside the path or without it.

    Example:
        >>> budget_for_base_masks(20, 100, path=False)
        2021
        >>> divide_budget(budget_for_base_masks(20, 100, path=True), 100).n_base
        20
    """
    per_base_mask = n_features + 1
    budget = 1 + n_base * per_base_mask
    while path and divide_budget(budget, n_features).n_base < n_base:
        budget += per_base_mask
    return budget
