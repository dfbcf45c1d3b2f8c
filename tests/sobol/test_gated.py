"""Indices from gates: right where derivatives are exact, calibrated where they are not."""

from typing import Any

import numpy as np
import pytest

from tests.sobol.gated_games import GatedGame, additive, planted_pair
from textsobol.driver import run
from textsobol.methods.contract import Problem
from textsobol.sobol import SobolIndices, sobol_indices
from textsobol.sobol.arrays import Array, Floats
from textsobol.sobol.flip_sample import draw_flips, rank_features
from textsobol.sobol.gate_predictions import Flips, find_mask_factors, predict
from textsobol.sobol.gated import GatedScores
from textsobol.sobol.gated_steps import GatedPlan, ask_flips, ask_gates, make_indices
from textsobol.steps import Steps

PLAN = GatedPlan(n_base=12, n_leaders=4, n_sampled=8)


def scores_of(game: GatedGame, plan: GatedPlan = PLAN, *, seed: int = 0) -> GatedScores:
    problem = Problem(game.model(), lambda outputs: outputs, n_labels=1)

    def steps() -> Steps[GatedScores]:
        asked = ask_gates(game.n_features, plan, keep=0.5, design="random", seed=seed)
        base = yield from problem.serve(asked)
        return (yield from problem.serve(ask_flips(base, plan, seed)))

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
    leaders = rank_features(sizes)[:2]
    n_drawn = np.zeros((4, 6))
    for seed in range(3000):
        is_drawn, chances = draw_flips(sizes, leaders, 4, 2, seed)
        n_drawn += is_drawn
        assert not is_drawn[:, leaders].any()
    assert (chances[:, 2:] > 0).all()
    np.testing.assert_allclose(n_drawn / 3000, chances, atol=0.03)


def test_flips_are_drawn_at_masks_by_their_chances() -> None:
    sizes, leaders = np.array([9.0, 3.0, 1.0, 0.0])[:, None], np.array([0])
    mask_chances = np.array([0.7, 0.2, 0.1])
    n_drawn = np.zeros((3, 4))
    for seed in range(3000):
        is_drawn, chances = draw_flips(sizes, leaders, 3, 2, seed, mask_chances)
        n_drawn += is_drawn
    np.testing.assert_allclose(n_drawn / 3000, chances, atol=0.03)
    np.testing.assert_allclose(chances[:, 1] / chances[:, 1].sum(), mask_chances)


def test_more_flips_are_drawn_where_the_leaders_matter() -> None:
    """A score that is open at few masks: elsewhere no flip changes anything."""
    weights = np.linspace(3.0, 0.2, 40)

    def score(masks: Array) -> Floats:
        return np.maximum(0.0, masks @ weights - 0.62 * weights.sum())[:, None]

    def slopes(gates: Array) -> Floats:
        is_open = score(gates)[:, 0] > 0
        return np.asarray(is_open[:, None, None] * weights[None, :, None])

    plan = GatedPlan(n_base=12, n_leaders=6, n_sampled=24)
    of_draws, of_masks = [], []
    for seed in range(20):
        found = scores_of(GatedGame(40, score, slopes), plan, seed=seed)
        is_open, is_drawn = found.f_base > 0, found.is_flipped & ~found.is_leading
        of_draws.append((is_drawn & is_open).sum() / is_drawn.sum())
        of_masks.append(is_open.mean())
    assert np.mean(of_draws) > 1.5 * np.mean(of_masks)


def test_predicted_squares_do_not_depend_on_where_flips_were_drawn() -> None:
    """Flips drawn at masks where all are large must not make the others look as large."""
    rng = np.random.default_rng(0)
    sizes, is_leading = rng.uniform(0.5, 1.5, 30), np.arange(30) < 4
    of_masks = np.array([4.0, 2.0, 0.3, 0.1, *[0.05] * 8])
    # Leaders vary less between masks than the others; no feature has an effect on average.
    powers = np.where(is_leading, 0.5, 1.0)
    every = np.sqrt(sizes * of_masks[:, None] ** powers) * rng.choice([-1, 1], (12, 30))
    masks, slopes = rng.random((12, 30)) < 0.5, np.tile(np.sqrt(sizes), (12, 1))
    mask_chances = find_mask_factors((every[:, is_leading] ** 2).sum(axis=1)) / 12
    found = []
    for seed in range(300):
        is_drawn, chances = draw_flips(
            sizes[:, None], np.flatnonzero(is_leading), 12, 12, seed, mask_chances
        )
        flips = Flips(np.where(is_drawn | is_leading, every, np.nan), chances, is_leading)
        found.append(predict(masks, slopes, flips).squares[~is_leading].sum())
    true = (every[:, ~is_leading] ** 2).mean(axis=0).sum()
    assert 1.0 < np.mean(found) / true < 1.25  # the floor makes it about 1.1


def test_another_score_is_measured_on_the_same_masks() -> None:
    game = additive(np.array([[3.0, 1.0], [-2.0, 2.0], [1.0, -3.0], *[[0.1, 0.2]] * 9]))
    scores = scores_of(game)
    other = scores.score_again(lambda masks: game.score(masks)[:, 1:])
    leading = scores.is_leading
    np.testing.assert_allclose(other.differences[:, leading, 0], scores.differences[:, leading, 1])
    np.testing.assert_allclose(other.f_base[:, 0], scores.f_base[:, 1])


def test_leaders_are_not_chosen_by_what_is_measured() -> None:
    """Sixty features of equal weight, in threes: who leads is chance, and must not look large."""
    triples = np.arange(60).reshape(20, 3)

    def score(masks: Array) -> Floats:
        return masks[:, triples].all(axis=2).sum(axis=1, keepdims=True).astype(float)

    def slopes(gates: Floats) -> Floats:
        found = np.empty((*gates.shape, 1))
        for triple in triples:
            for feature in triple:
                others = [other for other in triple if other != feature]
                found[:, feature, 0] = gates[:, others].prod(axis=1)
        return found

    means = []
    for seed in range(60):
        scores = scores_of(GatedGame(60, score, slopes), GatedPlan(12, 16, 8), seed=seed)
        means.append(scores.differences[:, scores.is_leading].mean())
    z = (np.mean(means) - 0.25) / (np.std(means, ddof=1) / np.sqrt(len(means)))
    assert abs(z) < 3.5


@pytest.mark.parametrize("keep", [0.2, 0.5, 0.8])
def test_intervals_of_predictions_hold_the_truth(keep: float) -> None:
    rng = np.random.default_rng(2)
    weights = rng.normal(size=40) * np.exp(rng.normal(size=40))
    truth = weights**2 / (weights**2).sum()
    held: dict[str, list[float]] = {"total": [], "effect": []}
    for seed in range(25):
        game = additive(weights, noise=0.5, seed=seed)
        problem = Problem(game.model(), lambda outputs: outputs, n_labels=1)
        plan = GatedPlan(8, 0, 16)
        asked = ask_gates(40, plan, keep=keep, design="latin", seed=seed)
        base = run(problem.serve(asked))
        found = make_indices(base.scores, design="latin", seed=seed, sign="mean")
        for name, wanted in (("total", truth), ("effect", weights)):
            low, high = found.interval(of=name)
            held[name].append(float(((low[:, 0] <= wanted) & (wanted <= high[:, 0])).mean()))
    assert np.mean(held["total"]) > 0.93
    assert np.mean(held["effect"]) > 0.9


def test_ranks_of_measured_and_predicted_features_are_comparable() -> None:
    weights = np.array([0.15, 0.10, 0.05, *[0.01] * 17])
    found = indices_of(additive(weights), GatedPlan(12, 2, 8))
    for by in ("first", "total", "effect"):
        assert found.rank_stability(3, by=by)[:3, 0].min() > 0.9, by
