"""Intervals of the ``flip`` estimator, honest from five base masks on.

Five draws of D_i say little about their own spread: if all five agree, Student's interval has
width 0, whatever the sixth would say. But many features were flipped in the same masks, and
together they say how far five draws can be off:

* *Surprise.* Leave out mask j and predict D_i(z_j) from the other masks. The squared errors of
  features about as large as feature i, over all j, are what one more mask can be expected
  to bring. They vanish for an additive score; and a feature that never changed the score gets
  the surprises of features that had not changed it either, until mask j came.
* *Moderation.* The variance of a feature is its own, pulled towards that expectation
  (Smyth 2004, Linear models and empirical Bayes methods, section 3).
* *Freedom.* Features share their masks. When one mask holds most of the squared differences,
  five masks are worth little more than one (Kish 1965, Survey Sampling), and Student's t has
  as few degrees of freedom.
* *Order.* (sum S_i + sum T_i) V / 2, the variance V from fewer than eight masks, is the most
  that V can be; sum S_i V, as far as the masks agree on it, is the least.

From fewer than five masks (four, of features beside leaders), or where too many features were
present (or absent) in every mask, the interval is the widest possible: not known. The constants
were set on training reviews and on games (benchmarks/estimators).
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.special import stdtrit

from textsobol.sobol.arrays import Array, Floats

LEAST_MASKS = 5  # from which intervals are made
_LEAST_OF_OTHERS = 4  # the same, of features that were flipped in fewer masks than the leaders
_LEAST_DISTINCT = 4
_MOST_CONSTANT = 0.1  # of the other features may have been present, or absent, in every mask
_PRIOR = 16  # masks that the expected variance counts as
_NEIGHBOURS = 0.25  # of all errors make an expectation
_LEAST_NEIGHBOURS = 15
_FEATURES = 50  # that say as much about errors as one feature's own masks
_FEW = 0.75  # masks too few: a few large surprises make the mean of their squares, and so errors
# of totals are expected too large by about 1 / (1 - 0.75 / N)
_ORDER = 0.6  # of the margin of the additive share, for it only ever lowers V


@dataclass(frozen=True)
class Moderated:
    """What intervals are made of, in plain arrays ``(features, labels)``.

    Attributes:
        effect: mean difference.
        effect_error: its moderated standard error.
        total: total index.
        total_error: its moderated standard error, but for what V is off by as a whole.
        first_of: weight / V; times the squared effect it is the first-order index.
        freedom: degrees of freedom of the errors.
        is_known: where there is an interval at all.
        unseen: what V may be larger by than estimated, as a share of it.
        additive: sum S_i, as the masks agree on it.
        additive_error: its standard error.
        variance_error: standard error of V over the masks, as a share of V; part of
            ``total_error``, where it partly cancels out.
        interacting_error: standard error of the rest of V, as a share of V; 0 where V is the
            most that it can be.
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
            # The two errors are independent: their logarithms add up in squares.
            low = self.total * np.exp(-np.hypot(factor, v_above))
            high = self.total * np.exp(np.hypot(factor, v_below))
            high = np.where(is_positive, high, half * np.exp(v_below))
            if of == "first":
                v_error = t * self.variance_error
                low, first_high = self._first_ends(
                    *effect, np.hypot(v_below, v_error), np.hypot(v_above, v_error)
                )
                high = np.minimum(first_high, high)
        return self._or_unknown(np.clip(low, 0, 1), np.clip(high, 0, 1), 0.0, 1.0)

    def _first_ends(
        self, effect_low: Floats, effect_high: Floats, v_below: Floats, v_above: Floats
    ) -> tuple[Floats, Floats]:
        """Ends of weight effect^2 / V; logarithms of both errors add up in squares."""
        nearest, furthest = _sizes(effect_low, effect_high)
        size = np.abs(self.effect)
        positive = size > 0
        size = np.where(positive, size, 1.0)
        with np.errstate(divide="ignore"):
            down = 2 * np.log(size / np.where(positive, nearest, 1.0))
            up = 2 * np.log(np.where(positive, furthest, 1.0) / size)
        middle = self.first_of * self.effect**2
        low = middle * np.exp(-np.hypot(down, v_above))
        high = middle * np.exp(np.hypot(up, v_below))
        return low, np.where(positive, high, self.first_of * furthest**2 * np.exp(v_below))

    def _or_unknown(
        self, low: Floats, high: Floats, lowest: float, highest: float
    ) -> tuple[Floats, Floats]:
        return np.where(self.is_known, low, lowest), np.where(self.is_known, high, highest)


def _sizes(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The range of |x| for x between two ends."""
    crosses = (low <= 0) & (high >= 0)
    ends = np.abs(low), np.abs(high)
    return np.where(crosses, 0.0, np.minimum(*ends)), np.maximum(*ends)


def moderate(
    base: Array,
    f_base: Floats,
    differences: Floats,
    *,
    keep: float,
    weight: float,
    variance: Floats,
    variance_rows: Floats,
    is_most: bool,
    n_base: int | None = None,
    others: Floats | None = None,
) -> Moderated:
    """Moderated errors of differences of any order.

    Args:
        base: masks ``(rows, features)``.
        f_base: their scores ``(rows, labels)``.
        differences: of features, or of pairs ``(rows, differences, labels)``.
        keep: the keep rate p.
        weight: p q for single features, (p q)^2 for pairs.
        variance: V ``(labels,)``.
        variance_rows: one value a mask whose mean is about V ``(rows, labels)``.
        is_most: whether V is (sum S_i + sum T_i) V / 2, the most that it can be.
        n_base: number of base masks, where there are others in which these features were not
            flipped.
        others: additive part of V that is due to further features ``(labels,)``.
    """
    n_differences, n_labels = differences.shape[1:]
    has_leaders = n_base is not None and n_base > len(base)
    least = _LEAST_OF_OTHERS if has_leaders else LEAST_MASKS
    is_seen = _is_seen(base, n_differences, least)
    # Only single differences tell how much of the score is not additive.
    residuals = None
    if base.shape[1] == n_differences and weight == keep * (1 - keep):
        residuals = f_base - (base - keep) @ differences.mean(axis=0)
    columns = [
        _moderate_label(
            differences[:, :, label],
            variance[label] / weight,
            variance_rows[:, label] / weight,
            hidden=0.0 if residuals is None else residuals[:, label].var() / weight,
            n_distinct=len(np.unique(base, axis=0)),
            is_seen=is_seen,
            is_most=is_most,
            n_errors=base.size,
            least=least,
            others_additive=0.0 if others is None else others[label] / weight,
        )
        for label in range(n_labels)
    ]
    return join(columns, axis=1)


def join(parts: list[dict[str, Any]], axis: int) -> Moderated:
    """One table from those of some labels (axis 1), or a stack of them."""
    names = [field.name for field in fields(Moderated)]
    return Moderated(**{name: np.stack([p[name] for p in parts], axis=axis) for name in names})


def _is_seen(base: Array, n_differences: int, least: int) -> Array:
    """Features that were flipped while most others were present here and absent there."""
    n_rows, n_features = base.shape
    is_constant = (base == base[:1]).all(axis=0)
    n_others = max(n_features - 1, 1)
    n_constant = np.full(n_differences, is_constant.sum())
    if n_differences == n_features:
        n_constant = n_constant - is_constant
    n_distinct = len(np.unique(base, axis=0))
    # Two features have only two contexts each, and a single one has one.
    is_enough = n_distinct >= min(_LEAST_DISTINCT, 2 ** (n_features - 1))
    is_enough &= n_rows >= least
    return np.asarray((n_constant <= _MOST_CONSTANT * n_others) & is_enough)


def _moderate_label(
    differences: Floats,
    variance: float,
    variance_rows: Floats,
    *,
    hidden: float,
    n_distinct: int,
    is_seen: Array,
    is_most: bool,
    n_errors: int,
    least: int,
    others_additive: float,
) -> dict[str, Floats]:
    """The columns of `Moderated` for one label; variances in units of squared differences."""
    n_rows, n_features = differences.shape
    squares = differences**2
    effect, size = differences.mean(axis=0), squares.mean(axis=0)
    if n_rows < least or variance <= 0 or not squares.any():
        unknown = dict.fromkeys((field.name for field in fields(Moderated)), np.zeros(n_features))
        return unknown | {"is_known": np.zeros(n_features, bool), "freedom": np.ones(n_features)}
    total = size / variance
    others = _mean_of_others(squares)
    shrunk = (n_rows - 1) / n_rows  # an error holds the noise of the prediction, too

    # Scores of base masks that differ from an additive score by more than the differences
    # vary hold interactions that no flip has shown.
    hidden = max(0.0, hidden * n_rows / (n_rows - 1) - differences.var(axis=0, ddof=1).sum())
    hidden /= n_features
    errors = (differences - _mean_of_others(differences)) ** 2 * shrunk
    expected = _local(others, errors, size, power=1, n_errors=n_errors) + hidden
    effect_variance = _pulled(differences.var(axis=0, ddof=1), expected, n_rows)

    rows_of_others = _mean_of_others(variance_rows)
    rows_of_others = np.where(rows_of_others > 0, rows_of_others, variance)
    predicted = others * (variance_rows / rows_of_others)[:, None]
    expected = _local(others, (squares - predicted) ** 2 * shrunk, size, power=2, n_errors=n_errors)
    expected += hidden * np.maximum(size, hidden)
    own = (squares - total * variance_rows[:, None]).var(axis=0, ddof=1)
    total_variance = _pulled(own, expected, n_rows)

    never = size == 0
    unseen = _local(others, squares, size, power=1, n_errors=n_errors)[never].sum()
    unseen += hidden * n_features / 2
    few = 1 - _FEW / n_rows
    # The same mask twice says nothing new.
    repeats = n_rows / n_distinct
    freedom = (_effective(squares.sum(axis=1)) - 1) * (n_distinct - 1) / (n_rows - 1)
    freedom = max(1.0, freedom * (1 + n_errors / n_rows / _FEATURES))
    additive, additive_error = (total.sum() * share for share in _additive_share(differences))
    additive += others_additive / variance
    # The variance of a residual, from N - 2 rows' worth; only what is not additive has one.
    interacting = 0.0 if is_most else np.sqrt(2 / (n_rows - 2)) * np.clip(1 - additive, 0, 1)
    everywhere = {
        "first_of": 1 / variance,
        "freedom": freedom,
        "unseen": 2 * unseen / variance,
        "additive": additive,
        "additive_error": additive_error,
        "variance_error": variance_rows.std(ddof=1) / np.sqrt(n_rows) / variance,
        "interacting_error": interacting,
    }
    return {name: np.full(n_features, value) for name, value in everywhere.items()} | {
        "effect": effect,
        "effect_error": np.sqrt(effect_variance * repeats / n_rows),
        "total": total,
        "total_error": few * np.sqrt(total_variance * repeats / n_rows) / variance,
        "is_known": is_seen,
    }


def _mean_of_others(values: Floats) -> Floats:
    """For each row, the mean of all other rows."""
    return np.asarray((values.sum(axis=0) - values) / (len(values) - 1))


def _pulled(own: Floats, expected: Floats, n_rows: int) -> Floats:
    """Variances pulled towards what is expected: (d0 s0^2 + d s^2) / (d0 + d), Smyth's."""
    return (_PRIOR * expected + (n_rows - 1) * own) / (_PRIOR + n_rows - 1)


def _local(sizes: Floats, values: Floats, at: Floats, *, power: int, n_errors: int) -> Floats:
    """What to expect of ``values`` at a size: their mean over the nearest sizes.

    Among the neighbours values grow like a power of the size, so that means are ratios,
    sum(values) / sum(sizes^power); at size 0 plain means. Equal sizes count as one.

    Args:
        sizes: of the values ``(...)``.
        values: ``(...)``.
        at: sizes where they are wanted ``(features,)``.
        power: of the size.
        n_errors: how many errors there would be, had all features been flipped in all rows.
    """
    order = np.argsort(sizes, axis=None, kind="stable")
    ordered = sizes.ravel()[order]
    sums = np.concatenate([[0.0], np.cumsum(values.ravel()[order])])
    powers = np.concatenate([[0.0], np.cumsum(ordered**power)])
    n = len(ordered)
    # Features that never changed the score are compared with few: others would speak for them.
    widths = [min(n, max(_LEAST_NEIGHBOURS, int(_NEIGHBOURS * size))) for size in (n, n_errors)]
    width = np.where(at > 0, widths[1], widths[0])
    middle = (np.searchsorted(ordered, at, "left") + np.searchsorted(ordered, at, "right")) // 2
    start = np.clip(middle - width // 2, 0, n - width)
    stop = np.searchsorted(ordered, ordered[start + width - 1], "right")
    start = np.searchsorted(ordered, ordered[start], "left")
    value, scale = sums[stop] - sums[start], powers[stop] - powers[start]
    is_scaled = (at > 0) & (scale > 0)
    ratio = value / np.where(is_scaled, scale, 1.0) * at**power
    # Differences of cumulated sums can come out below 0 by rounding.
    return np.asarray(np.maximum(np.where(is_scaled, ratio, value / (stop - start)), 0.0))


def _effective(weights: Floats) -> float:
    """How many equal weights they are worth: (sum w)^2 / sum w^2 (Kish 1965)."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def _additive_share(differences: Floats) -> tuple[float, float]:
    """sum_i (E D_i)^2 / sum_i E[D_i^2] = sum S_i / sum T_i, and its jackknife error.

    Products of different masks estimate (E D_i)^2 without bias, products of a mask with
    itself E[D_i^2].
    """
    products = differences @ differences.T
    n_rows = len(products)
    own = np.diag(products)
    of_row = products.sum(axis=0) - own
    ratio = _ratio(of_row.sum() / (n_rows - 1), own.sum())
    # without row j: its products go, in its row and in its column
    without = np.array(
        [
            _ratio((of_row.sum() - 2 * of_row[j]) / (n_rows - 2), own.sum() - own[j])
            for j in range(n_rows)
        ]
    )
    spread = ((without - without.mean()) ** 2).sum()
    return ratio, float(np.sqrt((n_rows - 1) / n_rows * spread))


def _ratio(numerator: float, denominator: float) -> float:
    return float(numerator / denominator) if denominator > 0 else 0.0
