"""From an attribution to the records of a text: words, pairs, sums and path."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain

import numpy as np

from textsobol.methods import Attribution
from textsobol.search.budget import find_budget
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
_ADVISED_TOP, _FAR_BEHIND = 5, 0.1  # words that advice is about; least score relative to the first
_MOST_ADVISED = 64  # base masks, unless many were used already
_LEAST_ADVISED = 5.0  # base masks; fewer give no intervals


def make_word_records(
    words: Sequence[Word], labels: Sequence[str], found: Attribution
) -> tuple[Word, ...]:
    """All words of the text; the scored ones with their measures for each label."""
    scored = [k for k, word in enumerate(words) if word.status == "scored"]
    units = np.arange(len(scored)) if found.units is None else found.units
    if found.indices is None:
        measures = [[Measures.of_score(value) for value in row] for row in found.scores.tolist()]
    else:
        of_units = _measure(found.indices)
        measures = [of_units[unit] for unit in units.tolist()]
    sizes = np.bincount(units)[units].tolist()
    screened = [False] * len(scored) if found.is_screened is None else found.is_screened.tolist()
    records = list(words)
    for k, own, size, is_screened in zip(scored, measures, sizes, screened, strict=True):
        by_label = dict(zip(labels, own, strict=True))
        records[k] = replace(records[k], scores=by_label, shared_by=size, screened_out=is_screened)
    return tuple(records)


@lru_cache(maxsize=1)  # a stream needs the same indices after every deletion
def _measure(result: SobolIndices) -> list[list[Measures]]:
    """Measures (features, labels): indices with their intervals, NaN if unknown."""
    columns = {
        name: [_widen(getattr(result, name)), *map(_widen, result.interval(_LEVEL, of=name))]
        for name in ("signed", "total", "first", "effect")
    }
    # The widest possible interval means unknown.
    _, low, high = columns["total"]
    is_unknown = (low <= 0) & (high >= 1)
    for _, *ends in columns.values():
        for end in ends:
            end[is_unknown | ~np.isfinite(end)] = math.nan
    every = np.stack([*chain(*columns.values()), _measure_stability(result)], axis=2)
    return [[Measures(*numbers) for numbers in row] for row in every.tolist()]


def _widen(values: Floats) -> Floats:
    """A copy with a column for every label, even if there is one score without a label."""
    return np.array(values, dtype=float).reshape(len(values), -1)


def _measure_stability(result: SobolIndices) -> Floats:
    if result.settings.estimator == "flip" and result.settings.base_masks == 1:
        return np.full_like(_widen(result.total), math.nan)  # nothing to resample
    return _widen(result.rank_stability(min(_TOP, len(result.total)), resamples=_RESAMPLES))


def compute_sums(labels: Sequence[str], found: Attribution, whole: Floats) -> dict[str, Sums]:
    """How each label's log-odds ``whole (labels,)`` for the text add up, if there are indices."""
    indices = found.indices
    if indices is None or indices.settings.keep is None:
        return {}
    baseline = np.atleast_1d(indices.mean)
    additive = (1 - indices.settings.keep) * _widen(indices.effect).sum(axis=0)
    shares = _widen(indices.first).sum(axis=0)
    columns = np.stack(
        [baseline, additive, whole - baseline - additive, shares, *_bound_screened(found, indices)],
        axis=1,
    )
    return {label: Sums(*row) for label, row in zip(labels, columns.tolist(), strict=True)}


def _bound_screened(found: Attribution, indices: SobolIndices) -> tuple[Floats, Floats]:
    """Sum of ``total`` over what gates predict, or over the groups, and an upper end of it.

    Upper ends of groups are added up: that is more than the upper end of their sum.
    """
    if found.units is None:
        return indices.predicted_total()
    is_group = np.bincount(found.units) > 1
    _, high = indices.interval(_LEVEL, of="total")
    total, high = (_widen(values)[is_group].sum(axis=0) for values in (indices.total, high))
    return total, high


def advise_passes(
    labels: Sequence[str], found: Attribution, *, passes: int = 1, budget: int | None = None
) -> dict[str, int | None]:
    """By label, the forward passes that would settle the top, if it is not settled.

    Args:
        labels: the analysed labels.
        found: the attribution; of an intermediate one it is too early to say.
        passes: forward passes per mask.
        budget: forward passes that the method had; advice is always for more.

    Returns:
        Forward passes by label; ``None`` if the words are too close to call.
    """
    indices = found.indices
    if indices is None or found.is_intermediate:
        return {}
    n_had = max(indices.n_distinct, (budget or 0) // passes)
    made = indices.settings
    n_made = made.base_masks + made.leader_masks
    # With more passes, the words of a group would be masked one by one.
    n_words = len(indices.total) if found.units is None else len(found.units)
    advised: dict[str, int | None] = {}
    for column, label in enumerate(labels):
        needed = _count_base_masks_needed(indices, column, n_made)
        if needed <= n_made:
            continue
        if needed > max(_MOST_ADVISED, 4 * n_made):
            advised[label] = None
            continue
        wanted = find_budget(
            math.ceil(needed), n_words, path=found.path is not None, keep=made.keep
        )
        if wanted <= n_had:  # base masks of this design cost more than the default's
            wanted = math.ceil(n_had * needed / n_made)
        advised[label] = passes * wanted
    return advised


def _count_base_masks_needed(indices: SobolIndices, column: int, n_made: int) -> float:
    """Base masks that would settle the top words, five at most.

    Words far behind the first do not count. If the interval of a word that never changed the score
    reaches the top, twice as many masks are needed. After a single base mask, as many are needed
    as intervals take.
    """
    total = _widen(indices.total)[:, column]
    highest = np.sort(total)[::-1]
    k = int(np.count_nonzero(highest[:_ADVISED_TOP] > _FAR_BEHIND * highest[0]))
    if k == 0:
        return 0.0
    if n_made == 1:
        return _LEAST_ADVISED
    high = _widen(indices.interval(_LEVEL)[1])[:, column]
    is_unseen = (total == 0) & (high >= highest[k - 1])
    return max(indices.masks_for_stable_top(k, column=column), 2.0 * n_made * bool(is_unseen.any()))


def make_path(model: MaskedTextModel, found: Attribution) -> Path | None:
    """The path with the prediction after every deletion; all its masks are known."""
    if found.path is None:
        return None
    units = np.arange(model.n_features) if found.units is None else found.units
    steps = []
    is_present = np.ones(model.n_features, dtype=bool)
    for unit in found.path.order:
        is_deleted = units == unit
        is_present &= ~is_deleted
        words, texts = _name_features(model, is_deleted)
        probabilities, prediction = _predict(model, is_present)
        steps.append(Deletion(words, " ".join(texts), probabilities, prediction))
    return Path(model.prediction, tuple(steps), _make_flip(model, found, units), rises=model.is_no)


def _make_flip(model: MaskedTextModel, found: Attribution, units: Integers) -> FlipSet | None:
    assert found.path is not None
    if found.path.flip is None:
        return None
    is_deleted = np.isin(units, found.path.flip)
    words, texts = _name_features(model, is_deleted)
    # Words of a group were never deleted one by one: some of them may be enough, or one word of
    # another group.
    sizes = np.bincount(units)
    are_words = bool((sizes[list(found.path.flip)] == 1).all())
    could_be_smaller = len(words) > 1 and bool((sizes > 1).any())
    return FlipSet(
        words, texts, *_predict(model, ~is_deleted),
        is_irreducible=found.path.is_irreducible and are_words,
        is_smallest=found.path.is_smallest and are_words and not could_be_smaller,
    )  # fmt: skip


def _name_features(
    model: MaskedTextModel, is_chosen: Array
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Numbers and names of the chosen words."""
    names = name_words(model.words)
    numbers = tuple(model.scored[feature] for feature in np.flatnonzero(is_chosen))
    return numbers, tuple(names[number] for number in numbers)


def _predict(model: MaskedTextModel, mask: Array) -> tuple[Mapping[str, float], str]:
    """Probabilities and the likeliest label; a tie keeps the prediction for the whole text."""
    found = dict(zip(model.probabilities, model.predict_masks(mask[None])[0].tolist(), strict=True))
    return found, model.choose_prediction(found)


def count_masks(found: Attribution) -> dict[str, int]:
    """Requested masks and distinct ones, if the method has a design."""
    return (
        {}
        if found.mask_counts is None
        else dict(zip(("rows", "distinct"), found.mask_counts, strict=True))
    )


def make_pairs(model: MaskedTextModel, found: Attribution) -> tuple[WordPair, ...]:
    """The analysed pairs."""
    if found.indices is None or found.indices.pairs is None:
        return ()
    pairs = found.indices.pairs
    columns = (pairs.effect, *pairs.interval(_LEVEL, of="effect"), pairs.total)
    numbers = np.stack(columns, axis=2).tolist()
    return tuple(
        WordPair(
            (model.scored[one], model.scored[other]),
            {label: PairScore(*own) for label, own in zip(model.labels, row, strict=True)},
        )
        for (one, other), row in zip(pairs.pairs.tolist(), numbers, strict=True)
    )
