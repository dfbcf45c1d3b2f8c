"""What every method keeps to: seeds, budgets, and nothing else in the world touched."""

import numpy as np
import pytest

pytest.importorskip("captum")
pytest.importorskip("lime")
pytest.importorskip("shap")

from tests.methods import contract
from tests.problems import attribution, problem_of
from textsobol.methods import METHODS, TEXT_METHODS, find_method
from textsobol.sobol.arrays import Array, Floats

pytestmark = [
    pytest.mark.filterwarnings("ignore:The set_:PendingDeprecationWarning"),  # of shap's import
    pytest.mark.filterwarnings("ignore:The set_:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Linear regression equation is singular"),  # few samples
]

BLACK_BOXES = [name for name in TEXT_METHODS if METHODS[name].kind != "white box"]
WHITE_BOXES = [name for name in TEXT_METHODS if METHODS[name].kind == "white box"]
SAMPLING = ["sobol", "gates", "random", "rise", "lime", "kernel_shap", "permutation_shap"]
# Partition SHAP draws only to break ties.
DETERMINED = ["occlusion", "greedy", "saliency", "gradient_input", "integrated_gradients",
              "partition_shap"]  # fmt: skip
# Labels share what is looked at next, or a search.
SHARING = ["sobol", "gates", "greedy", "partition_shap"]


@pytest.mark.parametrize("name", TEXT_METHODS)
def test_the_same_seed_gives_the_same_scores(name: str) -> None:
    contract.check_same_seed(METHODS[name])


@pytest.mark.parametrize("name", [*SAMPLING, "smoothgrad"])
def test_another_seed_gives_other_scores(name: str) -> None:
    contract.check_other_seed(METHODS[name])


@pytest.mark.parametrize("name", DETERMINED)
def test_methods_that_draw_nothing_do_not_look_at_the_seed(name: str) -> None:
    one, other = (contract.attributed(METHODS[name], 12, seed=seed).scores for seed in (5, 6))
    np.testing.assert_array_equal(one, other)


def test_every_method_either_draws_or_does_not() -> None:
    assert {*SAMPLING, *DETERMINED, "smoothgrad"} == set(TEXT_METHODS)


@pytest.mark.parametrize("more", [0, 1, 13, 200])
@pytest.mark.parametrize("n_features", [1, 2, 5, 33])
@pytest.mark.parametrize("name", BLACK_BOXES)
def test_no_more_masks_are_scored_than_the_budget_allows(
    name: str, n_features: int, more: int
) -> None:
    contract.check_budget(METHODS[name], n_features, more)


@pytest.mark.parametrize("rows_per_word", [2, 4, 8])
@pytest.mark.parametrize("n_features", [5, 30, 60])
def test_partition_shap_uses_the_budgets_of_the_benchmark(
    n_features: int, rows_per_word: int
) -> None:
    contract.check_budget_of_the_benchmark(METHODS["partition_shap"], n_features, rows_per_word)


@pytest.mark.parametrize("name", BLACK_BOXES)
def test_a_score_without_a_label_axis_is_one_label(name: str) -> None:
    contract.check_score_without_labels(METHODS[name])


@pytest.mark.parametrize("name", [n for n in BLACK_BOXES if n not in SHARING])
def test_labels_do_not_look_at_each_other(name: str) -> None:
    contract.check_labels_apart(METHODS[name])


@pytest.mark.parametrize("name", TEXT_METHODS)
def test_global_random_states_are_left_alone(name: str) -> None:
    contract.check_random_states(METHODS[name])


def test_the_global_state_is_restored_after_a_failure_too() -> None:
    def broken(masks: Array) -> Floats:
        if not masks.all():
            raise RuntimeError("no")
        return contract.score(masks)

    before = np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
    with pytest.raises(RuntimeError, match="no"):
        attribution(METHODS["kernel_shap"], problem_of(broken, 5), budget=20, seed=0)
    after = np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
    assert after == before


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("lime", "lime"),
        ("kernel_shap", "shap"),
        ("permutation_shap", "shap"),
        ("partition_shap", "shap"),
        *((name, "captum") for name in WHITE_BOXES),
    ],
)
def test_a_missing_package_is_named_with_the_extra_that_has_it(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract.check_missing_package(METHODS[name], package, monkeypatch)


@pytest.mark.parametrize("name", WHITE_BOXES)
def test_a_function_without_gradients_is_refused_by_white_boxes(name: str) -> None:
    with pytest.raises(ValueError, match="functions and zero-shot pipelines give no gradients"):
        attribution(METHODS[name], problem_of(contract.score, 4), budget=100, seed=0)


def test_unknown_methods_are_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"unknown method 'shap'; known: sobol, .*greedy"):
        find_method("shap")


@pytest.mark.parametrize("name", TEXT_METHODS)
def test_what_a_method_takes_by_itself_is_enough(name: str) -> None:
    method = METHODS[name]
    assert method.kind in ("black box", "white box", "search", "baseline")
    for d in (1, 2, 20, 500):
        natural = method.natural_masks(d)
        assert natural is None or natural >= method.least_masks(d)
