"""From the indices of a text's features to the scores of its words and pairs of words."""

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np

from textsobol.methods import Attribution
from textsobol.sobol import SobolIndices
from textsobol.sobol.arrays import Integers
from textsobol.text.explanation import PairScore, Word, WordPair, WordScore
from textsobol.text.game import TextGame

_TOP = 10  # the top whose stability is told
_RESAMPLES = 200


def with_scores(game: TextGame, found: Attribution) -> tuple[Word, ...]:
    """The game's words, with what they did to every label."""
    finished = list(game.words)
    if found.indices is None:
        scores = _plain_scores(found)
    elif found.focus is None:
        scores = _sobol_scores(found.indices)
    else:
        scores = _focused_scores(found)
    shared = np.ones(game.n_features, int) if found.units is None else _sizes(found.units)
    for k, own, n_words in zip(game.scored, scores, shared.tolist(), strict=True):
        by_label = dict(zip(game.labels, own, strict=True))
        finished[k] = replace(finished[k], scores=by_label, shared_by=n_words)
    return tuple(finished)


def _sizes(units: Integers) -> Integers:
    """Number of features that are one with each ``(features,)``."""
    return np.asarray(np.bincount(units)[units])


def _plain_scores(found: Attribution) -> list[list[WordScore]]:
    """Of a method that tells neither how sure it is nor shares of a variance."""
    return [[WordScore.alone(float(value)) for value in row] for row in found.scores]


@lru_cache(maxsize=1)  # a stream asks for the same indices after every deletion
def _sobol_scores(result: SobolIndices) -> list[list[WordScore]]:
    """Scores (words, labels) with everything that indices tell."""
    low, high = result.interval(0.95)
    first_low, first_high = result.interval(0.95, of="first")
    n_base = result.settings.rows
    if result.settings.estimator == "flip" and n_base == 1:
        stability = np.zeros_like(result.total)  # one row cannot tell
    else:
        k = min(_TOP, len(result.total))
        stability = result.rank_stability(k, resamples=_RESAMPLES)
    sign = np.sign(result.signed)
    ends = np.sort([sign * low, sign * high], axis=0)
    columns = (
        result.signed, result.total_error, *ends, result.total, low, high,
        result.first, first_low, first_high, result.effect, stability,
    )  # fmt: skip
    every = np.stack(columns, axis=2).tolist()
    return [[WordScore(*numbers) for numbers in row] for row in every]


def _focused_scores(found: Attribution) -> list[list[WordScore]]:
    """Scores (words, labels) that rank by focus; all else is that of the indices.

    The interval of an index is not that of another number: how sure a focused score is, is not
    known, unless all masks were looked at. Nor are the indices of words that were only looked at
    together.
    """
    assert found.indices is not None
    indices = _sobol_scores(found.indices)
    units = np.arange(len(indices)) if found.units is None else found.units
    alone = _sizes(units) == 1
    unknown = dict.fromkeys(("low", "high", "stability"), math.nan) | {"error": math.inf}
    is_exact = found.settings["estimator"] == "exact"
    scores = []
    for word, (unit, values) in enumerate(zip(units.tolist(), found.scores.tolist(), strict=True)):
        if alone[word]:
            own = zip(indices[unit], values, strict=True)
            scores.append([
                replace(index, score=value, low=value, high=value)
                if is_exact
                else replace(index, score=value, **unknown)
                for index, value in own
            ])  # fmt: skip
        else:
            scores.append([WordScore.alone(value) for value in values])
    return scores


def rows_of(found: Attribution) -> dict[str, int]:
    """Rows of the design and distinct ones, the prediction included, where there is a design."""
    return {} if found.rows is None else dict(zip(("rows", "distinct"), found.rows, strict=True))


def word_pairs(game: TextGame, found: Attribution) -> tuple[WordPair, ...]:
    """The pairs that were analysed, by the numbers of their words."""
    if found.indices is None or found.indices.pairs is None:
        return ()
    pairs = found.indices.pairs
    low, high = pairs.interval(0.95, of="effect")
    analysed = []
    for place, (one, other) in enumerate(pairs.pairs.tolist()):
        scores = {
            label: PairScore(
                effect=float(pairs.effect[place, column]),
                low=float(low[place, column]),
                high=float(high[place, column]),
                total=float(pairs.total[place, column]),
            )
            for column, label in enumerate(game.labels)
        }
        numbers = game.scored[one], game.scored[other]
        analysed.append(WordPair(numbers, scores))
    return tuple(analysed)
