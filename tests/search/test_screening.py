"""Groups are split where it matters: their hierarchy, the passes spent, and what is found."""

from itertools import pairwise

import pytest

pytest.importorskip("hypothesis")

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from textsobol.driver import run_with
from textsobol.search.screening import build_hierarchy, choose_units
from textsobol.sobol.arrays import Array, Floats, Integers


@given(
    n_features=st.integers(1, 300),
    max_parts=st.integers(2, 9),
    cuts=st.lists(st.lists(st.integers(0, 300), max_size=30), max_size=3),
)
def test_levels_are_nested_and_no_group_has_too_many_parts(
    n_features: int, max_parts: int, cuts: list[list[int]]
) -> None:
    given_levels = [np.searchsorted(np.sort(c), np.arange(n_features), side="right") for c in cuts]
    levels = build_hierarchy(n_features, given_levels, max_parts=max_parts)
    assert levels[-1].tolist() == list(range(n_features))
    for coarse, fine in pairwise([np.zeros(n_features, dtype=int), *levels]):
        n_parts = _n_parts(coarse, fine)
        assert n_parts.sum() == fine.max() + 1, "a part lies in one group only"
        assert n_parts.max() <= max_parts
    for level in given_levels[:1]:
        assert any(_same_groups(level, found) for found in levels) or level.max() == level.min()


def _n_parts(coarse: Integers, fine: Integers) -> Integers:
    pairs = np.unique(np.stack([coarse, fine]), axis=1)
    return np.bincount(pairs[0])


def _same_groups(one: Integers, other: Integers) -> bool:
    return bool(((one[:, None] == one) == (other[:, None] == other)).all())


@given(passes=st.integers(0, 400), max_units=st.integers(8, 100), seed=st.integers(0, 50))
def test_neither_passes_nor_units_are_more_than_allowed(
    passes: int, max_units: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    slopes = rng.standard_t(2, 500)
    asked = 0

    def score(masks: Array) -> Floats:
        nonlocal asked
        asked += len(masks)
        return masks @ slopes

    levels = build_hierarchy(500, [np.arange(500) // 20])
    steps = choose_units(levels, passes=passes, max_units=max_units, keep_rate=0.5, seed=seed)
    units = run_with(score, steps)
    assert asked <= passes
    assert np.unique(units).tolist() == list(range(units.max() + 1))
    assert units.max() + 1 <= max_units


def test_what_matters_is_found_among_two_thousand() -> None:
    levels = build_hierarchy(2000, [np.arange(2000) // 200, np.arange(2000) // 20])
    found = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        slopes = rng.normal(0, 0.01, 2000)
        strong = rng.choice(2000, 5, replace=False)
        slopes[strong] += rng.choice([-3.0, 3.0], 5)
        steps = choose_units(levels, passes=250, max_units=124, keep_rate=0.5, seed=seed)
        units = run_with(lambda masks, slopes=slopes: masks @ slopes, steps)  # type: ignore[misc]
        alone = np.bincount(units)[units] == 1
        assert alone.mean() < 0.06, "the rest was not split"
        found.append(alone[strong].mean())
    # Not all: where two of one group cancel out, it does not look as if it mattered.
    assert np.mean(found) >= 0.9


@pytest.mark.parametrize("relation", ["together", "redundant"])
@pytest.mark.parametrize("seed", range(6))
def test_a_thorough_screening_finds_features_that_one_mask_can_hide(
    relation: str, seed: int
) -> None:
    """Two of 500 features that only matter together, or only without each other."""

    def score(masks: Array) -> Floats:
        pair = masks[:, [123, 377]]
        return np.asarray((pair.all if relation == "together" else pair.any)(axis=1), dtype=float)

    steps = choose_units(
        build_hierarchy(500), passes=400, max_units=100, keep_rate=0.5, seed=seed, is_thorough=True
    )
    units = run_with(score, steps)
    assert np.bincount(units)[units[[123, 377]]].tolist() == [1, 1]
