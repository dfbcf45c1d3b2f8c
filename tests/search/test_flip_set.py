"""Flip sets: irreducible by enumeration, smallest by brute force, within their passes."""

from collections.abc import Callable
from itertools import combinations

import pytest

pytest.importorskip("hypothesis")

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from textsobol.driver import run_with
from textsobol.search import FlipSet, find_flip_set, find_smallest_flip_set
from textsobol.sobol.arrays import Array, Floats
from textsobol.sobol.masks import all_masks

PLENTY = 10**6
N_FEATURES = 7


def random_margin(seed: int) -> Callable[[Array], Floats]:
    """A table of random margins around a sum, with the whole input above 0."""
    rng = np.random.default_rng(seed)
    slopes = rng.normal(0.5, 1, N_FEATURES)
    noise = rng.normal(0, 0.8, 2**N_FEATURES)
    numbers = 2 ** np.arange(N_FEATURES)
    noise[-1] += max(0, 0.1 - slopes.sum() - noise[-1])
    return lambda masks: masks @ slopes + noise[masks @ numbers]


def without(features: tuple[int, ...]) -> Array:
    mask = np.ones((1, N_FEATURES), dtype=bool)
    mask[0, list(features)] = False
    return mask


def is_flip_set(margin: Callable[[Array], Floats], features: tuple[int, ...]) -> bool:
    return bool(margin(without(features))[0] < 0)


@given(seed=st.integers(0, 500), path=st.permutations(range(N_FEATURES)))
def test_no_feature_of_an_irreducible_set_can_be_put_back(seed: int, path: list[int]) -> None:
    margin = random_margin(seed)
    found = run_with(margin, find_flip_set(path, N_FEATURES, passes=PLENTY))
    starts = [tuple(path[:k]) for k in range(1, N_FEATURES + 1)]
    flipped = [start for start in starts if is_flip_set(margin, start)]
    if not flipped:
        assert found is None
        return
    assert found is not None
    assert found.is_irreducible
    assert is_flip_set(margin, found.features)
    assert set(found.features) <= set(flipped[0])
    assert list(found.features) == [f for f in path if f in found.features], "in path order"
    for smaller in combinations(found.features, len(found.features) - 1):
        assert not is_flip_set(margin, smaller)


@given(seed=st.integers(0, 500), path=st.permutations(range(N_FEATURES)), passes=st.integers(0, 12))
def test_passes_are_kept_and_no_mask_is_asked_for_twice(
    seed: int, path: list[int], passes: int
) -> None:
    margin = random_margin(seed)
    asked: list[Array] = []

    def counted(masks: Array) -> Floats:
        asked.append(masks.copy())
        return margin(masks)

    found = run_with(counted, find_flip_set(path, N_FEATURES, passes=passes))
    along_the_path, *put_back = asked
    assert len(along_the_path) == N_FEATURES + 1
    if put_back:
        masks = np.concatenate(put_back)
        assert len(masks) <= passes
        assert len(np.unique(masks, axis=0)) == len(masks)
    if found is not None:
        assert is_flip_set(margin, found.features)
        smaller = combinations(found.features, len(found.features) - 1)
        if found.is_irreducible:
            assert not any(is_flip_set(margin, each) for each in smaller)


def test_without_passes_nothing_is_claimed() -> None:
    def margin(masks: Array) -> Floats:
        return masks.sum(axis=1) - 4.5  # three of seven must go

    found = run_with(margin, find_flip_set([0, 1, 2], N_FEATURES, passes=1))
    assert found == FlipSet((0, 1, 2), is_irreducible=False)
    found = run_with(margin, find_flip_set([0, 1, 2], N_FEATURES, passes=2))
    assert found == FlipSet((0, 1, 2), is_irreducible=True)


def test_of_several_needless_features_the_one_that_leaves_the_lowest_margin_is_put_back() -> None:
    slopes = np.array([0.2, 0.1, 3.0, 0.0, 0.0, 0.0, 0.0])

    def margin(masks: Array) -> Floats:
        # Without the third feature, one more of the first two must go.
        return masks @ slopes - 0.25 + 5 * (masks[:, :2].all(axis=1) & ~masks[:, 2])

    found = run_with(margin, find_flip_set([0, 1, 2], N_FEATURES, passes=PLENTY))
    assert found == FlipSet((0, 2), is_irreducible=True)


def test_a_margin_of_zero_is_no_change() -> None:
    def margin(masks: Array) -> Floats:
        return masks.sum(axis=1) - 5.0

    found = run_with(margin, find_flip_set(list(range(N_FEATURES)), N_FEATURES, passes=PLENTY))
    assert found == FlipSet((0, 1, 2), is_irreducible=True)
    masks = np.concatenate(list(all_masks(N_FEATURES)))
    smallest = find_smallest_flip_set(masks, margin(masks))
    assert smallest is not None
    assert len(smallest.features) == 3


@pytest.mark.parametrize("path", [[], [0, 1]])
def test_a_path_that_changes_nothing_has_no_flip_set(path: list[int]) -> None:
    assert (
        run_with(lambda masks: np.ones(len(masks)), find_flip_set(path, 3, passes=PLENTY)) is None
    )


@given(seed=st.integers(0, 500))
def test_the_smallest_flip_set_is_that_of_brute_force(seed: int) -> None:
    margin = random_margin(seed)
    masks = np.concatenate(list(all_masks(N_FEATURES)))
    shuffled = np.random.default_rng(seed).permutation(masks)
    found = find_smallest_flip_set(shuffled, margin(shuffled))
    for size in range(1, N_FEATURES + 1):
        sets = [s for s in combinations(range(N_FEATURES), size) if is_flip_set(margin, s)]
        if sets:
            best = min(sets, key=lambda each: margin(without(each))[0])
            assert found == FlipSet(best, is_irreducible=True)
            return
    assert found is None
