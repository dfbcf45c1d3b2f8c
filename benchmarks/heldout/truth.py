"""Converged values of a text's words, and masks that no method has seen."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from textsobol.metrics.faithfulness import make_prefixes
from textsobol.sobol import sobol_indices
from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.sobol.masks import all_masks

KEEPS = {"keep 0.5": 0.5, "keep 0.9": 0.9}
DELETIONS = "deletions"
Score = Callable[[Array], Floats]
"""From masks ``(masks, features)`` to log-odds of one label ``(masks,)``."""


@dataclass(frozen=True)
class Truth:
    """Total indices and Banzhaf values at keep rate 0.5, and Shapley values ``(features,)``.

    Attributes:
        total: shares of the variance.
        banzhaf: mean changes of the score.
        shapley: the same, over orders.
        is_exact: whether all masks were scored.
    """

    total: Floats
    banzhaf: Floats
    shapley: Floats
    is_exact: bool


def find_truth(score: Score, n_features: int, *, base_masks: int, seed: int) -> Truth:
    """All masks if they are no more than what base masks and their flips take, else these.

    Shapley values then come from half as many random orders, each walked forwards and backwards.

    Example:
        >>> def score(masks):
        ...     return masks @ [1.0, 2.0] + masks[:, 0] * masks[:, 1]
        >>> found = find_truth(score, 2, base_masks=9, seed=0)
        >>> found.banzhaf.tolist(), found.shapley.tolist(), found.is_exact
        ([1.5, 2.5], [1.5, 2.5], True)
    """
    is_exact = 2**n_features <= base_masks * (n_features + 1)
    indices = sobol_indices(
        score,
        n_features,
        estimator="exact" if is_exact else "flip",
        base_masks=None if is_exact else base_masks,
        seed=seed,
    )
    shapley = (
        enumerate_shapley(score, n_features)
        if is_exact
        else walk_shapley(score, n_features, walks=base_masks // 2, seed=seed)
    )
    return Truth(np.asarray(indices.total), np.asarray(indices.effect), shapley, is_exact)


def enumerate_shapley(score: Score, n_features: int) -> Floats:
    """Shapley values from all masks.

    Example:
        >>> enumerate_shapley(lambda masks: 6.0 * masks.all(axis=1), 3).round(6).tolist()
        [2.0, 2.0, 2.0]
    """
    d = n_features
    masks = np.concatenate(list(all_masks(d)))  # bit i of a mask's number: feature i is present
    scores = score(masks)
    weights = np.array([1 / (d * math.comb(d - 1, size)) for size in range(d)])
    found = np.zeros(d)
    for feature in range(d):
        without = np.flatnonzero(~masks[:, feature])
        gains = scores[without | 1 << feature] - scores[without]
        found[feature] = weights[masks[without].sum(axis=1)] @ gains
    return found


def walk_shapley(score: Score, n_features: int, *, walks: int, seed: int) -> Floats:
    """Shapley values from random orders, each walked in both directions."""
    rng = np.random.default_rng(seed)
    found = np.zeros(n_features)
    for _ in range(walks):
        order = rng.permutation(n_features)
        for each in (order, order[::-1]):
            scores = score(make_prefixes(each, range(n_features + 1)))
            found[each] += np.diff(scores)
    return found / (2 * walks)


def fresh_masks(n_features: int, n_masks: int, seed: int) -> dict[str, Array]:
    """Masks ``(masks, features)`` to predict, by how they are drawn.

    Words are kept independently, or words are deleted in random order, where any number of
    deletions is equally likely: from one word to all but one.
    """
    rng = np.random.default_rng(seed)
    found = {name: rng.random((n_masks, n_features)) < keep for name, keep in KEEPS.items()}
    sizes = rng.integers(1, max(n_features, 2), n_masks)
    return {**found, DELETIONS: ~_random_subsets(rng, n_features, sizes)}


def _random_subsets(rng: np.random.Generator, n_features: int, sizes: Integers) -> Array:
    ranks = rng.random((len(sizes), n_features)).argsort(axis=1)
    return np.asarray(ranks < sizes[:, None])
