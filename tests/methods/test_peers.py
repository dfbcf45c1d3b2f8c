"""LIME and SHAP, against what their own packages say, exact values and regressions by hand."""

from itertools import combinations, product
from math import factorial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("lime")
pytest.importorskip("shap")

from tests.problems import attribution, black_box_of, problem_of
from textsobol import TextExplainer
from textsobol.methods import KernelShap, Lime, PermutationShap, Problem
from textsobol.sobol.arrays import Array, Floats

kernel_shap = KernelShap()
lime = Lime()
permutation_shap = PermutationShap()

pytestmark = [
    # shap's colour maps, on its import
    pytest.mark.filterwarnings("ignore:The set_:PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The set_:DeprecationWarning"),
]


def tangled(n_features: int, order: int, n_labels: int = 2, seed: int = 0) -> Problem:
    """A random number for every set of up to ``order`` features that are present together."""
    random = np.random.default_rng(seed)
    sets = [
        list(chosen)
        for size in range(order + 1)
        for chosen in combinations(range(n_features), size)
    ]
    values = random.normal(size=(len(sets), n_labels))

    def score(masks: Array) -> Floats:
        return np.stack([masks[:, chosen].all(axis=1) for chosen in sets], axis=1) @ values

    return problem_of(score, n_features)


def shapley(game: Problem) -> Floats:
    """Exact values: every feature's gain over every set of others, by its weight."""
    n = game.n_features
    masks = np.array(list(product([False, True], repeat=n)))
    values = np.asarray(black_box_of(game)(masks))
    sizes = masks.sum(axis=1)
    exact = []
    for feature in range(n):
        without = ~masks[:, feature]
        weights = [factorial(k) * factorial(n - k - 1) / factorial(n) for k in sizes[without]]
        # Masks ascend as binary numbers, so that those with and without go in the same order.
        exact.append(weights @ (values[~without] - values[without]))
    return np.array(exact)


def ends(game: Problem) -> tuple[Floats, Floats]:
    d = game.n_features
    whole, empty = np.asarray(black_box_of(game)(np.array([[True] * d, [False] * d])))
    return whole, empty


@pytest.mark.parametrize("n_features", [1, 2, 3, 5, 8])
def test_kernel_shap_with_all_masks_is_exact(n_features: int) -> None:
    game = tangled(n_features, n_features)
    found = attribution(kernel_shap, game, budget=2**n_features + 1, seed=0).scores
    np.testing.assert_allclose(found, shapley(game), atol=1e-4)


@pytest.mark.parametrize("n_features", [1, 2, 4, 7])
def test_a_walk_there_and_back_is_exact_for_pairs(n_features: int) -> None:
    game = tangled(n_features, 2)
    found = attribution(permutation_shap, game, budget=2 * n_features + 1, seed=0).scores
    np.testing.assert_allclose(found, shapley(game), atol=1e-4)


def test_permutation_shap_converges_where_many_interact() -> None:
    game = tangled(5, 5)
    exact = shapley(game)
    few, many = (attribution(permutation_shap, game, budget=b, seed=0).scores for b in (11, 20_001))
    np.testing.assert_allclose(many, exact, atol=0.05)
    assert np.abs(few - exact).max() > np.abs(many - exact).max()


@pytest.mark.parametrize("method", [kernel_shap, permutation_shap])
@pytest.mark.parametrize("budget", [25, 40, 100])
def test_shapley_values_share_out_the_whole_score(method: Any, budget: int) -> None:
    game = tangled(12, 3)
    whole, empty = np.asarray(black_box_of(game)(np.array([[True] * 12, [False] * 12])))
    found = attribution(method, game, budget=budget, seed=0).scores
    np.testing.assert_allclose(found.sum(axis=0), whole - empty, atol=1e-8)


@pytest.mark.parametrize("budget", [60, 200])
@pytest.mark.parametrize("n_labels", [1, 3])
def test_kernel_shap_is_shaps_own_answer(budget: int, n_labels: int) -> None:
    import shap

    game = tangled(10, 4, n_labels)
    np.random.seed(7)  # noqa: NPY002
    explainer = shap.KernelExplainer(lambda z: black_box_of(game)(z > 0), np.zeros((1, 10)))
    own = explainer.shap_values(np.ones((1, 10)), nsamples=budget - 2, l1_reg=False, silent=True)
    found = attribution(kernel_shap, game, budget=budget, seed=7).scores
    np.testing.assert_allclose(found, np.asarray(own)[0].reshape(10, n_labels), atol=1e-4)
    assert np.abs(found - shapley(game)).max() > 1e-3, "not all masks were seen"


def test_permutation_shap_is_shaps_own_answer() -> None:
    import shap

    game = tangled(6, 4)
    masker = shap.maskers.Independent(np.zeros((1, 6)))
    explainer = shap.PermutationExplainer(lambda z: black_box_of(game)(z > 0), masker, seed=7)
    own = explainer(np.ones((1, 6)), max_evals=3 * 13, silent=True)
    found = attribution(permutation_shap, game, budget=1 + 3 * 12, seed=7).scores
    np.testing.assert_allclose(found, own.values[0], atol=1e-4)


def spread(texts: list[str]) -> Floats:
    """Weights of words and of their neighbourhood."""
    weights = {"good": 3.0, "not": -1.0, "plot": 0.5, "long": -2.0}
    odds = [
        sum(weights.get(word, 0.1) for word in text.split())
        - 4.0 * ("not" in text.split() and "good" in text.split())
        for text in texts
    ]
    positive = 1 / (1 + np.exp(-np.array(odds)))
    return np.stack([1 - positive, positive], axis=1)


@pytest.mark.parametrize("seed", [0, 11])
@pytest.mark.parametrize("n_samples", [30, 300])
def test_lime_is_limes_own_answer(seed: int, n_samples: int) -> None:
    """The same draws as in LimeTextExplainer, for a text in which no word is repeated."""
    from lime.lime_text import LimeTextExplainer

    text = "the plot is not so good and an ending like that takes long"
    own = LimeTextExplainer(random_state=seed, feature_selection="none").explain_instance(
        text, spread, labels=(0, 1), num_features=13, num_samples=n_samples
    )
    explanation = TextExplainer(spread)(text, method="lime", budget=n_samples, seed=seed)
    for label in (0, 1):
        expected = dict(own.local_exp[label])
        found = [word.scores[str(label)].score for word in explanation.words]
        np.testing.assert_allclose(found, [expected[k] for k in range(13)], atol=1e-6)


def test_lime_is_a_weighted_ridge_regression_on_its_masks() -> None:
    asked: list[Array] = []
    game = tangled(20, 2)

    def spy(masks: Array) -> Floats:
        asked.append(masks)
        return np.asarray(black_box_of(game)(masks))

    found = attribution(lime, problem_of(spy, 20), budget=30, seed=2).scores
    masks = np.concatenate(asked)
    assert len(masks) == 30  # none was drawn twice
    assert masks[0].all()
    cosine = masks.sum(axis=1) / np.sqrt(20 * np.maximum(masks.sum(axis=1), 1))
    weights = np.exp(-((100 * (1 - cosine)) ** 2) / 25**2) ** 0.5
    for label in range(2):
        scores = np.asarray(black_box_of(game)(masks))[:, label]
        # The intercept is not pulled towards zero: it goes with the weighted means.
        x = masks - np.average(masks, axis=0, weights=weights)
        y = scores - np.average(scores, weights=weights)
        expected = np.linalg.solve(x.T * weights @ x + np.eye(20), x.T * weights @ y)
        np.testing.assert_allclose(found[:, label], expected, atol=1e-6)


def test_lime_recovers_the_weights_of_a_sum() -> None:
    weights = np.array([[2.0, 0.0], [-1.0, 1.0], [0.5, 3.0], [0.0, -2.0]])
    found = attribution(
        lime, problem_of(lambda z: z @ weights + 1.0, 4), budget=4000, seed=0
    ).scores
    # The ridge pulls a little towards zero.
    np.testing.assert_allclose(found, weights, atol=0.03)


def test_lime_leaves_out_every_number_of_words_equally_often() -> None:
    asked: list[Array] = []

    def spy(masks: Array) -> Floats:
        asked.append(masks)
        return masks.sum(axis=1).astype(float)

    attribution(lime, problem_of(spy, 40), budget=4001, seed=0)
    left_out = 40 - np.concatenate(asked)[1:].sum(axis=1)
    assert left_out.min() == 1
    assert left_out.max() == 40
    # Nearly all masks are distinct, but for those of 1, 39 and 40 words.
    counts = np.bincount(left_out, minlength=41)[3:38]
    assert np.abs(counts - 100).max() < 40
