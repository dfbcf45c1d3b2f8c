"""What every estimator returns: point estimates, and one pseudo-value a base row."""

from dataclasses import dataclass

from textsobol.sobol.arrays import Floats
from textsobol.sobol.moderated import Moderated


@dataclass(frozen=True)
class Samples:
    """An estimate and how each base row would have it.

    Attributes:
        value: the estimate ``(features, labels)``.
        rows: pseudo-values ``(base rows, features, labels)``: their mean is the estimate
            to first order, their spread its standard error. ``None`` when there is no
            sampling error; NaN where a feature has fewer rows than others, at its end.
        is_square: whether it is a mean of squares, positive and skewed to the right.
        ranked: what ranks features under a bootstrap ``(base rows, features, labels)``:
            the rows before they are divided by a variance that all features share.
    """

    value: Floats
    rows: Floats | None = None
    is_square: bool = False
    ranked: Floats | None = None


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
            ``(rows, labels)``, where it is needed again.
        moderated: what intervals of the ``flip`` estimator are made of.
    """

    first: Samples
    total: Samples
    effect: Samples
    variance: Floats
    mean: Floats
    variance_rows: Floats | None = None
    moderated: Moderated | None = None


def ratio(
    numerators: Floats,
    numerator: Floats,
    denominators: Floats,
    denominator: Floats,
    *,
    is_square: bool = False,
) -> Samples:
    """A ratio of two estimates, with pseudo-values from its linearisation.

    With R = X / Y and row values x_j, y_j, row j has R + (x_j - mean x - R (y_j - mean y)) / Y
    (the delta method). Where Y is not positive the ratio is 0.

    Args:
        numerators: x ``(rows, features, labels)``.
        numerator: X ``(features, labels)``; not always the mean of x.
        denominators: y ``(rows, 1 or features, labels)``.
        denominator: Y ``(1 or features, labels)``.
        is_square: whether the numerators are squares.
    """
    usable = denominator > 0
    divisor = usable / (denominator + ~usable)
    value = numerator * divisor
    rows = numerators - numerators.mean(axis=0)
    rows -= value * (denominators - denominators.mean(axis=0))
    rows *= divisor
    rows += value
    shared = denominators.shape[1] == 1
    return Samples(value, rows, is_square, ranked=numerators if shared else rows)
