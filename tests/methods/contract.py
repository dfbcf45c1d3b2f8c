"""Checks of what every method keeps to: seeds, budgets, and nothing else in the world touched."""

import random
import sys
from typing import Any

import numpy as np
import pytest
import torch

from tests.problems import attribution, problem_of
from textsobol.methods import Attribution, Differentiable, Method, Problem
from textsobol.sobol.arrays import Array, Floats


def score(masks: Array) -> Floats:
    """Two labels, with interactions of neighbours and a curve over them."""
    weights = np.sin(np.arange(masks.shape[1]) * 1.7) + 0.2
    odds = masks @ weights - 2.0 * (masks[:, 1:] & masks[:, :-1]).sum(axis=1) * weights[0]
    return np.stack([np.tanh(odds), np.cos(odds)], axis=1)


def numeric(n_features: int) -> Problem:
    """The game with gradients: a vector of two numbers for every feature, none for the last."""
    owners = np.array([*range(n_features), -1])

    def differentiable() -> Differentiable:
        inputs = torch.linspace(-1, 1, 2 * (n_features + 1)).reshape(1, n_features + 1, 2)
        return Differentiable(
            lambda x: torch.stack([torch.tanh(x).sum((1, 2)), (x**2).sum((1, 2))], 1),
            inputs,
            owners,
        )

    return problem_of(score, n_features, differentiable)


def attributed(method: Method, n_features: int, *, seed: int = 0, more: int = 20) -> Attribution:
    budget = method.least_masks(n_features) + more
    return attribution(method, numeric(n_features), budget=budget, seed=seed)


def check_same_seed(method: Method) -> None:
    one, other = (attributed(method, 12, seed=5).scores for _ in range(2))
    np.testing.assert_array_equal(one, other)
    assert one.shape == (12, 2)
    assert np.isfinite(one).all()


def check_other_seed(method: Method) -> None:
    assert (attributed(method, 12, seed=5).scores != attributed(method, 12, seed=6).scores).any()


def check_budget(method: Method, n_features: int, more: int) -> None:
    # The whole input is a part of the budget, whether the method looks at it or not.
    seen = {np.ones(n_features, dtype=bool).tobytes()}

    def spy(masks: Array) -> Floats:
        assert masks.dtype == bool
        before = len(seen)
        seen.update(mask.tobytes() for mask in masks)
        whole = masks.all(axis=1).any()
        assert len(seen) - before >= len(masks) - whole, "a mask was scored twice"
        return score(masks)

    budget = method.least_masks(n_features) + more
    found = attribution(method, problem_of(spy, n_features), budget=budget, seed=1)
    assert len(seen) <= max(1, budget)
    assert found.passes == 0
    assert np.isfinite(found.scores).all()


def check_budget_of_the_benchmark(
    method: Method, n_features: int, rows_per_word: int, least_used: float = 1.0
) -> None:
    seen: set[bytes] = set()

    def spy(masks: Array) -> Floats:
        seen.update(map(bytes, masks))
        return score(masks)[:, 0]

    budget = max(method.least_masks(n_features), 1 + rows_per_word * (n_features + 1))
    attribution(method, problem_of(spy, n_features), budget=budget, seed=1)
    assert len(seen) <= budget
    if n_features > 5:
        assert len(seen) >= least_used * (budget - 1)


def check_score_without_labels(method: Method) -> None:
    budget = method.least_masks(6) + 40
    flat = attribution(
        method, problem_of(lambda z: score(z)[:, 0], 6), budget=budget, seed=0
    ).scores
    column = attribution(
        method, problem_of(lambda z: score(z)[:, :1], 6), budget=budget, seed=0
    ).scores
    assert flat.shape == (6, 1)
    np.testing.assert_allclose(flat, column, atol=1e-12)


def check_labels_apart(method: Method) -> None:
    budget = method.least_masks(8) + 30
    both = attribution(method, problem_of(score, 8), budget=budget, seed=0).scores
    for label in (0, 1):
        alone = problem_of(lambda z, label=label: score(z)[:, label], 8)
        found = attribution(method, alone, budget=budget, seed=0).scores
        np.testing.assert_allclose(found[:, 0], both[:, label], atol=1e-9)


def check_random_states(method: Method) -> None:
    def states() -> list[Any]:
        kind, keys, *rest = np.random.get_state()  # noqa: NPY002
        return [kind, np.asarray(keys).tolist(), rest, torch.get_rng_state().tolist(),
                random.getstate()]  # fmt: skip

    np.random.seed(123)  # noqa: NPY002
    torch.manual_seed(123)
    random.seed(123)
    before = states()
    first = attributed(method, 9).scores
    assert states() == before
    # Nor does what others drew before change the scores.
    np.random.seed(321)  # noqa: NPY002
    torch.manual_seed(321)
    random.seed(321)
    np.testing.assert_array_equal(attributed(method, 9).scores, first)


def check_missing_package(method: Method, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [m for m in sys.modules if m.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf'{package}: pip install "textsobol\[bench\]"'):
        attributed(method, 6)
