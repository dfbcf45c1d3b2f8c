from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import qmc

from textsobol.errors import AliasedDesignWarning
from textsobol.sobol import DESIGNS, Design, sobol_indices
from textsobol.sobol.arrays import Array, Floats
from textsobol.sobol.designs import count_aliased_columns

every_design = pytest.mark.parametrize("name", DESIGNS)
every_random_design = pytest.mark.parametrize("name", sorted({*DESIGNS} - {"sobol-unscrambled"}))


@every_design
@pytest.mark.parametrize("keep", [None, 0.5, 0.9])
def test_asking_for_more_masks_continues_the_design(name: str, keep: float | None) -> None:
    whole, whole_blocks = Design(name, 7, keep=keep, seed=5).take(29)
    design = Design(name, 7, keep=keep, seed=5)
    pieces = [design.take(n) for n in (1, 2, 0, 10, 16)]
    np.testing.assert_array_equal(np.concatenate([masks for masks, _ in pieces]), whole)
    np.testing.assert_array_equal(np.concatenate([blocks for _, blocks in pieces]), whole_blocks)


@every_random_design
@pytest.mark.parametrize("keep", [0.5, 0.8, 0.95])
@pytest.mark.slow
def test_a_feature_is_present_at_the_keep_rate(name: str, keep: float) -> None:
    masks = np.concatenate([Design(name, 20, keep=keep, seed=s).take(16)[0] for s in range(250)])
    assert masks.dtype == bool
    # 80,000 entries, at worst as good as independent ones: five standard errors.
    assert masks.mean() == pytest.approx(keep, abs=5 * np.sqrt(keep * (1 - keep) / masks.size))
    # and the first mask alone, which a design must not treat in a special way
    first = np.stack([Design(name, 20, keep=keep, seed=s).take(1)[0][0] for s in range(2000)])
    assert first.mean() == pytest.approx(keep, abs=5 * np.sqrt(keep * (1 - keep) / first.size))


@every_random_design
def test_seeds_differ(name: str) -> None:
    one, other = (Design(name, 30, keep=0.5, seed=s).take(8)[0] for s in (0, 1))
    assert (one != other).any()


def test_the_unscrambled_sequence_is_that_of_the_paper() -> None:
    masks, _ = Design("sobol-unscrambled", 3, keep=None, seed=7).take(4)
    # Sobol' 1967: 0, 1/2, then quarters and three quarters
    expected = [[0, 0, 0], [0.5, 0.5, 0.5], [0.75, 0.25, 0.25], [0.25, 0.75, 0.75]]
    np.testing.assert_array_equal(masks, expected)
    with pytest.warns(AliasedDesignWarning, match="coinciding columns"):
        sobol_indices(lambda masks: masks[:, 0], 70, design="sobol-unscrambled", base_masks=32)


@pytest.mark.parametrize(("keep", "block"), [(0.5, 4), (0.9, 10), (0.1, 10), (0.95, 20), (0.7, 4)])
def test_latin_blocks_are_balanced(keep: float, block: int) -> None:
    masks, blocks = Design("latin", 50, keep=keep, seed=0).take(3 * block)
    assert blocks.tolist() == np.repeat([0, 1, 2], block).tolist()
    for k in range(3):
        present = masks[blocks == k].sum(axis=0)
        assert present.min() >= np.floor(block * keep - 1e-9)
        assert present.max() <= np.ceil(block * keep + 1e-9)


def test_a_thresholded_sobol_design_warns_of_coinciding_columns() -> None:
    with pytest.warns(AliasedDesignWarning, match=r"with 32 masks, only 16 of 70 differ.*latin"):
        sobol_indices(lambda masks: masks[:, 0], 70, design="sobol", base_masks=32)
    with pytest.warns(AliasedDesignWarning) as caught:
        sobol_indices(
            lambda masks: masks[:, 0], 70, design="sobol", base_masks=32, estimator="jansen"
        )
    assert caught[0].filename == __file__, "the warning points at the caller"


def test_a_column_and_its_complement_are_aliased() -> None:
    one = np.array([True, False, False, True])
    assert count_aliased_columns(np.stack([one, ~one, np.roll(one, 1)], axis=1)) == 1


def test_a_keep_rate_near_one_does_not_ask_for_endless_blocks() -> None:
    masks, _ = Design("latin", 3, keep=1 - 1e-7, seed=0).take(2)
    assert masks.shape == (2, 3)


def test_a_real_valued_sobol_design_does_not_warn() -> None:
    sobol_indices(lambda masks: masks[:, 0], 70, estimator="jansen", keep=None, base_masks=32)


def test_the_sobol_design_names_its_limit() -> None:
    with pytest.raises(ValueError, match=r"at most 21201 columns.*latin"):
        Design("sobol", 21202, keep=None, seed=0)


def test_the_paper_design_merges_features_and_the_default_does_not() -> None:
    """The defect that the default design exists for, on the design itself."""
    aliased = Design("sobol", 71, keep=0.5, seed=0).take(32)[0]
    assert count_aliased_columns(aliased) > 30
    balanced = Design("latin", 71, keep=0.5, seed=0).take(32)[0]
    assert count_aliased_columns(balanced) == 0


PAIR_GAMES: dict[str, Callable[[Array, Array], Array]] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}


@pytest.mark.parametrize("combine", PAIR_GAMES.values(), ids=PAIR_GAMES.keys())
@pytest.mark.parametrize(
    "n_features", [2, 3, 17, 64, 230, pytest.param(512, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("n_base", [3, 4, 5, 8, 32])
def test_no_feature_is_forced_to_zero(
    n_features: int, n_base: int, combine: Callable[[Array, Array], Array]
) -> None:
    """Every feature matters through a partner only, and still no seed scores it 0.

    That needs the partner to be present in some mask and absent in another, which a
    balanced column guarantees at keep rate 0.5 from three masks on, and at others from one
    block on.
    """
    firsts = np.arange(0, n_features - 1, 2)
    matters = np.zeros(n_features, dtype=bool)
    matters[firsts], matters[firsts + 1] = True, True

    def score(masks: Array) -> Floats:
        return combine(masks[:, firsts], masks[:, firsts + 1]).sum(axis=1).astype(float)

    for seed in range(10):
        result = sobol_indices(score, n_features, base_masks=n_base, seed=seed)
        assert (result.total[matters] > 0).all()
        assert (result.total[~matters] == 0).all()


@pytest.mark.parametrize("combine", PAIR_GAMES.values(), ids=PAIR_GAMES.keys())
def test_one_block_is_enough_at_other_keep_rates(
    combine: Callable[[Array, Array], Array],
) -> None:
    for seed in range(10):
        result = sobol_indices(
            lambda masks: combine(masks[:, ::2], masks[:, 1::2]).sum(axis=1),
            64, keep=0.9, base_masks=10, seed=seed,
        )  # fmt: skip
        assert (result.total > 0).all()


def test_no_additive_feature_is_forced_to_zero_by_a_single_row() -> None:
    weights = np.linspace(0.1, 1, 512)
    result = sobol_indices(lambda masks: masks @ weights, 512, base_masks=1)
    assert (result.total > 0).all()
    np.testing.assert_allclose(result.total, weights**2 / (weights**2).sum())


def test_the_latin_design_is_that_of_scipy() -> None:
    ours = Design("latin", 13, keep=None, seed=4).take(8)[0]
    theirs = qmc.LatinHypercube(13, rng=np.random.default_rng(4))
    np.testing.assert_array_equal(ours, np.concatenate([theirs.random(4), theirs.random(4)]))
