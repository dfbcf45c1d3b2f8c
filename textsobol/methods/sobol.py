"""Our own method: signed total Sobol' indices, and beside them the path of deletions.

The indices say how much every feature matters; the path, which features to delete so that the
decision falls soonest. They share the budget and the scored masks, and nothing else: the path
starts from the estimated effects, and writes nothing into the indices.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from textsobol.errors import ConstantScoreWarning, warn
from textsobol.methods.contract import Attribution, FoundPath, Problem
from textsobol.methods.division import (
    MOST_BASE_MASKS_OF_PAIRS,
    Wanted,
    check_sobol_budget,
    divide,
    n_pairs_among,
)
from textsobol.methods.path import find_path
from textsobol.search.budget import BaseMasks
from textsobol.search.coarse_to_fine import build_hierarchy, choose_units
from textsobol.sobol import SobolIndices, sobol_steps
from textsobol.sobol.arrays import Integers
from textsobol.sobol.config import make_config
from textsobol.sobol.designs import Design
from textsobol.sobol.pairs import pair_indices
from textsobol.steps import Steps, map_results, translate

_LEAST_TO_SEARCH = 40  # masks, to look for the groups that matter


def sobol(
    problem: Problem,
    *,
    budget: int | None,
    seed: int,
    estimator: str = "auto",
    design: str | None = None,
    keep: float | None = 0.5,
    rows: int | None = None,
    sign: str | None = "mean",
    interactions: int = 0,
    precision: float | None = None,
    stable_top: int = 5,
    path: bool = False,
    stages: bool = False,
) -> Steps[Attribution]:
    """Signed total indices and, if asked for, the path.

    A budget too small to flip every feature once goes to groups of features first, to find where
    it matters to look closer; see `textsobol.search.coarse_to_fine`.

    Args:
        problem: what is to be explained.
        budget: masks that may be scored, the whole input included; ``None`` for what ``rows`` or
            ``precision`` take.
        seed: of the design.
        estimator: see `textsobol.sobol_indices`.
        design: see `textsobol.sobol_indices`.
        keep: see `textsobol.sobol_indices`.
        rows: number of base masks, at most.
        sign: see `textsobol.sobol_indices`.
        interactions: also analyse all pairs of so many features, those with the highest indices.
        precision: see `textsobol.sobol_indices`.
        stable_top: see `textsobol.sobol_indices`.
        path: also search for the deletions that bring the decision down soonest.
        stages: also yield what is known after 1, 2, 4, ... base masks and after every deletion;
            base masks then do not share batches.
    """
    wanted = Wanted.of(estimator, sign, interactions, keep=keep)
    if budget is not None and (interactions or wanted.estimator != "auto"):
        check_sobol_budget(budget, problem.n_features, wanted, noun="features")
    units = np.arange(problem.n_features)
    if budget is not None and keep is not None and estimator == "auto" and not interactions:
        units = yield from _groups(problem, budget, wanted, keep=keep, seed=seed)
    n_units = int(units.max()) + 1
    n_pairs = n_pairs_among(interactions, n_units)
    searches = path and problem.decision is not None
    block = Design(design or "latin", 1, keep=keep, seed=seed).block_size
    share = divide(
        None if budget is None else budget - problem.n_scored,
        n_units,
        wanted,
        rows=rows if n_units == problem.n_features else None,
        path=searches,
        block=block,
        may_lead=rows is None and precision is None and sign != "occlusion",
    )
    if share.is_exact and estimator == "auto":
        design = rows = None  # there is nothing to draw

    def estimate(**how: Any) -> Steps[SobolIndices]:
        config = make_config(
            n_units, **{"seed": seed, "design": design, "keep": keep, "sign": sign, **how}
        )
        # That few base masks see no change does not mean that there is none.
        steps = sobol_steps(config, warns_of_constant=False)
        return problem.serve(translate(steps, lambda masks: masks[:, units]))

    def found(
        indices: SobolIndices, found_path: FoundPath | None = None, **more: int
    ) -> Attribution:
        n_distinct = problem.n_scored
        return Attribution(
            indices.signed[units],
            settings=_recorded(indices) | more,
            indices=indices,
            rows=(n_distinct + indices.n_masks - indices.n_distinct, n_distinct),
            path=found_path,
            units=units if n_units < problem.n_features else None,
        )

    has_stages = estimator in ("auto", "flip") and precision is None and share.indices is not None
    if stages and has_stages:
        assert share.indices is not None
        n_base = (share.indices - wanted.for_sign(n_units)) // (1 + n_units)
        n_base = n_base if share.masks is None else share.masks.n_base
        n_base = min(rows or n_base, n_base)
        for power in range((n_base - 1).bit_length()):
            yield found((yield from estimate(estimator="flip", base_masks=2**power)))
    if share.masks is not None:
        indices = yield from estimate(estimator="flip", **_rows(share.masks))
    else:
        # The whole input, which gives signs by occlusion, is known and costs nothing.
        n_known = 1 if sign == "occlusion" and wanted.is_binary else 0
        indices = yield from estimate(
            estimator="exact" if share.is_exact else estimator,
            budget=None if share.indices is None else share.indices + n_known,
            base_masks=rows,
            precision=precision,
            stable_top=stable_top,
            pairs=min(interactions, n_units) if n_pairs and not share.pairs else None,
        )
    found_path = None
    if searches:
        yield found(indices)
        search = find_path(problem, units, indices, passes=share.path, for_flip=share.flip)
        found_path = yield from map_results(search, partial(found, indices))
    if budget is not None and share.masks is not None and searches:
        # What the search did not need makes the indices surer.
        left = budget - share.pairs - problem.n_scored
        masks = share.masks.add(left, n_units, block=block)
        if masks != share.masks:
            indices = yield from estimate(estimator="flip", **_rows(masks))
    more: dict[str, int] = {}
    if share.pairs:
        assert budget is not None
        left = budget - problem.n_scored
        steps = _with_pairs(indices, left, interactions)
        indices, more["pair_base_masks"] = yield from problem.serve(
            translate(steps, lambda masks: masks[:, units])
        )
    _warn_if_constant(indices, found_path)
    return found(indices, found_path, **more)


def _rows(masks: BaseMasks) -> dict[str, int]:
    return {"base_masks": masks.n_base, "leader_masks": masks.n_leader}


def _with_pairs(
    indices: SobolIndices, left: int, interactions: int
) -> Steps[tuple[SobolIndices, int]]:
    """The indices with the pairs of the units that have the highest ones, and the base masks used.

    The base masks of the indices come first again, whose flips are known; in further ones only
    these units are flipped.
    """
    made, n_units = indices.settings, len(indices.total)
    assert made.design is not None
    assert made.keep is not None
    n_pairs = n_pairs_among(interactions, n_units)
    strongest = np.argsort(-indices.total.max(axis=1), kind="stable")[:interactions]
    n_base = left // n_pairs
    if n_base > made.base_masks:
        more = (left - made.base_masks * n_pairs) // (1 + len(strongest) + n_pairs)
        n_base = min(made.base_masks + more, max(made.base_masks, MOST_BASE_MASKS_OF_PAIRS))
    pairs = yield from pair_indices(
        Design(made.design, n_units, keep=made.keep, seed=made.seed),
        np.sort(strongest),
        base_masks=n_base,
        keep=made.keep,
        variance=indices.variance,
    )
    return replace(indices, pairs=pairs), n_base


def _groups(
    problem: Problem, budget: int, wanted: Wanted, *, keep: float, seed: int
) -> Steps[Integers]:
    """What comes and goes as one, so that one base mask of it still fits the budget."""
    if budget >= wanted.least_masks(problem.n_features):
        return np.arange(problem.n_features)
    per_unit = 2 if wanted.sign == "occlusion" else 1
    n_runs = max(1, (budget - 2) // per_unit)
    if budget < _LEAST_TO_SEARCH or 2 * n_runs >= problem.n_features:
        # Too few masks to look for what matters, or enough for neighbours two by two.
        return np.arange(problem.n_features) * n_runs // problem.n_features
    half = (budget - 1) // 2
    levels = build_hierarchy(problem.n_features, problem.levels)
    max_units = (half - 1) // per_unit
    steps = choose_units(levels, passes=half, max_units=max_units, keep_rate=keep, seed=seed)
    # Of all labels: groups must not depend on which one is explained.
    return (yield from problem.serve(steps))


def _recorded(indices: SobolIndices) -> dict[str, Any]:
    """How indices were made, for an explanation's settings."""
    made = indices.settings
    settings: dict[str, Any] = {
        "estimator": made.estimator,
        "design": made.design,
        "keep": made.keep,
        "base_masks": made.base_masks,
        "leader_masks": made.leader_masks,
        "sign": made.sign,
    }
    if made.precision is not None:
        settings |= {
            "precision": made.precision, "stable_top": made.stable_top, "stable": indices.stable,
        }  # fmt: skip
    return settings


def _warn_if_constant(indices: SobolIndices, found_path: FoundPath | None) -> None:
    """Warn when nothing that was scored differed from the rest."""
    if not np.any(indices.variance) and not (found_path and found_path.order):
        warn("the score is the same for every mask: all scores are 0", ConstantScoreWarning)
