"""Signed indices, the path beside them, pairs and groups: one budget, and scores left alone."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from tests.problems import attribution, problem_of
from tests.sobol.games import tangled
from textsobol import ConstantScoreWarning, sobol_indices
from textsobol.driver import stream
from textsobol.errors import UnstableTopWarning
from textsobol.methods import Problem, Scale, Sobol
from textsobol.methods.contract import Decision
from textsobol.methods.division import Wanted
from textsobol.search import divide_budget
from textsobol.sobol.arrays import Array, Floats

sobol = Sobol(path=False)

D = 40


def column(score: Callable[[Array], Floats]) -> Callable[[Array], Floats]:
    return lambda masks: score(masks)[:, None]


def _first_column(outputs: Floats) -> Floats:
    return outputs[:, 0]


def decided(
    score: Callable[[Array], Floats], n_features: int = D, *, analysed: bool = True
) -> Problem:
    """A game whose decision is the sign of its one score."""
    decision = Decision(_first_column, _first_column, 0 if analysed else None)
    return problem_of(column(score), n_features, decision=decision)


def spied(score: Callable[[Array], Floats]) -> tuple[Callable[[Array], Floats], set[bytes]]:
    """The score, and the masks that it has seen."""
    seen: set[bytes] = set()

    def spy(masks: Array) -> Floats:
        seen.update(mask.tobytes() for mask in masks)
        return score(masks)

    return spy, seen


def test_the_scores_are_the_signed_indices_whatever_the_path_does() -> None:
    score = tangled(D, 1)
    with_path = attribution(sobol, decided(score), budget=1 + 8 * (D + 1), seed=3, path=True)
    n_base, n_leader = (with_path.settings[name] for name in ("base_masks", "leader_masks"))
    alone = sobol_indices(column(score), D, base_masks=n_base, leader_masks=n_leader, seed=3)
    assert n_base + n_leader >= 8, "enough for intervals"
    assert with_path.path is not None
    assert len(with_path.path.order) > 5
    np.testing.assert_array_equal(with_path.scores, alone.signed)
    assert with_path.indices is not None
    for name in ("total", "first", "effect"):
        np.testing.assert_array_equal(getattr(with_path.indices, name), getattr(alone, name))


def test_what_the_search_does_not_need_makes_the_indices_surer() -> None:
    """Nothing speaks for the label, so that the search ends at once."""
    slopes = -np.random.default_rng(3).exponential(size=D)
    budget = 1 + 10 * (D + 1)
    found = attribution(
        sobol, decided(lambda masks: masks @ slopes), budget=budget, seed=0, path=True
    )
    assert found.path is not None
    assert found.path.order == ()
    planned = divide_budget(budget, D).masks
    assert found.settings["base_masks"] + found.settings["leader_masks"] > sum(planned)
    assert found.mask_counts is not None
    assert found.mask_counts[1] <= budget


@pytest.mark.parametrize("path", [False, True])
@pytest.mark.parametrize("keep", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("design", ["latin", "random", "halton"])
@pytest.mark.parametrize("budget", [30, 42, 90, 300])
def test_no_setting_exceeds_the_budget(keep: float, design: str, budget: int, path: bool) -> None:
    score, seen = spied(tangled(D, 5))
    found = attribution(
        sobol, decided(score), budget=budget, seed=1, keep=keep, design=design, path=path
    )
    assert found.mask_counts is not None
    assert found.mask_counts[1] == len(seen) <= budget
    assert np.isfinite(found.scores).all()


@pytest.mark.parametrize("rows", [None, 1, 9])
@pytest.mark.parametrize("budget", [2, 3, 4, 7, 12, 20, 41])
def test_a_small_budget_masks_groups_and_gives_their_indices(budget: int, rows: int | None) -> None:
    score, seen = spied(tangled(D, 3))
    found = attribution(sobol, decided(score), budget=budget, seed=0, base_masks=rows, path=True)
    assert 0.6 * budget <= len(seen) <= budget
    assert found.units is not None
    units = found.units
    assert len(np.unique(units)) == max(1, budget - 2)
    made = {
        "estimator": found.settings["estimator"],
        "base_masks": found.settings["base_masks"] or None,
    }
    grouped = sobol_indices(column(tangled(D, 3)), D, seed=0, groups=units, **made)
    np.testing.assert_allclose(found.scores, grouped.signed[units], rtol=1e-9)


def test_where_all_masks_are_scored_the_search_costs_nothing() -> None:
    score, seen = spied(tangled(8, 2))
    found = attribution(sobol, decided(score, 8), budget=600, seed=0, path=True)
    assert found.settings["estimator"] == "exact"
    assert len(seen) == 2**8
    assert found.mask_counts is not None
    assert found.mask_counts[1] == 2**8
    assert found.path is not None
    assert found.path.order


def test_of_all_masks_the_flip_set_is_the_smallest_there_is() -> None:
    for seed in range(8):
        inner = tangled(7, seed)
        whole = float(inner(np.ones((1, 7), dtype=bool))[0])

        def score(
            masks: Array, inner: Callable[[Array], Floats] = inner, w: float = whole
        ) -> Floats:
            return np.sign(w) * inner(masks) - 0.3 * abs(w)

        found = attribution(sobol, decided(score, 7), budget=600, seed=0, path=True)
        assert found.path is not None
        smaller = range(8 if found.path.flip is None else len(found.path.flip))
        for size in smaller:
            masks = np.ones((0, 7), dtype=bool)
            for gone in combinations(range(7), size):
                mask = np.ones((1, 7), dtype=bool)
                mask[:, list(gone)] = False
                masks = np.concatenate([masks, mask])
            assert (score(masks) >= 0).all()
        if found.path.flip is not None:
            mask = np.ones((1, 7), dtype=bool)
            mask[:, list(found.path.flip)] = False
            assert score(mask)[0] < 0
            assert found.path.is_smallest


def test_the_path_starts_from_the_decision_also_when_another_label_is_analysed() -> None:
    score = tangled(D, 4)
    known, unknown = (
        attribution(sobol, decided(score, analysed=analysed), budget=5 * D, seed=0, path=True)
        for analysed in (True, False)
    )
    assert known.path == unknown.path
    assert known.path is not None
    assert known.path.order


@pytest.mark.parametrize(
    "how",
    [
        {"budget": 12 * D},
        {"budget": 500, "precision": 0.95},
        {"budget": 500, "precision": 0.95, "base_masks": 10},
        {"budget": 300, "estimator": "jansen"},
        {"budget": 20},
    ],
)
def test_a_decision_that_is_not_analysed_asks_for_no_mask_of_its_own(how: dict[str, Any]) -> None:
    """Racing drops features and leader rows flip only some: the decision has the same flips."""
    slopes = np.where(np.arange(D) < 7, 2 - np.arange(D) / 12, 0.0)

    def score(masks: Array) -> Floats:
        return np.asarray(masks @ slopes + 3.0 * (masks.sum(axis=1) % 2))

    spy, seen = spied(score)
    analysed = decided(score)
    unknown = decided(spy, analysed=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnstableTopWarning)
        known, found = (
            attribution(sobol, game, seed=0, path=True, **how) for game in (analysed, unknown)
        )
    assert len(seen) <= how["budget"]
    assert found.path == known.path
    assert found.mask_counts == known.mask_counts


def test_stages_get_better_and_end_with_the_answer() -> None:
    game = replace(decided(tangled(D, 6)), is_streamed=True)
    streamed = list(stream(Sobol().attribute(game, budget=400, seed=2)))
    whole = attribution(sobol, decided(tangled(D, 6)), budget=400, seed=2, path=True)
    base_masks = [found.settings["base_masks"] for found in streamed]
    assert base_masks[:3] == [1, 2, 4]
    assert base_masks == sorted(base_masks)
    lengths = [len(found.path.order) for found in streamed if found.path is not None]
    assert lengths == sorted(lengths)
    np.testing.assert_array_equal(streamed[-1].scores, whole.scores)
    assert streamed[-1].path == whole.path


@pytest.mark.parametrize("budget", [48, 60, 300, 1000])
def test_pairs_are_those_of_the_highest_with_base_masks_of_their_own(budget: int) -> None:
    score = column(tangled(D, 1))
    found = attribution(sobol, problem_of(score, D), budget=budget, seed=3, interactions=4)
    assert found.indices is not None
    pairs = found.indices.pairs
    assert pairs is not None
    most = np.argsort(-found.indices.total.max(axis=1), kind="stable")[:4]
    assert pairs.pairs.tolist() == [list(pair) for pair in combinations(sorted(most), 2)]
    n_base = found.settings["pair_base_masks"]
    assert n_base >= {48: 1, 60: 1, 300: 8, 1000: 30}[budget]
    # All features flipped in as many base masks say the same of pairs, and cost far more.
    same = [(one, other) for one, other in pairs.pairs.tolist()]
    alone = sobol_indices(score, D, base_masks=n_base, seed=3, pairs=same)
    assert alone.pairs is not None
    np.testing.assert_allclose(pairs.effect, alone.pairs.effect, rtol=1e-9, atol=1e-12)
    # Their share is one of the same variance as those of single features, and never above 1.
    parts = alone.pairs.total * alone.variance
    wanted = parts / max(found.indices.variance[0], parts.max())
    np.testing.assert_allclose(pairs.total, wanted, rtol=1e-9, atol=1e-12)
    assert found.mask_counts is not None
    assert found.mask_counts[1] <= budget


@pytest.mark.parametrize("seed", range(4))
def test_two_that_do_nothing_alone_are_found_for_any_label(seed: int) -> None:
    slopes = np.random.default_rng(seed).normal(scale=0.05, size=D)

    def score(masks: Array) -> Floats:
        both = masks[:, 5] & masks[:, 17]
        return np.stack([masks @ slopes, 2.0 * both + masks @ slopes], axis=1)

    found = attribution(sobol, problem_of(score, D), budget=1000, seed=seed, interactions=6)
    assert found.indices is not None
    assert found.indices.pairs is not None
    (place,) = np.flatnonzero((found.indices.pairs.pairs == [5, 17]).all(axis=1))
    assert found.indices.pairs.effect[place] == pytest.approx([0, 2], abs=1e-9)


@pytest.mark.parametrize(("d", "budget", "k"), [(3, 8, 3), (5, 40, 3), (8, 257, 4)])
def test_pairs_are_exact_where_all_masks_fit(d: int, budget: int, k: int) -> None:
    def score(masks: Array) -> Floats:
        return (masks[:, [0]] & masks[:, [1]]) + 0.1 * masks[:, [2]]

    found = attribution(sobol, problem_of(score, d), budget=budget, seed=0, interactions=k)
    assert found.settings["estimator"] == "exact"
    assert found.indices is not None
    assert found.indices.pairs is not None
    assert found.indices.pairs.effect[0] == pytest.approx(1)
    assert (found.indices.pairs.effect_error == 0).all()


@pytest.mark.parametrize("seed", [7, 8, 9])
def test_no_pair_has_more_than_all_of_the_variance(seed: int) -> None:
    def score(masks: Array) -> Floats:
        return 0.02 * masks.sum(axis=1, keepdims=True) + 3.0 * masks[:, :4].all(1, keepdims=True)

    found = attribution(sobol, problem_of(score, D), budget=120, seed=seed, interactions=4)
    assert found.indices is not None
    assert found.indices.pairs is not None
    assert (found.indices.pairs.total <= 1 + 1e-12).all()


@pytest.mark.parametrize("interactions", [0, 4])
@pytest.mark.parametrize("budget", [60, 100, 300])
def test_where_nothing_speaks_for_the_label_the_budget_holds(
    budget: int, interactions: int
) -> None:
    slopes = -np.random.default_rng(3).exponential(size=14)

    def score(masks: Array) -> Floats:
        return np.asarray(np.tanh(masks @ slopes + masks[:, 0] * masks[:, 1]))

    found = attribution(
        sobol, decided(score, 14), budget=budget, seed=1, interactions=interactions, path=True
    )
    assert found.mask_counts is not None
    assert found.mask_counts[1] <= budget
    assert (found.scores < 0).any()


def test_a_score_that_never_changes_is_reported() -> None:
    with pytest.warns(ConstantScoreWarning, match="all scores are 0"):
        found = attribution(
            sobol, decided(lambda masks: np.ones(len(masks))), budget=400, seed=0, path=True
        )
    assert not found.scores.any()


def test_base_masks_that_saw_no_change_are_no_constant_score() -> None:
    """Only the path, which deletes what is left, meets the one mask that differs."""

    def score(masks: Array) -> Floats:
        return np.asarray(masks.all(axis=1) - 0.5)

    found = attribution(sobol, decided(score), budget=400, seed=0, path=True)
    assert not found.scores.any()
    assert found.path is not None
    assert found.path.order


@pytest.mark.parametrize("sign", ["mean", "occlusion"])
@pytest.mark.parametrize("estimator", ["flip", "jansen", "saltelli", "exact"])
@pytest.mark.parametrize("path", [False, True])
def test_the_smallest_budget_is_enough_and_less_is_refused_by_its_own_name(
    estimator: str, sign: str, path: bool
) -> None:
    score, seen = spied(tangled(7, 2))
    least = Wanted(estimator, sign).least_masks(7)
    how: dict[str, Any] = {"seed": 0, "estimator": estimator, "sign": sign, "path": path}
    found = attribution(sobol, decided(score, 7), budget=least, **how)
    assert found.mask_counts is not None
    assert len(seen) == found.mask_counts[1] <= least
    method, scale = Sobol(estimator=estimator, sign=sign, path=path), Scale(7, "features", 100)
    assert method.choose_budget(least, scale) == least
    with pytest.raises(ValueError, match=f"budget={least - 1}: 7 features need at least {least} "):
        method.choose_budget(least - 1, scale)


@pytest.mark.parametrize("sign", ["mean", "occlusion"])
def test_real_valued_masks_keep_to_the_budget_beside_the_whole_input(sign: str) -> None:
    def score(masks: Array) -> Floats:
        return masks @ np.arange(7.0)

    spy, seen = spied(score)
    least = Wanted.of("auto", sign, keep=None).least_masks(7)
    for budget in (least, least + 40):
        seen.clear()
        found = attribution(
            sobol, problem_of(column(spy), 7), budget=budget, seed=0, keep=None, sign=sign
        )
        assert found.mask_counts is not None
        assert len(seen) == found.mask_counts[1] <= budget
