"""The estimators as generators that yield masks, are sent scores and return an analysis."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.sobol.config import Config, count_leaders, list_pairs, presence_variance
from textsobol.sobol.designs import Design, warn_if_aliased
from textsobol.sobol.exact import hoeffding
from textsobol.sobol.flip import flip_differences
from textsobol.sobol.masks import (
    all_masks,
    all_present_and_without_each,
    base_and_flips,
    pair_flips,
    pick_freeze,
)
from textsobol.sobol.scores import (
    AnyScores,
    ExactScores,
    FlipScores,
    PickFreezeScores,
    pad_flips,
    round_constant,
)
from textsobol.sobol.stopping import score_in_rounds
from textsobol.sobol.uncertainty import Estimate
from textsobol.steps import Steps, ask


@dataclass(frozen=True)
class Analysis:
    """What an estimator found.

    Attributes:
        scores: of the design.
        estimate: indices of the features.
        n_base: number of base masks in which all features are flipped.
        stability: of the top, if ``precision`` is given; 1 without sampling error.
    """

    scores: AnyScores
    estimate: Estimate
    n_base: int
    stability: float = 1.0


def analyse(config: Config) -> Steps[Analysis]:
    """Ask for the masks of a design, with one column per unit, and estimate the indices."""
    if config.estimator == "exact":
        return (yield from _run_exact(config))
    if config.estimator != "flip":
        return (yield from _run_pick_freeze(config))
    if config.precision is None:
        return (yield from _run_flip(config))
    scores, stability = yield from score_in_rounds(config, _make_design(config, config.n_units))
    _warn_if_aliased(config, scores.base)
    return Analysis(scores, scores.estimate(), len(scores.base), stability)


def score_removals(config: Config) -> Steps[Floats]:
    """Score of the full input minus its score without each feature ``(features, labels)``."""
    is_binary = config.keep is not None
    scores = yield from ask(all_present_and_without_each(config.unit_groups, is_binary=is_binary))
    return np.asarray(scores[0] - scores[1:])


def _run_flip(config: Config) -> Steps[Analysis]:
    assert config.keep is not None
    n_base, n_units = config.n_base, config.n_units
    base, blocks = _make_design(config, n_units).take(n_base + config.leader_masks)
    _warn_if_aliased(config, base)
    scores = yield from ask(base_and_flips(base[:n_base]))
    scores = scores.reshape(n_base, 1 + n_units, -1)
    if config.leader_masks:
        leaders = _choose_leaders(base[:n_base], scores)
        more = yield from ask(base_and_flips(base[n_base:], leaders))
        more = more.reshape(config.leader_masks, 1 + len(leaders), -1)
        scores = np.concatenate([scores, pad_flips(more, leaders, n_units)])
    scores = round_constant(scores)
    found = FlipScores(base, blocks, config.keep, scores[:, 0], scores[:, 1:])
    estimate = found.estimate()
    if config.n_pairs:
        pairs = _choose_pairs(config, estimate)
        f_pairs = yield from ask(pair_flips(base, pairs))
        found = replace(found, pairs=pairs, f_pairs=f_pairs.reshape(n_base, len(pairs), -1))
    return Analysis(found, estimate, n_base)


def _choose_leaders(base: Array, scores: Floats) -> Integers:
    """The features with the largest effects on any label."""
    squares = (flip_differences(base, scores[:, 0], scores[:, 1:]) ** 2).mean(axis=0)
    in_all = squares.sum(axis=0)
    shares = (squares / np.where(in_all > 0, in_all, 1.0)).max(axis=1)
    return np.sort(np.argsort(-shares, kind="stable")[: count_leaders(len(shares))])


def _run_exact(config: Config) -> Steps[Analysis]:
    assert config.keep is not None
    scores = round_constant((yield from ask(all_masks(config.n_units))))
    found = ExactScores(hoeffding(scores, keep=config.keep), config.unit_groups)
    estimate = found.estimate()
    if config.n_pairs:
        found = replace(found, pairs=_choose_pairs(config, estimate))
    return Analysis(found, estimate, 0)


def _run_pick_freeze(config: Config) -> Steps[Analysis]:
    both, _ = _make_design(config, 2 * config.n_units).take(config.n_base)
    _warn_if_aliased(config, both)
    a, b = both[:, : config.n_units], both[:, config.n_units :]
    groups = config.unit_groups
    scores = round_constant((yield from ask(pick_freeze(a, b, groups))))
    scores = scores.reshape(config.n_base, 2 + config.n_indices, -1)
    variance = presence_variance(config.keep)
    found = PickFreezeScores(config.estimator, scores, a, b, groups, variance)
    return Analysis(found, found.estimate(), config.n_base)


def _make_design(config: Config, n_columns: int) -> Design:
    assert config.design is not None
    return Design(config.design, n_columns, keep=config.keep, seed=config.seed)


def _warn_if_aliased(config: Config, base: Array) -> None:
    if config.design in ("sobol", "sobol-unscrambled") and config.keep is not None:
        warn_if_aliased(base)


def _choose_pairs(config: Config, estimate: Estimate) -> Integers:
    """The requested pairs, or all pairs of the features with the highest index for any label."""
    if config.pairs is not None:
        return config.pairs
    highest = estimate.total.value.max(axis=1)
    top = np.argsort(-highest, kind="stable")[: config.top_pairs]
    return list_pairs(np.sort(top))
