"""One way in: `sobol_indices` plans a design, asks for its scores and estimates the indices."""

# Signatures keep short names in help().
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from textsobol import __version__
from textsobol.driver import run
from textsobol.errors import ConstantScoreWarning, UnstableTopWarning, warn
from textsobol.ledger import mask_keys
from textsobol.sobol.arrays import Array, BlackBox, Floats, Integers
from textsobol.sobol.black_box import BlackBoxModel
from textsobol.sobol.config import Config, Pairs, count_leaders, make_config, pairs_among, spread_of
from textsobol.sobol.designs import Design, warn_if_aliased
from textsobol.sobol.estimate import Estimate
from textsobol.sobol.exact import hoeffding
from textsobol.sobol.flip import flip_differences
from textsobol.sobol.indices import Settings, SobolIndices, make_result
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
    flattened,
    is_constant,
)
from textsobol.sobol.stopping import LEAST_ROWS, padded, race
from textsobol.steps import Ask, Steps, ask, translate

T = TypeVar("T")
Progress = Callable[[int, int], None]
"""Called with the rows done so far and the rows planned."""


def sobol_indices(
    black_box: BlackBox,
    n_features: int,
    *,
    estimator: str = "flip",
    design: str | None = None,
    keep: float | None = 0.5,
    budget: int | None = None,
    rows: int | None = None,
    seed: int = 0,
    sign: str | None = "mean",
    groups: ArrayLike | None = None,
    members: str = "together",
    pairs: Pairs | None = None,
    precision: float | None = None,
    stable_top: int = 5,
    leader_rows: int = 0,
    batch_rows: int | None = None,
    progress: Progress | None = None,
) -> SobolIndices:
    """Share out the variance of a black box's score among its features.

    Features are present (1) or absent (0), independently, each present with probability
    ``keep``. The first-order index of a feature is the share of the score's variance that
    it causes alone, its total index the share that it has a part in.

    Args:
        black_box: maps masks ``(rows, features)`` to scores ``(rows,)`` or ``(rows, labels)``.
            Masks are boolean, or floats in [0, 1) when ``keep`` is ``None``. The same mask
            must always get the same score: switch dropout off.
        n_features: number of features d.
        estimator: ``flip`` costs N(d + 1) rows and suits binary masks; ``exact`` scores all
            2^d masks; ``auto`` takes ``exact`` where that fits the budget (or, without one,
            the default 32 base rows) and ``flip`` otherwise. ``jansen`` is the paper's,
            N(d + 2) rows; it and ``saltelli``, ``homma``, ``janon`` and ``glen`` also take
            real-valued masks.
        design: ``latin`` (default of ``flip``), ``random`` (default of the others on binary
            masks), ``sobol`` (default for real-valued masks), ``sobol-unscrambled`` (the one
            of the paper's code) or ``halton``.
        keep: probability that a feature is present, or ``None`` for real-valued masks.
        budget: forward passes allowed; never exceeded. As many base rows are used as it
            buys, the first ones of the design. Rows that repeat a mask cost nothing, so that
            fewer passes may be made.
        rows: number of base rows N, at most; 32 when neither it nor ``budget`` is given.
        seed: 0 or more; the same seed gives the same result, bit for bit, whatever ``batch_rows``.
        sign: sign of ``signed``: ``mean`` takes the sign of the mean effect (plus where
            effects cancel out), ``occlusion`` that
            of removing the feature from the full input (the paper's; d + 1 more rows),
            ``None`` leaves it unsigned.
        groups: group number of every feature ``(features,)``; indices are then those of the
            groups.
        members: ``together``: a group is present or absent as a whole, like a sentence that
            is deleted. ``independent``: members are masked one by one, and a group's index
            is the share of variance of all its members (``jansen`` and its kin, ``exact``).
        pairs: pairs of features to analyse, or a number k for all pairs of the k features
            with the highest total index for any label (``flip``: one more row a pair and
            base row).
        precision: go on until the features with the highest total index are the same ones in
            this share of bootstrap resamples of the base rows, for every label; for example
            0.95 (``flip``, ``auto``). Base rows come in rounds, 8 at first, and features that
            surely are not on top are not flipped any more. ``budget`` or ``rows``, by default 64
            base rows' worth of passes, end it in any case, with a warning.
        stable_top: number of features that ``precision`` is about. Features with an index of 0
            do not count.
        leader_rows: base rows more, in which only the leading features are flipped: the 18 %
            (10 at least) that have changed the score most in the others (``flip``). Cheaper
            than rows for all, and as good for those that matter.
        batch_rows: most rows given to the black box in one call.
        progress: called with (rows done, rows planned) as the work goes on.

    Returns:
        Indices with standard errors, intervals, and what they cost.

    Raises:
        ValueError: when a setting is out of range; it says what would be right.
        BlackBoxError: when the black box raises, or returns a wrong shape or scores that
            are not finite.

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
        rows=rows,
        seed=seed,
        sign=sign,
        groups=groups,
        members=members,
        pairs=pairs,
        precision=precision,
        stable_top=stable_top,
        leader_rows=leader_rows,
    )
    model = BlackBoxModel(black_box, n_features, budget=budget, batch_rows=batch_rows)
    steps = translate(sobol_steps(config), lambda masks: Ask(model, masks), model.answer)
    return run(steps, _reporter(config, progress))


def sobol_steps(config: Config, *, warns_of_constant: bool = True) -> Steps[SobolIndices]:
    """The same, as a generator: yields masks, is sent their scores, and returns the indices.

    Scores are ``(rows,)`` or ``(rows, labels)``, as a black box gives them.

    Args:
        config: see `make_config`.
        warns_of_constant: whether to warn of a label whose score never changed.
    """
    account = _Account()
    steps = account.count(_analyse(config))
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
        removal=removal,
        settings=_settings(config, found.n_base),
        n_rows=account.n_rows,
        n_distinct=account.n_distinct,
        is_scalar=account.is_scalar,
        stable=stable,
    )


def _reporter(config: Config, progress: Progress | None) -> Callable[[int], None]:
    """Counts the rows that are done, and reports them."""
    done = 0

    def tick(n_rows: int) -> None:
        nonlocal done
        done += n_rows
        if progress is not None and done:
            progress(done, max(config.n_rows, done))

    return tick


class _Account:
    """Rows that were asked for, the distinct ones among them, and whether scores have labels."""

    def __init__(self) -> None:
        self.n_rows = 0
        self.is_scalar = False
        self._hashes: list[Integers] = []  # small: the driver keeps the keys themselves

    @property
    def n_distinct(self) -> int:
        """Number of distinct rows."""
        return len(np.unique(np.concatenate(self._hashes)))

    def count(self, steps: Steps[T]) -> Steps[T]:
        """The same steps, counted; they are always sent scores ``(rows, labels)``."""

        def asked(masks: Array) -> Array:
            self.n_rows += len(masks)
            self._hashes.append(np.array([hash(key) for key in mask_keys(masks)], dtype=np.int64))
            return masks

        def answered(scores: Floats) -> Floats:
            self.is_scalar = scores.ndim == 1
            return scores.reshape(len(scores), -1)

        return translate(steps, asked, answered)


def _analyse(config: Config) -> Steps[tuple[Analysis, Floats | None]]:
    flip = _flip if config.precision is None else _raced
    estimator = {"flip": flip, "exact": _exact}.get(config.estimator, _pick_freeze)
    found = yield from estimator(config)
    removal = yield from _removal(config)
    return found, removal


@dataclass(frozen=True)
class Analysis:
    """What an estimator makes of a config.

    Attributes:
        scores: of the design.
        estimate: indices of the features.
        n_base: number of base rows.
        stability: how sure the top is; without sampling error it is.
    """

    scores: AnyScores
    estimate: Estimate
    n_base: int
    stability: float = 1.0


def _flip(config: Config) -> Steps[Analysis]:
    assert config.keep is not None
    base, blocks = _design(config, config.n_units).take(config.n_base + config.leader_rows)
    _warn_if_aliased(config, base)
    everywhere = base[: config.n_base]
    scores = yield from ask(base_and_flips(everywhere))
    scores = scores.reshape(config.n_base, 1 + config.n_units, -1)
    if config.leader_rows:
        leaders = _leaders(everywhere, scores)
        more = yield from ask(base_and_flips(base[config.n_base :], leaders))
        more = more.reshape(config.leader_rows, 1 + len(leaders), -1)
        scores = np.concatenate([scores, padded(more, leaders, config.n_units)])
    scores = _flattened(scores)
    found = FlipScores(base, blocks, config.keep, scores[:, 0], scores[:, 1:])
    estimate = found.estimate()
    if config.n_pairs:
        pairs = _chosen_pairs(config, estimate)
        f_pairs = yield from ask(pair_flips(base, pairs))
        found = replace(found, pairs=pairs, f_pairs=f_pairs.reshape(config.n_base, len(pairs), -1))
    return Analysis(found, estimate, config.n_base)


def _leaders(base: Array, scores: Floats) -> Integers:
    """The features that changed some label's score most, in base rows with all their flips."""
    squares = (flip_differences(base, scores[:, 0], scores[:, 1:]) ** 2).mean(axis=0)
    in_all = squares.sum(axis=0)
    shares = (squares / np.where(in_all > 0, in_all, 1.0)).max(axis=1)
    return np.sort(np.argsort(-shares, kind="stable")[: count_leaders(len(shares))])


def _raced(config: Config) -> Steps[Analysis]:
    """The ``flip`` estimator with as many rows as it takes."""
    assert config.keep is not None
    assert config.precision is not None
    raced = yield from race(
        _design(config, config.n_units),
        config.n_units,
        precision=config.precision,
        top=config.stable_top,
        passes=config.passes,
        most_rows=config.most_base,
        seed=config.seed,
    )
    _warn_if_aliased(config, raced.base)
    scores = _flattened(raced.scores)
    found = FlipScores(raced.base, raced.blocks, config.keep, scores[:, 0], scores[:, 1:])
    return Analysis(found, found.estimate(), len(raced.base), stability=raced.stability)


def _exact(config: Config) -> Steps[Analysis]:
    assert config.keep is not None
    scores = _flattened((yield from ask(all_masks(config.n_units))))
    found = ExactScores(hoeffding(scores, keep=config.keep), config.unit_groups)
    estimate = found.estimate()
    if config.n_pairs:
        found = replace(found, pairs=_chosen_pairs(config, estimate))
    return Analysis(found, estimate, 0)


def _pick_freeze(config: Config) -> Steps[Analysis]:
    both, _ = _design(config, 2 * config.n_units).take(config.n_base)
    _warn_if_aliased(config, both)
    a, b = both[:, : config.n_units], both[:, config.n_units :]
    scores = _flattened((yield from ask(pick_freeze(a, b, config.unit_groups))))
    scores = scores.reshape(config.n_base, 2 + config.n_indices, -1)
    found = PickFreezeScores(
        config.estimator,
        f_a=scores[:, 0],
        f_b=scores[:, 1],
        f_c=scores[:, 2:],
        a=a,
        b=b,
        groups=config.unit_groups,
        move_variance=spread_of(config.keep),
    )
    return Analysis(found, found.estimate(), config.n_base)


def _design(config: Config, n_columns: int) -> Design:
    assert config.design is not None
    return Design(config.design, n_columns, keep=config.keep, seed=config.seed)


def _warn_if_aliased(config: Config, base: Array) -> None:
    if config.design in ("sobol", "sobol-unscrambled") and config.keep is not None:
        warn_if_aliased(base)


def _flattened(scores: Floats) -> Floats:
    """Scores ``(..., labels)``: those of a label that only rounding tells apart are the same."""
    return flattened(scores, is_constant(scores))


def _warn_if_constant(estimate: Estimate) -> None:
    """Warn of labels whose score never changed."""
    constant = np.flatnonzero(estimate.variance == 0)
    if constant.size:
        which = "" if len(estimate.variance) == 1 else f" of label {constant.tolist()}"
        warn(
            f"the score{which} is the same for every mask: its indices are all 0",
            ConstantScoreWarning,
        )


def _warn_of_unstable_top(config: Config, found: Analysis) -> None:
    rows = "1 base row" if found.n_base == 1 else f"{found.n_base} base rows"
    if found.n_base < LEAST_ROWS:
        known = f"{LEAST_ROWS} base rows at least are needed to tell, the budget buys {rows}"
        advice = "raise budget or rows"
    else:
        known = f"{rows} give the same top in {found.stability:.0%} of resamples"
        advice = "raise budget or rows, or choose a smaller stable_top"
    warn(
        f"precision={config.precision} of the top {config.stable_top} was not reached: {known}; "
        f"{advice}",
        UnstableTopWarning,
    )


def _chosen_pairs(config: Config, estimate: Estimate) -> Integers:
    """The pairs asked for, or those of the features that have the most to say of any label."""
    if config.pairs is not None:
        return config.pairs
    highest = estimate.total.value.max(axis=1)
    top = np.argsort(-highest, kind="stable")[: config.top_pairs]
    return pairs_among(np.sort(top))


def _removal(config: Config) -> Steps[Floats | None]:
    """What the full input loses without each feature, if that gives the sign."""
    if config.sign != "occlusion":
        return None
    binary = config.keep is not None
    scores = yield from ask(all_present_and_without_each(config.unit_groups, binary=binary))
    return np.asarray(scores[0] - scores[1:])


def _settings(config: Config, n_base: int) -> Settings:
    chosen = None if config.pairs is None else tuple((i, k) for i, k in config.pairs.tolist())
    return Settings(
        n_features=config.n_features,
        estimator=config.estimator,
        design=config.design,
        keep=config.keep,
        rows=n_base,
        budget=config.budget,
        seed=config.seed,
        sign=config.sign,
        groups=tuple(config.groups.tolist()) if config.is_grouped else None,
        members=config.members,
        pairs=chosen if config.top_pairs == 0 else config.top_pairs,
        leader_rows=config.leader_rows,
        precision=config.precision,
        stable_top=config.stable_top,
        version=__version__,
    )
