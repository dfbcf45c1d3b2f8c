"""Properties that hold for every game, on games that hypothesis makes up."""

from typing import Any

import pytest

pytest.importorskip("hypothesis")

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from textsobol.sobol import Design, hoeffding, sobol_indices
from textsobol.sobol.arrays import Array, BlackBox, Floats
from textsobol.sobol.flip import estimate_flip
from textsobol.sobol.masks import all_masks

SAMPLERS = ("flip", "jansen", "saltelli", "homma", "janon", "glen")

keeps = st.floats(0.1, 0.9)
seeds = st.integers(0, 10_000)


@st.composite
def games(draw: st.DrawFn, largest: int = 5) -> Floats:
    """Scores of all 2^d masks; small integers, so that arithmetic on them is exact."""
    d = draw(st.integers(1, largest))
    scores = draw(st.lists(st.integers(-8, 8), min_size=2**d, max_size=2**d))
    if len(set(scores)) == 1:
        scores[0] += 1
    return np.array(scores, dtype=float)


def n_features_of(game: Floats) -> int:
    return len(game).bit_length() - 1


def black_box(game: Floats) -> BlackBox:
    bits = 1 << np.arange(n_features_of(game))
    return lambda masks: game[masks @ bits]


@given(games(), keeps)
def test_exact_indices_are_ordered_and_bounded(game: Floats, keep: float) -> None:
    result = sobol_indices(black_box(game), n_features_of(game), estimator="exact", keep=keep)
    assert (result.first >= 0).all()
    assert (result.first <= result.total + 1e-12).all()
    assert (result.total <= 1 + 1e-12).all()
    assert result.first.sum() <= 1 + 1e-12
    assert result.total.sum() >= 1 - 1e-12


@given(games(), keeps)
def test_indices_of_all_sets_sum_to_one(game: Floats, keep: float) -> None:
    d = n_features_of(game)
    decomposition = hoeffding(game[:, None], keep=keep)
    sets = [[i for i in range(d) if number >> i & 1] for number in range(1, 2**d)]
    assert sum(decomposition.index(u).item() for u in sets) == pytest.approx(1)
    assert sum(decomposition.of_order(k).item() for k in range(1, d + 1)) == pytest.approx(1)


@given(games(), keeps, st.data())
def test_permuting_features_permutes_the_exact_indices(
    game: Floats, keep: float, data: st.DataObject
) -> None:
    d = n_features_of(game)
    order = data.draw(st.permutations(range(d)))
    box = black_box(game)
    plain = sobol_indices(box, d, estimator="exact", keep=keep)
    permuted = sobol_indices(
        lambda masks: box(masks[:, np.argsort(order)]), d, estimator="exact", keep=keep
    )
    for name in ("first", "total", "effect"):
        np.testing.assert_allclose(getattr(permuted, name), getattr(plain, name)[order], atol=1e-12)


@given(st.integers(2, 6), st.integers(1, 9), keeps, seeds, st.data())
def test_permuting_features_permutes_the_flip_indices(
    d: int, n_base: int, keep: float, seed: int, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(d)))
    base, blocks = Design("latin", d, keep=keep, seed=seed).take(n_base)
    rng = np.random.default_rng(seed)
    f_base, differences = rng.normal(size=(n_base, 1)), rng.normal(size=(n_base, d, 1))
    plain = estimate_flip(base, f_base, differences, keep, blocks)
    permuted = estimate_flip(base[:, order], f_base, differences[:, order], keep, blocks)
    for name in ("first", "total", "effect"):
        np.testing.assert_allclose(
            getattr(permuted, name).value, getattr(plain, name).value[order], atol=1e-12
        )


@given(games(4), keeps, seeds, st.sampled_from(SAMPLERS))
@settings(max_examples=60)
@pytest.mark.filterwarnings("ignore::textsobol.errors.ConstantScoreWarning")
def test_labels_do_not_mix(game: Floats, keep: float, seed: int, estimator: str) -> None:
    box = black_box(game)
    d = n_features_of(game)
    alone = sobol_indices(box, d, estimator=estimator, keep=keep, base_masks=6, seed=seed)
    beside = sobol_indices(
        lambda masks: np.stack([-np.asarray(box(masks)), np.asarray(box(masks))], axis=1),
        d,
        estimator=estimator,
        keep=keep,
        base_masks=6,
        seed=seed,
    )
    assert beside.total.shape == (d, 2)
    np.testing.assert_allclose(beside.total[:, 1], alone.total, atol=1e-12)
    np.testing.assert_allclose(beside.total[:, 0], alone.total, atol=1e-12)
    np.testing.assert_allclose(beside.effect[:, 0], -alone.effect, atol=1e-12)


@given(games(4), keeps, seeds)
@settings(max_examples=60)
@pytest.mark.filterwarnings("ignore::textsobol.errors.ConstantScoreWarning")
def test_an_ignored_feature_gets_exactly_zero(game: Floats, keep: float, seed: int) -> None:
    d = n_features_of(game)
    box = black_box(game)
    place = seed % (d + 1)

    def ignoring(masks: Array) -> Floats:
        return np.asarray(box(np.delete(masks, place, axis=1)))

    for estimator in ("flip", "exact", "jansen", "homma", "saltelli", "janon", "glen"):
        more: dict[str, Any] = {} if estimator == "exact" else {"base_masks": 5, "seed": seed}
        result = sobol_indices(ignoring, d + 1, estimator=estimator, keep=keep, **more)
        if estimator in ("flip", "exact", "jansen"):
            assert result.total[place] == 0
            assert result.effect[place] == 0
            assert result.total_error[place] == 0
        else:
            assert abs(result.total[place]) < 1e-12
        if estimator in ("flip", "exact"):
            assert result.first[place] == 0


@given(
    games(4), keeps, seeds, st.sampled_from((*SAMPLERS, "exact")),
    st.sampled_from([-4.0, -0.5, 2.0, 1024.0]), st.integers(-1000, 1000),
)  # fmt: skip
@settings(max_examples=150)
@pytest.mark.filterwarnings("ignore::textsobol.errors.ConstantScoreWarning")
def test_scale_and_shift_leave_the_indices(
    game: Floats, keep: float, seed: int, estimator: str, scale: float, shift: int
) -> None:
    d = n_features_of(game)
    more: dict[str, Any] = {} if estimator == "exact" else {"base_masks": 8, "seed": seed}
    plain = sobol_indices(black_box(game), d, estimator=estimator, keep=keep, **more)
    moved = sobol_indices(
        black_box(scale * game + shift), d, estimator=estimator, keep=keep, **more
    )
    for name in ("first", "total", "first_error", "total_error"):
        np.testing.assert_allclose(getattr(moved, name), getattr(plain, name), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(moved.effect, scale * plain.effect, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(moved.variance, scale**2 * plain.variance, rtol=1e-7, atol=1e-7)


@given(st.integers(1, 40), st.integers(1, 90), seeds, st.sampled_from(SAMPLERS))
@settings(max_examples=40)
def test_the_same_seed_gives_the_same_bits_for_any_batch_size(
    d: int, batch_masks: int, seed: int, estimator: str
) -> None:
    weights = np.random.default_rng(d).normal(size=(2, d))

    def score(masks: Array) -> Floats:
        # A product with a matrix could differ in the last bit from one batch size to the
        # next; a sum along each row does not.
        return np.tanh(np.stack([(masks * w).sum(axis=1) for w in weights], axis=1))

    settings: dict[str, Any] = {"estimator": estimator, "base_masks": 5, "seed": seed}
    one = sobol_indices(score, d, **settings)
    other = sobol_indices(score, d, **settings, batch_masks=batch_masks)
    for name in ("first", "total", "effect", "first_error", "total_error", "variance", "mean"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@given(games(4), keeps, st.integers(1, 12), seeds)
@settings(max_examples=100)
@pytest.mark.filterwarnings("ignore::textsobol.errors.ConstantScoreWarning")
def test_flip_totals_never_exceed_one_however_few_the_masks(
    game: Floats, keep: float, n_base: int, seed: int
) -> None:
    result = sobol_indices(
        black_box(game), n_features_of(game), keep=keep, base_masks=n_base, seed=seed
    )
    assert np.isfinite(result.first).all()
    assert (result.total >= 0).all()
    assert (result.total <= 1 + 1e-12).all()
    assert (result.total.sum() >= 1 - 1e-12) or (result.total == 0).all()


@given(games(4), keeps, seeds, st.sampled_from(("flip", "exact")))
@settings(max_examples=80)
@pytest.mark.filterwarnings("ignore::textsobol.errors.ConstantScoreWarning")
def test_a_score_has_the_sign_of_its_effect_and_two_labels_are_mirrored(
    game: Floats, keep: float, seed: int, estimator: str
) -> None:
    box, d = black_box(game), n_features_of(game)
    more: dict[str, Any] = {} if estimator == "exact" else {"base_masks": 6, "seed": seed}
    result = sobol_indices(
        lambda masks: np.stack([np.asarray(box(masks)), -np.asarray(box(masks))], axis=1),
        d,
        estimator=estimator,
        keep=keep,
        **more,
    )
    np.testing.assert_array_equal(np.abs(result.signed), result.total)
    clear = np.abs(result.effect) > 1e-3 * np.abs(game).max()
    np.testing.assert_array_equal(
        np.sign(result.signed[clear]), np.sign(result.effect[clear] * (result.total[clear] > 0))
    )
    np.testing.assert_array_equal(result.effect[:, 0], -result.effect[:, 1])
    np.testing.assert_array_equal(result.signed[clear[:, 0], 0], -result.signed[clear[:, 0], 1])


@given(games(4), keeps, seeds, st.integers(-5, 5), st.sampled_from(("flip", "exact")))
@settings(max_examples=80)
@pytest.mark.filterwarnings("ignore::textsobol.errors.ConstantScoreWarning")
def test_a_feature_that_adds_its_own_gets_its_own(
    game: Floats, keep: float, seed: int, worth: int, estimator: str
) -> None:
    """Whatever the others do among themselves, it has its own effect, and no interaction."""
    box, d = black_box(game), n_features_of(game)
    more: dict[str, Any] = {} if estimator == "exact" else {"base_masks": 8, "seed": seed}
    result = sobol_indices(
        lambda masks: np.asarray(box(masks[:, :-1])) + worth * masks[:, -1],
        d + 1,
        estimator=estimator,
        keep=keep,
        **more,
    )
    assert result.effect[-1] == pytest.approx(worth, abs=1e-9)
    assert result.first[-1] == pytest.approx(result.total[-1], abs=1e-9)
    low, high = result.interval(of="effect")
    assert low[-1] <= worth + 1e-9
    assert high[-1] >= worth - 1e-9


@given(games(4), keeps)
def test_features_that_can_be_exchanged_get_the_same(game: Floats, keep: float) -> None:
    """The score is made the same for both orders of the first two features."""
    d = n_features_of(game) + 1
    box = black_box(np.concatenate([game, 2 * game[::-1]]))

    def symmetric(masks: Array) -> Floats:
        swapped = masks.copy()
        swapped[:, [0, 1]] = masks[:, [1, 0]]
        return np.asarray(box(masks)) + np.asarray(box(swapped))

    if np.ptp(symmetric(np.concatenate(list(all_masks(d))))) == 0:
        return
    result = sobol_indices(symmetric, d, estimator="exact", keep=keep)
    for name in ("signed", "first", "effect"):
        one, other = getattr(result, name)[:2]
        assert one == pytest.approx(other, abs=1e-9), name


@pytest.mark.parametrize("how", [{"base_masks": 8}, {"base_masks": 4, "leader_masks": 8}])
def test_exchangeable_features_get_the_same_on_average(how: dict[str, Any]) -> None:
    """Sampled: three words that decide by majority, beside 20 others; differences, as z-scores."""
    slopes = np.random.default_rng(0).normal(0, 0.1, 20)

    def score(masks: Array) -> Floats:
        return np.asarray((masks[:, :3].sum(axis=1) >= 2) + masks[:, 3:] @ slopes)

    found = np.array([sobol_indices(score, 23, seed=seed, **how).signed for seed in range(200)])
    for one, other in ((0, 1), (1, 2), (0, 2)):
        differences = found[:, one] - found[:, other]
        z = differences.mean() / (differences.std(ddof=1) / np.sqrt(len(differences)))
        assert abs(z) < 4


@pytest.mark.parametrize(
    "how",
    [
        {"base_masks": 6},
        {"base_masks": 4, "leader_masks": 4},
        {"base_masks": 8, "precision": 0.9, "stable_top": 2},
        {"estimator": "exact"},
        {"estimator": "jansen", "base_masks": 6},
        {"base_masks": 6, "groups": np.arange(12) // 3},
        {
            "estimator": "jansen",
            "base_masks": 6,
            "groups": np.arange(12) // 3,
            "members": "independent",
        },
    ],
)
@pytest.mark.filterwarnings("ignore::textsobol.errors.UnstableTopWarning")
def test_another_score_gets_its_indices_from_the_same_masks(how: dict[str, Any]) -> None:
    slopes = np.random.default_rng(1).normal(size=12)
    seen: set[bytes] = set()

    def one(masks: Array) -> Floats:
        seen.update(mask.tobytes() for mask in masks)
        return np.asarray(masks @ slopes + masks[:, 0] * masks[:, 1])

    def other(masks: Array) -> Floats:
        assert {mask.tobytes() for mask in masks} <= seen
        return one(masks) * 2 + 1

    found = sobol_indices(one, 12, **how)
    again = found.with_score(other)
    np.testing.assert_allclose(again.effect, 2 * found.effect, atol=1e-12)
    np.testing.assert_allclose(again.total, found.total, atol=1e-12)
    np.testing.assert_allclose(again.variance, 4 * found.variance)
