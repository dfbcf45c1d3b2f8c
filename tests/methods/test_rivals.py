"""Partition SHAP, shapiq and captum: against exact values, and what each of them guarantees."""

from itertools import pairwise

import numpy as np
import pytest

from tests.methods.test_peers import shapley, tangled
from textsobol.methods import METHODS, Game
from textsobol.methods.peers import neighbour_tree, partition_shap
from textsobol.methods.shapiq_peers import proxyspex, shapiq_kernel, shapiq_svarm
from textsobol.sobol.arrays import Array, Floats

pytestmark = [
    # shap's colour maps, on its import
    pytest.mark.filterwarnings("ignore:The set_:PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The set_:DeprecationWarning"),
]

REGRESSIONS = ["shapiq_kernel", "shapiq_kadd", "captum_kernel_shap"]
SHAPIQ = ["shapiq_kernel", "shapiq_kadd", "shapiq_svarm", "proxyspex"]


def found(name: str, game: Game, budget: int, seed: int = 0) -> Floats:
    return METHODS[name].attribute(game, budget=budget, seed=seed).scores


def ends(game: Game) -> tuple[Floats, Floats]:
    d = game.n_features
    whole, empty = np.asarray(game.black_box(np.array([[True] * d, [False] * d])))
    return whole, empty


@pytest.mark.parametrize("n_features", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("name", ["shapiq_kernel", "shapiq_kadd", "shapiq_svarm"])
def test_shapiq_is_exact_with_all_masks(name: str, n_features: int) -> None:
    # Pairs can not fit triples, but their values are exact all the same.
    game = tangled(n_features, min(n_features, 3))
    np.testing.assert_allclose(found(name, game, budget=2**n_features), shapley(game), atol=1e-4)


@pytest.mark.parametrize("n_features", [1, 2, 5])
def test_proxyspex_is_exact_in_small_games(n_features: int) -> None:
    game = tangled(n_features, n_features)
    np.testing.assert_allclose(
        found("proxyspex", game, budget=2**n_features), shapley(game), atol=1e-8
    )


def test_proxyspex_finds_few_words_and_a_pair_among_many() -> None:
    def score(masks: Array) -> Floats:
        z = masks.astype(float)
        odds = 3.0 * z[:, 0] - 2.0 * z[:, 1] + 4.0 * z[:, 2] * z[:, 3]
        return np.stack([odds, 1.0 - 0.5 * odds], axis=1)

    exact = np.zeros(30)
    exact[:4] = [3, -2, 2, 2]
    scores = found("proxyspex", Game(score, 30), budget=240)
    np.testing.assert_allclose(scores[:, 0], exact, atol=0.05)
    np.testing.assert_allclose(scores[:, 1], -0.5 * exact, atol=0.05)


def test_proxyspex_says_nothing_where_its_trees_find_nothing() -> None:
    # A mask and its complement have the same score: no single word tells anything.
    game = Game(lambda z: (z[:, 0] ^ z[:, 1]).astype(float), 8)
    np.testing.assert_allclose(found("proxyspex", game, budget=40), 0, atol=1e-12)
    constant = Game(lambda z: np.full(len(z), 7.0), 8)
    np.testing.assert_allclose(found("proxyspex", constant, budget=64), 0, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "tolerance"), [("captum_kernel_shap", 0.2), ("captum_shapley", 0.1)]
)
def test_captum_converges(name: str, tolerance: float) -> None:
    game = tangled(5, 5)
    exact = shapley(game)
    few, many = (np.abs(found(name, game, budget=b) - exact).max() for b in (12, 20_000))
    assert many < tolerance
    assert few > 2 * many


@pytest.mark.parametrize("budget", [25, 40, 100, 1000])
@pytest.mark.parametrize("name", [*REGRESSIONS, "captum_shapley", "partition_shap"])
def test_values_share_out_the_whole_score(name: str, budget: int) -> None:
    game = tangled(12, 3)
    whole, empty = ends(game)
    # captum reckons in single precision, with a weight of a million for both ends.
    atol = 1e-2 if name == "captum_kernel_shap" else 1e-4
    total = found(name, game, budget=budget).sum(axis=0)
    np.testing.assert_allclose(total, whole - empty, atol=atol)


@pytest.mark.parametrize("name", [*REGRESSIONS, "captum_shapley", "partition_shap"])
def test_a_sum_is_told_with_few_rows(name: str) -> None:
    weights = np.random.default_rng(0).normal(size=(10, 2))
    game = Game(lambda z: z @ weights + 3.0, 10)
    # A tree is told when all its words were looked at in all contexts.
    budget = 2000 if name == "partition_shap" else 100
    np.testing.assert_allclose(found(name, game, budget=budget), weights, atol=1e-3)


def owen(game: Game, groups: list[list[int]]) -> Floats:
    """Shapley values of groups that come one after the other, and of words within their group."""
    from itertools import permutations

    def orders() -> list[list[int]]:
        return [
            [*first, *second]
            for pair in permutations(groups)
            for first in permutations(pair[0])
            for second in permutations(pair[1])
        ]

    total = np.zeros_like(np.asarray(game.black_box(np.eye(game.n_features, dtype=bool))))
    for order in orders():
        masks = np.zeros((len(order) + 1, game.n_features), dtype=bool)
        for step, feature in enumerate(order):
            masks[step + 1 :, feature] = True
        gains = np.diff(np.asarray(game.black_box(masks)), axis=0)
        total[order] += gains
    return total / len(orders())


def test_partition_shap_is_owens_value_of_the_sentences() -> None:
    game = tangled(4, 4)
    sentences = Game(game.black_box, 4, levels=[np.array([0, 0, 1, 1])])
    scores = partition_shap(sentences, budget=200, seed=0).scores
    np.testing.assert_allclose(scores, owen(game, [[0, 1], [2, 3]]), atol=1e-6)
    assert np.abs(scores - shapley(game)).max() > 0.01


def test_partition_shap_opens_what_matters_first() -> None:
    """One word of 64 does everything: 63 pairs of masks lead to it, in all contexts."""
    game = Game(lambda z: 5.0 * z[:, 37], 64)
    scores = partition_shap(game, budget=200, seed=0).scores[:, 0]
    assert scores[37] == pytest.approx(5.0)
    assert np.count_nonzero(np.abs(scores) > 1e-9) == 1


def test_what_partition_shap_does_not_open_shares_its_score() -> None:
    weights = np.array([4.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    scores = partition_shap(Game(lambda z: z @ weights, 8), budget=2, seed=0).scores[:, 0]
    np.testing.assert_allclose(scores, 1.0)
    halves = partition_shap(Game(lambda z: z @ weights, 8), budget=4, seed=0).scores[:, 0]
    np.testing.assert_allclose(halves, 1.0)


def leaves(tree: Floats, node: int, n_features: int) -> list[int]:
    if node < n_features:
        return [node]
    left, right = tree[node - n_features, :2].astype(int)
    return [*leaves(tree, left, n_features), *leaves(tree, right, n_features)]


def test_the_tree_of_a_text_keeps_its_order_and_its_sentences() -> None:
    paragraphs, sentences = np.repeat([0, 1], [7, 4]), np.repeat([0, 1, 2], [3, 4, 4])
    tree = neighbour_tree(Game(len, 11, levels=[paragraphs, sentences]))
    assert tree.shape == (10, 4)
    units = [leaves(tree, node, 11) for node in range(11, 21)]
    assert units[-1] == list(range(11))
    for kind in ([0, 1, 2], [3, 4, 5, 6], [7, 8, 9, 10], [0, 1, 2, 3, 4, 5, 6]):
        assert kind in units
    assert all(after == before + 1 for unit in units for before, after in pairwise(unit))
    assert tree[:, 3].tolist() == [len(unit) for unit in units]


def test_the_tree_of_a_picture_halves_its_longer_side() -> None:
    tree = neighbour_tree(Game(len, 8, plane=(2, 4)))
    left, right = (leaves(tree, int(node), 8) for node in tree[-1, :2])
    assert sorted(left) == [0, 1, 4, 5]
    assert sorted(right) == [2, 3, 6, 7]


@pytest.mark.parametrize("budget", [30, 200])
def test_shapiqs_are_shapiqs_own_answers(budget: int) -> None:
    import shapiq

    game = tangled(10, 4)

    def first(masks: Array) -> Floats:
        return np.asarray(game.black_box(masks))[:, 1]

    for method, own in [(shapiq_kernel, shapiq.KernelSHAP), (shapiq_svarm, shapiq.SVARM)]:
        expected = own(n=10, random_state=7).approximate(budget, first).get_n_order_values(1)
        scores = method(game, budget=budget, seed=7).scores[:, 1]
        np.testing.assert_allclose(scores, expected, atol=1e-10)
    if budget > 40:
        spex = shapiq.ProxySPEX(n=10, index="SV", max_order=1, random_state=7)
        expected = spex.approximate(budget, first).get_n_order_values(1)
        scores = proxyspex(game, budget=budget, seed=7).scores[:, 1]
        np.testing.assert_allclose(scores, expected, atol=1e-10)


@pytest.mark.parametrize(
    ("name", "most_calls"),
    [*((name, 2) for name in SHAPIQ), ("captum_kernel_shap", 2), ("captum_shapley", 10),
     ("partition_shap", 42)],
)  # fmt: skip
def test_masks_are_asked_for_together(name: str, most_calls: int) -> None:
    calls = 0

    def spy(masks: Array) -> Floats:
        nonlocal calls
        calls += 1
        return np.asarray(tangled_30.black_box(masks))

    tangled_30 = tangled(30, 2)
    found(name, Game(spy, 30), budget=249)
    assert calls <= most_calls


@pytest.mark.parametrize(
    ("name", "most"),
    [("shapiq_kernel", 1000), ("shapiq_kadd", 250), ("shapiq_svarm", 1000), ("proxyspex", 1000)],
)
def test_texts_that_are_too_long_for_shapiq_are_refused(name: str, most: int) -> None:
    game = Game(lambda z: z.sum(axis=1), most + 1)
    said = f"{most + 1} features: this method of shapiq takes at most {most}"
    with pytest.raises(ValueError, match=said):
        found(name, game, budget=5000)


def test_long_texts_are_not_too_long_for_shapiq() -> None:
    weights = np.linspace(-1, 1, 1000)
    scores = found("shapiq_kernel", Game(lambda z: z @ weights, 1000), budget=1500)[:, 0]
    np.testing.assert_allclose(scores, weights, atol=1e-3)
