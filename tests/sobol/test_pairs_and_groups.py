from itertools import combinations
from typing import Any

import numpy as np
import pytest

from textsobol.sobol import sobol_indices
from textsobol.sobol.arrays import Array, Floats


def pair_game(masks: Array) -> Floats:
    """z0 and z1 reinforce each other, z2 and z3 cancel, z4 is alone."""
    z = masks.astype(float)
    return np.asarray(2 * z[:, 0] * z[:, 1] - 3 * z[:, 2] * z[:, 3] + z[:, 4])


def triple_game(masks: Array) -> Floats:
    return masks[:, :3].all(axis=1) + 0.5 * masks[:, 3]


@pytest.mark.parametrize("keep", [0.5, 0.3])
def test_pairs_in_closed_form(keep: float) -> None:
    """(pq)^2 w^2 / V for a pair with weight w, and total = first without triples."""
    pq = keep * (1 - keep)
    single = pq * np.array([2 * keep, 2 * keep, 3 * keep, 3 * keep, 1.0]) ** 2
    pair = {(0, 1): pq**2 * 4, (2, 3): pq**2 * 9}
    variance = single.sum() + sum(pair.values())
    asked = [(0, 1), (2, 3), (1, 2), (4, 0)]
    expected = np.array([pair.get(p, 0.0) / variance for p in asked])
    exact = sobol_indices(pair_game, 5, estimator="exact", keep=keep, pairs=asked)
    sampled = sobol_indices(pair_game, 5, keep=keep, pairs=asked, base_masks=400)
    assert exact.pairs is not None
    assert sampled.pairs is not None
    np.testing.assert_array_equal(sampled.pairs.pairs, asked)
    for found, tolerance in ((exact.pairs, 1e-12), (sampled.pairs, 0.02)):
        np.testing.assert_allclose(found.first, expected, atol=tolerance)
        np.testing.assert_allclose(found.total, expected, atol=tolerance)
        # The second differences of this game are constant: exact even from samples.
        np.testing.assert_allclose(found.effect, [2, -3, 0, 0], atol=1e-12)
    assert sampled.n_masks == 400 * (1 + 5 + 4)


def test_sampled_pairs_of_a_triple_agree_with_the_exact_ones() -> None:
    asked = list(combinations(range(4), 2))
    exact = sobol_indices(triple_game, 4, estimator="exact", keep=0.6, pairs=asked).pairs
    assert exact is not None
    assert exact.total[0] > exact.first[0] > 0
    samples = []
    for seed in range(200):
        found = sobol_indices(triple_game, 4, keep=0.6, pairs=asked, base_masks=60, seed=seed).pairs
        assert found is not None
        samples.append(np.stack([found.first, found.total, found.effect]))
    truth = np.stack([exact.first, exact.total, exact.effect])
    error = np.abs(np.mean(samples, axis=0) - truth)
    spread = np.std(samples, axis=0)
    # Four standard errors of the mean over seeds, and the bias of a ratio (of the order of
    # its variance).
    assert (error <= 4 * spread / np.sqrt(200) + 3 * spread**2 + 1e-12).all()


def test_pairs_of_the_top_features() -> None:
    result = sobol_indices(pair_game, 5, pairs=4, base_masks=40)
    assert result.pairs is not None
    top = set(np.argsort(-result.total)[:4].tolist())
    assert [tuple(p) for p in result.pairs.pairs.tolist()] == list(combinations(sorted(top), 2))
    strongest = np.argmax(np.abs(result.pairs.effect))
    assert result.pairs.pairs[strongest].tolist() == [2, 3]
    low, high = result.pairs.interval(0.9, of="effect")
    assert (low <= result.pairs.effect).all()
    assert (result.pairs.effect <= high).all()


def test_pairs_stay_within_the_budget() -> None:
    for budget in (20, 50, 123):
        result = sobol_indices(pair_game, 5, pairs=4, budget=budget)
        assert result.n_distinct <= budget
        assert result.settings.base_masks == budget // (1 + 5 + 6)


def test_asking_for_more_top_features_than_there_are_gives_all_pairs() -> None:
    result = sobol_indices(pair_game, 5, pairs=100, base_masks=4)
    assert result.pairs is not None
    assert len(result.pairs.pairs) == 10


def test_pairs_of_several_labels() -> None:
    result = sobol_indices(
        lambda masks: np.stack([pair_game(masks), triple_game(masks)], axis=1), 5, pairs=[(0, 1)]
    )
    assert result.pairs is not None
    assert result.pairs.total.shape == (1, 2)
    assert result.pairs.effect[0, 0] == 2


GROUPS = [0, 1, 0, 2, 1]
WEIGHTS = np.array([1.0, 2.0, -3.0, 0.5, 1.0])


def additive(masks: Array) -> Floats:
    return np.asarray((masks * WEIGHTS).sum(axis=1))


@pytest.mark.parametrize("estimator", ["flip", "exact", "auto", "jansen", "glen"])
def test_groups_that_move_together(estimator: str) -> None:
    """A group is one feature whose weight is the sum of its members'."""
    weights = np.array([-2.0, 3.0, 0.5])
    more: dict[str, Any] = {"base_masks": 4000} if estimator in ("jansen", "glen") else {}
    result = sobol_indices(additive, 5, estimator=estimator, groups=GROUPS, **more)
    tolerance = 0.06 if more else 1e-12
    np.testing.assert_allclose(result.total, weights**2 / (weights**2).sum(), atol=tolerance)
    np.testing.assert_allclose(result.first, weights**2 / (weights**2).sum(), atol=tolerance)
    np.testing.assert_allclose(result.effect, weights, atol=4 * tolerance)
    assert result.settings.members == "together"


def test_members_of_a_group_that_moves_together_are_never_apart() -> None:
    def box(masks: Array) -> Floats:
        assert masks.shape[1] == 5
        assert (masks[:, 0] == masks[:, 2]).all()
        assert (masks[:, 1] == masks[:, 4]).all()
        return additive(masks)

    result = sobol_indices(box, 5, groups=GROUPS, base_masks=7)
    assert result.n_masks == 7 * (3 + 1)


@pytest.mark.parametrize("estimator", ["exact", "auto", "jansen", "saltelli"])
def test_groups_of_independent_members(estimator: str) -> None:
    """Closed first-order and total index of a group; additive: the sum of its members'."""
    squares = np.array([1 + 9, 4 + 1, 0.25])
    more: dict[str, Any] = {"base_masks": 4000} if estimator in ("jansen", "saltelli") else {}
    result = sobol_indices(
        additive, 5, estimator=estimator, groups=GROUPS, members="independent", **more
    )
    tolerance = 0.06 if more else 1e-12
    np.testing.assert_allclose(result.total, squares / squares.sum(), atol=tolerance)
    np.testing.assert_allclose(result.first, squares / squares.sum(), atol=tolerance)
    np.testing.assert_allclose(result.effect, [-2, 3, 0.5], atol=5 * tolerance)


def test_independent_groups_of_an_interaction() -> None:
    """x0 x1 inside a group is the group's own; across groups it is in both totals."""
    inside = sobol_indices(
        lambda m: m[:, 0] * m[:, 1] + 0.0, 3, estimator="exact", groups=[0, 0, 1],
        members="independent",
    )  # fmt: skip
    np.testing.assert_allclose(inside.first, [1, 0], atol=1e-12)
    np.testing.assert_allclose(inside.total, [1, 0], atol=1e-12)
    across = sobol_indices(
        lambda m: m[:, 0] * m[:, 2] + 0.0, 3, estimator="exact", groups=[0, 0, 1],
        members="independent",
    )  # fmt: skip
    np.testing.assert_allclose(across.first, [1 / 3, 1 / 3], atol=1e-12)
    np.testing.assert_allclose(across.total, [2 / 3, 2 / 3], atol=1e-12)


def test_any_order_of_interaction_is_available_from_exact() -> None:
    decomposition = sobol_indices(
        lambda m: m[:, :3].all(axis=1) + 0.0, 4, estimator="exact"
    ).decomposition
    assert decomposition is not None
    # At keep 1/2 all seven non-empty subsets of an AND of three weigh the same.
    for order in (1, 2, 3):
        for subset in combinations(range(3), order):
            assert decomposition.index(subset).item() == pytest.approx(1 / 7)
    assert decomposition.index([0, 3]).item() == 0
    assert decomposition.of_order(2).item() == pytest.approx(3 / 7)
    assert decomposition.total_interaction([0, 1]).item() == pytest.approx(2 / 7)
    assert decomposition.closed([0, 1]).item() == pytest.approx(3 / 7)
    assert decomposition.total([0]).item() == pytest.approx(4 / 7)
    assert decomposition.effect([0, 1, 2]).item() == pytest.approx(1)
    with pytest.raises(ValueError, match=r"one of 0 \.\.\. 3"):
        decomposition.index([4])
    with pytest.raises(ValueError, match="at least one"):
        decomposition.index([])


def test_sign_of_the_mean_effect_and_of_occlusion_can_differ() -> None:
    """z0 helps half of the time by 3, and hurts by 1 when z1 is there, as in the full input."""

    def score(masks: Array) -> Floats:
        z = masks.astype(float)
        return np.asarray(3 * z[:, 0] - 4 * z[:, 0] * z[:, 1])

    mean = sobol_indices(score, 2, estimator="exact")
    occlusion = sobol_indices(score, 2, estimator="exact", sign="occlusion")
    unsigned = sobol_indices(score, 2, estimator="exact", sign=None)
    np.testing.assert_array_equal(unsigned.signed, mean.total)
    np.testing.assert_array_equal(mean.signed, mean.total * [1, -1])
    np.testing.assert_array_equal(occlusion.signed, mean.total * [-1, -1])
    assert occlusion.n_distinct == 4, "the masks were all scored before"
    sampled = sobol_indices(score, 2, sign="occlusion", base_masks=2)
    assert sampled.n_masks == 2 * 3 + 3
    np.testing.assert_array_equal(np.sign(sampled.signed), [-1, -1])


@pytest.mark.parametrize("estimator", ["flip", "exact", "jansen"])
def test_groups_may_be_numbered_in_any_order(estimator: str) -> None:
    more: dict[str, Any] = {} if estimator == "exact" else {"base_masks": 40}
    result = sobol_indices(
        lambda m: 5.0 * m[:, 0] + m[:, 1], 3, estimator=estimator, groups=[2, 0, 1], **more
    )
    assert result.total.argmax() == 2
    assert result.total[1] == 0


def test_occlusion_of_groups_leaves_all_members_out() -> None:
    def score(masks: Array) -> Floats:
        return additive(masks) + 4.0 * masks.all(axis=1)

    for members in ("together", "independent"):
        result = sobol_indices(
            score,
            5,
            estimator="jansen",
            groups=GROUPS,
            members=members,
            sign="occlusion",
            base_masks=50,
        )
        assert result.signed.shape == (3,)
        # full 5.5: without {0, 2} 3.5, without {1, 4} -1.5, without {3} 1
        np.testing.assert_array_equal(np.sign(result.signed), [1, 1, 1])
        assert result.n_masks == 50 * (3 + 2) + 1 + 3


def test_effects_of_sets_count_a_feature_once() -> None:
    decomposition = sobol_indices(
        lambda m: 5.0 * m[:, 0] + m[:, 1], 2, estimator="exact"
    ).decomposition
    assert decomposition is not None
    assert decomposition.effect([0, 0]).item() == 5


@pytest.mark.parametrize("last_bits", [1e-12, -1e-12])
def test_rounding_does_not_decide_a_sign(last_bits: float) -> None:
    """Exclusive or: each feature helps as often as it hurts, but for the last bits."""
    result = sobol_indices(
        lambda m: (m[:, 0] ^ m[:, 1]) * (1 + last_bits * m[:, 0]), 2, estimator="exact"
    )
    np.testing.assert_allclose(result.signed, [1, 1])
