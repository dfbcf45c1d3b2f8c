"""Indices of a black box with gates, as generators: derivatives first, then the flips that pay."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from textsobol import __version__
from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.sobol.designs import Design
from textsobol.sobol.flip_sample import draw_flips, rank_features
from textsobol.sobol.gate_predictions import ABSENT, PRESENT, find_mask_factors, guess_sizes
from textsobol.sobol.gated import GatedScores, enter_flips
from textsobol.sobol.masks import flip_some
from textsobol.sobol.result import Settings, SobolIndices, make_result
from textsobol.sobol.scores import is_constant
from textsobol.steps import Gates, Steps


@dataclass(frozen=True)
class GatedPlan:
    """How much is asked of the black box.

    Attributes:
        n_base: base masks; derivatives are taken at as many other masks.
        n_leaders: features that are flipped at all base masks.
        n_sampled: flips of other features, to calibrate what the derivatives say of them: half
            of them before the leaders are flipped and half after, or all at once without leaders.
    """

    n_base: int
    n_leaders: int
    n_sampled: int

    @property
    def n_sampled_first(self) -> int:
        """Flips of the sample that are scored before the leaders' flips."""
        return self.n_sampled // 2 if self.n_leaders else self.n_sampled

    def passes(self, passes_per_gates: int) -> int:
        """Its cost in forward passes."""
        return self.n_base * (1 + passes_per_gates + self.n_leaders) + self.n_sampled


@dataclass(frozen=True)
class GatedBase:
    """What is known before the leaders are flipped.

    Attributes:
        scores: derivatives, scores of base masks, and a sample of flips.
        order: features in the order of how much they seem to matter; the first ones lead.
    """

    scores: GatedScores
    order: Integers


def ask_gates(
    n_features: int, plan: GatedPlan, *, keep: float, design: str, seed: int
) -> Steps[GatedBase]:
    """Ask for derivatives, and for scores of base masks and of a sample of flips."""
    masks, blocks = Design(design, n_features, keep=keep, seed=seed).take(2 * plan.n_base)
    gate_masks, base = masks[: plan.n_base], masks[plan.n_base :]
    slopes = yield Gates(np.where(gate_masks, PRESENT, ABSENT))
    sizes = guess_sizes(gate_masks, slopes)
    order = rank_features(sizes)
    leaders = order[: plan.n_leaders]
    is_drawn, chances = draw_flips(sizes, leaders, len(base), plan.n_sampled_first, seed)
    f_base, f_flips = yield from _score_flips(base, is_drawn)
    differences = enter_flips(base, is_drawn, f_base, f_flips)
    return GatedBase(
        GatedScores(
            gate_masks, slopes, base, blocks[plan.n_base :], keep, f_base, differences, chances
        ),
        order,
    )


def ask_flips(base: GatedBase, plan: GatedPlan, seed: int) -> Steps[GatedScores]:
    """Ask for the leaders' flips, and for the second half of the sample."""
    scores = yield from flip_leaders(base.scores, base.order[: plan.n_leaders])
    return (yield from _sample_flips(scores, plan.n_sampled - plan.n_sampled_first, seed))


def flip_leaders(scores: GatedScores, leaders: Integers) -> Steps[GatedScores]:
    """Ask for all flips of the leaders, besides those that are known."""
    is_new = np.zeros(scores.base.shape, dtype=bool)
    is_new[:, leaders] = True
    return (yield from _flip_more(scores, is_new & ~scores.is_flipped))


def _sample_flips(scores: GatedScores, n: int, seed: int) -> Steps[GatedScores]:
    """Ask for more flips of the features that do not lead; most where the leaders' are large.

    At a mask where the model is undecided all flips are large. Such masks are few, so that flips
    at masks that are drawn evenly mostly miss them: most samples would then find too little.
    """
    leaders = np.flatnonzero(scores.is_leading)
    # Of labels whose score is constant, rounding must not decide.
    squares = (_drop_constant(scores).differences[:, leaders] ** 2).sum(axis=1)
    factors = [find_mask_factors(own) for own in squares.T]
    sizes = guess_sizes(scores.gate_masks, scores.slopes)
    is_drawn, chances = draw_flips(
        sizes, leaders, len(scores.base), n, [seed, 1], np.mean(factors, axis=0) / len(scores.base)
    )
    scores = yield from _flip_more(scores, is_drawn & ~scores.is_flipped)
    # That a flip was drawn at least once: the draws are independent, given the leaders' flips.
    return replace(scores, chances=1 - (1 - scores.chances) * (1 - chances))


def _flip_more(scores: GatedScores, is_new: Array) -> Steps[GatedScores]:
    if not is_new.any():
        return scores
    f_flips = (yield flip_some(scores.base, is_new)).reshape(int(is_new.sum()), -1)
    found = enter_flips(scores.base, is_new, scores.f_base, f_flips)
    return replace(scores, differences=np.where(is_new[:, :, None], found, scores.differences))


def _score_flips(base: Array, is_flipped: Array) -> Steps[tuple[Floats, Floats]]:
    flips = flip_some(base, is_flipped)
    found = (yield np.concatenate([base, flips])).reshape(len(base) + len(flips), -1)
    return found[: len(base)], found[len(base) :]


def make_indices(scores: GatedScores, *, design: str, seed: int, sign: str | None) -> SobolIndices:
    """The result of what was asked."""
    n_base, n_features = scores.base.shape
    n_masks = n_base + int(scores.is_flipped.sum())
    settings = Settings(
        n_features=n_features, estimator="gates", design=design, keep=scores.keep,
        base_masks=n_base, budget=None, seed=seed, sign=sign, groups=None, members="together",
        pairs=None, leader_masks=0, precision=None, stable_top=5, version=__version__,
    )  # fmt: skip
    scores = _drop_constant(scores)
    return make_result(
        scores, scores.estimate(), settings, counts=(n_masks, n_masks), is_scalar=False
    )


def _drop_constant(scores: GatedScores) -> GatedScores:
    """Without differences of labels whose score never changed, apart from rounding."""
    changes = np.nan_to_num(scores.differences)
    every = np.concatenate([scores.f_base[:, None], scores.f_base[:, None] - changes], axis=1)
    constant = is_constant(every)
    return replace(
        scores,
        f_base=np.where(constant, scores.f_base[:1], scores.f_base),
        slopes=np.where(constant, 0.0, scores.slopes),
        differences=np.where(constant, scores.differences * 0.0, scores.differences),
    )
