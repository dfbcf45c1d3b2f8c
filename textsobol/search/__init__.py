"""Searches for the words that change a prediction: the path, the flip set, coarse to fine."""

from textsobol.search.budget import BaseMasks, DividedBudget, divide_base_masks, divide_budget
from textsobol.search.coarse_to_fine import build_hierarchy, choose_units
from textsobol.search.flip_set import FlipSet, find_flip_set, find_smallest_flip_set
from textsobol.search.path import DEPTH, complete_search_passes, search_path

__all__ = [
    "DEPTH",
    "BaseMasks",
    "DividedBudget",
    "FlipSet",
    "build_hierarchy",
    "choose_units",
    "complete_search_passes",
    "divide_base_masks",
    "divide_budget",
    "find_flip_set",
    "find_smallest_flip_set",
    "search_path",
]
