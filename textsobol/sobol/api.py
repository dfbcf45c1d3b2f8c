"""The entry point: `sobol_indices` checks the settings, scores masks and estimates the indices."""

# Signatures keep short names in help().
from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from textsobol import __version__
from textsobol.driver import run
from textsobol.errors import ConstantScoreWarning, UnstableTopWarning, warn
from textsobol.ledger import hash_masks
from textsobol.sobol.arrays import Array, BlackBox, Floats, Integers
from textsobol.sobol.black_box import BlackBoxModel
from textsobol.sobol.checks import Pairs
from textsobol.sobol.config import Config, make_config
from textsobol.sobol.estimators import Analysis, analyse, score_removals
from textsobol.sobol.result import Settings, SobolIndices, make_result
from textsobol.sobol.stopping import LEAST_MASKS
from textsobol.sobol.uncertainty import Estimate
from textsobol.steps import Ask, Steps, translate

T = TypeVar("T")
Progress = Callable[[int, int], None]
"""Called with the masks done so far and the masks planned."""


def sobol_indices(
    black_box: BlackBox,
    n_features: int,
    *,
    estimator: str = "flip",
    design: str | None = None,
    keep: float | None = 0.5,
    budget: int | None = None,
    base_masks: int | None = None,
    seed: int = 0,
    sign: str | None = "mean",
    groups: ArrayLike | None = None,
    members: str = "together",
    pairs: Pairs | None = None,
    precision: float | None = None,
    stable_top: int = 5,
    leader_masks: int = 0,
    batch_masks: int | None = None,
    progress: Progress | None = None,
) -> SobolIndices:
    """Sobol' indices: the share of each feature in the variance of a black box's score.

    Features are present (1) or absent (0), independently, each present with probability
    ``keep``. The first-order index of a feature is the share of the variance that it causes
    alone; its total index is the share that involves it, alone or with others.

    Args:
        black_box: maps masks ``(masks, features)`` to scores ``(masks,)`` or ``(masks, labels)``.
            Masks are boolean, or floats in [0, 1) when ``keep`` is ``None``. The same mask
            must always get the same score: switch dropout off.
        n_features: number of features d.
        estimator: ``flip`` scores N(d + 1) masks and suits binary ones; ``exact`` scores all
            2^d masks; ``auto`` uses ``exact`` if that fits the budget (or, without one,
            the default 32 base masks) and ``flip`` otherwise. ``jansen`` is the paper's,
            N(d + 2) masks; it and ``saltelli``, ``homma``, ``janon`` and ``glen`` also take
            real-valued masks.
        design: ``latin`` (default of ``flip``), ``random`` (default of the others on binary
            masks), ``sobol`` (default for real-valued masks), ``sobol-unscrambled`` (the one
            of the paper's code) or ``halton``.
        keep: probability that a feature is present, or ``None`` for real-valued masks.
        budget: forward passes allowed; never exceeded. It buys the first base masks of the
            design, as many as fit. Repeated masks are scored once, which may save passes.
        base_masks: most base masks N; 32 if neither it nor ``budget`` is given.
        seed: 0 or more; the same seed gives the same result, bit for bit, for any ``batch_masks``.
        sign: sign of ``signed``: ``mean`` takes the sign of the mean effect (plus where
            effects cancel out), ``occlusion`` that of removing the feature from the full input
            (the paper's; d + 1 more masks), ``None`` leaves it unsigned.
        groups: group number of every feature ``(features,)``; indices are then of groups.
        members: ``together``: a group is present or absent as a whole, like a sentence that
            is deleted. ``independent``: members are masked one by one, and a group's index
            is the share of variance of all its members (not with ``flip``).
        pairs: pairs of features to analyse, or a number k for all pairs of the k features
            with the highest total index for any label (``flip``: one more mask for each pair
            and base mask).
        precision: add base masks until the features with the highest total index are the same
            ones in this fraction of bootstrap resamples, for every label; for example 0.95
            (``flip``, ``auto``). Base masks come in rounds, 8 at first; features that surely are
            not on top are no longer flipped. ``budget`` or ``base_masks``, by default the passes
            of 64 base masks, is the limit; reaching it gives a warning.
        stable_top: number of top features for ``precision``; features with index 0 do not count.
        leader_masks: further base masks in which only the leaders are flipped: the 18 % of
            features (at least 10) that changed the score most in the others (``flip``). Cheaper
            than flipping all, and as good for the features that matter.
        batch_masks: most masks per call of the black box.
        progress: called with (masks done, masks planned).

    Returns:
        Indices with standard errors, intervals and their cost.

    Raises:
        ValueError: if a setting is out of range; it says what would be right.
        BlackBoxError: if the black box raises, or returns a wrong shape or scores that are not
            finite.

    Example:
        The first feature decides, the other two only matter together:

        >>> def score(masks):
        ...     return 2.0 * masks[:, 0] + masks[:, 1] * masks[:, 2]
        >>> result = sobol_indices(score, 3, estimator="auto")
        >>> result.total.round(3)
        array([0.842, 0.105, 0.105])
        >>> result.first.round(3)
        array([0.842, 0.053, 0.053])
        >>> result.settings.estimator, result.n_distinct
        ('exact', 8)
    """
    config = make_config(
        n_features,
        estimator=estimator,
        design=design,
        keep=keep,
        budget=budget,
        base_masks=base_masks,
        seed=seed,
        sign=sign,
        groups=groups,
        members=members,
        pairs=pairs,
        precision=precision,
        stable_top=stable_top,
        leader_masks=leader_masks,
    )
    model = BlackBoxModel(black_box, n_features, budget=budget, batch_masks=batch_masks)
    steps = translate(sobol_steps(config), lambda masks: Ask(model, masks), model.answer)
    return run(steps, _make_tick(config, progress))


def sobol_steps(config: Config, *, warns_of_constant: bool = True) -> Steps[SobolIndices]:
    """`sobol_indices` as a generator: yields masks, is sent their scores, returns the indices.

    Scores are ``(masks,)`` or ``(masks, labels)``.

    Args:
        config: see `make_config`.
        warns_of_constant: whether to warn if the score of a label never changed.
    """
    counter = _Counter()
    steps = counter.count(_analyse(config))
    if config.is_grouped:
        steps = translate(steps, lambda units: units[:, config.units])
    found, removal = yield from steps
    if warns_of_constant:
        _warn_if_constant(found.estimate)
    stable = None if config.precision is None else found.stability >= config.precision
    if stable is False:
        _warn_of_unstable_top(config, found)
    return make_result(
        found.scores,
        found.estimate,
        _record_settings(config, found.n_base),
        counts=(counter.n_masks, counter.n_distinct),
        is_scalar=counter.is_scalar,
        removal=removal,
        stable=stable,
    )


def _analyse(config: Config) -> Steps[tuple[Analysis, Floats | None]]:
    found = yield from analyse(config)
    if config.sign != "occlusion":
        return found, None
    return found, (yield from score_removals(config))


def _make_tick(config: Config, progress: Progress | None) -> Callable[[int], None]:
    """Make a function that counts masks and reports the progress."""
    done = 0

    def tick(n_masks: int) -> None:
        nonlocal done
        done += n_masks
        if progress is not None and done:
            progress(done, max(config.n_masks, done))

    return tick


class _Counter:
    """Counts masks and distinct masks, and notes whether scores have labels."""

    def __init__(self) -> None:
        self.n_masks = 0
        self.is_scalar = False
        self._hashes: list[Integers] = []  # small: the driver keeps the keys themselves

    @property
    def n_distinct(self) -> int:
        return len(np.unique(np.concatenate(self._hashes)))

    def count(self, steps: Steps[T]) -> Steps[T]:
        """Count the masks of a generator, and always send it scores ``(masks, labels)``."""

        def count_masks(masks: Array) -> Array:
            self.n_masks += len(masks)
            self._hashes.append(np.array([hash(key) for key in hash_masks(masks)], dtype=np.int64))
            return masks

        def add_label_axis(scores: Floats) -> Floats:
            self.is_scalar = scores.ndim == 1
            return scores.reshape(len(scores), -1)

        return translate(steps, count_masks, add_label_axis)


def _warn_if_constant(estimate: Estimate) -> None:
    constant = np.flatnonzero(estimate.variance == 0)
    if constant.size:
        which = "" if len(estimate.variance) == 1 else f" of label {constant.tolist()}"
        warn(
            f"the score{which} is the same for every mask: its indices are all 0",
            ConstantScoreWarning,
        )


def _warn_of_unstable_top(config: Config, found: Analysis) -> None:
    masks = "1 base mask" if found.n_base == 1 else f"{found.n_base} base masks"
    advice = "raise budget or base_masks"
    if found.n_base < LEAST_MASKS:
        known = f"at least {LEAST_MASKS} base masks are needed, the budget buys {masks}"
    else:
        known = f"{masks} give the same top in {found.stability:.0%} of resamples"
        advice += ", or choose a smaller stable_top"
    warn(
        f"precision={config.precision} of the top {config.stable_top} was not reached: {known}; "
        f"{advice}",
        UnstableTopWarning,
    )


def _record_settings(config: Config, n_base: int) -> Settings:
    pairs = None if config.pairs is None else tuple((i, k) for i, k in config.pairs.tolist())
    return Settings(
        n_features=config.n_features,
        estimator=config.estimator,
        design=config.design,
        keep=config.keep,
        base_masks=n_base,
        budget=config.budget,
        seed=config.seed,
        sign=config.sign,
        groups=tuple(config.groups.tolist()) if config.is_grouped else None,
        members=config.members,
        pairs=config.top_pairs or pairs,
        leader_masks=config.leader_masks,
        precision=config.precision,
        stable_top=config.stable_top,
        version=__version__,
    )
