import warnings
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from benchmarks.estimators.coverage import N_WORDS, coverage, score_table
from benchmarks.estimators.word_models import logic_games, word_models
from textsobol import TextExplainer
from textsobol.sobol import sobol_indices
from textsobol.sobol.arrays import Array, Floats
from textsobol.sobol.masks import all_masks
from textsobol.sobol.uncertainty import Samples, margin, ratio, share_interval, top_frequency

# Where 95 % intervals hold the truth less often than 90 times in 100 (benchmarks/estimators): a
# score that is flat almost everywhere, and one whose variance lies in one mask of a hundred.
HARD = {("saturated", 0.5, 5): 0.84, ("keywords", 0.9, 20): 0.6}
NAMES = (*logic_games(), *word_models(N_WORDS))


@pytest.mark.filterwarnings("ignore::textsobol.ConstantScoreWarning")
@pytest.mark.parametrize("keep", [0.5, 0.9])
@pytest.mark.parametrize("name", NAMES)
def test_intervals_hold_the_truth(name: str, keep: float) -> None:
    """From five base masks on. Fewer, or too alike, give the widest interval, which always does."""
    table = score_table(name)
    for n_base in (5, 8, 20):
        for index, found in coverage(table, keep, n_base=n_base, n_seeds=25).items():
            least = HARD.get((name, keep, n_base), 0.9)
            assert found.held >= least, (n_base, index, found)


@pytest.mark.parametrize(("name", "widest"), [("additive", 1e-9), ("sigmoid", 0.4), ("xor", 0.4)])
def test_intervals_say_something(name: str, widest: float) -> None:
    assert coverage(score_table(name), 0.5, n_base=5, n_seeds=25)["total"].width < widest


@pytest.mark.slow
def test_intervals_hold_the_truth_of_sentences(sentences: list[str]) -> None:
    """Exact indices of real sentences under the bundled model, and five base masks."""
    explainer = TextExplainer()
    held = []
    for text in sentences:
        game = explainer.masked(text)
        scores = np.concatenate([game.score_masks(masks) for masks in all_masks(game.n_features)])
        found = coverage(scores[:, 0], 0.5, n_base=5, n_seeds=20)
        held.append([found[index].held for index in ("signed", "total", "first", "effect")])
    assert (np.mean(held, axis=0) >= 0.9).all(), np.mean(held, axis=0)


@pytest.fixture
def sentences() -> list[str]:
    return [
        "A dull, lifeless film that never finds its feet",
        "Not the worst sequel, but hardly worth the ticket",
        "Her wonderful performance saves an otherwise tired story",
        "I laughed twice, and both times at the wrong moment",
    ]


def score(masks: Array) -> Floats:
    weights = np.array([2.0, -1.0, 0.7, 0.3, 0.1, -0.05])
    return np.asarray(1 / (1 + np.exp(-(masks * weights).sum(axis=1))))


@pytest.mark.parametrize("estimator", ["flip", "jansen", "saltelli", "homma", "janon", "glen"])
@pytest.mark.parametrize("name", ["first", "total", "effect"])
def test_standard_errors_match_the_spread_over_seeds(estimator: str, name: str) -> None:
    """Independent masks, so that nothing is reduced by balance: within a quarter."""
    results = [
        sobol_indices(score, 6, estimator=estimator, design="random", base_masks=60, seed=seed)
        for seed in range(200)
    ]
    spread = np.std([getattr(r, name) for r in results], axis=0)
    error = np.mean([getattr(r, f"{name}_error") for r in results], axis=0)
    strong = spread > 1e-3
    assert strong.any()
    np.testing.assert_allclose(error[strong], spread[strong], rtol=0.25)


def test_standard_errors_of_pairs_match_the_spread_over_seeds() -> None:
    tables = []
    for seed in range(200):
        pairs = sobol_indices(
            score, 6, design="random", base_masks=60, seed=seed, pairs=[(0, 1), (0, 2)]
        ).pairs
        assert pairs is not None
        tables.append(pairs)
    for name in ("first", "total", "effect"):
        spread = np.std([getattr(t, name) for t in tables], axis=0)
        error = np.mean([getattr(t, f"{name}_error") for t in tables], axis=0)
        np.testing.assert_allclose(error, spread, rtol=0.35)


def test_balance_makes_estimates_better_than_their_errors_say() -> None:
    designs = {
        design: np.array(
            [
                sobol_indices(score, 6, design=design, base_masks=32, seed=s).effect
                for s in range(100)
            ]
        )
        for design in ("latin", "random")
    }
    assert designs["latin"].std(axis=0)[0] < designs["random"].std(axis=0)[0]


def test_errors_shrink_with_the_masks() -> None:
    few = sobol_indices(score, 6, base_masks=20, design="random")
    many = sobol_indices(score, 6, base_masks=2000, design="random")
    ratios = few.effect_error / many.effect_error
    np.testing.assert_allclose(ratios, 10, rtol=0.5)


@pytest.mark.parametrize(
    ("estimator", "n_base"), [("flip", 1), ("flip", 4), ("jansen", 2), ("jansen", 7)]
)
def test_too_few_base_masks_say_that_they_do_not_know(estimator: str, n_base: int) -> None:
    result = sobol_indices(score, 6, estimator=estimator, base_masks=n_base)
    for of, ends in {"total": (0, 1), "first": (0, 1), "effect": (-np.inf, np.inf)}.items():
        low, high = result.interval(0.9, of=of)
        assert (low == ends[0]).all()
        assert (high == ends[1]).all()
    low, high = result.interval(0.9, of="signed")
    assert (low == -1).all()
    assert (high == 1).all()


def test_one_base_row_has_no_error_and_no_stable_top() -> None:
    result = sobol_indices(score, 6, base_masks=1)
    assert np.isinf(result.total_error).all()
    with pytest.raises(ValueError, match="at least 2 base masks"):
        result.rank_stability(2)


@pytest.mark.parametrize("n_base", [5, 6, 9])
def test_five_masks_give_finite_answers(n_base: int) -> None:
    result = sobol_indices(score, 6, base_masks=n_base)
    for of in ("signed", "first", "total", "effect"):
        low, high = result.interval(0.95, of=of)
        assert np.isfinite(low).all()
        assert np.isfinite(high).all()
        assert (low <= high).all()
        assert (high > low).any()


def test_intervals_widen_with_the_level_and_hold_the_estimate() -> None:
    result = sobol_indices(score, 6, base_masks=12)
    for of in ("first", "total", "effect"):
        narrow, wide = result.interval(0.5, of=of), result.interval(0.99, of=of)
        assert (wide[0] <= narrow[0]).all()
        assert (narrow[1] <= wide[1]).all()
        assert (narrow[0] <= np.maximum(getattr(result, of), 0 if of == "first" else -9)).all()


def test_exact_intervals_have_no_width() -> None:
    result = sobol_indices(score, 6, estimator="exact")
    low, high = result.interval()
    np.testing.assert_allclose(low, result.total)
    np.testing.assert_allclose(high, result.total)
    assert result.rank_stability(2).tolist() == [1, 1, 0, 0, 0, 0]


def test_the_margin_of_normal_masks_is_students() -> None:
    values = np.random.default_rng(0).normal(size=(50_000, 1, 1))
    half = margin(Samples(values.mean(axis=0), values), 0.9).item()
    assert half == pytest.approx(t.ppf(0.95, 50_000) * values.std() / np.sqrt(50_000), rel=1e-3)


def test_heavy_tails_widen_the_margin() -> None:
    values = np.zeros((30, 1, 1))
    values[0] = 1.0
    error = values.std(ddof=1) / np.sqrt(30)
    half = margin(Samples(values.mean(axis=0), values), 0.9).item()
    assert half == pytest.approx(t.ppf(0.95, 2 * 30 * (29 / 900) ** 2 / _excess()) * error)


def _excess() -> float:
    variance = 29 / 900
    fourth = (29 * (1 / 30) ** 4 + (29 / 30) ** 4) / 30
    return fourth - variance**2


def test_a_ratio_has_the_spread_of_its_linearisation() -> None:
    x, y = np.random.default_rng(0).normal(5, 1, size=(2, 200, 1, 1))
    found = ratio(x, x.mean(axis=0), y, y.mean(axis=0))
    assert found.value.item() == pytest.approx(x.mean() / y.mean())
    assert found.per_mask is not None
    influence = (x - found.value * y) / y.mean()
    assert found.per_mask.std() == pytest.approx(influence.std())
    assert found.per_mask.mean() == pytest.approx(found.value.item())


def test_rank_stability_tells_sure_places_from_doubtful_ones() -> None:
    """Two words far ahead, and four alike that lean on each other."""

    def noisy(masks: Array) -> Floats:
        z = masks.astype(float)
        ring = z[:, 2:] * (1 + 0.5 * np.roll(z[:, 2:], 1, axis=1))
        return np.asarray(3 * z[:, 0] + 3 * z[:, 1] + ring.sum(axis=1))

    stability = sobol_indices(noisy, 6, base_masks=9).rank_stability(3)
    assert stability[:2].tolist() == [1, 1]
    assert stability.sum() == pytest.approx(3)
    assert (stability[2:] < 0.95).all()
    by_effect = sobol_indices(noisy, 6, base_masks=9).rank_stability(2, by="effect")
    assert by_effect.tolist() == [1, 1, 0, 0, 0, 0]


def test_features_without_any_index_are_never_on_top() -> None:
    stability = sobol_indices(lambda m: m[:, 3] + 0.0, 5, base_masks=8).rank_stability(3)
    assert stability.tolist() == [0, 0, 0, 1, 0]


def test_a_negative_first_order_index_is_not_on_top() -> None:
    values = np.array([[-5.0, 1.0], [-4.0, 1.0]])[:, :, None]
    assert top_frequency(values, 1, resamples=9, seed=0, is_signed=False).ravel().tolist() == [0, 1]
    assert top_frequency(values, 1, resamples=9, seed=0, is_signed=True).ravel().tolist() == [1, 0]


def test_rank_stability_is_reproducible_and_shaped_like_the_indices() -> None:
    result = sobol_indices(lambda m: np.stack([score(m), score(~m)], axis=1), 6, base_masks=8)
    one, other = result.rank_stability(2), result.rank_stability(2)
    assert one.shape == result.total.shape
    np.testing.assert_array_equal(one, other)


def test_top_frequency_counts_resamples() -> None:
    """Two masks, one for each feature: the feature drawn twice is on top."""
    values = np.eye(2)[:, :, None]
    frequency = top_frequency(values, 1, resamples=4000, seed=0, is_signed=False).ravel()
    # Half of the time both masks are drawn once: a tie, which is broken at random.
    assert frequency[1] == pytest.approx(0.5, abs=0.04)
    assert frequency.sum() == pytest.approx(1)


def test_a_level_or_index_that_makes_no_sense_is_refused() -> None:
    result = sobol_indices(score, 6, base_masks=4)
    for level in (0, 1, 95, -0.1, float("nan")):
        with pytest.raises(ValueError, match="between 0 and 1"):
            result.interval(level)
    with pytest.raises(ValueError, match="known: first, total, effect"):
        result.interval(of="variance")
    with pytest.raises(ValueError, match="between 1 and 6"):
        result.rank_stability(7)
    with pytest.raises(ValueError, match="between 1 and 6"):
        result.rank_stability(0)


def test_no_warning_escapes_from_numpy() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for estimator in ("flip", "jansen", "glen", "janon"):
            sobol_indices(score, 6, estimator=estimator, base_masks=3).interval()


def test_an_estimate_below_zero_keeps_a_width() -> None:
    values = np.array([-0.5, -0.1, -0.3, -0.2])[:, None, None]
    low, high = share_interval(Samples(values.mean(axis=0), values), 0.9)
    assert low.item() == 0
    assert high.item() > 0.05


def test_printing_a_result_shows_the_features_that_matter() -> None:
    text = repr(sobol_indices(score, 6, base_masks=8))
    assert text.startswith("SobolIndices of 6 features: flip, keep 0.5, 56 masks")
    assert "\n     0  +0." in text
    assert len(text.splitlines()) == 6
    two = repr(sobol_indices(lambda m: np.stack([score(m), -score(m)], axis=1), 6, base_masks=8))
    assert "2 labels" in two
    assert "label 1\n     0  -0." in two


def test_totals_that_are_no_squares_have_symmetric_intervals() -> None:
    """On a logarithmic scale a small total with a large error would get [0, 1]."""
    for estimator in ("saltelli", "homma"):
        for seed in range(30):
            result = sobol_indices(score, 6, estimator=estimator, base_masks=60, seed=seed)
            low, high = result.interval(0.9)
            assert (high - low).max() < 0.8


@pytest.mark.parametrize("sign", ["mean", "occlusion"])
@pytest.mark.parametrize("estimator", ["flip", "jansen"])
def test_intervals_of_negative_scores_mirror_those_of_positive_ones(
    estimator: str, sign: str
) -> None:
    settings: dict[str, Any] = {"estimator": estimator, "sign": sign, "base_masks": 60}
    result = sobol_indices(score, 6, **settings)
    mirrored = sobol_indices(lambda masks: -score(masks), 6, **settings)
    low, high = result.interval(of="signed")
    total_low, total_high = result.interval(of="total")
    assert (low < high).any()
    assert ((low <= result.signed) & (result.signed <= high)).all()
    is_negative, is_positive = high < 0, low > 0
    assert is_negative.any() | is_positive.any()
    np.testing.assert_array_equal(low[is_positive], total_low[is_positive])
    np.testing.assert_array_equal(high[is_positive], total_high[is_positive])
    np.testing.assert_array_equal(low[is_negative], -total_high[is_negative])
    np.testing.assert_array_equal(high[is_negative], -total_low[is_negative])
    mirrored_low, mirrored_high = mirrored.interval(of="signed")
    assert (mirrored_low <= mirrored_high).all()
    np.testing.assert_allclose(mirrored_low, -high, atol=1e-12)
    np.testing.assert_allclose(mirrored_high, -low, atol=1e-12)
