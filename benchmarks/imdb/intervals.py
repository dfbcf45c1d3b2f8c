"""Do 95 % intervals hold the truth? Made by ``python -m benchmarks.imdb intervals``.

The truth of a review comes from many base masks of another seed. It takes nearly all of the time
and stays the same when intervals are computed in another way, so it has a file of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import qmc

from benchmarks.imdb.data import Review
from benchmarks.reporting import Line, decimal, interval, mean_with_interval
from benchmarks.runner import progress_bar, seed_of
from benchmarks.store import Store
from textsobol import Sobol, TextExplainer, TextExplanation
from textsobol.sobol.arrays import Floats

BASE_MASKS = 400  # of the truth
TOP = 10
KEY = ("model", "review")
# The ends of each measure's interval, as explanations name them.
MEASURES = {
    "score": ("low", "high"),
    "total": ("total_low", "total_high"),
    "effect": ("effect_low", "effect_high"),
    "first": ("first_low", "first_high"),
}
CAPTION = (
    "95 % intervals of default explanations: how often they hold the truth (mean over reviews, "
    "with a 95 % interval of its own), and how wide they are. Words without a known interval are "
    f"not counted as held or missed. The highest {TOP} words of a review are those with the "
    "largest score in the default explanation, whatever its sign; a value is taken without its "
    "sign, and an unknown interval is infinitely wide.\n"
)
HEADER = (
    "measure", "coverage", f"of the highest {TOP}", f"median width, highest {TOP}",
    f"median value, highest {TOP}", "without an interval", "reviews",
)  # fmt: skip
_DIGITS = 7
_ROUNDED = 2e-6  # what rounding to so many digits may change


def choose_reviews(reviews: Sequence[Review], n: int, shortest: int, longest: int) -> list[Review]:
    """Reviews whose lengths spread evenly; the first ones are the same whatever their number.

    Args:
        reviews: in random order.
        n: how many to choose.
        shortest: words of the shortest one wanted.
        longest: words of the longest one wanted.

    Example:
        >>> reviews = [Review(str(n), "word " * n, 0) for n in range(40, 90)]
        >>> [review.n_words for review in choose_reviews(reviews, 4, 40, 80)]
        [40, 60, 50, 70]
    """
    left = list(reviews)
    chosen = []
    for (place,) in qmc.Halton(1, scramble=False).random(min(n, len(left))):
        wanted = shortest + place * (longest - shortest)
        chosen.append(min(left, key=lambda review: abs(review.n_words - wanted)))
        left.remove(chosen[-1])
    return chosen


def find_truth(
    explainer: TextExplainer,
    reviews: Sequence[Review],
    store: Store,
    *,
    model: str,
    seed: int,
    base_masks: int,
) -> None:
    """Explain reviews with many base masks, where that is not done yet."""

    def explain(review: Review) -> Mapping[str, Any]:
        method = Sobol(estimator="flip", base_masks=base_masks, path=False)
        found = explainer(review.text, method=method, seed=seed_of(review, seed + 1))
        return {name: _rounded(_values(found, name)) for name in MEASURES} | _cost(found)

    _fill(store, reviews, explain, model=model, what="reviews, the truth")


def explain_by_default(
    explainer: TextExplainer, reviews: Sequence[Review], store: Store, *, model: str, seed: int
) -> None:
    """Explain reviews with no option but the seed, where that is not done yet."""

    def explain(review: Review) -> Mapping[str, Any]:
        found = explainer(review.text, seed=seed_of(review, seed))
        measures = {
            name: [_rounded(_values(found, each)) for each in (name, *ends)]
            for name, ends in MEASURES.items()
        }
        return measures | _cost(found)

    _fill(store, reviews, explain, model=model, what="reviews")


def _fill(
    store: Store,
    reviews: Sequence[Review],
    explain: Callable[[Review], Mapping[str, Any]],
    *,
    model: str,
    what: str,
) -> None:
    names = {review.id: {"model": model, "review": review.id} for review in reviews}
    missing = [one for one in reviews if store.key_of(names[one.id]) not in store.done]
    with progress_bar(len(missing), what, model) as bar:
        for review in missing:
            store.add({**names[review.id], **explain(review)})
            bar.update()


def _cost(explanation: TextExplanation) -> dict[str, Any]:
    n_words = sum(word.status == "scored" for word in explanation.words)
    return {
        "words": n_words,
        "rows": explanation.cost["forwarded"],
        "base_masks": explanation.settings["base_masks"],
    }


def _values(explanation: TextExplanation, name: str) -> list[float]:
    words = [word for word in explanation.words if word.status == "scored"]
    return [float(getattr(word.scores[explanation.target], name)) for word in words]


def _rounded(values: Sequence[float]) -> list[float | None]:
    """With a few digits; ``None`` for what is not known."""
    return [float(f"{v:.{_DIGITS}g}") if math.isfinite(v) else None for v in values]


def intervals_rows(truths: Sequence[Line], lines: Sequence[Line]) -> Iterator[list[str]]:
    """Rows of the table, one for every measure, of the reviews that are in both.

    Args:
        truths: lines of `find_truth`.
        lines: lines of `explain_by_default`.
    """
    truth_of = {line["review"]: line for line in truths}
    pairs = [(line, truth_of[line["review"]]) for line in lines if line["review"] in truth_of]
    for name in MEASURES:
        every, of_top, widths, values, unknown = [], [], [], [], []
        for line, truth in pairs:
            value, low, high = (_array(column) for column in line[name])
            is_known = np.isfinite(low) & np.isfinite(high)
            holds = holds_truth(low, high, _array(truth[name]))
            top = np.argsort(-np.abs(_array(line["score"][0])), kind="stable")[:TOP]
            every.append(_mean(holds[is_known]))
            of_top.append(_mean(holds[top][is_known[top]]))
            widths.append(np.where(is_known, high - low, np.inf)[top])
            values.append(np.abs(value[top]))
            unknown.append(1 - is_known.mean())
        yield [
            name,
            *(_share([one for one in shares if one is not None]) for shares in (every, of_top)),
            decimal(float(np.median(np.concatenate(widths)))),
            decimal(float(np.median(np.concatenate(values)))),
            f"{100 * float(np.mean(unknown)):.0f} %",
            f"{len(pairs):,}",
        ]


def holds_truth(low: Floats, high: Floats, truth: Floats) -> Floats:
    """Whether intervals hold the truth, apart from rounding.

    Example:
        >>> holds_truth(np.array([0.1, 0.1]), np.array([0.2, 0.2]), np.array([0.2, 0.3]))
        array([ True, False])
    """
    slack = _ROUNDED * np.abs(truth)
    return np.asarray((low - slack <= truth) & (truth <= high + slack))


def _array(values: Sequence[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def _mean(holds: Floats) -> float | None:
    return float(holds.mean()) if len(holds) else None


def _share(shares: Sequence[float]) -> str:
    if not shares:
        return ""
    found = mean_with_interval(shares)
    return f"{decimal(found.mean)} {interval(found)}"
