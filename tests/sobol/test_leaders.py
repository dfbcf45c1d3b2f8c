"""More base masks for the features that lead: what they change, and what they must not."""

from typing import Any

import pytest

pytest.importorskip("hypothesis")

import numpy as np
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from benchmarks.estimators.coverage import coverage, score_table
from tests.sobol.games import tangled
from textsobol.sobol import sobol_indices
from textsobol.sobol.arrays import Array, Floats
from textsobol.sobol.config import count_leaders

D = 40


def test_those_that_lead_have_the_indices_of_all_masks() -> None:
    """Sums over masks are the same as if every feature had been flipped in every mask."""
    score = tangled(D, 0)
    led = sobol_indices(score, D, base_masks=4, leader_masks=8)
    all_masks, first_masks = (sobol_indices(score, D, base_masks=n_base) for n_base in (12, 4))
    leaders = np.argsort(-first_masks.total)[: count_leaders(D)]
    others = np.setdiff1d(np.arange(D), leaders)
    np.testing.assert_allclose(led.effect[leaders], all_masks.effect[leaders])
    np.testing.assert_allclose(led.effect[others], first_masks.effect[others])
    np.testing.assert_allclose(
        (led.total * led.variance)[leaders], (all_masks.total * all_masks.variance)[leaders]
    )
    assert led.n_masks == 4 * (1 + D) + 8 * (1 + len(leaders))
    assert led.settings.leader_masks == 8


@given(st.integers(0, 1000))
@hypothesis_settings(max_examples=25)
def test_an_additive_score_is_still_known_exactly(seed: int) -> None:
    slopes = np.random.default_rng(seed).normal(size=D)
    result = sobol_indices(lambda masks: masks @ slopes, D, base_masks=4, leader_masks=8, seed=seed)
    shares = slopes**2 / (slopes**2).sum()
    np.testing.assert_allclose(result.total, shares, rtol=1e-9)
    np.testing.assert_allclose(result.first, shares, rtol=1e-9)
    np.testing.assert_allclose(result.effect, slopes, rtol=1e-9)
    np.testing.assert_allclose(np.subtract(*result.interval()), 0, atol=1e-9)


def test_leaders_of_any_label_lead() -> None:
    """The first label is larger by far; the second is decided by the last two features."""

    def score(masks: Array) -> Floats:
        return np.stack([1000 * masks[:, 0], masks[:, -2] * masks[:, -1]], axis=1)

    result = sobol_indices(score, D, base_masks=4, leader_masks=8)
    alone = sobol_indices(lambda masks: score(masks)[:, 1], D, base_masks=12)
    np.testing.assert_allclose(result.effect[-2:, 1], alone.effect[-2:])


@pytest.mark.parametrize("name", ["and", "majority", "xor, rest", "lookup", "additive", "negation"])
def test_their_intervals_hold_the_truth(name: str) -> None:
    for index, found in coverage(
        score_table(name), 0.5, n_base=4, leader_masks=8, n_seeds=25
    ).items():
        assert found.held >= 0.9, (index, found)


@pytest.mark.parametrize("scale", [0.3, 1.0])
def test_their_intervals_hold_the_truth_where_few_features_lead(scale: float) -> None:
    """A sum and products of neighbours, of 80 features of which 14 lead: truth in closed form."""
    d, rng = 80, np.random.default_rng(7)
    slopes, products = rng.normal(size=d) ** 3, scale * rng.normal(size=d // 2) ** 3
    both = np.repeat(products, 2)  # D_i = slope + product z_j
    size = slopes**2 + slopes * both + both**2 / 2
    variance = ((slopes + both / 2) ** 2).sum() / 4 + (products**2).sum() / 16
    truth = {"total": size / 4 / variance, "effect": slopes + both / 2}

    def score(masks: Array) -> Floats:
        return np.asarray(masks @ slopes + (masks[:, ::2] & masks[:, 1::2]) @ products)

    held: dict[str, list[Floats]] = {"total": [], "effect": []}
    for seed in range(20):
        result = sobol_indices(score, d, base_masks=4, leader_masks=8, seed=seed)
        for name, own in held.items():
            low, high = result.interval(of=name)
            own.append((low <= truth[name] + 1e-12) & (truth[name] - 1e-12 <= high))
    for name, own in held.items():
        assert np.mean(own) >= 0.9, name
        strongest = np.argsort(-truth["total"])[:10]
        assert np.mean(np.array(own)[:, strongest]) >= 0.85, name


def test_four_masks_are_enough_only_beside_leaders() -> None:
    score = tangled(D, 1)
    low, high = sobol_indices(score, D, base_masks=4).interval()
    assert (high - low == 1).all()
    low, high = sobol_indices(score, D, base_masks=4, leader_masks=4).interval()
    assert (high - low < 1).all()


def test_what_leader_masks_do_not_go_with() -> None:
    score = tangled(D, 1)
    with pytest.raises(ValueError, match="0 or more"):
        sobol_indices(score, D, leader_masks=-1)
    settings: list[dict[str, Any]] = [{"precision": 0.9}, {"pairs": 3}, {"estimator": "jansen"}]
    for more in settings:
        with pytest.raises(ValueError, match="leader_masks need estimator='flip'"):
            sobol_indices(score, D, leader_masks=4, **more)
    with pytest.raises(ValueError, match="below the smallest design"):
        sobol_indices(score, D, leader_masks=4, budget=D + 1)
    assert sobol_indices(score, D, leader_masks=4, budget=200).n_distinct <= 200
