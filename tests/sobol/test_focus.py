"""The search along the path of deletions: against sums, against greedy search, within its rows."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textsobol.methods import Game
from textsobol.methods.perturbing import GREEDY_DELETIONS, greedy
from textsobol.sobol.arrays import Array, Floats
from textsobol.sobol.focus import _HAIR, DEPTH, Focus, follow

PLENTY = 10**6


def additive(slopes: Floats) -> Callable[[Array], Floats]:
    return lambda masks: masks @ slopes


def tangled(n_features: int, seed: int) -> Callable[[Array], Floats]:
    """Features that speak for and against, and most of all in pairs and threes."""
    rng = np.random.default_rng(seed)
    slopes = rng.normal(0.2, 1, n_features)
    groups = [rng.choice(n_features, size, replace=False) for size in (2, 2, 3, 3)]
    weights = rng.normal(0, 2, len(groups))

    def score(masks: Array) -> Floats:
        together = [w * masks[:, g].all(axis=1) for w, g in zip(weights, groups, strict=True)]
        return np.tanh(masks @ slopes) + np.sum(together, axis=0)

    return score


def last_of(score: Callable[[Array], Floats], effects: Floats, **settings: float) -> Focus:
    *_, last = follow(score, effects, **settings)  # type: ignore[arg-type]
    return last


@pytest.mark.parametrize("rows", [1, 5, 30, PLENTY])
def test_of_a_sum_the_scores_are_the_slopes(rows: int) -> None:
    slopes = np.array([0.5, -1.0, 3.0, 0.0, 2.0, 1.0])
    found = last_of(additive(slopes), slopes, rows=rows)
    np.testing.assert_allclose(found.scores, slopes, atol=1e-9)
    expected = [2, 4, 5, 0][: len(found.order)]
    assert found.order.tolist() == expected


def test_a_wrong_beginning_is_mended_on_the_path() -> None:
    slopes = np.array([0.5, -1.0, 3.0, 0.0, 2.0, 1.0])
    found = last_of(additive(slopes), np.zeros(6), rows=PLENTY)
    assert found.order.tolist() == [2, 4, 5, 0]


def test_with_three_whole_looks_every_beginning_leads_to_the_same_first_deletions() -> None:
    slopes = np.random.default_rng(0).exponential(size=60)
    orders = {
        tuple(last_of(additive(slopes), beginning, rows=6 * 60).order[:4].tolist())
        for beginning in np.random.default_rng(1).exponential(size=(20, 60))
    }
    assert orders == {tuple(np.argsort(-slopes)[:4].tolist())}


@pytest.mark.parametrize("seed", range(5))
def test_with_all_rows_and_no_memory_it_is_greedy_search(seed: int) -> None:
    score = tangled(12, seed)
    found = last_of(score, np.zeros(12), rows=PLENTY, weight=1.0)
    game = Game(lambda masks: score(masks)[:, None], 12)
    searched = greedy(game, budget=PLENTY, seed=0).scores[:, 0]
    expected = np.argsort(-searched, kind="stable")[: len(found.order)]
    assert found.order.tolist() == expected.tolist()


@given(
    n_features=st.integers(3, 30),
    rows=st.integers(1, 200),
    depth=st.integers(1, 25),
    seed=st.integers(0, 99),
)
def test_what_is_promised_holds(n_features: int, rows: int, depth: int, seed: int) -> None:
    score = tangled(n_features, seed)
    asked: list[Array] = []

    def counted(masks: Array) -> Floats:
        asked.append(masks.copy())
        return score(masks)

    effects = np.random.default_rng(seed).normal(size=n_features)
    given_effects = effects.copy()
    steps = list(follow(counted, effects, rows=rows, depth=depth))
    found = steps[-1]
    np.testing.assert_array_equal(effects, given_effects)
    assert sum(map(len, asked)) <= rows + 1, "the whole input comes on top"
    assert len(found.order) <= min(depth, n_features)
    # What was deleted keeps its order; what stayed comes after.
    ranked = np.argsort(-found.scores, kind="stable")
    assert ranked[: len(found.order)].tolist() == found.order.tolist()
    assert (found.scores[found.order] > 0).all()
    stayed = np.setdiff1d(np.arange(n_features), found.order)
    if found.order.size:
        least = found.scores[found.order].min()
        assert (found.scores[stayed] < least).all()
        kept, known = found.scores[stayed], found.estimates[stayed]
        np.testing.assert_array_equal(kept[known <= 0], known[known <= 0])
        if (kept > 0).any():
            factors = kept[known > 0] / known[known > 0]
            np.testing.assert_allclose(factors, factors[0])
            assert factors[0] <= 1 + 1e-9
        # Neighbours that share have their mean: nothing is added and nothing lost, but hairs.
        hairs = 1.1 * _HAIR * np.abs(found.estimates).max() * len(found.order) ** 2
        total = found.estimates[found.order].sum()
        assert found.scores[found.order].sum() == pytest.approx(total, abs=hairs)
    # A longer search begins as a shorter one of the same looks.
    assert all(step.order.tolist() == found.order.tolist()[:k] for k, step in enumerate(steps))


def test_a_deletion_that_helps_the_label_does_not_stain_the_rest() -> None:
    slopes = np.array([1.0, -0.2, 0, 0, 0, 0, 0, 0])
    effects = np.array([1.0, 0.5, 0, 0, 0, 0, 0, 0])  # the second is not what it seemed
    found = last_of(additive(slopes), effects, rows=2)
    assert (found.scores[2:] == 0).all()


def test_it_ends_when_nothing_speaks_for_the_label() -> None:
    slopes = np.array([-1.0, 0.0, -2.0])
    steps = list(follow(additive(slopes), slopes, rows=PLENTY))
    assert len(steps) == 2, "what was known, and the look that found nothing"
    assert steps[-1].order.size == 0
    np.testing.assert_array_equal(steps[-1].scores, slopes)


def test_it_deletes_as_often_as_greedy_search() -> None:
    assert DEPTH == GREEDY_DELETIONS
