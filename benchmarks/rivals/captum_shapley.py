"""Shapley values by captum, on the same masks as everything else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.rivals.callback import Scored
from textsobol.methods import Attribution
from textsobol.sobol.arrays import Floats


def captum_kernel_shap(game: Scored, *, budget: int, seed: int) -> Attribution:
    """Shapley values by regression on drawn masks (Lundberg & Lee 2017), by captum's KernelShap.

    All masks are asked for in one call. Labels are fitted one after another, from the same draws.
    Masks may be drawn again: in a small game fewer are distinct than the budget allows.
    """
    import torch

    captum = _captum()
    if game.n_features == 1:
        return _only_feature(game)
    whole = torch.ones(1, game.n_features)

    def values(forward: Callable[[Any], Any]) -> Floats:
        n_labels = forward(whole).shape[1]
        found = np.zeros((game.n_features, n_labels))
        for label in range(n_labels):
            torch.manual_seed(seed)
            found[:, label] = captum.KernelShap(forward).attribute(
                whole, target=label, n_samples=budget, perturbations_per_eval=budget
            )
        return found

    return _seeded(game, budget, seed, values)


def captum_shapley(game: Scored, *, budget: int, seed: int) -> Attribution:
    """Shapley values by walks from nothing to all (Štrumbelj & Kononenko), by captum.

    A walk is asked for in one call. All walks share their ends.
    """
    import torch

    captum = _captum()
    if game.n_features == 1:
        return _only_feature(game)
    d = game.n_features

    def values(forward: Callable[[Any], Any]) -> Floats:
        sampling = captum.ShapleyValueSampling(forward)
        found = sampling.attribute(
            torch.ones(1, d), n_samples=(budget - 2) // (d - 1), perturbations_per_eval=d
        )
        return np.asarray(found[0].T)

    return _seeded(game, budget, seed, values)


def _seeded(
    game: Scored, budget: int, seed: int, values: Callable[[Callable[[Any], Any]], Floats]
) -> Attribution:
    """What captum finds with torch's random numbers of a seed, which are then put back."""
    import torch

    score = game.score

    def forward(masks: Any) -> Any:
        return torch.as_tensor(score(masks.numpy() > 0.5))

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        found = values(forward)
    return Attribution(found.astype(float), settings={"samples": budget})


def _only_feature(game: Scored) -> Attribution:
    """The one feature has all the difference; captum fails on it."""
    both = game.score(np.array([[True], [False]]))
    return Attribution(both[:1] - both[1:], settings={"samples": 2})


def _captum() -> Any:
    try:
        import captum.attr
    except ImportError as error:
        raise ImportError('captum methods need captum: pip install "textsobol[bench]"') from error
    return captum.attr
