"""Indices from gates: right where derivatives are exact, calibrated where they are not."""

from typing import Any

import numpy as np
import pytest

from tests.sobol.gated_games import GatedGame, additive, planted_pair
from textsobol.driver import run
from textsobol.methods.contract import Problem
from textsobol.sobol import SobolIndices, sobol_indices
from textsobol.sobol.arrays import Array, Floats
from textsobol.sobol.gated import GatedScores, choose_leaders, draw_flips
from textsobol.sobol.gated_steps import GatedPlan, ask_gates, flip_leaders, make_indices
from textsobol.steps import Steps

PLAN = GatedPlan(n_base=12, n_leaders=4, n_sampled=8)


def scores_of(game: GatedGame, plan: GatedPlan = PLAN, *, seed: int = 0) -> GatedScores:
    problem = Problem(game.model(), lambda outputs: outputs, n_labels=1)

    def steps() -> Steps[GatedScores]:
        asked = ask_gates(game.n_features, plan, keep=0.5, design="random", seed=seed)
        base = yield from problem.serve(asked)
        return base.scores if not plan.n_leaders else (yield from problem.serve(flip_leaders(base)))

    return run(steps())


def indices_of(game: GatedGame, plan: GatedPlan = PLAN, *, seed: int = 0) -> SobolIndices:
    return make_indices(scores_of(game, plan, seed=seed), design="random", seed=seed, sign="mean")


def test_an_additive_score_is_found_but_for_the_floor() -> None:
    weights = np.array([3.0, -2.0, 1.0, *np.linspace(-0.3, 0.3, 17)])
    game = additive(weights)
    found = indices_of(game)
    exact = weights**2 / (weights**2).sum()
    np.testing.assert_allclose(found.effect[:, 0], weights, atol=1e-6)
    np.testing.assert_allclose(found.total[:3, 0], exact[:3], rtol=0.1)
    low, high = found.interval()
    assert ((low[:, 0] <= exact + 1e-9) & (exact <= high[:, 0] + 1e-9)).mean() > 0.9


def test_derivatives_of_a_wrong_scale_are_calibrated_by_flips() -> None:
    weights = np.array([3.0, -2.0, 1.0, 0.5, *np.linspace(-0.3, 0.3, 26)])
    for scale in (0.2, 5.0):
        found = indices_of(additive(weights, scale=scale), GatedPlan(8, 0, 16))
        np.testing.assert_allclose(found.effect[:, 0], weights, atol=0.35 * np.abs(weights).max())
        assert np.argmax(found.total[:, 0]) == 0


def test_leaders_have_the_indices_of_real_flips_whatever_the_derivatives_say() -> None:
    """What was flipped is measured: derivatives only choose it."""
    game = planted_pair(20)
    scores = scores_of(game)
    leaders = np.flatnonzero(scores.is_leading)
    base, flips = scores.base, scores.differences[:, leaders, 0]
    by_hand = [
        [game.score(with_i[None])[0, 0] - game.score(without_i[None])[0, 0]
         for with_i, without_i in _both(base, feature)]
        for feature in leaders
    ]  # fmt: skip
    np.testing.assert_allclose(flips.T, by_hand)
    found = make_indices(scores, design="random", seed=0, sign="mean")
    np.testing.assert_allclose(found.effect[leaders, 0], flips.mean(axis=0))


def _both(base: Array, feature: Any) -> list[tuple[Array, Array]]:
    pairs = []
    for mask in base:
        with_i, without_i = mask.copy(), mask.copy()
        with_i[feature], without_i[feature] = True, False
        pairs.append((with_i, without_i))
    return pairs


@pytest.mark.parametrize("seed", range(5))
def test_two_features_that_only_decide_together_lead(seed: int) -> None:
    found = indices_of(planted_pair(60), seed=seed)
    assert set(np.argsort(-found.total[:, 0])[:2]) == {7, 41}


def test_effects_of_leaders_are_unbiased() -> None:
    """A z-test over designs: the choice of leaders must not depend on their flips."""
    game = planted_pair(8)
    exact = sobol_indices(lambda masks: game.score(masks), 8, estimator="exact")
    deviations = []
    for seed in range(150):
        scores = scores_of(game, GatedPlan(8, 3, 4), seed=seed)
        leading = scores.is_leading
        flips = scores.differences[:, leading, 0].mean(axis=0)
        deviations += [(flips - exact.effect[leading, 0]).sum()]
    z = np.mean(deviations) / (np.std(deviations, ddof=1) / np.sqrt(len(deviations)))
    assert abs(z) < 4


def test_the_sum_of_what_was_screened_out_is_about_right_and_bounded() -> None:
    rng = np.random.default_rng(3)
    weights = np.concatenate([[4.0, -3.0, 3.0, 2.0], rng.normal(0, 0.4, 60)])
    ratios, held = [], 0
    for seed in range(40):
        game = additive(weights, noise=1.0, seed=seed)
        scores = scores_of(game, GatedPlan(12, 4, 24), seed=seed)
        found = make_indices(scores, design="random", seed=seed, sign="mean")
        is_screened = ~scores.is_leading
        truth = (weights[is_screened] ** 2).sum() / (weights**2).sum()
        (total,), (high,) = found.predicted_total()
        ratios.append(total / truth)
        held += truth <= high
    assert 0.7 < np.mean(ratios) < 1.4
    assert held >= 36


def test_a_label_whose_score_never_changes_has_no_indices() -> None:
    game = additive(np.array([1.0, 2.0, -1.0, 0.5, 0.1, 0.2]), constant_label=True)
    found = indices_of(game, GatedPlan(8, 2, 4))
    assert (found.total[:, 1] == 0).all()
    assert found.total[:, 0].max() > 0.3
    low, high = found.interval()
    assert (low[:, 1] == 0).all()
    assert (high[:, 1] == 1).all()


def test_a_contrast_is_the_result_of_the_difference_of_scores() -> None:
    weights = np.array([[2.0, -1.0], [1.0, 1.0], [0.2, 0.4], [0.0, 1.5], *[[0.05, 0.1]] * 8])
    both, difference = additive(weights), additive(weights[:, :1] - weights[:, 1:])
    plan = GatedPlan(8, 12, 0)
    found = indices_of(both, plan).contrast(0, 1)
    np.testing.assert_allclose(found.effect, indices_of(difference, plan).effect[:, 0], atol=1e-9)
    np.testing.assert_allclose(found.total, indices_of(difference, plan).total[:, 0], atol=1e-9)


def test_every_feature_can_be_drawn_and_chances_are_those_of_the_draws() -> None:
    sizes = np.array([9.0, 8.0, 3.0, 1.0, 0.1, 0.0])[:, None]
    leaders = choose_leaders(sizes, 2)
    n_drawn = np.zeros((4, 6))
    for seed in range(3000):
        is_drawn, chances = draw_flips(sizes, leaders, 4, 2, seed)
        n_drawn += is_drawn
        assert not is_drawn[:, leaders].any()
    assert (chances[:, 2:] > 0).all()
    np.testing.assert_allclose(n_drawn / 3000, chances, atol=0.03)


def test_a_score_of_other_masks_cannot_be_computed() -> None:
    scores = scores_of(additive(np.arange(1.0, 13.0)))

    def other(masks: Array) -> Floats:
        return masks.sum(axis=1, keepdims=True).astype(float)

    with pytest.raises(ValueError, match="cannot be computed for another score"):
        scores.score_again(other)
