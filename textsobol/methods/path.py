"""Find the path and the flip set of a problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from textsobol.ledger import hash_masks
from textsobol.methods.contract import FoundPath, Problem
from textsobol.search.flip_set import find_flip_set, find_smallest_flip_set
from textsobol.search.gated_path import search_gated_path
from textsobol.search.path import search_path
from textsobol.sobol import SobolIndices
from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.sobol.config import presence_variance
from textsobol.sobol.masks import all_masks
from textsobol.steps import Ask, Steps, T, map_results, translate


def find_path(
    problem: Problem,
    units: Integers,
    indices: SobolIndices,
    *,
    passes: int,
    for_flip: int,
    uses_gates: bool = False,
) -> Steps[FoundPath]:
    """Find the path and its flip set; yields the path so far after every deletion.

    Args:
        problem: with a decision.
        units: the unit of each feature ``(features,)``; features of a unit are masked as one.
        indices: of the units; the search starts from their effects.
        passes: masks that may be scored for the path.
        for_flip: further masks that may be scored for the flip set.
        uses_gates: whether gate gradients propose the deletions; every feature is its own unit.
    """
    assert problem.decision is not None
    decision, n_units = problem.decision, len(indices.total)

    def serve(steps: Steps[T], quantity: Callable[[Floats], Floats]) -> Steps[T]:
        return translate(steps, lambda masks: Ask(problem.model, masks[:, units]), quantity)

    def known_score(masks: Array) -> Floats:
        return decision.score(problem.model.ledger.outputs(hash_masks(masks[:, units])))

    if uses_gates:
        per_gates = problem.model.passes_per_gates(is_decision=True)
        search = search_gated_path(n_units, passes=passes, passes_per_gates=per_gates)
        served = problem.serve_decision(search, decision.score)
    else:
        effects, spreads = _measure_effects(known_score, indices, decision.column)
        served = serve(search_path(effects, spreads, passes=passes), decision.score)
    order = yield from map_results(served, lambda order: FoundPath(tuple(order)))
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


def _measure_effects(
    score: Callable[[Array], Floats], indices: SobolIndices, column: int | None
) -> tuple[Floats, Floats]:
    """Mean and spread over base masks of the effects on the decision's score ``(units,)``.

    If that score was not analysed, it is computed from the same masks, which are all known.
    """
    made = indices.settings
    if column is None:
        indices = indices.with_score(score)
    effect = indices.effect if column is None else indices.effect[:, column]
    total = indices.total if column is None else indices.total[:, column]
    variance = indices.variance if column is None else indices.variance[column]
    # E[D^2] = T V / (p q); Var D = E[D^2] - (E D)^2.
    squares = total * variance / presence_variance(made.keep)
    return np.asarray(effect), np.sqrt(np.maximum(0.0, squares - effect**2))
