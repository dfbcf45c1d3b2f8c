"""The budget is never exceeded, and every part gets what it was promised."""

import pytest

pytest.importorskip("hypothesis")

from hypothesis import assume, given
from hypothesis import strategies as st

from textsobol.search import BaseMasks, count_search_passes, divide_budget


@given(n_features=st.integers(1, 3000), budget=st.integers(1, 100_000))
def test_no_more_is_spent_than_the_budget_has(n_features: int, budget: int) -> None:
    assume(budget >= n_features + 2)
    divided = divide_budget(budget, n_features)
    masks = divided.masks
    spent = 1 + masks.passes(n_features) + divided.path_passes + divided.flip_passes
    assert spent <= budget
    assert masks.n_base >= 1
    assert masks.n_leader >= 0
    assert divided.path_passes >= 0
    assert 0 <= divided.flip_passes <= 40


@given(n_features=st.integers(3, 3000), more=st.integers(0, 10_000))
def test_eight_passes_a_feature_are_enough_for_intervals(n_features: int, more: int) -> None:
    masks = divide_budget(8 * n_features + more, n_features).masks
    assert masks.n_base >= 4
    assert sum(masks) >= 5


@given(n_features=st.integers(30, 3000))
def test_the_default_budget(n_features: int) -> None:
    """Five base masks' worth for the indices, and two passes a word for the search."""
    divided = divide_budget(1 + 8 * (n_features + 1), n_features)
    assert divided.masks == (BaseMasks(4, 8) if n_features >= 63 else divided.masks)
    assert sum(divided.masks) >= 5
    assert divided.path_passes >= 2 * n_features


@given(n_features=st.integers(1, 300), budget=st.integers(1, 100_000))
def test_a_search_gets_no_more_than_a_complete_one_needs(n_features: int, budget: int) -> None:
    assume(budget >= n_features + 2)
    divided = divide_budget(budget, n_features)
    less_than_a_block = 4 * (n_features + 1)
    most = count_search_passes(n_features) + 40 + less_than_a_block
    assert divided.path_passes + divided.flip_passes <= most


def test_with_more_budget_nothing_gets_less() -> None:
    masks = [sum(divide_budget(budget, 50).masks) for budget in range(52, 5000)]
    assert masks == sorted(masks)


def test_a_complete_search_scores_all_that_is_left_at_every_step() -> None:
    assert count_search_passes(5) == 5 + 4 + 3 + 2 + 1
    assert count_search_passes(100, depth=3) == 100 + 99 + 98


def test_too_small_a_budget_names_the_smallest() -> None:
    assert divide_budget(12, 10).masks == BaseMasks(1, 0)
    with pytest.raises(ValueError, match="at least 12"):
        divide_budget(11, 10)
