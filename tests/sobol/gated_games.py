"""Games whose derivatives with respect to gates are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from textsobol.sobol.arrays import Array, Floats
from textsobol.sobol.black_box import BlackBoxModel


@dataclass(frozen=True)
class GatedGame:
    """A score of masks, and its derivatives at gates.

    Attributes:
        n_features: number of features.
        score: masks ``(masks, features)`` to scores ``(masks, labels)``.
        slopes: gates ``(rows, features)`` to derivatives ``(rows, features, labels)``.
    """

    n_features: int
    score: Callable[[Array], Floats]
    slopes: Callable[[Floats], Floats]

    def model(self) -> BlackBoxModel:
        """The game as a masked model, whose whole input is not yet known."""
        return BlackBoxModel(self.score, self.n_features, slopes=self.slopes)


def additive(
    weights: Floats,
    *,
    scale: float = 1.0,
    noise: float = 0.0,
    seed: int = 0,
    constant_label: bool = False,
) -> GatedGame:
    """A weighted sum; derivatives are off by a factor, and by noise relative to the weights."""
    weights = weights.reshape(len(weights), -1)
    factors = np.exp(noise * np.random.default_rng(seed).normal(size=weights.shape)) * scale
    if constant_label:
        weights = np.concatenate([weights, np.zeros_like(weights)], axis=1)
        factors = np.concatenate([factors, factors], axis=1)
    return GatedGame(
        len(weights),
        lambda masks: masks @ weights + 0.5,
        lambda gates: np.tile(weights * factors, (len(gates), 1, 1)),
    )


def planted_pair(n_features: int) -> GatedGame:
    """Two features decide together, others hardly matter; the score is a curve over gates."""
    one, other = (7, 41) if n_features > 41 else (1, 4)
    weights = 0.05 * np.sin(np.arange(n_features) * 1.7)

    def odds(gates: Floats) -> Floats:
        return np.asarray(4.0 * gates[:, one] * gates[:, other] + gates @ weights - 1.0)

    def slopes(gates: Floats) -> Floats:
        found = np.tile(weights, (len(gates), 1))
        found[:, one] += 4.0 * gates[:, other]
        found[:, other] += 4.0 * gates[:, one]
        return np.asarray(found * (1 - np.tanh(odds(gates)) ** 2)[:, None])[:, :, None]

    return GatedGame(n_features, lambda masks: np.tanh(odds(masks.astype(float)))[:, None], slopes)


def decided(n_features: int, *, sharpness: float, bias: float, seed: int) -> GatedGame:
    """The hyperbolic tangent of a weighted sum, with weights of very different sizes.

    Flips are large where the sum is near 0, in some masks, and small elsewhere: a sharp decision
    with a bias, as trained classifiers have. All features share the masks in which they matter.
    """
    weights = draw_weights(n_features, seed)
    spread = np.sqrt((weights**2).sum()) / 2
    middle = weights.sum() / 2 - bias * spread

    def decide(sums: Floats) -> Floats:
        return np.tanh(sharpness * (sums - middle) / spread)

    def slopes(gates: Floats) -> Floats:
        return ((1 - decide(gates @ weights) ** 2)[:, None] * weights * sharpness / spread)[
            :, :, None
        ]

    return GatedGame(n_features, lambda masks: decide(masks @ weights)[:, None], slopes)


def rarely_decided(n_features: int, *, together: int, seed: int) -> tuple[GatedGame, Floats]:
    """Groups that matter only if all their features are present, and the exact total indices.

    A flip is 0 in all but 1 of 2^(together - 1) masks, and large there. Two groups are larger.
    """
    groups = np.arange(n_features).reshape(-1, together)
    rng = np.random.default_rng(seed)
    weights = np.exp(0.5 * rng.normal(size=len(groups))) * rng.choice([-1, 1], size=len(groups))
    weights[:2] *= 3

    def slopes(gates: Floats) -> Floats:
        found = np.empty((*gates.shape, 1))
        for place in range(together):
            others = np.delete(gates[:, groups], place, axis=2)
            found[:, groups[:, place], 0] = others.prod(axis=2) * weights
        return found

    game = GatedGame(
        n_features, lambda masks: masks[:, groups].all(axis=2) @ weights[:, None], slopes
    )
    chance = 0.5**together
    variance = (weights**2).sum() * chance * (1 - chance)
    return game, np.repeat(weights**2 * chance / 2 / variance, together)


def draw_weights(n_features: int, seed: int) -> Floats:
    """Whole numbers of both signs, a few of them large; none is 0."""
    rng = np.random.default_rng(seed)
    weights = np.rint(8 * rng.normal(size=n_features) * np.exp(0.7 * rng.normal(size=n_features)))
    return np.where(weights == 0, 1.0, weights)
