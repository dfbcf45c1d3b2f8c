"""Indices of a black box with gates, as generators: derivatives first, then the flips that pay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from textsobol import __version__
from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.sobol.designs import Design
from textsobol.sobol.flip import flip_differences
from textsobol.sobol.gated import (
    ABSENT,
    PRESENT,
    GatedScores,
    choose_leaders,
    draw_flips,
    guess_sizes,
)
from textsobol.sobol.result import Settings, SobolIndices, make_result
from textsobol.sobol.scores import is_constant
from textsobol.steps import Gates, Steps


@dataclass(frozen=True)
class GatedPlan:
    """How much is asked of the black box.

    Attributes:
        n_base: base masks; derivatives are taken at all of them.
        n_leaders: features that are flipped in all base masks.
        n_sampled: flips of other features, to calibrate what the derivatives say of them.
    """

    n_base: int
    n_leaders: int
    n_sampled: int

    def passes(self, passes_per_gates: int) -> int:
        """Its cost in forward passes."""
        return self.n_base * (1 + passes_per_gates + self.n_leaders) + self.n_sampled


@dataclass(frozen=True)
class GatedBase:
    """Base masks with their scores and derivatives, and a sample of flips."""

    scores: GatedScores
    leaders: Integers


def ask_gates(
    n_features: int, plan: GatedPlan, *, keep: float, design: str, seed: int
) -> Steps[GatedBase]:
    """Ask for derivatives and scores of base masks, and for a sample of flips."""
    base, blocks = Design(design, n_features, keep=keep, seed=seed).take(plan.n_base)
    slopes = yield Gates(np.where(base, PRESENT, ABSENT))
    sizes = guess_sizes(base, slopes)
    leaders = choose_leaders(sizes, min(plan.n_leaders, n_features))
    is_drawn, chances = draw_flips(sizes, leaders, len(base), plan.n_sampled, seed)
    flips = _flip(base, is_drawn)
    found = (yield np.concatenate([base, flips])).reshape(len(base) + len(flips), -1)
    f_base = found[: len(base)]
    differences = np.full(slopes.shape, np.nan)
    _enter(differences, is_drawn, base, f_base, found[len(base) :])
    scores = GatedScores(base, blocks, keep, f_base, slopes, differences, chances)
    return GatedBase(scores, leaders)


def flip_leaders(found: GatedBase) -> Steps[GatedScores]:
    """Ask for all flips of the leaders."""
    scores = found.scores
    is_flipped = np.zeros(scores.base.shape, dtype=bool)
    is_flipped[:, found.leaders] = True
    flips = (yield _flip(scores.base, is_flipped)).reshape(int(is_flipped.sum()), -1)
    differences = scores.differences.copy()
    _enter(differences, is_flipped, scores.base, scores.f_base, flips)
    return GatedScores(
        scores.base, scores.blocks, scores.keep, scores.f_base, scores.slopes, differences,
        scores.chances,
    )  # fmt: skip


def make_indices(scores: GatedScores, *, design: str, seed: int, sign: str | None) -> SobolIndices:
    """The result of what was asked."""
    n_masks, n_features = scores.base.shape
    n_flips = int(np.count_nonzero(~np.isnan(scores.differences[..., 0])))
    settings = Settings(
        n_features=n_features, estimator="gates", design=design, keep=scores.keep,
        base_masks=n_masks, budget=None, seed=seed, sign=sign, groups=None, members="together",
        pairs=None, leader_masks=0, precision=None, stable_top=5, version=__version__,
    )  # fmt: skip
    scores = _drop_constant(scores)
    counts = n_masks + n_flips, n_masks + n_flips
    return make_result(scores, scores.estimate(), settings, counts=counts, is_scalar=False)


def _drop_constant(scores: GatedScores) -> GatedScores:
    """Without differences of labels whose score never changed, apart from rounding."""
    changes = np.nan_to_num(scores.differences)
    every = np.concatenate([scores.f_base[:, None], scores.f_base[:, None] - changes], axis=1)
    constant = is_constant(every)
    if not constant.any():
        return scores
    return GatedScores(
        scores.base,
        scores.blocks,
        scores.keep,
        np.where(constant, scores.f_base[:1], scores.f_base),
        np.where(constant, 0.0, scores.slopes),
        np.where(constant, scores.differences * 0.0, scores.differences),
        scores.chances,
    )


def _flip(base: Array, is_flipped: Array) -> Array:
    """For every flip, in the order of masks: the base mask with that feature turned over."""
    rows, features = np.nonzero(is_flipped)
    masks = base[rows]
    masks[np.arange(len(rows)), features] ^= True
    return masks


def _enter(
    differences: Floats, is_flipped: Array, base: Array, f_base: Floats, f_flips: Floats
) -> None:
    """Enter D_i(z_j) of the flips."""
    rows, features = np.nonzero(is_flipped)
    own = base[rows, features][:, None]
    found = flip_differences(own, f_base[rows], f_flips[:, None, :])
    differences[rows, features] = found[:, 0]
