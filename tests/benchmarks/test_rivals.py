"""Rivals of shapiq and captum: against exact values, the contract, and what each guarantees."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from benchmarks.imdb.ways import all_names, ways
from benchmarks.passes import explained
from benchmarks.rivals import RIVALS
from benchmarks.rivals.callback import Callback
from benchmarks.rivals.shapiq_shapley import proxyspex, shapiq_kernel, shapiq_svarm
from tests.methods import contract
from tests.methods.test_peers import ends, shapley, tangled
from tests.problems import attribution, black_box_of, problem_of
from textsobol import TextExplainer
from textsobol.methods import METHODS, Problem, Sobol
from textsobol.sobol.arrays import Array, Floats

pytestmark = [
    pytest.mark.filterwarnings("ignore:Linear regression equation is singular"),  # few samples
]

# Those that take a budget.
SHAPLEY = [
    name
    for name, method in RIVALS.items()
    if method.kind == "black box" and method.natural_masks(12) is None
]

REGRESSIONS = ["shapiq_kernel", "shapiq_kadd", "captum_kernel_shap"]
SHAPIQ = ["shapiq_kernel", "shapiq_kadd", "shapiq_svarm", "shapiq_banzhaf", "proxyspex"]


def cases(
    n_features: Sequence[int], budgets: Sequence[int], *, slow: Sequence[tuple[int, int]]
) -> list[tuple[str, int, int]]:
    """Every rival at every number of features and budget; ProxySPEX, which is slow, at a few."""
    every = list(product(n_features, budgets))
    return [(name, *case) for name in SHAPLEY for case in (slow if name == "proxyspex" else every)]


def found(name: str, game: Problem, budget: int, seed: int = 0) -> Floats:
    return attribution(RIVALS[name], game, budget=budget, seed=seed).scores


@pytest.mark.parametrize("n_features", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("name", ["shapiq_kernel", "shapiq_kadd", "shapiq_svarm"])
def test_shapiq_is_exact_with_all_masks(name: str, n_features: int) -> None:
    # Pairs can not fit triples, but their values are exact all the same.
    game = tangled(n_features, min(n_features, 3))
    np.testing.assert_allclose(found(name, game, budget=2**n_features), shapley(game), atol=1e-4)


@pytest.mark.parametrize("n_features", [1, 2, 3, 5, 8])
def test_banzhaf_values_are_mean_effects_with_all_masks(n_features: int) -> None:
    game = tangled(n_features, min(n_features, 3))
    exact = attribution(Sobol("exact", path=False), game, budget=2**n_features + 1, seed=0)
    assert exact.indices is not None
    values = found("shapiq_banzhaf", game, budget=2**n_features)
    np.testing.assert_allclose(values, exact.indices.effect, atol=1e-4)


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
    scores = found("proxyspex", problem_of(score, 30), budget=240)
    np.testing.assert_allclose(scores[:, 0], exact, atol=0.05)
    np.testing.assert_allclose(scores[:, 1], -0.5 * exact, atol=0.05)


def test_proxyspex_says_nothing_where_its_trees_find_nothing() -> None:
    # A mask and its complement have the same score: no single word tells anything.
    game = problem_of(lambda z: (z[:, 0] ^ z[:, 1]).astype(float), 8)
    np.testing.assert_allclose(found("proxyspex", game, budget=40), 0, atol=1e-12)
    constant = problem_of(lambda z: np.full(len(z), 7.0), 8)
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
@pytest.mark.parametrize("name", [*REGRESSIONS, "captum_shapley"])
def test_values_share_out_the_whole_score(name: str, budget: int) -> None:
    game = tangled(12, 3)
    whole, empty = ends(game)
    # captum reckons in single precision, with a weight of a million for both ends.
    atol = 1e-2 if name == "captum_kernel_shap" else 1e-4
    total = found(name, game, budget=budget).sum(axis=0)
    np.testing.assert_allclose(total, whole - empty, atol=atol)


@pytest.mark.parametrize("name", [*REGRESSIONS, "captum_shapley"])
def test_a_sum_is_told_with_few_rows(name: str) -> None:
    weights = np.random.default_rng(0).normal(size=(10, 2))
    game = problem_of(lambda z: z @ weights + 3.0, 10)
    np.testing.assert_allclose(found(name, game, budget=100), weights, atol=1e-3)


@pytest.mark.parametrize("budget", [30, 100])
def test_shapiqs_are_shapiqs_own_answers(budget: int) -> None:
    import shapiq

    game = tangled(10, 4)

    def first(masks: Array) -> Floats:
        return np.asarray(black_box_of(game)(masks))[:, 1]

    for method, own in [(shapiq_kernel, shapiq.KernelSHAP), (shapiq_svarm, shapiq.SVARM)]:
        expected = own(n=10, random_state=7).approximate(budget, first).get_n_order_values(1)
        scores = attribution(Callback("", "", method), game, budget=budget, seed=7).scores[:, 1]
        np.testing.assert_allclose(scores, expected, atol=1e-10)
    if budget > 40:
        spex = shapiq.ProxySPEX(n=10, index="SV", max_order=1, random_state=7)
        expected = spex.approximate(budget, first).get_n_order_values(1)
        scores = attribution(Callback("", "", proxyspex), game, budget=budget, seed=7).scores[:, 1]
        np.testing.assert_allclose(scores, expected, atol=1e-10)


@pytest.mark.parametrize(
    ("name", "most_calls"),
    [*((name, 2) for name in SHAPIQ), ("captum_kernel_shap", 2), ("captum_shapley", 10)],
)
def test_masks_are_asked_for_together(name: str, most_calls: int) -> None:
    calls = 0

    def spy(masks: Array) -> Floats:
        nonlocal calls
        calls += 1
        return np.asarray(black_box_of(tangled_30)(masks))

    tangled_30 = tangled(30, 2)
    found(name, problem_of(spy, 30), budget=249)
    assert calls <= most_calls


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("shapiq_kernel", 1000),
        ("shapiq_kadd", 250),
        ("shapiq_svarm", 1000),
        ("shapiq_banzhaf", 1000),
        ("proxyspex", 1000),
    ],
)
def test_texts_that_are_too_long_for_shapiq_are_refused(name: str, most: int) -> None:
    game = problem_of(lambda z: z.sum(axis=1), most + 1)
    said = f"{most + 1} features: this method of shapiq takes at most {most}"
    with pytest.raises(ValueError, match=said):
        found(name, game, budget=5000)


def test_long_texts_are_not_too_long_for_shapiq() -> None:
    weights = np.linspace(-1, 1, 1000)
    scores = found("shapiq_kernel", problem_of(lambda z: z @ weights, 1000), budget=1500)[:, 0]
    np.testing.assert_allclose(scores, weights, atol=1e-3)


@pytest.mark.parametrize("name", SHAPLEY)
def test_rivals_keep_to_the_contract(name: str) -> None:
    contract.check_same_seed(RIVALS[name])
    contract.check_other_seed(RIVALS[name])
    contract.check_score_without_labels(RIVALS[name])
    contract.check_labels_apart(RIVALS[name])
    contract.check_random_states(RIVALS[name])


@pytest.mark.parametrize(
    ("name", "n_features", "more"),
    cases([1, 2, 5, 33], [0, 1, 13, 200], slow=[(5, 13), (33, 1)]),
)
def test_rivals_score_no_more_masks_than_the_budget_allows(
    name: str, n_features: int, more: int
) -> None:
    contract.check_budget(RIVALS[name], n_features, more)


@pytest.mark.parametrize(
    ("name", "n_features", "rows_per_word"),
    cases([5, 30, 60], [2, 4, 8], slow=[(5, 2), (30, 2)]),
)
def test_rivals_use_the_budgets_of_the_benchmark_and_no_more(
    name: str, n_features: int, rows_per_word: int
) -> None:
    # Draws may repeat a mask of few words, and walks are not cut short.
    drawn = {"captum_kernel_shap": 0.6, "captum_llm_kernel_shap": 0.6, "captum_shapley": 0.75}
    least_used = drawn.get(name, 1.0)
    contract.check_budget_of_the_benchmark(RIVALS[name], n_features, rows_per_word, least_used)


@pytest.mark.parametrize(
    ("name", "package"),
    [
        *((name, "shapiq") for name in SHAPIQ),
        ("proxyspex", "lightgbm"),
        ("captum_kernel_shap", "captum"),
        ("captum_shapley", "captum"),
    ],
)
def test_a_missing_package_is_named_with_the_extra_that_has_it(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract.check_missing_package(RIVALS[name], package, monkeypatch)


@pytest.mark.parametrize("name", SHAPLEY)
def test_rivals_tell_praise_from_blame(name: str) -> None:
    game = TextExplainer(progress=False).masked(
        "A gripping, beautifully acted film, ruined by its dull ending."
    )
    (way,) = ways([name], rows_per_word=[16])
    attribution, _ = explained(game, way, 0, label="POSITIVE")
    words = [game.words[k].text for k in game.scored]
    scores = dict(zip(words, attribution.scores[:, 0], strict=True))
    assert min(scores["gripping"], scores["beautifully"]) > 0
    assert max(scores["dull"], scores["ruined"]) < 0


def test_the_league_has_the_methods_of_the_package_and_the_rivals() -> None:
    assert not set(METHODS) & set(RIVALS), "a name means one method"
    assert {*SHAPLEY, "lime", "kernel_shap", "greedy"} < set(all_names())
    assert not {"gradcam", "deconvnet"} & set(all_names()), "of pictures only"
