"""The ``exact`` estimator: all 2^d masks and the decomposition of the score."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from textsobol.sobol.arrays import Floats, Integers
from textsobol.sobol.uncertainty import Estimate, Samples


@dataclass(frozen=True)
class Hoeffding:
    """The Hoeffding decomposition of a score over independent Bernoulli(p) features.

    f(z) = sum over sets u of c_u prod_{i in u} (z_i - p) / sqrt(p q), with Var = sum of c_u^2 over
    non-empty u (Hoeffding 1948; for p = 1/2 the c_u are the Walsh-Hadamard coefficients).

    Attributes:
        coefficients: c_u ``(2^d, labels)``; bit i of the place says whether i is in u.
        keep: the keep rate p.
    """

    coefficients: Floats
    keep: float

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return len(self.coefficients).bit_length() - 1

    @property
    def variance(self) -> Floats:
        """Variance of the score ``(labels,)``."""
        return np.asarray((self.coefficients[1:] ** 2).sum(axis=0))

    def index(self, features: Iterable[int]) -> Floats:
        """S_u: the share of the variance that is due to exactly these features together.

        Example:
            >>> xor = hoeffding(np.array([[0.0], [1.0], [1.0], [0.0]]), keep=0.5)
            >>> xor.index([0, 1]).item(), xor.index([0]).item()
            (1.0, 0.0)
        """
        return self._share(self._numbers() == self._number_of(features))

    def closed(self, features: Iterable[int]) -> Floats:
        """Share due to these features and nothing else: the group's first-order index."""
        others = ~self._number_of(features)
        numbers = self._numbers()
        return self._share((numbers & others == 0) & (numbers != 0))

    def total(self, features: Iterable[int]) -> Floats:
        """Share that involves at least one of these features: the group's total index."""
        return self._share(self._numbers() & self._number_of(features) != 0)

    def total_interaction(self, features: Iterable[int]) -> Floats:
        """Share that involves all of these features, with or without others."""
        number = self._number_of(features)
        return self._share(self._numbers() & number == number)

    def of_order(self, order: int) -> Floats:
        """Share due to interactions of exactly ``order`` features."""
        return self._share(np.bitwise_count(self._numbers()) == order)

    def effect(self, features: Iterable[int]) -> Floats:
        """Mean difference of the order of the set, signed: E[D_i], E[D_ik], ..."""
        chosen = set(features)
        scale = sqrt(self.keep * (1 - self.keep)) ** len(chosen)
        return np.asarray(self.coefficients[self._number_of(chosen)] / scale)

    def _numbers(self) -> Integers:
        return np.arange(len(self.coefficients))

    def _number_of(self, features: Iterable[int]) -> int:
        chosen = set(features)
        if not chosen or not chosen <= set(range(self.n_features)):
            raise ValueError(
                f"features {sorted(chosen)}: name at least one of 0 ... {self.n_features - 1}"
            )
        return sum(1 << i for i in chosen)

    def _share(self, chosen: np.ndarray) -> Floats:
        variance = self.variance
        part = (self.coefficients[chosen] ** 2).sum(axis=0)
        return np.asarray(part / np.where(variance > 0, variance, 1.0))


def hoeffding(scores: Floats, *, keep: float) -> Hoeffding:
    """Decompose the scores of all masks by a p-biased fast Walsh-Hadamard transform.

    For one feature, (f_absent, f_present) becomes (q f_absent + p f_present,
    sqrt(p q) (f_present - f_absent)); d such steps cost d 2^d operations.

    Args:
        scores: scores of all masks ``(2^d, labels)`` in the order of `masks.all_masks`.
        keep: the keep rate p.
    """
    coefficients = np.array(scores, dtype=float)
    n_masks, n_labels = coefficients.shape
    half = 1
    while half < n_masks:
        view = coefficients.reshape(n_masks // (2 * half), 2, half, n_labels)
        absent, present = view[:, 0].copy(), view[:, 1].copy()
        view[:, 0] = (1 - keep) * absent + keep * present
        view[:, 1] = sqrt(keep * (1 - keep)) * (present - absent)
        half *= 2
    return Hoeffding(coefficients, keep)


def estimate_exact(decomposition: Hoeffding, groups: Integers) -> Estimate:
    """Indices of groups, without sampling error; ``groups (features,)``: group of each feature."""
    members = [np.flatnonzero(groups == group).tolist() for group in range(groups.max() + 1)]
    return Estimate(
        first=Samples(np.stack([decomposition.closed(m) for m in members])),
        total=Samples(np.stack([decomposition.total(m) for m in members])),
        effect=Samples(np.stack([sum(decomposition.effect([i]) for i in m) for m in members])),
        variance=decomposition.variance,
        mean=decomposition.coefficients[0],
    )
