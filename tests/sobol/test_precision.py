"""precision=: as many masks as it takes, none for what surely does not matter."""

from collections.abc import Callable
from dataclasses import asdict
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from tests.sobol.games import enumerated
from textsobol.errors import UnstableTopWarning
from textsobol.sobol import SobolIndices, sobol_indices
from textsobol.sobol.arrays import Array, Floats
from textsobol.sobol.stopping import find_surely_below, top_stability

N_SEEDS = 150
N_FEATURES = 12
SMALL_GAPS = np.r_[2.0, -1.6, 1.2, 1.0, 0.9, np.full(7, 0.3)]
STRONG_AND_WEAK = np.r_[3.0, -2.5, 2.0, np.linspace(-0.1, 0.1, 100)]


def clear(masks: Array) -> Floats:
    """An interaction ahead of a single feature, another one behind it, and seven weak ones."""
    pairs = 2.0 * masks[:, 0] * masks[:, 1] - masks[:, 3] * masks[:, 4]
    return np.asarray(pairs + masks[:, 2] + masks[:, 5:].sum(axis=1) / 10)


def close(masks: Array) -> Floats:
    """Total indices 0.50, 0.39, 0.24, 0.17, 0.14, then 0.02."""
    return np.asarray(np.tanh((masks * SMALL_GAPS).sum(axis=1) - 0.5))


@lru_cache
def raced(score: Callable[[Array], Floats], top: int) -> list[SobolIndices]:
    settings: dict[str, Any] = {"precision": 0.95, "stable_top": top, "budget": 4000}
    return [sobol_indices(score, N_FEATURES, seed=seed, **settings) for seed in range(N_SEEDS)]


@pytest.mark.parametrize(("score", "top"), [(clear, 2), (clear, 3), (close, 2), (close, 3)])
@pytest.mark.slow
def test_the_top_at_the_stop_is_the_true_top(score: Callable[[Array], Floats], top: int) -> None:
    truth = enumerated(score, N_FEATURES, 0.5).total
    wanted = set(np.argsort(-truth)[:top].tolist())
    results = raced(score, top)
    assert all(result.stable for result in results)
    found = [set(np.argsort(-result.total)[:top].tolist()) for result in results]
    assert np.mean([own == wanted for own in found]) >= 0.95


@pytest.mark.slow
def test_intervals_of_the_top_hold_the_truth_although_the_masks_decide_when_to_stop() -> None:
    """95 % intervals, 450 of them: two and a half standard errors of their share are 0.026."""
    truth = enumerated(close, N_FEATURES, 0.5).total
    ends = [result.interval(0.95) for result in raced(close, 3)]
    held = [(low <= truth) & (truth <= high) for low, high in ends]
    assert np.mean(np.array(held)[:, :3]) >= 0.95 - 0.026


def test_indices_are_right_on_average_of_kept_and_of_dropped_features() -> None:
    """Dropped when they look small: a few hundredths low near the border, no more."""
    truth = enumerated(close, N_FEATURES, 0.5).total
    results = raced(close, 3)
    mean = np.mean([result.total for result in results], axis=0)
    np.testing.assert_allclose(mean[:3], truth[:3], rtol=0.04)
    np.testing.assert_allclose(mean[3:5], truth[3:5], rtol=0.1)  # fell out at the border
    np.testing.assert_allclose(mean[5:], truth[5:], rtol=0.06)  # dropped early


def test_weak_features_are_not_flipped_for_long() -> None:
    """3 strong and 100 weak: which two are ahead takes many masks, and few of them weak ones."""

    def score(masks: Array) -> Floats:
        return np.asarray(masks @ STRONG_AND_WEAK + 1.5 * masks[:, 0] * masks[:, 1])

    result = sobol_indices(score, 103, precision=0.95, stable_top=2)
    assert result.stable
    assert result.settings.base_masks > 100
    assert result.n_masks < 0.1 * result.settings.base_masks * 104
    assert np.isfinite(result.total_error).all()
    assert np.isfinite(result.rank_stability(10, resamples=20)).all()
    # Where the masks end early, an additive weak feature still has its index exactly.
    shares = 0.25 * STRONG_AND_WEAK[3:] ** 2 / result.variance
    np.testing.assert_allclose(result.total[3:], shares, rtol=1e-6)


def test_a_tie_at_the_border_ends_with_the_budget() -> None:
    def score(masks: Array) -> Floats:
        return np.asarray(1.0 * masks[:, 0] + masks[:, 1] + 0.5 * masks[:, 2])

    with pytest.warns(UnstableTopWarning, match=r"top 1 was not reached: .* in 0% of resamples.*"):
        result = sobol_indices(score, 3, precision=0.9, stable_top=1, budget=100)
    assert result.stable is False
    assert 100 - 4 < result.n_masks <= 100


def test_too_few_masks_to_tell() -> None:
    with pytest.warns(UnstableTopWarning, match="at least 8 base masks.*the budget buys 5 base"):
        result = sobol_indices(clear, N_FEATURES, precision=0.9, budget=70)
    assert result.stable is False
    assert result.n_masks == 65


@pytest.mark.filterwarnings("ignore::textsobol.errors.UnstableTopWarning")
@pytest.mark.parametrize("batch_masks", [1, 7, 1000])
@pytest.mark.parametrize("budget", [150, 333, 599])
def test_the_budget_and_the_batches(budget: int, batch_masks: int) -> None:
    settings: dict[str, Any] = {"precision": 0.95, "stable_top": 3, "budget": budget, "seed": 1}
    result = sobol_indices(close, N_FEATURES, batch_masks=batch_masks, **settings)
    other = sobol_indices(close, N_FEATURES, sign="occlusion", **settings)
    same = sobol_indices(close, N_FEATURES, **settings)
    assert max(result.n_masks, other.n_masks) <= budget
    np.testing.assert_array_equal(result.total, same.total)
    np.testing.assert_array_equal(result.total_error, same.total_error)


def test_without_drops_it_is_the_fixed_design() -> None:
    result = sobol_indices(clear, N_FEATURES, precision=0.95, stable_top=3)
    fixed = sobol_indices(clear, N_FEATURES, base_masks=result.settings.base_masks)
    assert result.n_masks == fixed.n_masks
    np.testing.assert_array_equal(result.first, fixed.first)
    np.testing.assert_array_equal(result.total, fixed.total)
    np.testing.assert_array_equal(result.interval(), fixed.interval())


def test_settings_make_a_raced_result_again() -> None:
    result = raced(close, 3)[0]
    made = asdict(result.settings)
    made.pop("version")
    again = sobol_indices(close, **made)
    assert again.settings == result.settings
    np.testing.assert_array_equal(again.total, result.total)


def test_exact_is_always_stable() -> None:
    result = sobol_indices(lambda masks: masks[:, 0] * 1.0, 3, estimator="auto", precision=0.99)
    assert result.settings.estimator == "exact"
    assert result.stable is True


def test_every_label_must_be_stable() -> None:
    def score(masks: Array) -> Floats:
        return np.stack([masks[:, 0] * 1.0, masks[:, :2].sum(axis=1)], axis=1)

    with pytest.warns(UnstableTopWarning):
        both = sobol_indices(score, 2, precision=0.9, stable_top=1, base_masks=16)
    assert both.stable is False
    assert sobol_indices(lambda masks: score(masks)[:, 0], 2, precision=0.9, stable_top=1).stable


def test_what_is_rare_is_not_surely_below() -> None:
    """Never seen in 8 masks: it may still come. In 32 masks it would have."""
    assert not find_surely_below(np.tile([[[1.0], [0.2]]], (8, 1, 1)), 1).any()
    assert find_surely_below(np.tile([[[1.0], [0.2]]], (32, 1, 1)), 1).tolist() == [False, True]


def test_stability_is_the_share_of_resamples() -> None:
    """The first wins unless the one mask in which the other is ahead is drawn often enough."""
    squares = np.ones((4, 2, 1))
    squares[:, 1, 0] = [3.0, 0.0, 0.0, 0.0]
    # Of 3 draws with probability 1/4 none may be that mask: one makes a tie.
    share = top_stability(squares, np.arange(2), 1, seed=0).item()
    assert share == pytest.approx(0.75**3, abs=0.05)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"precision": 0}, "precision=0: must lie between 0 and 1"),
        ({"precision": 1}, "precision=1: must lie between 0 and 1"),
        ({"precision": 95}, "for example 0.95"),
        ({"precision": float("nan")}, "between 0 and 1"),
        ({"precision": 0.9, "stable_top": 0}, "stable_top=0: must be at least 1"),
        ({"precision": 0.9, "estimator": "jansen"}, "'flip', 'auto' or 'exact', not 'jansen'"),
        ({"precision": 0.9, "pairs": 2}, "leave out precision, or pairs"),
        ({"precision": 0.9, "budget": 3}, "below the smallest design"),
    ],
)
def test_bad_precision(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sobol_indices(lambda masks: masks[:, 0], 3, **settings)
