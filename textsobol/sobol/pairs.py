"""Pairs of a few features, with base rows of their own: nothing else is flipped in them."""

from dataclasses import replace

import numpy as np

from textsobol.sobol.arrays import Floats, Integers
from textsobol.sobol.config import pairs_among
from textsobol.sobol.designs import Design
from textsobol.sobol.flip import indices_of, moderate_pairs, pair_differences
from textsobol.sobol.indices import PairIndices, columns_of
from textsobol.sobol.masks import base_and_flips, pair_flips
from textsobol.steps import Steps, ask


def pair_indices(
    design: Design,
    features: Integers,
    *,
    rows: int,
    keep: float,
    variance: Floats,
) -> Steps[PairIndices]:
    """Indices of all pairs of some features: 1 + k + k (k - 1) / 2 rows for each base row.

    Yields masks and is sent their scores ``(rows, labels)``.

    Args:
        design: of the base rows, which it has not given yet.
        features: the k features ``(k,)``, ascending.
        rows: number of base rows.
        keep: the keep rate p of the design.
        variance: of the score ``(labels,)``, by which indices are divided. It is taken as known, so
            that errors are those of the differences; but no smaller than what a pair has of it.

    Example:
        >>> from textsobol.steps import Ask, translate
        >>> from textsobol.driver import run
        >>> from textsobol.sobol.black_box import BlackBoxModel
        >>> def score(masks):
        ...     return (masks[:, [0]] & masks[:, [2]]) - 0.5 * masks[:, [1]]
        >>> model = BlackBoxModel(score, 3)
        >>> design = Design("latin", 3, keep=0.5, seed=0)
        >>> variance = np.array([0.25])
        >>> steps = pair_indices(design, np.arange(3), rows=4, keep=0.5, variance=variance)
        >>> found = run(translate(steps, lambda masks: Ask(model, masks)))
        >>> found.pairs.tolist(), found.effect.ravel().tolist()
        ([[0, 1], [0, 2], [1, 2]], [0.0, 1.0, 0.0])
    """
    base, blocks = design.take(rows)
    pairs = pairs_among(features)
    scores = yield from ask(base_and_flips(base, features))
    scores = scores.reshape(rows, 1 + len(features), -1)
    f_pairs = yield from ask(pair_flips(base, pairs))
    f_pairs = f_pairs.reshape(rows, len(pairs), -1)
    # Among themselves the features are known by their place.
    places = np.searchsorted(features, pairs)
    differences = pair_differences(base[:, features], scores[:, 0], scores[:, 1:], f_pairs, places)
    weight = (keep * (1 - keep)) ** 2
    variance = np.maximum(variance, weight * (differences**2).mean(axis=0).max(axis=0))
    known = np.broadcast_to(variance, (rows, len(variance)))
    samples = indices_of(differences, weight, blocks, variance, known)
    moderated = moderate_pairs(base, scores[:, 0], differences, keep, variance, known, of=None)
    moderated = replace(moderated, additive=np.ones_like(moderated.additive))
    moderated = replace(moderated, additive_error=np.zeros_like(moderated.additive))
    columns = columns_of(*samples, moderated=moderated, is_scalar=False)
    return PairIndices(**columns, pairs=pairs)
