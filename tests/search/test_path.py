"""The path against known truth: sums, AND, OR, redundant words, greedy search."""

from collections.abc import Callable

import pytest

pytest.importorskip("hypothesis")

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from textsobol.driver import run_with, stream_with
from textsobol.methods import Greedy
from textsobol.search import DEPTH, count_search_passes, search_path
from textsobol.sobol.arrays import Array, Floats
from textsobol.sobol.masks import without_each

GREEDY_DELETIONS = Greedy.deletions

PLENTY = 10**6
SLOPES = np.array([0.5, -1.0, 3.0, 0.0, 2.0, 1.0])


def additive(slopes: Floats) -> Callable[[Array], Floats]:
    return lambda masks: masks @ slopes


def tangled(n_features: int, seed: int) -> Callable[[Array], Floats]:
    """Features that speak for and against the label, most of all in pairs and threes."""
    rng = np.random.default_rng(seed)
    slopes = rng.normal(0.2, 1, n_features)
    groups = [rng.choice(n_features, size, replace=False) for size in (2, 2, 3, 3)]
    weights = rng.normal(0, 2, len(groups))

    def score(masks: Array) -> Floats:
        together = [w * masks[:, g].all(axis=1) for w, g in zip(weights, groups, strict=True)]
        return np.tanh(masks @ slopes) + np.sum(together, axis=0)

    return score


def last_path(
    score: Callable[[Array], Floats], effects: Floats, spreads: Floats | None = None, *, passes: int
) -> list[int]:
    paths = list(stream_with(score, search_path(effects, spreads, passes=passes)))[:-1]
    return paths[-1] if paths else []


@pytest.mark.parametrize("passes", [1, 5, 30, PLENTY])
def test_of_a_sum_the_path_is_the_order_of_the_slopes(passes: int) -> None:
    found = last_path(additive(SLOPES), SLOPES, passes=passes)
    assert found == [2, 4, 5, 0][: len(found)]
    assert len(found) == 4 or passes < 10


@pytest.mark.parametrize("effects", [np.zeros(6), -SLOPES, SLOPES[::-1]])
def test_with_enough_passes_wrong_effects_do_no_harm(effects: Floats) -> None:
    assert last_path(additive(SLOPES), effects, passes=PLENTY)[:4] == [2, 4, 5, 0]


def test_of_an_and_one_feature_is_enough() -> None:
    def score(masks: Array) -> Floats:
        return 4.0 * masks[:, [1, 3]].all(axis=1) + 0.5 * masks[:, 0]

    effects = np.array([0.5, 2.0, 0.0, 2.0])
    first, *rest = stream_with(score, search_path(effects, passes=PLENTY))
    assert first[0] in (1, 3)
    assert rest[0][1] == 0, "the partner has nothing left to say"


def test_of_an_or_both_features_are_deleted_although_neither_alone_is_missed() -> None:
    def score(masks: Array) -> Floats:
        return 4.0 * masks[:, [1, 3]].any(axis=1) + 0.5 * masks[:, 0]

    effects = np.array([0.5, 2.0, 0.0, 2.0])
    assert sorted(last_path(score, effects, passes=PLENTY)) == [0, 1, 3]


def test_a_feature_that_does_nothing_is_not_deleted_before_redundant_ones() -> None:
    """Neither of the last two is missed at first: all three seem to change nothing."""

    def score(masks: Array) -> Floats:
        return np.where(masks[:, 1:].any(axis=1), 4.0, 0.0)

    assert last_path(score, np.array([0.0, 2.0, 2.0]), passes=PLENTY) == [1, 2]


def test_redundant_words_are_deleted_before_weak_ones_show() -> None:
    def score(masks: Array) -> Floats:
        return 3.0 * masks[:, :3].any(axis=1) + masks[:, 3:] @ np.full(30, 0.01)

    effects = np.array([0.75] * 3 + [0.01] * 30)
    found = last_path(score, effects, passes=33)
    assert set(found) >= {0, 1, 2}


@pytest.mark.parametrize("seed", range(20))
def test_a_complete_search_is_greedy_while_that_lowers_the_score(seed: int) -> None:
    n_features = 12
    score = tangled(n_features, seed)
    passes = count_search_passes(n_features)
    found = last_path(score, np.full(n_features, 1e-6), passes=passes)
    present = np.ones(n_features, dtype=bool)
    for feature in found:
        before = score(present[None])[0]
        left = np.flatnonzero(present)
        after = score(without_each(present, left))
        if after.min() >= before:
            break
        assert feature == left[after.argmin()]
        present[feature] = False
    assert found


def test_what_was_hidden_is_found_when_all_features_are_scored() -> None:
    """The last feature does nothing until five of the first nine are gone."""

    def score(masks: Array) -> Floats:
        first = masks[:, :9].sum(axis=1)
        return np.maximum(first, 4.5 * masks[:, -1]) + 0.1 * masks[:, 9:40].sum(axis=1)

    effects = np.array([*np.full(9, 1.0), *np.full(31, 0.1), *np.zeros(60)])
    # With five passes a feature, the steps after 3, 8 and 13 deletions score all features.
    found = last_path(score, effects, passes=5 * 100)
    assert 99 in found
    assert 99 not in last_path(score, effects, passes=100)


def test_a_feature_whose_effect_depends_on_others_is_scored_sooner() -> None:
    slopes = np.array([*np.full(30, 0.1), 1.0])
    effects = np.array([*np.full(30, 0.1), 0.0])
    spreads = np.array([*np.zeros(30), 1.0])
    assert last_path(additive(slopes), effects, spreads, passes=30)[0] == 30
    assert last_path(additive(slopes), effects, passes=30)[0] != 30


def test_a_first_candidate_that_disappoints_does_not_end_the_search() -> None:
    slopes = np.array([-1.0, 0.5, 0.4, *np.zeros(17)])
    effects = np.array([0.6, 0.5, 0.4, *np.zeros(17)])
    assert last_path(additive(slopes), effects, passes=6)[:2] == [1, 2]


@given(
    n_features=st.integers(3, 30),
    passes=st.integers(0, 200),
    depth=st.integers(1, 25),
    seed=st.integers(0, 99),
)
def test_passes_depth_and_effects_are_respected(
    n_features: int, passes: int, depth: int, seed: int
) -> None:
    score = tangled(n_features, seed)
    asked: list[Array] = []

    def counted(masks: Array) -> Floats:
        asked.append(masks.copy())
        return score(masks)

    effects, spreads = np.random.default_rng(seed).normal(size=(2, n_features))
    untouched = effects.copy(), spreads.copy()
    paths = list(stream_with(counted, search_path(effects, spreads, passes=passes, depth=depth)))[
        :-1
    ]
    np.testing.assert_array_equal((effects, spreads), untouched)
    masks = np.concatenate(asked)
    assert len(masks) <= passes + 1, "the whole input comes on top"
    assert len(np.unique(masks, axis=0)) == len(masks), "no mask is asked for twice"
    assert len(paths) <= min(depth, n_features)
    for n_deleted, path in enumerate(paths, start=1):
        assert path == paths[-1][:n_deleted]
        assert len(set(path)) == n_deleted
        assert all(type(feature) is int for feature in path)


def test_it_ends_when_nothing_speaks_for_the_label() -> None:
    slopes = np.array([-1.0, 0.0, -2.0])
    assert run_with(additive(slopes), search_path(slopes, passes=PLENTY)) == []


def test_rounding_deletes_nothing() -> None:
    slopes = np.array([1.0, 1e-15, 0.0])
    assert last_path(additive(slopes), slopes, passes=PLENTY) == [0]


def test_it_deletes_as_often_as_greedy_search() -> None:
    assert DEPTH == GREEDY_DELETIONS
