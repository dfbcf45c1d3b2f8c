"""How much two explanations of the same text agree."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from textsobol.text.explanation import TextExplanation


def rank_correlation(
    one: TextExplanation, other: TextExplanation, *, label: str | None = None
) -> float:
    """Spearman's rank correlation of the signed scores of the words that both have scored.

    1 when both put the words in the same order from "speaks most for the label" to "speaks
    most against it", -1 when the order is reversed, NaN when fewer than two words are common or
    one explanation scores all of them alike.

    Args:
        one: an explanation.
        other: another one of the same text.
        label: the label whose scores are compared; by default the one that ``one`` looks at.

    Example:
        >>> from textsobol import TextExplainer
        >>> def length(texts):
        ...     return [float(len(text)) for text in texts]
        >>> explanation = TextExplainer(length)("some words are longer")
        >>> round(rank_correlation(explanation, explanation), 6)
        1.0
    """
    label = one.label if label is None else label
    if one.text != other.text:
        raise ValueError("the explanations are of different texts")
    if label not in one.labels or label not in other.labels:
        raise ValueError(f"label {label!r} was not analysed in both explanations")
    scores = [
        {(w.part, w.start, w.end): w.scores[label].score for w in each.words if label in w.scores}
        for each in (one, other)
    ]
    common = sorted(scores[0].keys() & scores[1].keys())
    ranks = [_ranks([each[word] for word in common]) for each in scores]
    if len(common) < 2 or any(np.ptp(r) == 0 for r in ranks):
        return math.nan
    return float(np.corrcoef(ranks)[0, 1])


def _ranks(values: list[float]) -> np.ndarray:
    from scipy.stats import rankdata

    return np.asarray(rankdata(values), dtype=float)
