"""What every estimator returns: point estimates, and one pseudo-value a base row."""

from dataclasses import dataclass, field

import numpy as np

from textsobol.sobol.arrays import Floats


@dataclass(frozen=True)
class Samples:
    """An estimate and how each base row would have it.

    Attributes:
        value: the estimate ``(features, labels)``.
        rows: pseudo-values ``(base rows, features, labels)``: their mean is the estimate
            to first order, their spread its standard error. ``None`` when there is no
            sampling error.
    """

    value: Floats
    rows: Floats | None = None


@dataclass(frozen=True)
class Estimate:
    """First-order index, total index and signed effect of every feature, and the variance.

    Attributes:
        first: first-order indices.
        total: total indices.
        effect: mean effect of presence, signed, in units of the score.
        variance: variance of the score ``(labels,)``.
        mean: mean of the score ``(labels,)``.
        variance_rows: one value a base row whose mean is about the variance
            ``(rows, labels)``; empty from estimators that do not need it again.
    """

    first: Samples
    total: Samples
    effect: Samples
    variance: Floats
    mean: Floats
    variance_rows: Floats = field(default_factory=lambda: np.empty((0, 0)))


def ratio(
    numerators: Floats, numerator: Floats, denominators: Floats, denominator: Floats
) -> Samples:
    """A ratio of two estimates, with pseudo-values from its linearisation.

    With R = X / Y and row values x_j, y_j, row j has R + (x_j - mean x - R (y_j - mean y)) / Y
    (the delta method). Where Y is not positive the ratio is 0.

    Args:
        numerators: x ``(rows, features, labels)``.
        numerator: X ``(features, labels)``; not always the mean of x.
        denominators: y ``(rows, 1 or features, labels)``.
        denominator: Y ``(1 or features, labels)``.
    """
    usable = denominator > 0
    divisor = usable / (denominator + ~usable)
    value = numerator * divisor
    rows = numerators - numerators.mean(axis=0)
    rows -= value * (denominators - denominators.mean(axis=0))
    rows *= divisor
    rows += value
    return Samples(value, rows)
