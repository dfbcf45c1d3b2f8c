"""From the indices of a text's features to the scores of its words and pairs of words."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from textsobol.sobol import SobolIndices
from textsobol.text.explanation import PairScore, Word, WordPair, WordScore

_TOP = 10  # the top whose stability is told
_RESAMPLES = 200


def with_scores(
    words: Sequence[Word], scored: Sequence[int], result: SobolIndices, labels: Sequence[str]
) -> tuple[Word, ...]:
    """The words, those numbered in ``scored`` with what they did to every label."""
    low, high = result.interval(0.95)
    first_low, first_high = result.interval(0.95, of="first")
    n_base = result.settings.rows
    if result.settings.estimator == "flip" and n_base == 1:
        stability = np.zeros_like(result.total)  # one row cannot tell
    else:
        k = min(_TOP, len(scored))
        stability = result.rank_stability(k, resamples=_RESAMPLES)
    finished = list(words)
    for place, k in enumerate(scored):
        scores = {}
        for column, label in enumerate(labels):
            at = (place, column)
            sign = float(np.sign(result.signed[at]))
            ends = sorted((sign * float(low[at]), sign * float(high[at])))
            scores[label] = WordScore(
                score=float(result.signed[at]),
                error=float(result.total_error[at]),
                low=ends[0],
                high=ends[1],
                total=float(result.total[at]),
                first=float(result.first[at]),
                first_low=float(first_low[at]),
                first_high=float(first_high[at]),
                effect=float(result.effect[at]),
                stability=float(stability[at]),
            )
        finished[k] = replace(words[k], scores=scores)
    return tuple(finished)


def word_pairs(
    scored: Sequence[int], result: SobolIndices, labels: Sequence[str]
) -> tuple[WordPair, ...]:
    """The pairs that were analysed, by the numbers of their words."""
    pairs = result.pairs
    if pairs is None:
        return ()
    low, high = pairs.interval(0.95, of="effect")
    found = []
    for place, (one, other) in enumerate(pairs.pairs.tolist()):
        scores = {
            label: PairScore(
                effect=float(pairs.effect[place, column]),
                low=float(low[place, column]),
                high=float(high[place, column]),
                total=float(pairs.total[place, column]),
            )
            for column, label in enumerate(labels)
        }
        found.append(WordPair((scored[one], scored[other]), scores))
    return tuple(found)
