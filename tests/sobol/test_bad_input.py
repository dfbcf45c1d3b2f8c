"""Settings and black boxes that cannot work: a clear error, and nothing computed."""

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from textsobol.errors import ConstantScoreWarning
from textsobol.sobol import sobol_indices
from textsobol.sobol.arrays import Array, Floats


def never(masks: Array) -> Floats:
    raise AssertionError("the black box must not be called")


@pytest.mark.parametrize(
    ("n_features", "settings", "message"),
    [
        (0, {}, "at least 1 feature"),
        (-3, {}, "at least 1 feature"),
        (3, {"keep": 0}, "between 0 and 1"),
        (3, {"keep": 1}, "between 0 and 1"),
        (3, {"keep": -0.5}, "between 0 and 1"),
        (3, {"keep": 50}, "between 0 and 1"),
        (3, {"keep": float("nan")}, "between 0 and 1"),
        (3, {"base_masks": 0}, "base_masks=0: must be at least 1"),
        (3, {"base_masks": -1}, "base_masks=-1: must be at least 1"),
        (3, {"budget": 0}, "budget=0: must be at least 1"),
        (3, {"batch_masks": 0}, "batch_masks=0: at least 1"),
        (230, {"budget": 230}, "'flip' for 230 features: 231 masks"),
        (230, {"budget": 461, "sign": "occlusion"}, r"462 masks \(1 x 231 \+ 231 for sign"),
        (230, {"budget": 463, "estimator": "jansen"}, "'jansen' for 230 features: 464 masks"),
        (230, {"budget": 300, "pairs": 20}, "421 masks.*190 of each 421 are pairs"),
        (5, {"budget": 31, "estimator": "exact"}, "below the 32 masks.*auto"),
        (21, {"estimator": "exact"}, r"2\^21 masks; it takes at most 20.*flip"),
        (5, {"estimator": "exact", "base_masks": 4}, "leave out design and base_masks"),
        (5, {"estimator": "exact", "design": "latin"}, "leave out design and base_masks"),
        (3, {"base_masks": 1, "estimator": "jansen"}, "'jansen' needs at least 2"),
        (3, {"estimator": "shapley"}, "known: auto, flip, exact, jansen, saltelli, homma"),
        (3, {"design": "lattice"}, "known: latin, sobol, sobol-unscrambled, halton, random"),
        (3, {"sign": "plus"}, "known: mean, occlusion, None"),
        (3, {"members": "apart"}, "known: together, independent"),
        (3, {"keep": None}, "needs binary masks.*jansen"),
        (3, {"keep": None, "estimator": "exact"}, "needs binary masks"),
        (3, {"seed": -1}, "seed=-1: must be 0 or more"),
        (3, {"groups": [[0], [1, 2]]}, "3 whole numbers.*different lengths"),
        (3, {"groups": ["a", "b", "b"]}, "3 whole numbers.*<U1"),
        (3, {"groups": [0, 1]}, r"3 whole numbers.*got shape \(2,\)"),
        (3, {"groups": [0.0, 1.0, 2.0]}, "float64"),
        (3, {"groups": [0, 2, 2]}, "without a gap"),
        (3, {"groups": [1, 1, 2]}, "without a gap"),
        (3, {"groups": [0, 0, 1], "members": "independent"}, "flips a group as a whole"),
        (3, {"pairs": 1}, "at least 2 features"),
        (3, {"pairs": [(0, 3)]}, "numbered 0 to 2"),
        (3, {"pairs": [(1, 1)]}, "two different features"),
        (3, {"pairs": [(0, -1)]}, "numbered 0 to 2"),
        (3, {"pairs": [0, 1]}, "two different features"),
        (3, {"pairs": [(0.5, 1)]}, "two different features"),
        (3, {"pairs": []}, "two different features"),
        (3, {"pairs": 2, "estimator": "jansen"}, "'flip' or 'exact'"),
        (
            3,
            {"pairs": 2, "estimator": "exact", "groups": [0, 0, 1], "members": "independent"},
            "pairs of groups",
        ),
    ],
)
def test_bad_settings(n_features: int, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sobol_indices(never, n_features, **settings)


@pytest.mark.parametrize("number", ["3", 2.5, ["good", "film"], never])
def test_numbers_must_be_whole(number: Any) -> None:
    with pytest.raises(TypeError, match="n_features must be a whole number, not"):
        sobol_indices(never, number)
    for name in ("base_masks", "budget", "seed"):
        with pytest.raises(TypeError, match=f"{name} must be a whole number, not"):
            sobol_indices(never, 3, **{name: number})
    with pytest.raises(TypeError, match="must be a number between 0 and 1"):
        sobol_indices(never, 3, keep="0.5")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "estimator", ["flip", "exact", "jansen", "saltelli", "homma", "janon", "glen"]
)
@pytest.mark.parametrize("value", [0.0, 0.1, -1e9])
def test_a_constant_black_box_gives_zeros_and_a_warning(estimator: str, value: float) -> None:
    with pytest.warns(ConstantScoreWarning, match="the same for every mask"):
        result = sobol_indices(lambda masks: np.full(len(masks), value), 4, estimator=estimator)
    for name in ("first", "total", "effect", "first_error", "total_error", "signed"):
        assert (getattr(result, name) == 0).all(), name
    assert result.variance == pytest.approx(0, abs=1e-30)
    assert result.mean == pytest.approx(value)
    # All masks were seen, or some: then nobody knows what the others would have said.
    is_known = estimator == "exact"
    for of, widest in {"first": (0, 1), "total": (0, 1), "effect": (-np.inf, np.inf)}.items():
        low, high = result.interval(of=of)
        assert (low == (0 if is_known else widest[0])).all()
        assert (high == (0 if is_known else widest[1])).all()


def test_rounding_noise_is_no_variance() -> None:
    def noisy(masks: Array) -> Floats:
        return np.asarray(0.1 + 1e-17 * masks[:, 0] + np.spacing(0.1) * masks[:, 1])

    with pytest.warns(ConstantScoreWarning):
        result = sobol_indices(noisy, 3)
    assert (result.total == 0).all()


def test_one_constant_label_does_not_disturb_the_others() -> None:
    def score(masks: Array) -> Floats:
        return np.stack([masks[:, 0] + 0.0, np.full(len(masks), 0.3)], axis=1)

    with pytest.warns(ConstantScoreWarning, match=r"of label \[1\]"):
        result = sobol_indices(score, 3)
    np.testing.assert_array_equal(result.total, [[1, 0], [0, 0], [0, 0]])


@pytest.mark.filterwarnings("ignore::textsobol.errors.ConstantScoreWarning")
def test_base_masks_that_do_not_vary_give_zeros_and_no_nan() -> None:
    """The score jumps in one mask that a small design hardly meets."""

    def needle(masks: Array) -> Floats:
        return np.asarray(masks.all(axis=1) + 1e-3 * masks[:, 0])

    for estimator in ("flip", "jansen", "janon", "glen", "homma", "saltelli"):
        for seed in range(20):
            with np.errstate(all="raise"):
                result = sobol_indices(needle, 6, estimator=estimator, base_masks=2, seed=seed)
            for name in ("first", "total", "effect", "total_error"):
                assert np.isfinite(getattr(result, name)).all()


def test_one_feature_is_exact() -> None:
    for estimator in ("auto", "flip", "exact"):
        result = sobol_indices(lambda masks: 3.0 * masks[:, 0], 1, estimator=estimator)
        assert result.total.tolist() == [1.0]
        assert result.first.tolist() == [1.0]
        assert result.effect.tolist() == [3.0]


def test_results_cannot_be_changed() -> None:
    result = sobol_indices(lambda masks: masks[:, 0] + 0.0, 2)
    with pytest.raises(ValueError, match="read-only"):
        result.total[0] = 5
    with pytest.raises(AttributeError):
        result.n_masks = 5  # type: ignore[misc]


def test_auto_takes_exact_when_it_fits() -> None:
    def estimator_for(n_features: int, **settings: Any) -> str:
        box = lambda masks: masks[:, 0] + 0.0  # noqa: E731
        return sobol_indices(box, n_features, estimator="auto", **settings).settings.estimator

    assert estimator_for(8) == "exact"
    assert estimator_for(9) == "flip"
    assert estimator_for(9, budget=512) == "exact"
    assert estimator_for(9, budget=511) == "flip"
    assert estimator_for(4, base_masks=3) == "flip"
    assert estimator_for(4, base_masks=4) == "exact"
    assert estimator_for(3, keep=None) == "jansen"


@pytest.mark.parametrize(
    "asked",
    [
        {"budget": 30, "keep": 0.7, "seed": 11, "design": "halton"},
        {"groups": [0, 1, 1], "base_masks": 6},
        {"groups": [0, 1, 1], "members": "independent", "estimator": "jansen", "base_masks": 6},
        {"pairs": [(0, 1)], "base_masks": 6},
        {"pairs": 2, "base_masks": 6, "sign": "occlusion"},
    ],
)
def test_settings_make_the_result_again(asked: dict[str, Any]) -> None:
    def score(masks: Array) -> Floats:
        return np.asarray(masks[:, 0] * masks[:, 1] + 0.5 * masks[:, 2])

    result = sobol_indices(score, 3, **asked)
    made = asdict(result.settings)
    made.pop("version")
    again = sobol_indices(score, **made)
    np.testing.assert_array_equal(result.total, again.total)
    np.testing.assert_array_equal(result.signed, again.signed)
    assert again.settings == result.settings
    if result.pairs is not None:
        assert again.pairs is not None
        np.testing.assert_array_equal(result.pairs.total, again.pairs.total)


@pytest.mark.filterwarnings("ignore:the score is the same")
def test_totals_of_jansen_are_unbounded_and_those_of_flip_are_not() -> None:
    """The masks of two designs can agree on a score that varies between them."""

    def score(masks: Array) -> Floats:
        return np.asarray(masks @ np.arange(1.0, 5.0))

    totals = {
        estimator: max(
            sobol_indices(score, 4, estimator=estimator, base_masks=2, seed=seed).total.max()
            for seed in range(200)
        )
        for estimator in ("jansen", "flip")
    }
    assert totals["jansen"] > 1
    assert totals["flip"] <= 1


def test_only_labels_that_there_are_can_be_contrasted() -> None:
    one = sobol_indices(lambda masks: masks[:, 0] * 1.0, 3)
    with pytest.raises(ValueError, match="label 1: must lie between 0 and 0"):
        one.contrast(0, 1)
    two = sobol_indices(lambda masks: masks[:, :2] * [2.0, 1.0], 3)
    assert two.contrast(0, 1).signed == pytest.approx([0.8, -0.2, 0])
    for a, b in ((0, 2), (-1, 0)):
        with pytest.raises(ValueError, match="must lie between 0 and 1"):
            two.contrast(a, b)
