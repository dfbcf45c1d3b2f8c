import tracemalloc

import numpy as np
import pytest

from textsobol.driver import run
from textsobol.errors import BlackBoxError
from textsobol.sobol import sobol_indices
from textsobol.sobol.arrays import Array, Floats
from textsobol.sobol.black_box import BlackBoxModel
from textsobol.steps import Ask, ask, translate


def scores_of(model: BlackBoxModel, *pieces: Array) -> Floats:
    return run(translate(ask(pieces), lambda masks: Ask(model, masks)))


def masks_of(*written: str) -> Array:
    return np.array([[letter == "1" for letter in mask] for mask in written])


class Recorder:
    """A black box that counts in binary and remembers what it was given."""

    def __init__(self, n_features: int) -> None:
        self.batches: list[Array] = []
        self.bits = 1 << np.arange(n_features)[::-1]

    def __call__(self, masks: Array) -> Floats:
        self.batches.append(masks.copy())
        return np.asarray(masks @ self.bits, dtype=float)


def test_every_distinct_mask_is_scored_once_and_every_row_gets_its_score() -> None:
    box = Recorder(3)
    model = BlackBoxModel(box, 3, batch_masks=2)
    pieces = [masks_of("101", "000", "101"), masks_of("111", "000"), masks_of("001")]
    assert scores_of(model, *pieces).ravel().tolist() == [5, 0, 5, 7, 0, 1]
    assert [len(batch) for batch in box.batches] == [2, 2]
    assert (model.ledger.n_asked, model.ledger.n_distinct) == (6, 4)
    assert scores_of(model, masks_of("001", "010")).ravel().tolist() == [1, 2]
    assert [len(batch) for batch in box.batches] == [2, 2, 1]
    assert (model.ledger.n_asked, model.ledger.n_distinct) == (8, 5)


@pytest.mark.parametrize("n_features", [1, 7, 8, 9, 255, 256, 257, 1000])
def test_masks_that_differ_in_one_feature_are_distinct(n_features: int) -> None:
    """Around the lengths at which keys change from plain bytes to digests."""
    masks = np.concatenate([np.zeros((1, n_features), bool), np.eye(n_features, dtype=bool)])
    model = BlackBoxModel(lambda m: m.sum(axis=1), n_features)
    scores_of(model, masks, masks)
    assert model.ledger.n_distinct == n_features + 1


def test_real_valued_masks_are_told_apart() -> None:
    model = BlackBoxModel(lambda m: m.sum(axis=1), 2)
    scores_of(model, np.array([[0.1, 0.2], [0.1, 0.2], [0.1, np.nextafter(0.2, 1)]]))
    assert model.ledger.n_distinct == 2


def test_a_black_box_may_write_on_its_masks() -> None:
    def rude(masks: Array) -> Floats:
        scores = masks[:, 0] + 2.0 * masks[:, 1]
        masks[:] = False
        return np.asarray(scores)

    polite = sobol_indices(lambda masks: masks[:, 0] + 2.0 * masks[:, 1], 2, base_masks=4)
    np.testing.assert_array_equal(sobol_indices(rude, 2, base_masks=4).total, polite.total)


def test_the_budget_is_never_exceeded_and_keeps_the_first_masks() -> None:
    for budget in range(6, 40):
        box = Recorder(5)
        result = sobol_indices(box, 5, budget=budget)
        assert sum(len(batch) for batch in box.batches) == result.n_distinct <= budget
        assert result.settings.base_masks == budget // 6
        assert result.n_masks == 6 * result.settings.base_masks
        same = sobol_indices(Recorder(5), 5, base_masks=budget // 6)
        np.testing.assert_array_equal(result.total, same.total)
    assert sobol_indices(Recorder(5), 5, budget=1000, base_masks=3).settings.base_masks == 3
    assert sobol_indices(Recorder(5), 5, budget=13, base_masks=300).settings.base_masks == 2


def test_the_driver_refuses_to_overspend() -> None:
    model = BlackBoxModel(Recorder(2), 2, budget=1)
    with pytest.raises(RuntimeError, match="budget of 1"):
        scores_of(model, masks_of("01", "10"))


def test_progress_rises_to_the_plan() -> None:
    calls: list[tuple[int, int]] = []
    result = sobol_indices(
        Recorder(4),
        4,
        base_masks=6,
        batch_masks=7,
        pairs=2,
        progress=lambda *call: calls.append(call),
    )
    done = [d for d, _ in calls]
    assert done == sorted(done)
    assert {planned for _, planned in calls} == {result.n_masks}
    assert done[-1] == result.n_masks == 6 * (4 + 1 + 1)


def test_progress_of_exact_indices_rises_to_all_masks() -> None:
    calls: list[tuple[int, int]] = []
    sobol_indices(
        Recorder(4),
        4,
        estimator="exact",
        batch_masks=7,
        progress=lambda *call: calls.append(call),
    )
    assert {planned for _, planned in calls} == {calls[-1][0]} == {16}


def test_wrong_shapes_are_named() -> None:
    with pytest.raises(BlackBoxError, match=r"shape \(3,\) for 8 masks \(masks 0 to 7\)"):
        sobol_indices(lambda masks: np.zeros(3), 3, estimator="exact")
    with pytest.raises(BlackBoxError, match=r"shape \(\)"):
        sobol_indices(lambda masks: 1.0, 3, estimator="exact")
    with pytest.raises(BlackBoxError, match=r"shape \(8, 1, 1\)"):
        sobol_indices(lambda masks: np.zeros((8, 1, 1)), 3, estimator="exact")
    with pytest.raises(BlackBoxError, match=r"shape \(8, 0\)"):
        sobol_indices(lambda masks: np.zeros((8, 0)), 3, estimator="exact")


def test_labels_must_stay_the_same() -> None:
    n_labels = iter([2, 3])

    def box(masks: Array) -> Floats:
        return np.zeros((len(masks), next(n_labels)))

    with pytest.raises(BlackBoxError, match="different number of labels for masks 4 to 7"):
        sobol_indices(box, 3, estimator="exact", batch_masks=4)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite_name_the_mask_and_stop(bad: float) -> None:
    calls = []

    def box(masks: Array) -> Floats:
        calls.append(len(masks))
        scores = np.ones((len(masks), 2))
        scores[(masks == [True, False, True]).all(axis=1), 1] = bad
        return scores

    with pytest.raises(BlackBoxError, match=r"mask 5, label 1 \(2 of 3 features present\)") as info:
        sobol_indices(box, 3, estimator="exact", batch_masks=2)
    assert info.value.mask.tolist() == [True, False, True]
    assert len(calls) == 3, "nothing is computed after the bad mask"


def test_what_the_black_box_raises_is_wrapped_and_chained() -> None:
    calls = []

    def box(masks: Array) -> Floats:
        calls.append(len(masks))
        raise KeyError("no such word")

    with pytest.raises(BlackBoxError, match="masks 0 to 7: KeyError: 'no such word'") as info:
        sobol_indices(box, 3, estimator="exact")
    assert isinstance(info.value.__cause__, KeyError)
    assert len(calls) == 1


def test_scores_that_are_no_numbers_are_an_error() -> None:
    for returned, kind in (
        (["good"] * 8, "a list of str"),
        ([{"label": "good", "score": 0.5}] * 8, "a list of dict"),
        ([[1.0], [1.0, 2.0]], "a list of list"),
        (np.ones(8) * 1j, "an array of complex128"),
        (None, "a NoneType"),
    ):
        with pytest.raises(BlackBoxError, match=f"returned {kind} for masks 0 to 7.*real numbers"):
            sobol_indices(lambda masks, r=returned: r, 3, estimator="exact")  # type: ignore[misc]


def test_an_interrupt_is_not_swallowed() -> None:
    def box(masks: Array) -> Floats:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sobol_indices(box, 3)


def test_masks_stream() -> None:
    """d = 500, N = 64: the masks would take 16 MB as booleans; far less is held at a time."""
    batches: list[int] = []

    def box(masks: Array) -> Floats:
        batches.append(len(masks))
        return masks[:, 0].astype(float)

    sobol_indices(box, 500, base_masks=2)
    batches.clear()
    tracemalloc.start()
    sobol_indices(box, 500, base_masks=64, batch_masks=100)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert max(batches) == 100
    # 32,064 keys of 16 bytes with what Python adds, and a few arrays of N * d numbers
    assert peak < 12e6


def test_a_black_box_may_reuse_its_array() -> None:
    buffer = np.empty(4)

    def box(masks: Array) -> Floats:
        buffer[: len(masks)] = masks @ np.array([1.0, 2.0, 4.0])
        return buffer[: len(masks)]

    one = sobol_indices(box, 3, estimator="exact", batch_masks=4)
    other = sobol_indices(lambda m: m @ np.array([1.0, 2.0, 4.0]), 3, estimator="exact")
    np.testing.assert_allclose(one.total, other.total)


def test_after_an_error_the_driver_goes_on() -> None:
    fails = iter([False, True, False, False])

    def box(masks: Array) -> Floats:
        if next(fails):
            raise OSError("busy")
        return masks @ np.array([2.0, 1.0])

    model = BlackBoxModel(box, 2, batch_masks=1)
    with pytest.raises(BlackBoxError, match="busy"):
        scores_of(model, masks_of("01", "10"))
    assert (model.ledger.n_asked, model.ledger.n_distinct) == (0, 0)
    assert scores_of(model, masks_of("11", "10")).ravel().tolist() == [3, 2]


def test_batches_and_errors_are_in_features_not_in_groups() -> None:
    groups = np.arange(20_000) // 1000
    largest = 0

    def box(masks: Array) -> Floats:
        nonlocal largest
        largest = max(largest, masks.size)
        return np.where(masks[:, 0], np.nan, 1.0)

    with pytest.raises(BlackBoxError, match="of 20000 features present") as info:
        sobol_indices(box, 20_000, groups=groups)
    assert info.value.mask.shape == (20_000,)
    assert largest <= 2**20
