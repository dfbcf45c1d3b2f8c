"""95 % intervals hold the truth of games whose decision is sharp, for gates and for flips.

There, few masks hold most of what all features do: each mask counts as much less than one. The
truth is exact: of all sums of whole numbers, each with its probability.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from tests.sobol.gated_games import GatedGame, decided, draw_weights, rarely_decided
from textsobol.driver import run
from textsobol.methods.contract import Problem
from textsobol.sobol import SobolIndices, sobol_indices
from textsobol.sobol.arrays import Floats
from textsobol.sobol.gate_predictions import Flips, _measure_kurtosis, _measure_sampling
from textsobol.sobol.gated import GatedScores
from textsobol.sobol.gated_steps import GatedPlan, ask_flips, ask_gates, make_indices

MEASURES = ("total", "effect", "first")
N_FEATURES, SHARPNESS, BIAS, SEEDS, TOP = 40, 4.0, 1.0, 40, 10


def distribute(weights: Floats) -> Floats:
    """Probability of every sum from ``-size`` to ``size`` of all features' weights."""
    size = int(np.abs(weights).sum())
    chances = np.zeros(2 * size + 1)
    chances[size] = 1
    for weight in weights:
        chances = (chances + np.roll(chances, int(weight))) / 2
    return chances


@cache
def truth_of(seed: int) -> dict[str, Floats]:
    """Exact indices of `decided` at keep rate 0.5."""
    weights = draw_weights(N_FEATURES, seed)
    spread = np.sqrt((weights**2).sum()) / 2
    middle = weights.sum() / 2 - BIAS * spread

    def decide(sums: Floats) -> Floats:
        return np.tanh(SHARPNESS * (sums - middle) / spread)

    def moments(others: Floats, change: float) -> tuple[float, float]:
        chances = distribute(others)
        size = len(chances) // 2
        sums = np.arange(-size, size + 1, dtype=float)
        values = np.asarray(decide(sums + change) - (decide(sums) if change else 0.0))
        return float(chances @ values), float(chances @ values**2)

    mean, square = moments(weights, 0.0)
    found = [moments(np.delete(weights, i), weights[i]) for i in range(N_FEATURES)]
    effect, squares = np.array(found).T
    variance = square - mean**2
    return {
        "effect": effect, "total": squares / 4 / variance, "first": effect**2 / 4 / variance
    }  # fmt: skip


def by_gates(plan: GatedPlan, seed: int, game: GatedGame | None = None) -> SobolIndices:
    game = game or decided(N_FEATURES, sharpness=SHARPNESS, bias=BIAS, seed=seed)
    problem = Problem(game.model(), lambda outputs: outputs, n_labels=1)
    asked = ask_gates(game.n_features, plan, keep=0.5, design="latin", seed=seed)
    base = run(problem.serve(asked))
    scores = run(problem.serve(ask_flips(base, plan, seed)))
    return make_indices(scores, design="latin", seed=seed, sign="mean")


def by_flips(seed: int) -> SobolIndices:
    game = decided(N_FEATURES, sharpness=SHARPNESS, bias=BIAS, seed=seed)
    return sobol_indices(game.score, N_FEATURES, base_masks=5, leader_masks=8, seed=seed)


def cover(find: Callable[[int], SobolIndices]) -> dict[str, tuple[float, float]]:
    """Coverage of every measure, of all features and of those at the top."""
    held: dict[str, list[tuple[float, float]]] = {name: [] for name in MEASURES}
    for seed in range(SEEDS):
        found, truth = find(seed), truth_of(seed)
        top = np.argsort(-found.total[:, 0])[:TOP]
        for name in MEASURES:
            low, high = (end[:, 0] for end in found.interval(of=name))
            assert np.isfinite(low).all()
            assert np.isfinite(high).all()
            is_held = (low <= truth[name]) & (truth[name] <= high)
            held[name].append((is_held.mean(), is_held[top].mean()))
    return {name: tuple(np.mean(of, axis=0)) for name, of in held.items()}


def test_the_truth_is_that_of_all_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.sobol.test_gated_coverage.N_FEATURES", 10)
    game = decided(10, sharpness=SHARPNESS, bias=BIAS, seed=0)
    exact = sobol_indices(game.score, 10, estimator="exact")
    for name, wanted in truth_of.__wrapped__(0).items():
        np.testing.assert_allclose(getattr(exact, name)[:, 0], wanted, rtol=1e-9)
    game, total = rarely_decided(12, together=4, seed=0)
    exact = sobol_indices(game.score, 12, estimator="exact")
    np.testing.assert_allclose(exact.total[:, 0], total, rtol=1e-9)


@pytest.mark.parametrize(
    "plan", [GatedPlan(8, 0, 16), GatedPlan(12, 16, 24)], ids=["predicted", "leaders and others"]
)
def test_intervals_from_gates_hold_the_truth(plan: GatedPlan) -> None:
    for name, (of_all, of_top) in cover(lambda seed: by_gates(plan, seed)).items():
        assert of_all > 0.93, name
        assert of_top > 0.93, name


def test_what_was_screened_out_is_bounded() -> None:
    held = []
    for seed in range(SEEDS):
        found = by_gates(GatedPlan(12, 16, 24), seed)
        assert isinstance(found._scores, GatedScores)
        is_screened = ~found._scores.is_leading
        _, (high,) = found.predicted_total()
        held.append(truth_of(seed)["total"][is_screened].sum() <= high)
    assert np.mean(held) > 0.93


def test_intervals_of_leaders_hold_the_truth_without_gates() -> None:
    for name, (_, of_top) in cover(by_flips).items():
        assert of_top > 0.93, name


def test_rare_large_flips_among_what_was_screened_out_are_allowed_for() -> None:
    """Groups of four decide only together: a sample of 24 flips mostly misses the largest."""
    held = []
    for seed in range(60):
        game, truth = rarely_decided(60, together=4, seed=seed)
        low, high = by_gates(GatedPlan(12, 16, 24), seed, game).interval()
        held.append(((low[:, 0] <= truth) & (truth <= high[:, 0])).mean())
    assert np.mean(held) > 0.94


def _lead(differences: Floats) -> Flips:
    is_leading = np.ones(differences.shape[1], dtype=bool)
    return Flips(differences, np.zeros_like(differences), is_leading)


@pytest.mark.parametrize("n_masks", [2, 12])
def test_kurtosis_of_leaders(n_masks: int) -> None:
    """Equal flips, a flip at one mask only, none at all, and a mask where all are larger."""
    even, factors = np.ones(n_masks), np.ones(n_masks)
    once = np.eye(n_masks)[0]
    least, most = n_masks / (n_masks - 1), n_masks**2 / (n_masks - 1)
    for columns, wanted in (
        ([even, -3 * even], least),
        ([once, 1e-30 * once, 1e30 * once], most),
        ([even, once], (least + most) / 2),
        ([once, np.zeros(n_masks)], most),  # a feature that never moved says nothing
        ([np.zeros(n_masks)], 0.0),
    ):
        assert _measure_kurtosis(_lead(np.stack(columns, axis=1)), factors) == pytest.approx(wanted)
    factors[0] = 4.0
    flips = _lead(np.sqrt(factors)[:, None] * np.array([1.0, 5.0]))
    assert _measure_kurtosis(flips, factors) == pytest.approx(least)


def test_kurtosis_without_leaders_or_masks_is_unknown() -> None:
    none = Flips(np.full((8, 3), np.nan), np.zeros((8, 3)), np.zeros(3, dtype=bool))
    assert _measure_kurtosis(none, np.ones(8)) == 0
    assert _measure_kurtosis(_lead(np.ones((1, 3))), np.ones(1)) == 0


def test_masks_that_differ_are_worth_fewer() -> None:
    """Of eight masks, two hold all there is, four hold half of it, or all hold the same."""
    n = 8
    for n_effective in (2, 4, 8):
        at = np.repeat([1.0, 0.0], [n_effective, n - n_effective])
        sampling, freedom = _measure_sampling(at, np.zeros(n))
        assert sampling == pytest.approx(2 * (1 / n_effective - 1 / n))
        assert freedom == pytest.approx(2 * (n_effective - 1))
        assert _measure_sampling(at, np.ones(n))[0] == pytest.approx(sampling / 2)
