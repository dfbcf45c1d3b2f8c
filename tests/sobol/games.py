"""Games over Bernoulli(p) features whose Sobol indices are known in closed form.

A game is a black box with its first-order and total indices, effects and variance, each a
formula in the keep rate p, worked out by hand and independent of the code under test.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import comb

import numpy as np

from textsobol.sobol.arrays import Array, Floats


@dataclass(frozen=True)
class Game:
    name: str
    n_features: int
    score: Callable[[Array], Floats]
    truth: Callable[[float], "Truth"]


@dataclass(frozen=True)
class Truth:
    mean: float
    variance: float
    effect: Floats
    first: Floats
    total: Floats


def _symmetric(
    n: int, p: float, mean: float, effect: float, square: float, variance: float | None = None
) -> Truth:
    """All n features alike, with E[D] = effect and E[D^2] = square; f is 0 or 1 by default."""
    variance = mean * (1 - mean) if variance is None else variance
    pq = p * (1 - p)
    return Truth(
        mean=mean,
        variance=variance,
        effect=np.full(n, effect),
        first=np.full(n, pq * effect**2 / variance),
        total=np.full(n, pq * square / variance),
    )


WEIGHTS = np.array([2.0, -1.0, 0.5, 0.25, 0.0])


def _additive(p: float) -> Truth:
    pq = p * (1 - p)
    variance = pq * (WEIGHTS**2).sum()
    share = pq * WEIGHTS**2 / variance
    return Truth(p * WEIGHTS.sum(), variance, WEIGHTS, share, share)


def _and(p: float) -> Truth:
    # D_i = 1 when the other two are present.
    return _symmetric(3, p, mean=p**3, effect=p**2, square=p**2)


def _or(p: float) -> Truth:
    q = 1 - p
    return _symmetric(3, p, mean=1 - q**3, effect=q**2, square=q**2)


def _xor(p: float) -> Truth:
    # D_i = 1 when an even number of the other two is present, -1 otherwise.
    even = p**2 + (1 - p) ** 2
    odd_of_three = 3 * p * (1 - p) ** 2 + p**3
    return _symmetric(3, p, mean=odd_of_three, effect=2 * even - 1, square=1.0)


def _majority(p: float) -> Truth:
    # D_i = 1 when exactly two of the other four are present.
    tie = comb(4, 2) * p**2 * (1 - p) ** 2
    mean = sum(comb(5, k) * p**k * (1 - p) ** (5 - k) for k in (3, 4, 5))
    return _symmetric(5, p, mean=mean, effect=tie, square=tie)


def _product_of_groups(p: float) -> Truth:
    # f = (z0 + z1)(z2 + z3): D_0 = z2 + z3, a sum of two coins.
    pq = p * (1 - p)
    square_of_sum = 2 * pq + (2 * p) ** 2
    mean = (2 * p) ** 2
    return _symmetric(
        4, p, mean=mean, effect=2 * p, square=square_of_sum, variance=square_of_sum**2 - mean**2
    )


def _parity(masks: Array) -> Floats:
    return (masks.sum(axis=1) % 2).astype(float)


GAMES = [
    Game("additive", 5, lambda z: np.asarray((z * WEIGHTS).sum(axis=1)), _additive),
    Game("and", 3, lambda z: z.all(axis=1).astype(float), _and),
    Game("or", 3, lambda z: z.any(axis=1).astype(float), _or),
    Game("xor", 3, _parity, _xor),
    Game("majority", 5, lambda z: (z.sum(axis=1) >= 3).astype(float), _majority),
    Game(
        "product of groups",
        4,
        lambda z: (z[:, :2].sum(axis=1) * z[:, 2:].sum(axis=1)).astype(float),
        _product_of_groups,
    ),
]


def enumerated(score: Callable[[Array], Floats], n_features: int, keep: float) -> Truth:
    """Truth by brute force: every mask with its probability, every difference by hand."""
    masks = np.array(list(product([False, True], repeat=n_features)))
    chances = np.where(masks, keep, 1 - keep).prod(axis=1)
    scores = score(masks)
    mean = float(chances @ scores)
    variance = float(chances @ (scores - mean) ** 2)
    effect, square = np.empty(n_features), np.empty(n_features)
    for i in range(n_features):
        present, absent = masks.copy(), masks.copy()
        present[:, i], absent[:, i] = True, False
        difference = score(present) - score(absent)
        effect[i], square[i] = chances @ difference, chances @ difference**2
    pq = keep * (1 - keep)
    return Truth(mean, variance, effect, pq * effect**2 / variance, pq * square / variance)


def tangled(n_features: int, seed: int) -> Callable[[Array], Floats]:
    """Features that speak for and against, and most of all in pairs and threes."""
    rng = np.random.default_rng(seed)
    slopes = rng.normal(0.2, 1, n_features)
    groups = [rng.choice(n_features, size, replace=False) for size in (2, 2, 3, 3)]
    weights = rng.normal(0, 2, len(groups))

    def score(masks: Array) -> Floats:
        together = [w * masks[:, g].all(axis=1) for w, g in zip(weights, groups, strict=True)]
        return np.asarray(np.tanh(masks @ slopes) + np.sum(together, axis=0))

    return score
