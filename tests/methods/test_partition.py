"""Partition SHAP: against Owen's value, and the trees that it opens."""

from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("lime")
pytest.importorskip("shap")

from tests.methods.test_peers import ends, shapley, tangled
from tests.problems import attribution, black_box_of, problem_of
from textsobol.methods import PartitionShap, Problem
from textsobol.methods.shap import build_neighbour_tree
from textsobol.sobol.arrays import Array, Floats

partition_shap = PartitionShap()

pytestmark = [
    # shap's colour maps, on its import
    pytest.mark.filterwarnings("ignore:The set_:PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The set_:DeprecationWarning"),
]


@pytest.mark.parametrize("budget", [25, 40, 100, 1000])
def test_values_share_out_the_whole_score(budget: int) -> None:
    game = tangled(12, 3)
    whole, empty = ends(game)
    total = attribution(partition_shap, game, budget=budget, seed=0).scores.sum(axis=0)
    np.testing.assert_allclose(total, whole - empty, atol=1e-4)


def test_a_sum_is_told_when_all_words_were_looked_at_in_all_contexts() -> None:
    weights = np.random.default_rng(0).normal(size=(10, 2))
    scores = attribution(
        partition_shap, problem_of(lambda z: z @ weights + 3.0, 10), budget=2000, seed=0
    ).scores
    np.testing.assert_allclose(scores, weights, atol=1e-3)


def test_masks_are_asked_for_together() -> None:
    calls = 0

    def spy(masks: Array) -> Floats:
        nonlocal calls
        calls += 1
        return np.asarray(black_box_of(game)(masks))

    game = tangled(30, 2)
    attribution(partition_shap, problem_of(spy, 30), budget=249, seed=0)
    assert calls <= 42


def owen(game: Problem, groups: list[list[int]]) -> Floats:
    """Shapley values of groups that come one after the other, and of words within their group."""
    from itertools import permutations

    def orders() -> list[list[int]]:
        return [
            [*first, *second]
            for pair in permutations(groups)
            for first in permutations(pair[0])
            for second in permutations(pair[1])
        ]

    total = np.zeros_like(np.asarray(black_box_of(game)(np.eye(game.n_features, dtype=bool))))
    for order in orders():
        masks = np.zeros((len(order) + 1, game.n_features), dtype=bool)
        for step, feature in enumerate(order):
            masks[step + 1 :, feature] = True
        gains = np.diff(np.asarray(black_box_of(game)(masks)), axis=0)
        total[order] += gains
    return total / len(orders())


def test_partition_shap_is_owens_value_of_the_sentences() -> None:
    game = tangled(4, 4)
    sentences = problem_of(black_box_of(game), 4, levels=[np.array([0, 0, 1, 1])])
    scores = attribution(partition_shap, sentences, budget=200, seed=0).scores
    np.testing.assert_allclose(scores, owen(game, [[0, 1], [2, 3]]), atol=1e-6)
    assert np.abs(scores - shapley(game)).max() > 0.01


def test_partition_shap_opens_what_matters_first() -> None:
    """One word of 64 does everything: 63 pairs of masks lead to it, in all contexts."""
    game = problem_of(lambda z: 5.0 * z[:, 37], 64)
    scores = attribution(partition_shap, game, budget=200, seed=0).scores[:, 0]
    assert scores[37] == pytest.approx(5.0)
    assert np.count_nonzero(np.abs(scores) > 1e-9) == 1


def test_what_partition_shap_does_not_open_shares_its_score() -> None:
    weights = np.array([4.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    scores = attribution(
        partition_shap, problem_of(lambda z: z @ weights, 8), budget=2, seed=0
    ).scores[:, 0]
    np.testing.assert_allclose(scores, 1.0)
    halves = attribution(
        partition_shap, problem_of(lambda z: z @ weights, 8), budget=4, seed=0
    ).scores[:, 0]
    np.testing.assert_allclose(halves, 1.0)


def leaves(tree: Floats, node: int, n_features: int) -> list[int]:
    if node < n_features:
        return [node]
    left, right = tree[node - n_features, :2].astype(int)
    return [*leaves(tree, left, n_features), *leaves(tree, right, n_features)]


def test_the_tree_of_a_text_keeps_its_order_and_its_sentences() -> None:
    paragraphs, sentences = np.repeat([0, 1], [7, 4]), np.repeat([0, 1, 2], [3, 4, 4])
    tree = build_neighbour_tree(11, [paragraphs, sentences])
    assert tree.shape == (10, 4)
    units = [leaves(tree, node, 11) for node in range(11, 21)]
    assert units[-1] == list(range(11))
    for kind in ([0, 1, 2], [3, 4, 5, 6], [7, 8, 9, 10], [0, 1, 2, 3, 4, 5, 6]):
        assert kind in units
    assert all(after == before + 1 for unit in units for before, after in pairwise(unit))
    assert tree[:, 3].tolist() == [len(unit) for unit in units]


def test_the_tree_of_a_picture_halves_its_longer_side() -> None:
    tree = build_neighbour_tree(8, plane=(2, 4))
    left, right = (leaves(tree, int(node), 8) for node in tree[-1, :2])
    assert sorted(left) == [0, 1, 4, 5]
    assert sorted(right) == [2, 3, 6, 7]
