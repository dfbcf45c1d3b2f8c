"""Estimators against closed forms, exactly or by a statistical test over many seeds."""

import numpy as np
import pytest
from scipy.stats import norm, ttest_1samp, uniform
from scipy.stats import sobol_indices as scipy_sobol_indices

from tests.sobol.games import GAMES, Game, Truth, enumerated
from textsobol.sobol import sobol_indices
from textsobol.sobol.arrays import Array, Floats
from textsobol.sobol.designs import Design
from textsobol.sobol.flip import (
    clip_to_efron_stein,
    flip_differences,
    flip_variance,
    squared_mean,
)
from textsobol.sobol.pick_freeze import jansen

KEEPS = (0.5, 0.3, 0.8)
N_SEEDS = 300
# Chance that a right estimator fails any of the tests below, however many there are.
FALSE_ALARM = 1e-3

every_game = pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
every_keep = pytest.mark.parametrize("keep", KEEPS)


@every_game
@every_keep
def test_closed_forms_agree_with_enumeration(game: Game, keep: float) -> None:
    truth, brute = game.truth(keep), enumerated(game.score, game.n_features, keep)
    for name in ("mean", "variance", "effect", "first", "total"):
        np.testing.assert_allclose(getattr(truth, name), getattr(brute, name), atol=1e-12)


@every_game
@every_keep
def test_exact_is_exact(game: Game, keep: float) -> None:
    truth = game.truth(keep)
    result = sobol_indices(game.score, game.n_features, estimator="exact", keep=keep)
    assert result.n_masks == result.n_distinct == 2**game.n_features
    for name in ("mean", "variance", "effect", "first", "total"):
        np.testing.assert_allclose(getattr(result, name), getattr(truth, name), atol=1e-10)
    for name in ("first_error", "total_error", "effect_error"):
        assert (getattr(result, name) == 0).all()


def _assert_unbiased(samples: Floats, truth: Floats, n_tests: int) -> None:
    """A t-test of every column of ``samples (seeds, ...)`` at the family's false-alarm rate."""
    spread = samples.std(axis=0)
    constant = spread < 1e-12
    np.testing.assert_allclose(samples.mean(axis=0)[constant], truth[constant], atol=1e-9)
    if not constant.all():
        p_values = ttest_1samp(samples[:, ~constant], truth[~constant]).pvalue
        assert p_values.min() > FALSE_ALARM / n_tests


N_TESTS = len(GAMES) * len(KEEPS) * 2 * 20


@every_game
@every_keep
@pytest.mark.parametrize(("design", "n_base"), [("latin", 40), ("random", 9)])
def test_flip_variances_are_unbiased(game: Game, keep: float, design: str, n_base: int) -> None:
    """The variances due to a feature, the whole variance, mean and effects, not their ratios.

    A ratio of unbiased estimates is itself only unbiased for many masks. For `latin`, four
    whole blocks are needed, which 40 masks are at all three keep rates.
    """
    truth = game.truth(keep)
    pq = keep * (1 - keep)
    firsts, totals, effects, moments = [], [], [], []
    for seed in range(N_SEEDS):
        base, blocks = Design(design, game.n_features, keep=keep, seed=seed).take(n_base)
        f_base = game.score(base)[:, None]
        flipped = np.stack([_flipped(base, i) for i in range(game.n_features)], axis=1)
        f_flips = game.score(flipped.reshape(-1, game.n_features))
        differences = flip_differences(base, f_base, f_flips.reshape(n_base, game.n_features, 1))
        variance, _, mean = flip_variance(base, f_base, differences, keep, blocks)
        firsts.append(pq * squared_mean(differences, blocks)[0][:, 0])
        totals.append(pq * (differences**2).mean(axis=0)[:, 0])
        effects.append(differences.mean(axis=0)[:, 0])
        moments.append([variance[0], mean[0]])
    _assert_unbiased(np.array(firsts), truth.first * truth.variance, N_TESTS)
    _assert_unbiased(np.array(totals), truth.total * truth.variance, N_TESTS)
    _assert_unbiased(np.array(effects), truth.effect, N_TESTS)
    _assert_unbiased(np.array(moments), np.array([truth.variance, truth.mean]), N_TESTS)


def _flipped(base: Array, feature: int) -> Array:
    flipped = base.copy()
    flipped[:, feature] = ~flipped[:, feature]
    return flipped


@every_game
@every_keep
def test_jansen_variances_are_unbiased(game: Game, keep: float) -> None:
    truth = game.truth(keep)
    d, n_base = game.n_features, 40
    found = []
    for seed in range(N_SEEDS):
        both = Design("random", 2 * d, keep=keep, seed=seed).take(n_base)[0]
        a, b = both[:, :d], both[:, d:]
        mixed = [np.where(np.arange(d) == i, b, a) for i in range(d)]
        f_c = np.stack([game.score(c) for c in mixed], axis=1)
        f_a, f_b = (game.score(masks)[:, None, None] for masks in (a, b))
        per_mask = jansen(f_a, f_b, f_c[:, :, None])
        first, total, variance = (values.mean(axis=0).ravel() for values in per_mask)
        found.append(np.concatenate([first, total, variance]))
    shares = np.concatenate([truth.first, truth.total, [1.0]])
    _assert_unbiased(np.array(found), shares * truth.variance, N_TESTS)


@every_game
@pytest.mark.parametrize("estimator", ["flip", "jansen", "saltelli", "homma", "janon", "glen"])
def test_every_estimator_converges(game: Game, estimator: str) -> None:
    """The mean over 100 designs of 200 masks lies within its own standard errors of the truth."""
    keep = 0.6
    truth = game.truth(keep)
    results = [
        sobol_indices(
            game.score, game.n_features, estimator=estimator, keep=keep, base_masks=200, seed=seed
        )
        for seed in range(100)
    ]
    # A ratio's bias is of the order of its variance: allow for that beside the noise.
    alarm = norm.isf(FALSE_ALARM / (2 * len(GAMES) * 6 * 3 * 5))
    for name in ("first", "total", "effect"):
        samples = np.array([getattr(r, name) for r in results])
        spread = samples.std(axis=0)
        error = np.abs(samples.mean(axis=0) - getattr(truth, name))
        assert (error <= alarm * spread / 10 + 3 * spread**2 + 1e-9).all(), name


def _ishigami(x: Floats) -> Floats:
    angles = np.pi * (2 * x - 1)
    return np.asarray(
        np.sin(angles[:, 0])
        + 7 * np.sin(angles[:, 1]) ** 2
        + 0.1 * angles[:, 2] ** 4 * np.sin(angles[:, 0])
    )


G_WEIGHTS = np.array([0.0, 1.0, 4.5, 9.0])


def _g_function(x: Floats) -> Floats:
    return np.asarray(((np.abs(4 * x - 2) + G_WEIGHTS) / (1 + G_WEIGHTS)).prod(axis=1))


def _ishigami_truth() -> Truth:
    a, b = 7.0, 0.1
    first = np.array([0.5 * (1 + b * np.pi**4 / 5) ** 2, a**2 / 8, 0.0])
    pair = b**2 * np.pi**8 * (1 / 18 - 1 / 50)
    variance = first.sum() + pair
    total = first + np.array([pair, 0.0, pair])
    return Truth(a / 2, variance, np.zeros(3), first / variance, total / variance)


def _g_truth() -> Truth:
    alone = 1 / (3 * (1 + G_WEIGHTS) ** 2)
    variance = (1 + alone).prod() - 1
    total = alone * (1 + alone).prod() / (1 + alone)
    return Truth(1.0, variance, np.zeros(4), alone / variance, total / variance)


@pytest.mark.parametrize(
    ("score", "truth"),
    [(_ishigami, _ishigami_truth()), (_g_function, _g_truth())],
    ids=["ishigami", "g-function"],
)
def test_real_valued_masks(score: object, truth: Truth) -> None:
    """Closed forms to 0.02 with 4,096 masks, and as near to them as scipy's estimator."""
    assert callable(score)
    n_features = len(truth.first)
    ours = sobol_indices(score, n_features, estimator="jansen", keep=None, base_masks=4096)
    theirs = scipy_sobol_indices(
        func=lambda x: score(x.T), n=4096, dists=[uniform()] * n_features,
        rng=np.random.default_rng(0),
    )  # fmt: skip
    np.testing.assert_allclose(ours.first, truth.first, atol=0.02)
    np.testing.assert_allclose(ours.total, truth.total, atol=0.02)
    np.testing.assert_allclose(ours.first, theirs.first_order, atol=0.02)
    np.testing.assert_allclose(ours.total, theirs.total_order, atol=0.02)
    np.testing.assert_allclose(ours.variance, truth.variance, rtol=0.02)


def test_jansen_is_the_papers_algorithm_to_the_letter() -> None:
    """Algorithm 1 and equation 5 of Fel et al. 2021, written out once more in their own terms."""
    n, d = 32, 6
    weights = np.random.default_rng(1).normal(size=d)

    def score(masks: Array) -> Floats:
        return np.asarray(np.tanh((masks * weights).sum(axis=1)))

    seen: list[Array] = []

    def spy(masks: Array) -> Floats:
        seen.append(masks.copy())
        return score(masks)

    result = sobol_indices(spy, d, estimator="jansen", design="random", base_masks=n, seed=3)
    both = Design("random", 2 * d, keep=0.5, seed=3).take(n)[0]
    a, b = both[:, :d], both[:, d:]
    f_a, f_b = score(a), score(b)
    variance = ((f_a - f_a.mean()) ** 2).sum() / (n - 1)
    for i in range(d):
        c = a.copy()
        c[:, i] = b[:, i]
        f_c = score(c)
        total = ((f_a - f_c) ** 2).sum() / (2 * n) / variance
        first = (variance - ((f_b - f_c) ** 2).sum() / (2 * n)) / variance
        assert result.total[i] == pytest.approx(total, abs=1e-12)
        assert result.first[i] == pytest.approx(first, abs=1e-12)
    assert result.n_masks == n * (d + 2)
    forwarded = np.concatenate(seen)
    assert len(np.unique(forwarded, axis=0)) == len(forwarded) == result.n_distinct


@pytest.mark.parametrize("estimator", ["saltelli", "homma", "janon", "glen"])
def test_totals_agree_with_their_formulas(estimator: str) -> None:
    """On scores whose pooled mean is 0, as our centring makes them."""
    n, d = 50, 4
    both = Design("random", 2 * d, keep=0.5, seed=0).take(n)[0]
    a, b = both[:, :d], both[:, d:]
    weights = np.array([1.0, -2.0, 0.5, 0.1])

    def raw(masks: Array) -> Floats:
        return np.asarray(np.exp((masks * weights).sum(axis=1)))

    middle = np.concatenate([raw(a), raw(b)]).mean()
    f_a = raw(a) - middle
    result = sobol_indices(raw, d, estimator=estimator, design="random", base_masks=n, seed=0)
    for i in range(d):
        c = a.copy()
        c[:, i] = b[:, i]
        f_c = raw(c) - middle
        product = (f_a * f_c).mean()
        if estimator in ("saltelli", "homma"):
            expected = 1 - (product - f_a.mean() ** 2) / f_a.var()
        elif estimator == "janon":
            mu = (f_a.mean() + f_c.mean()) / 2
            expected = 1 - (product - mu**2) / ((f_a**2 + f_c**2).mean() / 2 - mu**2)
        else:
            expected = 1 - np.corrcoef(f_a, f_c)[0, 1]
        assert result.total[i] == pytest.approx(expected, abs=1e-12)


def test_the_variance_is_moved_within_its_bounds() -> None:
    """max T_i V <= V <= sum T_i V, unless no flip changed anything."""
    total_variances = np.array([[1.0, 0.0], [3.0, 0.0]])
    for raw, expected in (([0.5, 2.0], [3, 2]), ([9.0, -1.0], [4, 0]), ([3.5, 0.0], [3.5, 0])):
        moved = clip_to_efron_stein(np.array(raw), total_variances)
        np.testing.assert_allclose(moved, expected)
