"""Estimators from two independent designs A and B and the mixtures C_i.

C_i is A with the column (or the group of columns) i taken from B, so f(A) and f(C_i) share
all features but i, and f(B) and f(C_i) share only i. N(d + 2) scores. Masks may be binary
or real-valued.

Every function takes the scores f_a ``(N, 1, labels)``, f_b ``(N, 1, labels)`` and f_c
``(N, features, labels)``, centred by their common mean, and returns values per mask whose
means are (variance due to i alone, variance that involves i, variance); the indices are the
first two divided by the third. Because of the centring (Sobol' 2001) a constant added to the
score changes nothing. xplique does not centre; on centred scores its total indices are these,
except for N - 1 instead of N in the variance of some.
"""

from collections.abc import Callable

import numpy as np

from textsobol.sobol.arrays import Array, Floats
from textsobol.sobol.uncertainty import Estimate, Samples, ratio

PerMask = tuple[Floats, Floats, Floats]


def jansen(f_a: Floats, f_b: Floats, f_c: Floats) -> PerMask:
    """The paper's (Fel et al. 2021, eq. 5).

    S_i = (V - 1/(2N) sum (f_b - f_c)^2) / V and T_i = 1/(2N) sum (f_a - f_c)^2 / V, with V the
    sample variance of f_a. Jansen 1999, Analysis of variance designs for model output.
    """
    variance = _variance_per_mask(f_a)
    return variance - (f_b - f_c) ** 2 / 2, (f_a - f_c) ** 2 / 2, variance


def homma(f_a: Floats, f_b: Floats, f_c: Floats) -> PerMask:
    """S_i = mean(f_b (f_c - f_a)) / V and T_i = (V - mean(f_a f_c) + f_0^2) / V.

    V = mean(f_a^2) - f_0^2 and f_0 = mean(f_a). Homma & Saltelli 1996, Importance measures in
    global sensitivity analysis; the first order takes f_0^2 from mean(f_a f_b), as Saltelli
    2002 advises.
    """
    mean = f_a.mean(axis=0)
    return f_b * (f_c - f_a), f_a * (f_a - f_c), f_a**2 - mean**2


def saltelli(f_a: Floats, f_b: Floats, f_c: Floats) -> PerMask:
    """S_i = (mean(f_b f_c) - f_0^2) / V and T_i = 1 - (mean(f_a f_c) - f_0^2) / V.

    V = mean(f_a^2) - f_0^2 and f_0 = mean(f_a). Saltelli et al. 2008, Global Sensitivity
    Analysis: The Primer, section 4.6. The total index is Homma and Saltelli's.
    """
    mean = f_a.mean(axis=0)
    return f_b * f_c - mean**2, f_a * (f_a - f_c), f_a**2 - mean**2


def janon(f_a: Floats, f_b: Floats, f_c: Floats) -> PerMask:
    """Mean and variance pooled over the two samples that are compared.

    With x and y the two samples, m = mean((x + y) / 2) and v = mean((x^2 + y^2) / 2) - m^2, the
    index is (mean(x y) - m^2) / v: from (f_b, f_c) it is S_i, from (f_a, f_c) 1 - T_i.
    Janon et al. 2014, Asymptotic normality and efficiency of two Sobol index estimators.
    """
    return _from_two_correlations(_pooled_correlation, f_a, f_b, f_c)


def glen(f_a: Floats, f_b: Floats, f_c: Floats) -> PerMask:
    """S_i = corr(f_b, f_c) and T_i = 1 - corr(f_a, f_c), Pearson correlations.

    Glen & Isaacs 2012, Estimating Sobol sensitivity indices using correlations.
    """
    return _from_two_correlations(_pearson_correlation, f_a, f_b, f_c)


PICK_FREEZE: dict[str, Callable[[Floats, Floats, Floats], PerMask]] = {
    "jansen": jansen,
    "saltelli": saltelli,
    "homma": homma,
    "janon": janon,
    "glen": glen,
}


def estimate_pick_freeze(
    estimator: str, f_a: Floats, f_b: Floats, f_c: Floats, moves: Floats, move_variance: float
) -> Estimate:
    """Indices by one of the estimators above.

    The effect is the slope of the score on the presence of feature i,
    mean((f_a - f_c)(A_i - B_i)) / (2 Var z_i): E[D_i] when masks are binary, and for a group
    the sum over its members.

    Args:
        estimator: a name in `PICK_FREEZE`.
        f_a: scores of A ``(N, labels)``.
        f_b: scores of B ``(N, labels)``.
        f_c: scores of the mixtures ``(N, features, labels)``.
        moves: A_i - B_i, summed over the members of a group ``(N, features)``.
        move_variance: Var z_i of a single feature: p q, or 1/12 for real-valued masks.
    """
    mean = np.concatenate([f_a, f_b]).mean(axis=0)
    a, b, c = (f_a - mean)[:, None], (f_b - mean)[:, None], f_c - mean
    first, total, variance = PICK_FREEZE[estimator](a, b, c)
    denominators = (variance, variance.mean(axis=0))
    effect = (a - c) * moves[:, :, None] / (2 * move_variance)
    return Estimate(
        first=ratio(first, first.mean(axis=0), *denominators),
        total=ratio(total, total.mean(axis=0), *denominators, is_square=estimator == "jansen"),
        effect=Samples(effect.mean(axis=0), effect, ranked=effect),
        variance=_variance_per_mask(a).mean(axis=(0, 1)),
        mean=mean,
    )


def sum_moves(a: Array, b: Array, groups: Array) -> Floats:
    """A - B summed over the members of each group: ``(N, groups)``."""
    n_groups = int(groups.max()) + 1
    moves = np.zeros((n_groups, len(a)))
    np.add.at(moves, groups, (a.astype(float) - b).T)
    return moves.T


def _variance_per_mask(values: Floats) -> Floats:
    """Values whose mean is the sample variance with N - 1."""
    n_masks = len(values)
    return np.asarray((values - values.mean(axis=0)) ** 2 * n_masks / (n_masks - 1))


def _from_two_correlations(
    correlation: Callable[[Floats, Floats], tuple[Floats, Floats]],
    f_a: Floats,
    f_b: Floats,
    f_c: Floats,
) -> PerMask:
    """Bring corr(f_b, f_c) and 1 - corr(f_a, f_c) over one denominator."""
    common_b, scale_b = correlation(f_b, f_c)
    common_a, scale_a = correlation(f_a, f_c)
    # Each has its own denominator. Its pseudo-values, over a denominator of 1, give the same
    # index and the same pseudo-values.
    first = _linearise(common_b, scale_b)
    total = _linearise(scale_a - common_a, scale_a)
    return first, total, np.ones_like(first)


def _linearise(numerators: Floats, denominators: Floats) -> Floats:
    means = numerators.mean(axis=0), denominators.mean(axis=0)
    per_mask = ratio(numerators, means[0], denominators, means[1]).per_mask
    assert per_mask is not None
    return per_mask


def _pooled_correlation(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    middle = (x + y).mean(axis=0) / 2
    return x * y - middle**2, (x**2 + y**2) / 2 - middle**2


def _pearson_correlation(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Values per mask of a correlation; (x^2 + y^2) / 2 has its derivative in both variances."""
    x, y = _standardise(x), _standardise(y)
    return x * y, (x**2 + y**2) / 2


def _standardise(values: Floats) -> Floats:
    deviation = values.std(axis=0)
    return np.asarray((values - values.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))
