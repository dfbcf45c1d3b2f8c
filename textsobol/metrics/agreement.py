"""How much two explanations of the same text agree."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from textsobol.text.explanation import TextExplanation


def rank_correlation(
    one: TextExplanation, other: TextExplanation, *, label: str | None = None
) -> float:
    """Spearman's rank correlation of the signed scores of the words that both have scored.

    1 for the same order, -1 for the reversed order, NaN if fewer than two words are common or all
    have the same score in one explanation. If one of the methods has no signs, absolute scores are
    compared.

    Args:
        one: an explanation.
        other: another explanation of the same text.
        label: whose scores are compared; by default the target of ``one``.

    Example:
        >>> from textsobol import TextExplainer
        >>> def length(texts):
        ...     return [float(len(text)) for text in texts]
        >>> explanation = TextExplainer(length)("some words are longer")
        >>> round(rank_correlation(explanation, explanation), 6)
        1.0
    """
    label = one.target if label is None else label
    if one.text != other.text:
        raise ValueError("the explanations are of different texts")
    if label not in one.targets or label not in other.targets:
        raise ValueError(f"label {label!r} was not analysed in both explanations")
    scores = [
        {(w.part, w.start, w.end): w.scores[label].score for w in each.words if label in w.scores}
        for each in (one, other)
    ]
    common = sorted(scores[0].keys() & scores[1].keys())
    values = [np.array([each[word] for word in common]) for each in scores]
    if not (one.settings.get("signed", True) and other.settings.get("signed", True)):
        values = [np.abs(each) for each in values]
    return spearman(*values)


def spearman(one: ArrayLike, other: ArrayLike) -> float:
    """Spearman's rank correlation; NaN if undefined.

    Example:
        >>> spearman([1, 2, 3], [10, 20, 15])
        0.5
        >>> spearman([1, 2, 3], [1, 1, 1])
        nan
    """
    from scipy.stats import rankdata

    ranks = np.stack([rankdata(one), rankdata(other)])
    if ranks.shape[1] < 2 or (np.ptp(ranks, axis=1) == 0).any():
        return math.nan
    return float(np.corrcoef(ranks)[0, 1])
