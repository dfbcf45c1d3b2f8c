"""Shapley and Banzhaf values by shapiq, on the same masks as everything else.

Each asks for all its masks in one call. Labels are approximated one after another, from the same
masks: those cost nothing more.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks.rivals.callback import Scored
from textsobol.methods import Attribution
from textsobol.sobol.arrays import Array, Floats

# shapiq counts all masks of a size as a floating-point number, which ends near 2 ** 1024.
_MOST_FEATURES = 1000
# The normal equations of all pairs of 250 features take 8 GB.
_MOST_FEATURES_IN_PAIRS = 250
# Both sides of a split hold at least 20 rows in LightGBM.
_PROXY_ROWS = 40


def shapiq_kernel(game: Scored, *, budget: int, seed: int) -> Attribution:
    """Shapley values by weighted regression on distinct masks, by shapiq's KernelSHAP."""
    shapiq = _shapiq(game)
    return _approximated(
        game, budget, lambda: shapiq.KernelSHAP(n=game.n_features, random_state=seed)
    )


def shapiq_banzhaf(game: Scored, *, budget: int, seed: int) -> Attribution:
    """Banzhaf values by regression, shapiq's Faithful Banzhaf of order 1 (Tsai et al. 2023)."""
    shapiq = _shapiq(game)
    return _approximated(
        game,
        budget,
        lambda: shapiq.RegressionFBII(n=game.n_features, max_order=1, random_state=seed),
    )


def shapiq_kadd(game: Scored, *, budget: int, seed: int) -> Attribution:
    """Shapley values of a fit by single features and pairs (Pelegrina et al. 2023).

    There are about d²/2 pairs: time grows with the sixth power of d, memory with the fourth.
    """
    shapiq = _shapiq(game, _MOST_FEATURES_IN_PAIRS)
    order = min(2, game.n_features)
    return _approximated(
        game,
        budget,
        lambda: shapiq.kADDSHAP(n=game.n_features, max_order=order, random_state=seed),
    )


def shapiq_svarm(game: Scored, *, budget: int, seed: int) -> Attribution:
    """Shapley values by means over masks with and without a feature (Kolpaczki et al. 2024).

    Means are stratified by the number of features that are present.
    """
    shapiq = _shapiq(game)
    from shapiq.approximator.sampling import CoalitionSampler

    class Counted(CoalitionSampler):
        """Counts the features of its masks once, not again for every feature and size."""

        @cached_property
        def coalitions_size(self) -> Any:
            return super().coalitions_size

        @cached_property
        def is_coalition_sampled(self) -> Any:
            return super().is_coalition_sampled

    def approximator() -> Any:
        made = shapiq.SVARM(n=game.n_features, random_state=seed)
        made._sampler.__class__ = Counted
        return made

    return _approximated(game, budget, approximator)


def proxyspex(game: Scored, *, budget: int, seed: int) -> Attribution:
    """Shapley values of a sparse polynomial that boosted trees suggest (Butler et al. 2025).

    The trees need 40 rows for a first split. Games with fewer masks than that are enumerated.
    """
    shapiq = _shapiq(game)
    if 2**game.n_features < _PROXY_ROWS:
        return _enumerated(game, budget, shapiq)
    try:
        import lightgbm  # noqa: F401
    except ImportError as error:
        raise ImportError(
            'method="proxyspex" needs lightgbm: pip install "textsobol[bench]"'
        ) from error

    class Proxy(shapiq.ProxySPEX):  # type: ignore[misc,name-defined]
        """Without an error where no split of the trees gains anything: the fit is constant."""

        def _refine(self, four_dict: dict[Any, float], train_X: Array, train_y: Floats) -> Any:  # noqa: N803
            if not any(four_dict):
                return {(): float(np.mean(train_y))}
            return super()._refine({(): 0.0, **four_dict}, train_X, train_y)

    return _approximated(
        game,
        budget,
        lambda: Proxy(n=game.n_features, index="SV", max_order=1, random_state=seed),
    )


def proxyspex_least(n_features: int) -> int:
    """Rows that ProxySPEX needs at least: all masks of a small game, 40 of a larger one.

    Example:
        >>> proxyspex_least(3), proxyspex_least(100)
        (8, 40)
    """
    return min(1 << n_features, _PROXY_ROWS)


def _approximated(game: Scored, budget: int, approximator: Callable[[], Any]) -> Attribution:
    score = game.score
    n_labels = score(np.ones((1, game.n_features), dtype=bool)).shape[1]
    found = np.zeros((game.n_features, n_labels))
    for label in range(n_labels):
        with warnings.catch_warnings():
            # Of games that have hardly more masks than the budget.
            warnings.filterwarnings("ignore", "Not all budget is required|Sampling might be ineff")
            values = approximator().approximate(budget, _column(score, label))
        found[:, label] = values.get_n_order_values(1)
    return Attribution(found, settings={"samples": budget})


def _enumerated(game: Scored, budget: int, shapiq: Any) -> Attribution:
    score = game.score
    n_labels = score(np.ones((1, game.n_features), dtype=bool)).shape[1]
    values = [
        shapiq.ExactComputer(_column(score, label), n_players=game.n_features)("SV", 1)
        for label in range(n_labels)
    ]
    found = np.stack([value.get_n_order_values(1) for value in values], axis=1)
    return Attribution(found, settings={"samples": 2**game.n_features})


def _column(score: Callable[[Array], Floats], label: int) -> Callable[[Array], Floats]:
    return lambda masks: score(np.asarray(masks, dtype=bool))[:, label]


def _shapiq(game: Scored, most: int = _MOST_FEATURES) -> Any:
    try:
        import shapiq
    except ImportError as error:
        raise ImportError('shapiq methods need shapiq: pip install "textsobol[bench]"') from error
    if game.n_features > most:
        raise ValueError(
            f"{game.n_features} features: this method of shapiq takes at most {most}; "
            f"choose larger units, or another method"
        )
    return shapiq
