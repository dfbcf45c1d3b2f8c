"""Each part of the moderated intervals by itself, against formulas written out by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student

from textsobol.driver import run
from textsobol.sobol.arrays import Array, Floats
from textsobol.sobol.black_box import BlackBoxModel
from textsobol.sobol.designs import Design
from textsobol.sobol.moderated import Moderated, _mean_of_others, moderate
from textsobol.sobol.pairs import pair_indices
from textsobol.steps import Ask, translate

FREEDOM = 10.0
T = float(student.ppf(0.975, FREEDOM))


def column(*values: float) -> Floats:
    return np.array(values)[:, None]


def moderated(total: Floats, total_error: Floats) -> Moderated:
    """Two features of one label, and no doubt about V but what the totals themselves say."""
    zeros = np.zeros_like(total)
    return Moderated(
        effect=zeros,
        effect_error=zeros,
        total=total,
        total_error=total_error,
        first_of=zeros,
        freedom=zeros + FREEDOM,
        is_known=zeros == 0,
        unseen=zeros,
        additive=zeros,
        additive_error=zeros,
        variance_error=zeros,
        interacting_error=zeros,
        assumed=zeros,
    )


def test_v_is_no_less_than_the_lower_end_of_the_largest_total() -> None:
    total, half = column(0.9, 0.3), column(0.2, 0.05)
    low, high = moderated(total, half / T).interval(0.95, "total")
    below = np.sqrt(total**2 + half**2) - half
    above = np.sqrt(total**2 + half**2) + half
    np.testing.assert_allclose(low, below)
    # Were V as small as the lower end of 0.9, all totals would be larger by that factor.
    by_v = -np.log(below[0])
    expected = total * np.exp(np.hypot(np.log(above / total), by_v))
    np.testing.assert_allclose(high, np.minimum(expected, 1))
    assert high[1] < 1


def test_a_total_that_is_not_known_says_nothing_about_v() -> None:
    of = moderated(column(0.9, 0.3), column(0.0, 0.0))
    _, high = replace(of, is_known=column(False, True) > 0).interval(0.95, "total")
    np.testing.assert_allclose(high, [[1.0], [1.0]])
    _, high = of.interval(0.95, "total")
    np.testing.assert_allclose(high[1], 0.3 / 0.9)


def test_the_interval_of_a_first_order_index_is_that_of_the_squared_effect() -> None:
    effect, error, first_of = column(2.0, -1.0, 0.1, 0.0), column(0.1, 0.2, 0.3, 0.1), 0.1
    surely_all_of_v = moderated(np.ones((4, 1)), np.zeros((4, 1)))  # so that V has no error
    low, high = replace(
        surely_all_of_v, effect=effect, effect_error=error, first_of=np.full((4, 1), first_of)
    ).interval(0.95, "first")
    least = np.maximum(np.abs(effect) - T * error, 0)
    most = np.abs(effect) + T * error
    np.testing.assert_allclose(low, first_of * least**2)
    np.testing.assert_allclose(high, first_of * most**2)


def test_the_additive_share_includes_what_is_due_to_other_features() -> None:
    rng = np.random.default_rng(0)
    base = rng.random((12, 4)) < 0.7
    differences = rng.normal(1, 0.5, (12, 4, 2))
    f_base = np.stack([base @ column(1, 2, 3, 4)[:, 0], base @ column(4, 3, 2, 1)[:, 0]], axis=1)
    variance, others = np.array([3.0, 5.0]), np.array([0.4, 0.6])

    def additive(other_variance: Floats | None) -> Floats:
        return moderate(
            base,
            f_base,
            differences,
            keep=0.7,
            variance=variance,
            variance_per_mask=np.tile(variance, (12, 1)),
            n_base=12,
            other_variance=other_variance,
        ).additive

    np.testing.assert_allclose(additive(others) - additive(None), [others / variance] * 4)


def test_the_mean_of_others_leaves_one_mask_out() -> None:
    values = np.random.default_rng(0).normal(size=(6, 3))
    expected = [np.delete(values, j, axis=0).mean(axis=0) for j in range(6)]
    np.testing.assert_allclose(_mean_of_others(values), expected)


@pytest.mark.parametrize("keep", [0.5, 0.8])
def test_pairs_with_masks_of_their_own(keep: float) -> None:
    """Products of pairs: every second difference is its factor in every mask, without error."""
    factors = np.array([1.0, 2.0, -1.0])

    def score(masks: Array) -> Floats:
        both = masks[:, [0, 0, 1]] & masks[:, [1, 2, 2]]
        return np.asarray(both @ factors)[:, None]

    variance = np.array([1.5])
    model = BlackBoxModel(score, 3)
    design = Design("latin", 3, keep=keep, seed=0)
    steps = pair_indices(design, np.arange(3), base_masks=7, keep=keep, variance=variance)
    found = run(translate(steps, lambda masks: Ask(model, masks)))
    np.testing.assert_allclose(found.effect[:, 0], factors)
    share = ((keep * (1 - keep) * factors) ** 2 / variance)[:, None]
    for of, index in (("total", found.total), ("first", found.first)):
        np.testing.assert_allclose(index, share)
        np.testing.assert_allclose(found.interval(0.95, of=of), [share, share])
