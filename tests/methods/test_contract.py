"""What every method keeps to: seeds, budgets, and nothing else in the world touched."""

import random
import sys
from typing import Any

import numpy as np
import pytest
import torch

from textsobol.methods import METHODS, TEXT_METHODS, Differentiable, Game, method_named
from textsobol.methods.contract import Attribution
from textsobol.sobol.arrays import Array, Floats

pytestmark = [
    pytest.mark.filterwarnings("ignore:The set_:PendingDeprecationWarning"),  # of shap's import
    pytest.mark.filterwarnings("ignore:The set_:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Linear regression equation is singular"),  # few samples
]

BLACK_BOXES = [name for name in TEXT_METHODS if METHODS[name].kind != "white box"]
WHITE_BOXES = [name for name in TEXT_METHODS if METHODS[name].kind == "white box"]
RIVALS = ["partition_shap", "shapiq_kernel", "shapiq_kadd", "shapiq_svarm", "proxyspex",
          "captum_kernel_shap", "captum_shapley"]  # fmt: skip
# Partition SHAP draws only to break ties.
SAMPLING = ["sobol", "random", "rise", "lime", "kernel_shap", "permutation_shap",
            *(name for name in RIVALS if name != "partition_shap")]  # fmt: skip
DETERMINED = ["occlusion", "greedy", "saliency", "gradient_input", "integrated_gradients",
              "partition_shap"]  # fmt: skip
# Labels share what is looked at next, or a search.
SHARING = ["sobol", "greedy", "partition_shap"]


def score(masks: Array) -> Floats:
    """Two labels, with interactions of neighbours and a curve over them."""
    weights = np.sin(np.arange(masks.shape[1]) * 1.7) + 0.2
    odds = masks @ weights - 2.0 * (masks[:, 1:] & masks[:, :-1]).sum(axis=1) * weights[0]
    return np.stack([np.tanh(odds), np.cos(odds)], axis=1)


def numeric(n_features: int) -> Game:
    """The game with gradients: a vector of two numbers for every feature, none for the last."""
    owners = np.array([*range(n_features), -1])

    def differentiable() -> Differentiable:
        inputs = torch.linspace(-1, 1, 2 * (n_features + 1)).reshape(1, n_features + 1, 2)
        return Differentiable(
            lambda x: torch.stack([torch.tanh(x).sum((1, 2)), (x**2).sum((1, 2))], 1),
            inputs,
            owners,
        )

    return Game(score, n_features, differentiable)


def attributed(name: str, n_features: int, *, seed: int = 0, more: int = 20) -> Attribution:
    method = METHODS[name]
    budget = method.least(n_features) + more
    return method.attribute(numeric(n_features), budget=budget, seed=seed)


@pytest.mark.parametrize("name", TEXT_METHODS)
def test_the_same_seed_gives_the_same_scores(name: str) -> None:
    one, other = (attributed(name, 12, seed=5).scores for _ in range(2))
    np.testing.assert_array_equal(one, other)
    assert one.shape == (12, 2)
    assert np.isfinite(one).all()


@pytest.mark.parametrize("name", [*SAMPLING, "smoothgrad"])
def test_another_seed_gives_other_scores(name: str) -> None:
    assert (attributed(name, 12, seed=5).scores != attributed(name, 12, seed=6).scores).any()


@pytest.mark.parametrize("name", DETERMINED)
def test_methods_that_draw_nothing_do_not_look_at_the_seed(name: str) -> None:
    one, other = (attributed(name, 12, seed=seed).scores for seed in (5, 6))
    np.testing.assert_array_equal(one, other)


def test_every_method_either_draws_or_does_not() -> None:
    assert {*SAMPLING, *DETERMINED, "smoothgrad"} == set(TEXT_METHODS)


@pytest.mark.parametrize("more", [0, 1, 13, 200])
@pytest.mark.parametrize("n_features", [1, 2, 5, 33])
@pytest.mark.parametrize("name", BLACK_BOXES)
def test_no_more_masks_are_scored_than_the_budget_allows(
    name: str, n_features: int, more: int
) -> None:
    # The whole input is a part of the budget, whether the method looks at it or not.
    seen = {np.ones(n_features, dtype=bool).tobytes()}

    def spy(masks: Array) -> Floats:
        assert masks.dtype == bool
        before = len(seen)
        seen.update(mask.tobytes() for mask in masks)
        whole = masks.all(axis=1).any()
        assert len(seen) - before >= len(masks) - whole, "a mask was scored twice"
        return score(masks)

    budget = METHODS[name].least(n_features) + more
    found = METHODS[name].attribute(Game(spy, n_features), budget=budget, seed=1)
    assert len(seen) <= max(1, budget)
    assert found.passes == 0
    assert np.isfinite(found.scores).all()


@pytest.mark.parametrize("rows_per_word", [2, 4, 8])
@pytest.mark.parametrize("n_features", [5, 30, 60])
@pytest.mark.parametrize("name", RIVALS)
def test_rivals_use_the_budgets_of_the_benchmark_and_no_more(
    name: str, n_features: int, rows_per_word: int
) -> None:
    seen: set[bytes] = set()

    def spy(masks: Array) -> Floats:
        seen.update(map(bytes, masks))
        return score(masks)[:, 0]

    budget = max(METHODS[name].least(n_features), 1 + rows_per_word * (n_features + 1))
    METHODS[name].attribute(Game(spy, n_features), budget=budget, seed=1)
    assert len(seen) <= budget
    if n_features > 5:
        # Draws may repeat a mask of few words, and walks are not cut short.
        assert len(seen) >= {"captum_kernel_shap": 0.6, "captum_shapley": 0.75}.get(name, 1) * (
            budget - 1
        )


@pytest.mark.parametrize("name", BLACK_BOXES)
def test_a_score_without_a_label_axis_is_one_label(name: str) -> None:
    method = METHODS[name]
    budget = method.least(6) + 40
    flat = method.attribute(Game(lambda z: score(z)[:, 0], 6), budget=budget, seed=0).scores
    column = method.attribute(Game(lambda z: score(z)[:, :1], 6), budget=budget, seed=0).scores
    assert flat.shape == (6, 1)
    np.testing.assert_allclose(flat, column, atol=1e-12)


@pytest.mark.parametrize("name", [n for n in BLACK_BOXES if n not in SHARING])
def test_labels_do_not_look_at_each_other(name: str) -> None:
    method = METHODS[name]
    budget = method.least(8) + 30
    both = method.attribute(Game(score, 8), budget=budget, seed=0).scores
    for label in (0, 1):
        alone = Game(lambda z, label=label: score(z)[:, label], 8)  # type: ignore[misc]
        found = method.attribute(alone, budget=budget, seed=0).scores
        np.testing.assert_allclose(found[:, 0], both[:, label], atol=1e-9)


@pytest.mark.parametrize("name", TEXT_METHODS)
def test_global_random_states_are_left_alone(name: str) -> None:
    def states() -> list[Any]:
        kind, keys, *rest = np.random.get_state()  # noqa: NPY002
        return [kind, np.asarray(keys).tolist(), rest, torch.get_rng_state().tolist(),
                random.getstate()]  # fmt: skip

    np.random.seed(123)  # noqa: NPY002
    torch.manual_seed(123)
    random.seed(123)
    before = states()
    first = attributed(name, 9).scores
    assert states() == before
    # Nor does what others drew before change the scores.
    np.random.seed(321)  # noqa: NPY002
    torch.manual_seed(321)
    random.seed(321)
    np.testing.assert_array_equal(attributed(name, 9).scores, first)


def test_the_global_state_is_restored_after_a_failure_too() -> None:
    def broken(masks: Array) -> Floats:
        if not masks.all():
            raise RuntimeError("no")
        return score(masks)

    before = np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
    with pytest.raises(RuntimeError, match="no"):
        METHODS["kernel_shap"].attribute(Game(broken, 5), budget=20, seed=0)
    after = np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
    assert after == before


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("lime", "lime"),
        ("kernel_shap", "shap"),
        ("permutation_shap", "shap"),
        ("partition_shap", "shap"),
        ("shapiq_kernel", "shapiq"),
        ("shapiq_kadd", "shapiq"),
        ("shapiq_svarm", "shapiq"),
        ("proxyspex", "shapiq"),
        ("proxyspex", "lightgbm"),
        ("captum_kernel_shap", "captum"),
        ("captum_shapley", "captum"),
        *((name, "captum") for name in WHITE_BOXES),
    ],
)
def test_a_missing_package_is_named_with_the_extra_that_has_it(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [m for m in sys.modules if m.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf'{package}: pip install "textsobol\[bench\]"'):
        attributed(name, 6)


@pytest.mark.parametrize("name", WHITE_BOXES)
def test_a_function_without_gradients_is_refused_by_white_boxes(name: str) -> None:
    with pytest.raises(ValueError, match="functions and zero-shot pipelines give no gradients"):
        METHODS[name].attribute(Game(score, 4), budget=100, seed=0)


def test_unknown_methods_are_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"unknown method 'shap'; known: sobol, .*greedy"):
        method_named("shap")


@pytest.mark.parametrize("name", TEXT_METHODS)
def test_what_a_method_takes_by_itself_is_enough(name: str) -> None:
    method = METHODS[name]
    assert method.kind in ("black box", "white box", "search", "baseline")
    if method.natural is not None:
        assert all(method.natural(d) >= method.least(d) for d in (1, 2, 20, 500))
