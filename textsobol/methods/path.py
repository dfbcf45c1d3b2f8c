"""The path of deletions and the flip set of a game, from masks that an evaluator counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from textsobol.methods.contract import FoundPath, Game
from textsobol.search.flip_set import find_flip_set, find_smallest_flip_set
from textsobol.search.path import search_path
from textsobol.sobol import SobolIndices
from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.sobol.evaluator import Evaluator
from textsobol.sobol.rows import all_masks


def find_path(
    game: Game,
    evaluator: Evaluator,
    units: Integers,
    indices: SobolIndices,
    *,
    passes: int,
    for_flip: int,
) -> Iterator[FoundPath]:
    """The path after every deletion and, in the end, with its flip set.

    Args:
        game: with a decision.
        evaluator: counts the masks that are scored; those scored before cost nothing.
        units: what comes and goes as one ``(features,)``.
        indices: of the units, whose effects the search starts from.
        passes: masks that the path may score.
        for_flip: masks that the flip set may score beside those.
    """
    assert game.decision is not None
    decision = game.decision

    def counted(ask: Callable[[Array], Floats]) -> Callable[[Array], Floats]:
        def answer(masks: Array) -> Floats:
            expanded = masks[:, units]
            evaluator([expanded])  # within the budget; now known to the model
            return ask(expanded)

        return answer

    score, margin = counted(decision.score), counted(decision.margin)
    effects, spreads = _effects(score, indices, decision.column)
    found = FoundPath(())
    for order in search_path(score, effects, spreads, passes=passes):
        found = FoundPath(tuple(order))
        yield found
    n_units = len(effects)
    if indices.settings.estimator == "exact":
        masks = np.concatenate(list(all_masks(n_units)))
        flip = find_smallest_flip_set(masks, margin(masks), np.bincount(units))
    else:
        flip = find_flip_set(margin, found.order, n_units, passes=for_flip)
    if flip is not None:
        found = replace(
            found,
            flip=tuple(sorted(flip.features)),
            is_irreducible=flip.is_irreducible,
            is_smallest=indices.settings.estimator == "exact",
        )
    yield found


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
    weight = 1 / 12 if made.keep is None else made.keep * (1 - made.keep)
    squares = total * variance / weight
    return np.asarray(effect), np.sqrt(np.maximum(0.0, squares - effect**2))
