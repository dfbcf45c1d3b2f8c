"""Searches for the words that change a prediction: screening, the path, the flip set."""

from textsobol.search.budget import BaseMasks, DividedBudget, divide_base_masks, divide_budget
from textsobol.search.flip_set import FlipSet, find_flip_set, find_smallest_flip_set
from textsobol.search.path import DEPTH, count_search_passes, search_path
from textsobol.search.screening import build_hierarchy, choose_units

__all__ = [
    "DEPTH",
    "BaseMasks",
    "DividedBudget",
    "FlipSet",
    "build_hierarchy",
    "choose_units",
    "count_search_passes",
    "divide_base_masks",
    "divide_budget",
    "find_flip_set",
    "find_smallest_flip_set",
    "search_path",
]
