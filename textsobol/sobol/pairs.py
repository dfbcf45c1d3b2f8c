"""Pairs of a few features, with base masks in which only these are flipped."""

from dataclasses import replace

import numpy as np

from textsobol.sobol.arrays import Floats, Integers
from textsobol.sobol.config import list_pairs
from textsobol.sobol.designs import Design
from textsobol.sobol.flip import compute_indices, moderate_pairs, pair_differences
from textsobol.sobol.index_table import PairIndices, make_columns
from textsobol.sobol.masks import base_and_flips, pair_flips
from textsobol.steps import Steps, ask


def pair_indices(
    design: Design, features: Integers, *, base_masks: int, keep: float, variance: Floats
) -> Steps[PairIndices]:
    """Indices of all pairs of some features: 1 + k + k (k - 1) / 2 masks for each base mask.

    Yields masks and is sent their scores ``(masks, labels)``.

    Args:
        design: gives the base masks.
        features: the k features ``(k,)``, ascending.
        base_masks: number of base masks.
        keep: the keep rate p of the design.
        variance: variance of the score ``(labels,)``, by which indices are divided. It is treated
            as known, without error, but raised where a pair's share would exceed 1.

    Example:
        >>> from textsobol.steps import Ask, translate
        >>> from textsobol.driver import run
        >>> from textsobol.sobol.black_box import BlackBoxModel
        >>> def score(masks):
        ...     return (masks[:, [0]] & masks[:, [2]]) - 0.5 * masks[:, [1]]
        >>> model = BlackBoxModel(score, 3)
        >>> design = Design("latin", 3, keep=0.5, seed=0)
        >>> variance = np.array([0.25])
        >>> steps = pair_indices(design, np.arange(3), base_masks=4, keep=0.5, variance=variance)
        >>> found = run(translate(steps, lambda masks: Ask(model, masks)))
        >>> found.pairs.tolist(), found.effect.ravel().tolist()
        ([[0, 1], [0, 2], [1, 2]], [0.0, 1.0, 0.0])
    """
    base, blocks = design.take(base_masks)
    pairs = list_pairs(features)
    scores = yield from ask(base_and_flips(base, features))
    scores = scores.reshape(base_masks, 1 + len(features), -1)
    f_base, f_flips = scores[:, 0], scores[:, 1:]
    f_pairs = yield from ask(pair_flips(base, pairs))
    f_pairs = f_pairs.reshape(base_masks, len(pairs), -1)
    places = np.searchsorted(features, pairs)  # of the pairs' features among the k
    differences = pair_differences(base[:, features], f_base, f_flips, f_pairs, places)
    weight = (keep * (1 - keep)) ** 2
    variance = np.maximum(variance, weight * (differences**2).mean(axis=0).max(axis=0))
    known = np.broadcast_to(variance, (base_masks, len(variance)))
    samples = compute_indices(differences, weight, blocks, variance, known)
    moderated = moderate_pairs(base, f_base, differences, keep, variance, known, of_features=None)
    ones = np.ones_like(moderated.additive)
    moderated = replace(moderated, additive=ones, additive_error=0 * ones)
    return PairIndices(**make_columns(*samples, moderated, is_scalar=False), pairs=pairs)
