"""Intervals of the ``flip`` estimator, honest from five base masks on.

Five draws of D_i say little about their spread: if all five are equal, Student's interval has width
0, whatever the sixth would be. But many features were flipped in the same masks, and together they
show how far off five draws can be:

* *Surprise.* Leave out mask j and predict D_i(z_j) from the other masks. The squared errors of
  features about as large as feature i, over all j, are what to expect of one more mask. They
  vanish for an additive score. A feature that never changed the score gets the surprises of
  features that changed it in no mask but j.
* *Moderation.* The variance of a feature is its own, pulled towards that expectation
  (Smyth 2004, Linear models and empirical Bayes methods, section 3).
* *Freedom.* Features share their masks. If one mask holds most of the squared differences, five
  masks say little more than one (Kish 1965, Survey Sampling), and Student's t has few degrees of
  freedom; more if many features were flipped in all of them. Features that were not do not count.
* *Order.* (sum S_i + sum T_i) V / 2, the variance V from fewer than eight masks, is an upper bound
  of V; sum S_i V, as far as the masks agree on it, is a lower bound.

With fewer than five masks (four for features that are not leaders), or if too many features were
present (or absent) in every mask, the interval is unknown: the widest possible. The constants were
set on training reviews and on synthetic scores (benchmarks/estimators).
"""

from dataclasses import dataclass, fields
from functools import partial

import numpy as np
from scipy.special import stdtrit

from textsobol.sobol.arrays import Array, Floats

# With fewer masks, V is an upper bound computed from the differences.
ENOUGH_FOR_VARIANCE = 8
_LEAST_MASKS = 5  # for an interval
_LEAST_OF_OTHERS = 4  # the same, for features flipped in fewer masks than the leaders
_LEAST_DISTINCT = 4
_MOST_CONSTANT = 0.1  # of the other features may have been present, or absent, in every mask
_PRIOR = 16  # weight of the expected variance, in masks
_NEIGHBOURS = 0.25  # of all errors are averaged to an expectation
_LEAST_NEIGHBOURS = 15
_FEATURES = 50  # say as much about errors as one feature's own masks
# A few large surprises dominate the mean of squares: errors of totals are expected too large by
# about 1 / (1 - 0.75 / N).
_FEW = 0.75
_ORDER = 0.6  # of the margin of the additive share, which can only lower V


@dataclass(frozen=True)
class Moderated:
    """Numbers that intervals are computed from: arrays ``(features, labels)``.

    Attributes:
        effect: mean difference.
        effect_error: its moderated standard error.
        total: total index.
        total_error: its moderated standard error, without the error that V has as a whole.
        first_of: weight / V; times the squared effect it is the first-order index.
        freedom: degrees of freedom of the errors.
        is_known: whether there is an interval.
        unseen: how much larger than estimated V may be, relative to V.
        additive: sum S_i, as far as the masks agree on it.
        additive_error: its standard error.
        variance_error: relative standard error of V over the masks; part of ``total_error``, where
            it partly cancels out.
        assumed: part of the total that no difference shows; the lower end leaves it out.
        interacting_error: standard error of the part of V that is not additive, or not measured by
            flips, relative to V; 0 if V is an upper bound.
    """

    effect: Floats
    effect_error: Floats
    total: Floats
    total_error: Floats
    first_of: Floats
    freedom: Floats
    is_known: Array
    unseen: Floats
    additive: Floats
    additive_error: Floats
    variance_error: Floats
    interacting_error: Floats
    assumed: Floats

    def interval(self, level: float, of: str) -> tuple[Floats, Floats]:
        """Lower and upper end of ``total``, ``first`` or ``effect`` ``(features, labels)``."""
        t = stdtrit(self.freedom, 0.5 + level / 2)
        effect = self.effect - t * self.effect_error, self.effect + t * self.effect_error
        if of == "effect":
            return self._or_unknown(*effect, -np.inf, np.inf)
        # sqrt(T^2 + h^2) -+ h: a factor where T is large, a distance where it is near 0
        half = t * self.total_error
        is_positive = self.total > 0
        factor = np.arcsinh(half / np.where(is_positive, self.total, 1.0))
        # No total index and no sum of first-order ones exceeds 1; where they come near to
        # doing so, V was estimated too high.
        surely = np.where(is_positive & self.is_known, self.total * np.exp(-factor), 0.0)
        additive = self.additive - _ORDER * t * self.additive_error
        least_v = np.clip(np.maximum(surely.max(axis=0), additive), 1e-300, 1.0)
        rest_error = t * self.interacting_error
        v_below, v_above = -np.log(least_v), np.hypot(np.log1p(self.unseen), rest_error)
        v_below = np.where(rest_error > 0, np.minimum(v_below, rest_error), v_below)
        with np.errstate(over="ignore"):
            # The two errors are independent: their logarithms add in squares.
            low = (1 - self.assumed) * self.total * np.exp(-np.hypot(factor, v_above))
            high = self.total * np.exp(np.hypot(factor, v_below))
            high = np.where(is_positive, high, half * np.exp(v_below))
            if of == "first":
                v_error = t * self.variance_error
                v_ends = np.hypot(v_below, v_error), np.hypot(v_above, v_error)
                low, first_high = self._first_ends(*effect, *v_ends)
                high = np.minimum(first_high, high)
        return self._or_unknown(np.clip(low, 0, 1), np.clip(high, 0, 1), 0.0, 1.0)

    def _first_ends(
        self, effect_low: Floats, effect_high: Floats, v_below: Floats, v_above: Floats
    ) -> tuple[Floats, Floats]:
        """Ends of weight effect^2 / V; the logarithms of both errors add in squares."""
        spans_zero = (effect_low <= 0) & (effect_high >= 0)
        ends = np.abs(effect_low), np.abs(effect_high)
        nearest, furthest = np.where(spans_zero, 0.0, np.minimum(*ends)), np.maximum(*ends)
        size = np.abs(self.effect)
        is_positive = size > 0
        size = np.where(is_positive, size, 1.0)
        with np.errstate(divide="ignore"):
            down = 2 * np.log(size / np.where(is_positive, nearest, 1.0))
            up = 2 * np.log(np.where(is_positive, furthest, 1.0) / size)
        middle = self.first_of * self.effect**2
        low = middle * np.exp(-np.hypot(down, v_above))
        high = middle * np.exp(np.hypot(up, v_below))
        return low, np.where(is_positive, high, self.first_of * furthest**2 * np.exp(v_below))

    def _or_unknown(
        self, low: Floats, high: Floats, lowest: float, highest: float
    ) -> tuple[Floats, Floats]:
        return np.where(self.is_known, low, lowest), np.where(self.is_known, high, highest)


_NAMES = [field.name for field in fields(Moderated)]


def moderate(
    base: Array,
    f_base: Floats,
    differences: Floats,
    *,
    keep: float,
    variance: Floats,
    variance_per_mask: Floats,
    n_base: int,
    order: int = 1,
    other_variance: Floats | None = None,
) -> Moderated:
    """Moderated errors of differences.

    Args:
        base: masks ``(masks, features)``.
        f_base: their scores ``(masks, labels)``.
        differences: of features, or of pairs ``(masks, differences, labels)``.
        keep: the keep rate p.
        variance: V ``(labels,)``.
        variance_per_mask: values whose mean is about V ``(masks, labels)``.
        n_base: number of all base masks, including those without flips of these features.
        order: of the differences: 1 for features, 2 for pairs.
        other_variance: additive part of V due to other features ``(labels,)``.
    """
    n_differences, n_labels = differences.shape[1:]
    weight = (keep * (1 - keep)) ** order
    least = _LEAST_OF_OTHERS if n_base > len(base) else _LEAST_MASKS
    n_distinct = len(np.unique(base, axis=0))
    is_seen = _is_seen(base, n_differences, n_distinct, least)
    # Only differences of all features show how much of the score is not additive.
    residuals = np.zeros_like(f_base)
    if order == 1 and base.shape[1] == n_differences:
        residuals = f_base - (base - keep) @ differences.mean(axis=0)
    columns = [
        _moderate_label(
            differences[:, :, label],
            variance[label] / weight,
            variance_per_mask[:, label] / weight,
            hidden=residuals[:, label].var() / weight,
            n_distinct=n_distinct,
            is_seen=is_seen,
            is_bound=n_base < ENOUGH_FOR_VARIANCE,
            n_pooled=min(n_differences, base.shape[1]),
            least=least,
            others=0.0 if other_variance is None else other_variance[label] / weight,
        )
        for label in range(n_labels)
    ]
    return Moderated(**{name: np.stack([of[name] for of in columns], axis=1) for name in _NAMES})


def _is_seen(base: Array, n_differences: int, n_distinct: int, least: int) -> Array:
    """Whether a feature was flipped in varied contexts: most others present and absent in turn."""
    n_masks, n_features = base.shape
    is_constant = (base == base[:1]).all(axis=0)
    n_constant = np.full(n_differences, is_constant.sum())
    if n_differences == n_features:
        n_constant = n_constant - is_constant
    # Two features have only two contexts each, and a single one has one.
    is_enough = n_distinct >= min(_LEAST_DISTINCT, 2 ** (n_features - 1)) and n_masks >= least
    return np.asarray((n_constant <= _MOST_CONSTANT * max(n_features - 1, 1)) & is_enough)


def _moderate_label(
    differences: Floats,
    variance: float,
    variance_per_mask: Floats,
    *,
    hidden: float,
    n_distinct: int,
    is_seen: Array,
    is_bound: bool,
    n_pooled: int,
    least: int,
    others: float,
) -> dict[str, Floats]:
    """The columns of `Moderated` for one label; variances in units of squared differences."""
    n_masks, n_features = differences.shape
    squares = differences**2
    effect, size = differences.mean(axis=0), squares.mean(axis=0)
    if n_masks < least or variance <= 0 or not squares.any():
        unknown = dict.fromkeys(_NAMES, np.zeros(n_features))
        return unknown | {"is_known": np.zeros(n_features, bool), "freedom": np.ones(n_features)}
    total = size / variance
    size_of_others = _mean_of_others(squares)
    shrunk = (n_masks - 1) / n_masks  # an error includes the noise of the prediction

    # If base masks deviate from an additive score by more than the differences vary, there are
    # interactions that no flip has shown.
    hidden = max(0.0, hidden * n_masks / (n_masks - 1) - differences.var(axis=0, ddof=1).sum())
    hidden /= n_features
    errors = (differences - _mean_of_others(differences)) ** 2 * shrunk
    mean_nearby = partial(_mean_nearby, size_of_others, at=size)
    expected = mean_nearby(errors, power=1) + hidden
    effect_variance = _pull(differences.var(axis=0, ddof=1), expected, n_masks)

    variance_of_others = _mean_of_others(variance_per_mask)
    variance_of_others = np.where(variance_of_others > 0, variance_of_others, variance)
    predicted = size_of_others * (variance_per_mask / variance_of_others)[:, None]
    expected = mean_nearby((squares - predicted) ** 2 * shrunk, power=2)
    expected += hidden * np.maximum(size, hidden)
    own = (squares - total * variance_per_mask[:, None]).var(axis=0, ddof=1)
    total_variance = _pull(own, expected, n_masks)

    unseen = mean_nearby(squares, power=1)[size == 0].sum()
    unseen += hidden * n_features / 2
    few = 1 - _FEW / n_masks
    # A repeated mask says nothing new, and neither do more pairs than features.
    repeats = n_masks / n_distinct
    freedom = (count_effective(squares.sum(axis=1)) - 1) * (n_distinct - 1) / (n_masks - 1)
    freedom = max(1.0, freedom * (1 + n_pooled / _FEATURES))
    additive, additive_error = (total.sum() * share for share in _additive_share(differences))
    additive += others / variance
    # The error of a variance of residuals from N - 2 masks; only the non-additive part has one.
    interacting = 0.0 if is_bound else np.sqrt(2 / (n_masks - 2)) * np.clip(1 - additive, 0, 1)
    everywhere = {
        "first_of": 1 / variance,
        "freedom": freedom,
        "unseen": 2 * unseen / variance,
        "additive": additive,
        "additive_error": additive_error,
        "variance_error": variance_per_mask.std(ddof=1) / np.sqrt(n_masks) / variance,
        "interacting_error": interacting,
        "assumed": 0.0,
    }
    return {name: np.full(n_features, value) for name, value in everywhere.items()} | {
        "effect": effect,
        "effect_error": np.sqrt(effect_variance * repeats / n_masks),
        "total": total,
        "total_error": few * np.sqrt(total_variance * repeats / n_masks) / variance,
        "is_known": is_seen,
    }


def _mean_of_others(values: Floats) -> Floats:
    """For each mask, the mean of all other masks."""
    return np.asarray((values.sum(axis=0) - values) / (len(values) - 1))


def _pull(own: Floats, expected: Floats, n_masks: int) -> Floats:
    """Variances pulled towards what is expected: (d0 s0^2 + d s^2) / (d0 + d) (Smyth)."""
    return (_PRIOR * expected + (n_masks - 1) * own) / (_PRIOR + n_masks - 1)


def _mean_nearby(sizes: Floats, values: Floats, *, at: Floats, power: int) -> Floats:
    """Expected ``values`` at given sizes: their mean over the nearest sizes.

    Among neighbours, values grow like a power of the size, so that means are ratios,
    sum(values) / sum(sizes^power); at size 0 plain means. Equal sizes are never split.

    Args:
        sizes: of the values ``(...)``.
        values: ``(...)``.
        at: the given sizes ``(features,)``.
        power: of the size.
    """
    order = np.argsort(sizes, axis=None, kind="stable")
    ordered = sizes.ravel()[order]
    sums = np.concatenate([[0.0], np.cumsum(values.ravel()[order])])
    powers = np.concatenate([[0.0], np.cumsum(ordered**power)])
    n = len(ordered)
    width = min(n, max(_LEAST_NEIGHBOURS, int(_NEIGHBOURS * n)))
    middle = (np.searchsorted(ordered, at, "left") + np.searchsorted(ordered, at, "right")) // 2
    start = np.clip(middle - width // 2, 0, n - width)
    stop = np.searchsorted(ordered, ordered[start + width - 1], "right")
    start = np.searchsorted(ordered, ordered[start], "left")
    value, scale = sums[stop] - sums[start], powers[stop] - powers[start]
    is_scaled = (at > 0) & (scale > 0)
    ratio = value / np.where(is_scaled, scale, 1.0) * at**power
    # Rounding can make differences of cumulative sums negative.
    return np.asarray(np.maximum(np.where(is_scaled, ratio, value / (stop - start)), 0.0))


def count_effective(weights: Floats) -> float:
    """Effective number of weights: (sum w)^2 / sum w^2 (Kish 1965); of all if they are 0."""
    squares = (weights**2).sum()
    return float(weights.sum() ** 2 / squares) if squares > 0 else float(len(weights))


def _additive_share(differences: Floats) -> tuple[float, float]:
    """sum_i (E D_i)^2 / sum_i E[D_i^2] = sum S_i / sum T_i, and its jackknife error.

    Products of different masks estimate (E D_i)^2 without bias; products of a mask with itself
    estimate E[D_i^2].
    """
    products = differences @ differences.T
    n_masks = len(products)
    own = np.diag(products)
    crossed = products.sum(axis=0) - own
    ratio = _divide(crossed.sum() / (n_masks - 1), own.sum())
    # Without mask j, its row and its column of products are missing.
    without = _divide((crossed.sum() - 2 * crossed) / (n_masks - 2), own.sum() - own)
    spread = ((without - without.mean()) ** 2).sum()
    return float(ratio), float(np.sqrt((n_masks - 1) / n_masks * spread))


def _divide(numerator: Floats, denominator: Floats) -> Floats:
    """The ratio, or 0 where the denominator is not positive."""
    zeros = np.zeros_like(denominator)
    return np.divide(numerator, denominator, out=zeros, where=denominator > 0)
