"""Our own method: signed total Sobol' indices, and beside them the path of deletions.

The indices say how much every feature matters; the path, which features to delete so that the
decision falls soonest. They share the budget and the scored masks, and nothing else: the path
starts from the estimated effects, and writes nothing into the indices.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from textsobol.methods.contract import Attribution, FoundPath, Game
from textsobol.methods.path import find_path
from textsobol.search.budget import (
    USUAL_PASSES,
    BaseMasks,
    divide_base_masks,
    divide_budget,
)
from textsobol.search.coarse_to_fine import build_hierarchy, choose_units
from textsobol.sobol import ConstantScoreWarning, SobolIndices, sobol_indices
from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.sobol.designs import Design
from textsobol.sobol.evaluator import Evaluator
from textsobol.sobol.pairs import pair_indices
from textsobol.sobol.plan import MOST_EXACT_FEATURES

_LEAST_TO_SEARCH = 40  # masks, to look for the groups that matter
_MOST_BASE_MASKS_OF_PAIRS = 32
_PLENTY = 2**63


def n_pairs_among(interactions: int, n_features: int) -> int:
    """Number of pairs that so many features have; no more features than there are."""
    if interactions < 0 or interactions == 1:
        raise ValueError(f"interactions={interactions}: must be 0, or 2 words at least")
    k = min(interactions, n_features)
    return k * (k - 1) // 2


def sobol(game: Game, **settings: Any) -> Attribution:
    """Signed total indices and, if asked for, the path; see `stages`."""
    *_, last = stages(game, only_last=True, **settings)
    return last


def stages(
    game: Game,
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
    only_last: bool = False,
) -> Iterator[Attribution]:
    """What is known after 1, 2, 4, ... base masks, after every deletion, and in the end.

    A budget too small to flip every feature once goes to groups of features first, to find where
    it matters to look closer; see `textsobol.search.coarse_to_fine`.

    Args:
        game: what is to be explained.
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
        only_last: whether nobody looks at the stages before the last; base masks then share
            batches.
    """
    evaluator = Evaluator(game.black_box, game.n_features, budget=budget)
    units = np.arange(game.n_features)
    if budget is not None and keep is not None:
        evaluator([np.ones((1, game.n_features), dtype=bool)])
        if estimator == "auto" and not interactions and budget < game.n_features + 2:
            units = _groups(evaluator, game, budget, keep=keep, seed=seed)
    n_units = int(units.max()) + 1
    n_pairs = n_pairs_among(interactions, n_units)
    searches = path and game.decision is not None
    block = Design(design or "latin", 1, keep=keep, seed=seed).block_rows
    share = _divide(
        None if budget is None else budget - evaluator.n_distinct,
        n_units,
        estimator="pick-freeze" if keep is None else estimator,
        rows=rows if n_units == game.n_features else None,
        interactions=interactions,
        path=searches,
        block=block,
        may_lead=rows is None and precision is None and sign != "occlusion",
    )

    def estimated(**how: Any) -> SobolIndices:
        options = {"seed": seed, "design": design, "keep": keep, "sign": sign, **how}
        with warnings.catch_warnings():
            # That few base masks see no change does not mean that there is none.
            warnings.simplefilter("ignore", ConstantScoreWarning)
            return sobol_indices(lambda masks: evaluator([masks[:, units]]), n_units, **options)

    def found(
        indices: SobolIndices, found_path: FoundPath | None = None, **more: int
    ) -> Attribution:
        return Attribution(
            indices.signed[units],
            settings=_recorded(indices) | more,
            indices=indices,
            rows=(indices.n_rows + 1, evaluator.n_distinct),
            path=found_path,
            units=units if n_units < game.n_features else None,
        )

    if not only_last and not share.is_exact and share.indices is not None:
        n_base = share.indices // (1 + n_units) if share.masks is None else share.masks.n_base
        n_base = min(rows or n_base, n_base)
        for power in range((n_base - 1).bit_length()):
            yield found(estimated(estimator="flip", rows=2**power))
    if share.masks is not None:
        indices = estimated(estimator="flip", **_rows(share.masks))
    else:
        indices = estimated(
            estimator="exact" if share.is_exact else estimator,
            budget=share.indices,
            rows=None if share.is_exact else rows,
            precision=precision,
            stable_top=stable_top,
            pairs=min(interactions, n_units) if n_pairs and not share.pairs else None,
        )
    found_path = None
    if searches:
        yield found(indices)
        for found_path in find_path(
            game, evaluator, units, indices, passes=share.path, for_flip=share.flip
        ):
            yield found(indices, found_path)
    if budget is not None and share.masks is not None and searches:
        # What the search did not need makes the indices surer.
        left = budget - share.pairs - evaluator.n_distinct
        masks = share.masks.add(left, n_units, block=block)
        if masks != share.masks:
            indices = estimated(estimator="flip", **_rows(masks))
    if share.pairs:
        assert budget is not None
        left = budget - evaluator.n_distinct
        indices, n_base = _with_pairs(indices, evaluator, units, left, interactions)
        yield found(indices, found_path, pair_base_masks=n_base)
    else:
        yield found(indices, found_path)
    _warn_if_constant(indices, found_path)


@dataclass(frozen=True)
class _Share:
    """How the masks that may be scored are divided.

    Attributes:
        indices: for the indices, or ``None`` for as many as they take.
        masks: the base masks that this buys, where nobody asked for others.
        path: for the path.
        flip: for making the flip set irreducible.
        pairs: for pairs that come after the indices.
        is_exact: whether all masks fit, so that nothing else costs anything.
    """

    indices: int | None
    masks: BaseMasks | None = None
    path: int = 0
    flip: int = 0
    pairs: int = 0
    is_exact: bool = False


def _divide(
    left: int | None,
    n_units: int,
    *,
    estimator: str,
    rows: int | None,
    interactions: int,
    path: bool,
    block: int,
    may_lead: bool,
) -> _Share:
    """Divide what is left of a budget, the whole input being known already."""
    if left is not None and estimator == "auto" and n_units <= MOST_EXACT_FEATURES:
        allowed = left + 1 if rows is None else min(left + 1, rows * (n_units + 1))
        if 1 << n_units <= allowed:
            return _Share(None, path=_PLENTY, flip=_PLENTY, is_exact=True)
    pairs = 0
    if interactions and left is not None and estimator in ("auto", "flip"):
        pairs = _passes_for_pairs(left, n_units, interactions)
    may_lead &= estimator == "auto"
    if not path:
        if left is None or not may_lead:
            return _Share(None if left is None else left - pairs, pairs=pairs)
        masks = divide_base_masks(left - pairs, n_units, block=block)
        return _Share(left - pairs, masks, pairs=pairs)
    # Without a budget the path gets what it would have beside the usual one.
    usual = USUAL_PASSES * (n_units + 1)
    divided = divide_budget(1 + (usual if left is None else left - pairs), n_units, block=block)
    masks, for_path, for_flip = divided
    if left is None:
        return _Share(None, None, for_path, for_flip)
    for_indices = left - pairs - for_path - for_flip
    return _Share(for_indices, masks if may_lead else None, for_path, for_flip, pairs)


def _rows(masks: BaseMasks) -> dict[str, int]:
    return {"rows": masks.n_base, "leader_rows": masks.n_leader}


def _passes_for_pairs(left: int, n_units: int, interactions: int) -> int:
    """Masks that pairs get: a third of what is left, no more than 32 base masks need.

    One base mask of the rest must fit beside them, and one mask for every pair.
    """
    n_pairs = n_pairs_among(interactions, n_units)
    per_base_mask = 1 + min(interactions, n_units) + n_pairs
    affordable = min(left // 3, left - 1 - n_units)
    return max(n_pairs, min(_MOST_BASE_MASKS_OF_PAIRS * per_base_mask, affordable))


def _with_pairs(
    indices: SobolIndices, evaluator: Evaluator, units: Integers, left: int, interactions: int
) -> tuple[SobolIndices, int]:
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
    if n_base > made.rows:
        more = (left - made.rows * n_pairs) // (1 + len(strongest) + n_pairs)
        n_base = min(made.rows + more, max(made.rows, _MOST_BASE_MASKS_OF_PAIRS))
    pairs = pair_indices(
        lambda pieces: evaluator(piece[:, units] for piece in pieces),
        Design(made.design, n_units, keep=made.keep, seed=made.seed),
        np.sort(strongest),
        rows=n_base,
        keep=made.keep,
        variance=indices.variance,
    )
    return replace(indices, pairs=pairs), n_base


def _groups(evaluator: Evaluator, game: Game, budget: int, *, keep: float, seed: int) -> Integers:
    """What comes and goes as one, so that one base mask of it still fits the budget."""
    n_runs = max(1, budget - 2)
    if budget < _LEAST_TO_SEARCH or 2 * n_runs >= game.n_features:
        # Too few masks to look for what matters, or enough for neighbours two by two.
        return np.arange(game.n_features) * n_runs // game.n_features

    def score(masks: Array) -> Floats:
        return evaluator([masks])  # of all labels: groups must not depend on which is looked at

    half = (budget - 1) // 2
    levels = build_hierarchy(game.n_features, game.levels)
    return choose_units(score, levels, passes=half, max_units=half - 1, keep_rate=keep, seed=seed)


def _recorded(indices: SobolIndices) -> dict[str, Any]:
    """How indices were made, for an explanation's settings."""
    made = indices.settings
    settings: dict[str, Any] = {
        "estimator": made.estimator,
        "design": made.design,
        "keep": made.keep,
        "base_masks": made.rows,
        "leader_masks": made.leader_rows,
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
        warnings.warn(
            "the score is the same for every mask: all scores are 0",
            ConstantScoreWarning,
            stacklevel=5,
        )
