"""The path of deletions and the flip set of a problem: a search that the driver serves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from textsobol.ledger import mask_keys
from textsobol.methods.contract import FoundPath, Problem
from textsobol.search.flip_set import find_flip_set, find_smallest_flip_set
from textsobol.search.path import search_path
from textsobol.sobol import SobolIndices
from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.sobol.config import presence_variance
from textsobol.sobol.masks import all_masks
from textsobol.steps import Ask, Steps, T, map_results, translate


def find_path(
    problem: Problem, units: Integers, indices: SobolIndices, *, passes: int, for_flip: int
) -> Steps[FoundPath]:
    """The path with its flip set; the path so far after every deletion.

    Args:
        problem: with a decision.
        units: what comes and goes as one ``(features,)``.
        indices: of the units, whose effects the search starts from.
        passes: masks that the path may score.
        for_flip: masks that the flip set may score beside those.
    """
    assert problem.decision is not None
    decision, n_units = problem.decision, len(indices.total)

    def serve(steps: Steps[T], quantity: Callable[[Floats], Floats]) -> Steps[T]:
        return translate(steps, lambda masks: Ask(problem.model, masks[:, units]), quantity)

    def known_score(masks: Array) -> Floats:
        return decision.score(problem.model.ledger.outputs(mask_keys(masks[:, units])))

    effects, spreads = _effects(known_score, indices, decision.column)
    search = search_path(effects, spreads, passes=passes)
    order = yield from map_results(
        serve(search, decision.score), lambda order: FoundPath(tuple(order))
    )
    is_exact = indices.settings.estimator == "exact"
    if is_exact:
        masks = np.concatenate(list(all_masks(n_units)))
        margins = decision.margin((yield Ask(problem.model, masks[:, units])))
        flip = find_smallest_flip_set(masks, margins, np.bincount(units))
    else:
        steps = find_flip_set(order, n_units, passes=for_flip)
        flip = yield from serve(steps, decision.margin)
    found = FoundPath(tuple(order))
    if flip is not None:
        found = replace(
            found,
            flip=tuple(sorted(flip.features)),
            is_irreducible=flip.is_irreducible,
            is_smallest=is_exact,
        )
    return found


def _effects(
    score: Callable[[Array], Floats], indices: SobolIndices, column: int | None
) -> tuple[Floats, Floats]:
    """Effects on the score of the decision, their mean and spread over base masks ``(units,)``.

    A decision that was not among the analysed scores gets its effects from the same masks, all of
    which are known.
    """
    made = indices.settings
    if column is None:
        indices = indices.with_score(score)
    effect = indices.effect if column is None else indices.effect[:, column]
    total = indices.total if column is None else indices.total[:, column]
    variance = indices.variance if column is None else indices.variance[column]
    # E[D^2] = T V / (p q), of which the square of the mean is no spread.
    squares = total * variance / presence_variance(made.keep)
    return np.asarray(effect), np.sqrt(np.maximum(0.0, squares - effect**2))
