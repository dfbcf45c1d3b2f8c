"""Occlusion, RISE, the greedy search and the random order, against formulas and enumeration."""

from itertools import combinations

import numpy as np
import pytest

from tests.problems import attribution, black_box_of, problem_of
from textsobol.methods import Greedy, Occlusion, Problem, Random, Rise
from textsobol.sobol.arrays import Array, Floats

GREEDY_DELETIONS = Greedy.deletions
greedy = Greedy()
occlusion = Occlusion()
random_scores = Random()
rise = Rise()

WEIGHTS = np.array([[2.0, -2.0], [-1.0, 1.0], [0.5, 3.0], [0.25, 0.0], [0.0, 0.125]])


def additive(masks: Array) -> Floats:
    return masks @ WEIGHTS + 7.0


def tangled(n_features: int, n_labels: int = 2, seed: int = 0) -> Problem:
    """A random number for every mask: all interactions of all orders."""
    values = np.random.default_rng(seed).normal(size=(2**n_features, n_labels))
    places = 1 << np.arange(n_features)
    return problem_of(lambda masks: values[masks @ places], n_features)


def test_occlusion_of_a_sum_is_its_weights() -> None:
    found = attribution(occlusion, problem_of(additive, 5), budget=6, seed=0)
    np.testing.assert_allclose(found.scores, WEIGHTS, atol=1e-12)


def test_occlusion_sees_interactions_with_all_that_is_present() -> None:
    def negated(z: Array) -> Floats:
        # 3 z0 z1 z2, an "or" of z3 and z4, 2 z5
        either = (z[:, 3] | z[:, 4]).astype(float)
        return 3.0 * z[:, :3].all(axis=1) + either + 2.0 * z[:, 5]

    found = attribution(occlusion, problem_of(negated, 6), budget=7, seed=0)
    # Of two words that say the same, either can go without any loss.
    np.testing.assert_allclose(found.scores[:, 0], [3, 3, 3, 0, 0, 2], atol=1e-12)


def test_occlusion_is_the_difference_of_two_masks() -> None:
    game = tangled(6)
    found = attribution(occlusion, game, budget=7, seed=0).scores
    whole = np.ones((1, 6), dtype=bool)
    for feature in range(6):
        without = whole.copy()
        without[0, feature] = False
        expected = (
            np.asarray(black_box_of(game)(whole)) - np.asarray(black_box_of(game)(without))
        )[0]
        np.testing.assert_allclose(found[feature], expected)


def test_rise_converges_to_half_the_weights_of_a_sum() -> None:
    """E[f | z_i = 1] - E[f] = w_i (1 - p) with p = 1/2."""
    black_box_of = problem_of(additive, 5)
    many = attribution(rise, black_box_of, budget=40_001, seed=0).scores
    np.testing.assert_allclose(many, WEIGHTS * 0.5, atol=0.05)
    few = attribution(rise, black_box_of, budget=401, seed=0).scores
    assert np.abs(few - WEIGHTS / 2).max() > np.abs(many - WEIGHTS / 2).max()
    assert np.argsort(few[:, 0]).tolist()[-1] == 0
    assert few[0, 0] > 0 > few[0, 1]
    assert few[1, 0] < 0 < few[2, 1]


def test_rise_is_the_mean_over_its_own_masks() -> None:
    asked: list[Array] = []

    def spy(masks: Array) -> Floats:
        asked.append(masks)
        return additive(masks) ** 2

    found = attribution(rise, problem_of(spy, 5), budget=20, seed=3).scores
    # All masks are distinct or not: a repeated one counts as often as it was drawn.
    masks = np.random.default_rng(3).random((19, 5)) < 0.5
    drawn = {mask.tobytes() for mask in [*masks, np.ones(5, dtype=bool)]}
    assert {mask.tobytes() for batch in asked for mask in batch} == drawn
    scores = additive(masks) ** 2
    for feature in range(5):
        expected = scores[masks[:, feature]].mean(axis=0) - scores.mean(axis=0)
        np.testing.assert_allclose(found[feature], expected)


def test_rise_says_nothing_of_a_feature_that_was_never_there() -> None:
    masks = np.random.default_rng(0).random((1, 40)) < 0.5
    found = attribution(rise, problem_of(lambda z: z.sum(axis=1), 40), budget=2, seed=0).scores
    assert np.isfinite(found).all()
    assert (found[~masks[0]] == 0).all()


def deleted_by_hand(game: Problem, label: int, n_deletions: int) -> list[int]:
    """The search, written down again with sets."""
    left = list(range(game.n_features))
    gone: list[int] = []
    for _ in range(n_deletions):
        answers = {}
        for feature in left:
            mask = np.isin(np.arange(game.n_features), [k for k in left if k != feature])
            answers[feature] = float(np.asarray(black_box_of(game)(mask[None]))[0, label])
        gone.append(min(answers, key=lambda feature: answers[feature]))
        left.remove(gone[-1])
    return gone


@pytest.mark.parametrize("seed", range(3))
def test_greedy_deletes_what_hurts_most_step_by_step(seed: int) -> None:
    game = tangled(7, seed=seed)
    found = attribution(greedy, game, budget=1 + GREEDY_DELETIONS * 7, seed=0)
    for label in range(2):
        order = np.argsort(-found.scores[:, label], kind="stable").tolist()
        assert order == deleted_by_hand(game, label, 7)
    assert found.settings == {"deletions": 7}
    assert sorted(found.scores[:, 0]) == pytest.approx(np.arange(1, 8) / 7)


def test_greedy_is_the_best_deletion_when_one_is_best_with_any_other() -> None:
    """For a sum, the k that go first are the k that hurt most of all subsets."""
    game = problem_of(additive, 5)
    order = np.argsort(-attribution(greedy, game, budget=200, seed=0).scores[:, 0], kind="stable")
    for k in range(1, 5):
        best = min(
            combinations(range(5), k),
            key=lambda gone: float(
                np.asarray(additive(~np.isin(np.arange(5), gone)[None]))[0, 0]
            ),
        )  # fmt: skip
        # The weight 0 and the first of equals are no matter of taste here: all are distinct.
        assert set(order[:k].tolist()) == set(best)


def test_greedy_sees_what_a_first_look_does_not() -> None:
    """Two synonyms: only when one is gone the other one matters."""

    def score(z: Array) -> Floats:
        return 3.0 * (z[:, 0] | z[:, 1]) + 1.0 * z[:, 2] + 0.5 * z[:, 3]

    found = attribution(greedy, problem_of(score, 4), budget=100, seed=0).scores[:, 0]
    assert np.argsort(-found).tolist() == [2, 3, 0, 1]
    assert attribution(occlusion, problem_of(score, 4), budget=5, seed=0).scores[
        :2, 0
    ].tolist() == [0, 0]


def test_words_that_greedy_does_not_reach_have_no_score() -> None:
    weights = np.arange(30.0)
    found = attribution(
        greedy, problem_of(lambda z: z @ weights, 30), budget=1 + 20 * 30, seed=0
    ).scores[:, 0]
    assert np.count_nonzero(found) == GREEDY_DELETIONS
    assert (found[:10] == 0).all()
    assert (np.diff(found[9:]) > 0).all()


@pytest.mark.parametrize(("n_labels", "n_features"), [(2, 30), (5, 30), (20, 60)])
def test_greedy_deletes_fewer_words_when_labels_share_a_budget(
    n_labels: int, n_features: int
) -> None:
    weights = np.random.default_rng(0).normal(size=(n_features, n_labels))
    seen: set[bytes] = set()

    def score(masks: Array) -> Floats:
        seen.update(map(bytes, masks))
        return masks @ weights

    budget = 1 + GREEDY_DELETIONS * n_features
    found = attribution(greedy, problem_of(score, n_features), budget=budget, seed=0)
    n_deletions = found.settings["deletions"]
    assert 1 <= n_deletions < GREEDY_DELETIONS
    assert len(seen) <= budget
    for label in range(n_labels):
        order = np.argsort(-found.scores[:, label], kind="stable")[:n_deletions]
        assert order.tolist() == np.argsort(-weights[:, label])[:n_deletions].tolist()


def test_a_random_order_is_the_same_for_all_labels() -> None:
    found = attribution(random_scores, problem_of(additive, 5), budget=0, seed=4).scores
    np.testing.assert_array_equal(found[:, 0], found[:, 1])
    assert len(set(found[:, 0].tolist())) == 5
    again = attribution(random_scores, tangled(5, 1), budget=0, seed=4).scores
    np.testing.assert_array_equal(found[:, :1], again)  # it does not look at the model
