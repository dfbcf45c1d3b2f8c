"""From what a method found to the measures of a text's words, pairs, sums and path."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from textsobol.methods import Attribution
from textsobol.search.budget import budget_for_base_masks
from textsobol.sobol import SobolIndices
from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.text.masked_model import MaskedTextModel
from textsobol.text.records import (
    Deletion,
    FlipSet,
    Measures,
    PairScore,
    Path,
    Sums,
    Word,
    WordPair,
    name_words,
)

_TOP = 10  # the top whose stability is reported
_RESAMPLES = 200
_LEVEL = 0.95
_ADVISED_TOP, _FAR_BEHIND = 5, 0.1  # words that advice is about, and their least part of the first
_MOST_ADVISED = 64  # base masks, unless there are many already
_LEAST_ADVISED = 5.0  # base masks, from which on there are intervals


def measured_words(
    words: Sequence[Word], labels: Sequence[str], found: Attribution
) -> tuple[Word, ...]:
    """The words, with what they did to every label.

    Args:
        words: all words of the text.
        labels: the labels that were analysed, in the order of the scores.
        found: what a method found for the scored words.
    """
    scored = [k for k, word in enumerate(words) if word.status == "scored"]
    units = np.arange(len(scored)) if found.units is None else found.units
    if found.indices is None:
        measures = [[Measures.of_score(value) for value in row] for row in found.scores.tolist()]
    else:
        of_units = _measures(found.indices)
        measures = [of_units[unit] for unit in units.tolist()]
    sizes = np.bincount(units)[units].tolist()
    finished = list(words)
    for k, own, size in zip(scored, measures, sizes, strict=True):
        by_label = dict(zip(labels, own, strict=True))
        finished[k] = replace(finished[k], scores=by_label, shared_by=size)
    return tuple(finished)


@lru_cache(maxsize=1)  # a stream asks for the same indices after every deletion
def _measures(result: SobolIndices) -> list[list[Measures]]:
    """Measures (features, labels): the indices, and the intervals that say something."""
    intervals = {
        name: [_column(end, result) for end in result.interval(_LEVEL, of=name)]
        for name in ("signed", "total", "first", "effect")
    }
    # An interval of all that is possible says nothing.
    low, high = intervals["total"]
    unknown = (low <= 0) & (high >= 1)
    for ends in intervals.values():
        for end in ends:
            end[unknown | ~np.isfinite(end)] = math.nan
    signed, total, first, effect = (
        _column(values, result)
        for values in (result.signed, result.total, result.first, result.effect)
    )
    columns = (
        signed, *intervals["signed"], total, *intervals["total"],
        first, *intervals["first"], effect, *intervals["effect"], _stability(result),
    )  # fmt: skip
    every = np.stack(columns, axis=2).tolist()
    return [[Measures(*numbers) for numbers in row] for row in every]


def _column(values: Floats, result: SobolIndices) -> Floats:
    """A copy with a column for every label, also where there is one score without a label."""
    return np.array(values, dtype=float).reshape(len(result.total), -1)


def _stability(result: SobolIndices) -> Floats:
    if result.settings.estimator == "flip" and result.settings.base_masks == 1:
        return np.full_like(_column(result.total, result), math.nan)  # one mask cannot tell
    k = min(_TOP, len(result.total))
    return _column(result.rank_stability(k, resamples=_RESAMPLES), result)


def sums_of(labels: Sequence[str], indices: SobolIndices | None, whole: Floats) -> dict[str, Sums]:
    """How each label's log-odds for the whole text add up, where indices say so.

    Args:
        labels: the labels that were analysed.
        indices: what was found.
        whole: scores of the whole text ``(labels,)``.
    """
    if indices is None or indices.settings.keep is None:
        return {}
    absent = 1 - indices.settings.keep
    additive = absent * _column(indices.effect, indices).sum(axis=0)
    shares = _column(indices.first, indices).sum(axis=0)
    means = np.atleast_1d(indices.mean)
    return {
        label: Sums(
            baseline=float(mean),
            additive=float(added),
            remainder=float(value - mean - added),
            additive_share=float(share),
        )
        for label, mean, added, value, share in zip(
            labels, means, additive, whole, shares, strict=True
        )
    }


def advised_passes(
    labels: Sequence[str], found: Attribution, *, passes: int = 1
) -> dict[str, int | None]:
    """By label, the forward passes that would settle the top, where it is not settled.

    Args:
        labels: the labels that were analysed.
        found: what a method found.
        passes: forward passes that a mask takes.

    Returns:
        Passes by label; ``None`` for a label whose words are too close to tell apart.
    """
    indices = found.indices
    if indices is None:
        return {}
    made = indices.settings
    n_made = made.base_masks + made.leader_masks
    # More passes would mask the words of a group one by one.
    n_words = len(indices.total) if found.units is None else len(found.units)
    advised: dict[str, int | None] = {}
    for column, label in enumerate(labels):
        needed = _base_masks_needed(indices, column, n_made)
        if needed <= n_made:
            continue
        if needed > max(_MOST_ADVISED, 4 * n_made):
            advised[label] = None
            continue
        budget = budget_for_base_masks(
            math.ceil(needed), n_words, path=found.path is not None, keep=made.keep
        )
        if budget <= indices.n_distinct:  # base masks of this design cost more than ours would
            budget = math.ceil(indices.n_distinct * needed / n_made)
        advised[label] = passes * budget
    return advised


def _base_masks_needed(indices: SobolIndices, column: int, n_made: int) -> float:
    """Base masks that would settle which words are the strongest, five at most.

    Words far behind the first do not count. A word that has not changed the score yet, but of
    which so few masks cannot exclude that it is among the strongest, asks for twice as many. A
    single mask cannot tell at all, and asks for as many as intervals need.
    """
    total = np.sort(_column(indices.total, indices)[:, column])[::-1]
    k = int(np.count_nonzero(total[:_ADVISED_TOP] > _FAR_BEHIND * total[0]))
    if k == 0:
        return 0.0
    if n_made == 1:
        return _LEAST_ADVISED
    high = _column(indices.interval(_LEVEL)[1], indices)[:, column]
    is_unseen = (_column(indices.total, indices)[:, column] == 0) & (high >= total[k - 1])
    return max(indices.masks_for_stable_top(k, column=column), 2.0 * n_made * bool(is_unseen.any()))


def word_path(model: MaskedTextModel, found: Attribution) -> Path | None:
    """The path with what the model says after every deletion; all of that was asked before."""
    if found.path is None:
        return None
    units = np.arange(model.n_features) if found.units is None else found.units
    order = [np.flatnonzero(units == unit) for unit in found.path.order]
    steps = []
    present = np.ones(model.n_features, dtype=bool)
    for gone in order:
        present[gone] = False
        words, texts = _words_at(model, gone)
        probabilities = _probabilities(model, present)
        now = _predicted(model, probabilities)
        steps.append(Deletion(words, " ".join(texts), probabilities, now))
    return Path(model.prediction, tuple(steps), _flip_set(model, found, units), rises=model.is_no)


def _flip_set(model: MaskedTextModel, found: Attribution, units: Integers) -> FlipSet | None:
    assert found.path is not None
    if found.path.flip is None:
        return None
    is_gone = np.isin(units, found.path.flip)
    words, texts = _words_at(model, np.flatnonzero(is_gone))
    probabilities = _probabilities(model, ~is_gone)
    # Of a group, fewer words may do; and elsewhere one word of a group, which was never alone.
    sizes = np.bincount(units)
    are_words = bool((sizes[list(found.path.flip)] == 1).all())
    could_be_smaller = len(words) > 1 and bool((sizes > 1).any())
    return FlipSet(
        words, texts, probabilities, _predicted(model, probabilities),
        is_irreducible=found.path.is_irreducible and are_words,
        is_smallest=found.path.is_smallest and are_words and not could_be_smaller,
    )  # fmt: skip


def _words_at(
    model: MaskedTextModel, features: Integers
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    names = name_words(model.words)
    numbers = tuple(model.scored[feature] for feature in features.tolist())
    return numbers, tuple(names[number] for number in numbers)


def _probabilities(model: MaskedTextModel, mask: Array) -> dict[str, float]:
    return dict(zip(model.probabilities, model.shares(mask[None])[0].tolist(), strict=True))


def _predicted(model: MaskedTextModel, probabilities: Mapping[str, float]) -> str:
    """The likeliest label; a tie keeps the prediction for the whole text."""
    highest = max(probabilities.values())
    if probabilities[model.prediction] == highest:
        return model.prediction
    return next(label for label, value in probabilities.items() if value == highest)


def rows_of(found: Attribution) -> dict[str, int]:
    """Masks asked for and distinct ones, the whole text included, where there is a design."""
    return {} if found.rows is None else dict(zip(("rows", "distinct"), found.rows, strict=True))


def word_pairs(model: MaskedTextModel, found: Attribution) -> tuple[WordPair, ...]:
    """The pairs that were analysed, by the numbers of their words."""
    if found.indices is None or found.indices.pairs is None:
        return ()
    pairs = found.indices.pairs
    low, high = pairs.interval(_LEVEL, of="effect")
    analysed = []
    for place, (one, other) in enumerate(pairs.pairs.tolist()):
        scores = {
            label: PairScore(
                effect=float(pairs.effect[place, column]),
                low=float(low[place, column]),
                high=float(high[place, column]),
                total=float(pairs.total[place, column]),
            )
            for column, label in enumerate(model.labels)
        }
        numbers = model.scored[one], model.scored[other]
        analysed.append(WordPair(numbers, scores))
    return tuple(analysed)
