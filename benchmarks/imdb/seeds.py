"""Do two seeds of the default give the same words? Made by ``python -m benchmarks.imdb seeds``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.consistency import or_none
from benchmarks.imdb.data import Review
from benchmarks.reporting import Line, decimal, interval, mean_with_interval
from benchmarks.runner import progress_bar, seed_of
from benchmarks.store import Store
from textsobol import TextExplainer, TextExplanation
from textsobol.metrics.agreement import spearman
from textsobol.sobol.arrays import Floats

TOP = 20
KEY = ("model", "review")
CAPTION = (
    f"Rank correlation of two seeds of the default, at its default budget, on the {TOP} words that "
    "are highest in the mean of both; mean over reviews, with a 95 % interval.\n"
)
HEADER = ("rows a word", "rank correlation", f"common among the top {TOP}", "reviews")


def seeds(
    explainer: TextExplainer, reviews: Sequence[Review], store: Store, *, model: str, seed: int
) -> None:
    """Explain every review twice, with no option but the seed, and write how much they agree."""
    missing = [
        review
        for review in reviews
        if store.key_of({"model": model, "review": review.id}) not in store.done
    ]
    with progress_bar(len(missing), "reviews", model) as bar:
        for review in missing:
            both = [explainer(review.text, seed=seed_of(review, seed + k)) for k in range(2)]
            found = agreement(*map(_scores, both))
            rows = float(np.mean([each.cost["forwarded"] for each in both]))
            n_words = sum(word.status == "scored" for word in both[0].words)
            store.add(
                {"model": model, "review": review.id, "words": n_words, "rows": rows, **found}
            )
            bar.update()


def agreement(one: Floats, other: Floats) -> Mapping[str, Any]:
    """Rank correlation on the highest words of both, and the share of the top that is common.

    Args:
        one: signed scores ``(words,)``.
        other: the same by another seed.

    Example:
        >>> agreement(np.array([3.0, 2.0, 1.0]), np.array([2.0, 3.0, 1.0]))
        {'correlation': 0.5, 'common': 1.0}
    """
    top = np.argsort(-(one + other), kind="stable")[:TOP]
    tops = [set(np.argsort(-scores, kind="stable")[:TOP].tolist()) for scores in (one, other)]
    common = len(tops[0] & tops[1]) / min(TOP, len(one))
    return {"correlation": or_none(spearman(one[top], other[top])), "common": common}


def seeds_rows(lines: Sequence[Line]) -> list[list[str]]:
    """The one row of the table."""
    known = [line["correlation"] for line in lines if line["correlation"] is not None]
    correlation = mean_with_interval(known)
    rows = np.mean([line["rows"] / line["words"] for line in lines])
    common = np.mean([line["common"] for line in lines])
    shown = f"{decimal(correlation.mean)} {interval(correlation)}"
    return [[f"{rows:.1f}", shown, f"{common:.2f}", f"{len(lines):,}"]]


def _scores(explanation: TextExplanation) -> Floats:
    words = [word for word in explanation.words if word.status == "scored"]
    return np.array([explanation.score_of(word).score for word in words])
