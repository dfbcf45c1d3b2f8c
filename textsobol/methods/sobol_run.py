"""One run of `Sobol` on one problem: units, base masks, path and pairs within one budget."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from textsobol.errors import ConstantScoreWarning, warn
from textsobol.methods.contract import Attribution, FoundPath, Problem
from textsobol.methods.division import (
    MOST_BASE_MASKS_OF_PAIRS,
    Division,
    count_pairs,
    divide,
)
from textsobol.methods.path import find_path
from textsobol.search.budget import USUAL_PASSES, BaseMasks
from textsobol.search.screening import build_hierarchy, choose_units
from textsobol.sobol import SobolIndices, sobol_steps
from textsobol.sobol.arrays import Integers
from textsobol.sobol.config import make_config
from textsobol.sobol.designs import Design
from textsobol.sobol.pairs import pair_indices
from textsobol.steps import Steps, map_results, translate

if TYPE_CHECKING:
    from textsobol.methods.sobol import Sobol

_LEAST_TO_SCREEN = 40  # masks
# Longer texts are screened if the budget does not buy base masks enough for intervals.
MOST_UNSCREENED = 200
MOST_USUAL_PASSES = 1 + USUAL_PASSES * (MOST_UNSCREENED + 1)
_LEAST_BASE_MASKS, _BASE_PART = 5, 0.7
_LEAST_UNITS = 60  # a smaller budget is better spent on single words than on intervals


@dataclass(frozen=True)
class SobolRun:
    """One run of the method.

    Attributes:
        method: the options.
        problem: what to explain.
        budget: masks, or ``None`` for as many as the options need.
        seed: of the design.
        units: the unit of each feature ``(features,)``; features of a unit are masked as one.
    """

    method: Sobol
    problem: Problem
    budget: int | None
    seed: int
    units: Integers

    @cached_property
    def n_units(self) -> int:
        """Number of units."""
        return int(self.units.max()) + 1

    @cached_property
    def has_path(self) -> bool:
        """Whether a path is searched for."""
        return self.method.path and self.problem.decision is not None

    @cached_property
    def block(self) -> int:
        """Base masks per balanced block."""
        name = self.method.design or "latin"
        return Design(name, 1, keep=self.method.keep, seed=self.seed).block_size

    @cached_property
    def division(self) -> Division:
        """How many masks each part may score."""
        asked, is_whole = self.method, self.n_units == self.problem.n_features
        has_own = asked.base_masks is None and asked.precision is None
        return divide(
            None if self.budget is None else self.budget - self.problem.n_spent,
            self.n_units,
            asked.wanted,
            base_masks=asked.base_masks if is_whole else None,
            path=self.has_path,
            block=self.block,
            may_lead=has_own and asked.sign != "occlusion",
        )

    def stream(self) -> Steps[None]:
        """Yield results after 1, 2, 4, ... base masks; these no longer share batches."""
        asked, division = self.method, self.division
        if division.indices is None or asked.precision is not None:
            return
        if asked.estimator not in ("auto", "flip"):
            return
        n_base = (division.indices - asked.wanted.for_sign(self.n_units)) // (1 + self.n_units)
        n_base = n_base if division.masks is None else division.masks.n_base
        for power in range((min(asked.base_masks or n_base, n_base) - 1).bit_length()):
            yield self.make_attribution(
                (yield from self._estimate(estimator="flip", base_masks=2**power))
            )

    def estimate_indices(self) -> Steps[SobolIndices]:
        """Estimate the indices, with pairs if they need no masks of their own."""
        asked, division = self.method, self.division
        if division.masks is not None:
            return (yield from self._flip(division.masks))
        # The whole input, which sign="occlusion" needs, is known and costs nothing.
        n_known = 1 if asked.sign == "occlusion" and asked.wanted.is_binary else 0
        n_pairs = count_pairs(asked.interactions, self.n_units)
        is_auto_exact = division.is_exact and asked.estimator == "auto"  # no design
        return (
            yield from self._estimate(
                estimator="exact" if division.is_exact else asked.estimator,
                design=None if is_auto_exact else asked.design,
                budget=None if division.indices is None else division.indices + n_known,
                base_masks=None if is_auto_exact else asked.base_masks,
                precision=asked.precision,
                stable_top=asked.stable_top,
                pairs=min(asked.interactions, self.n_units)
                if n_pairs and not division.pairs
                else None,
            )
        )

    def search_path(self, indices: SobolIndices) -> Steps[FoundPath]:
        """Search for the path; yields the path so far."""
        steps = find_path(
            self.problem,
            self.units,
            indices,
            passes=self.division.path,
            for_flip=self.division.flip,
        )
        return map_results(steps, partial(self.make_attribution, indices))

    def use_rest(self, indices: SobolIndices) -> Steps[SobolIndices]:
        """Spend what the search left over on the indices."""
        if self.budget is None or self.division.masks is None:
            return indices
        left = self.budget - self.division.pairs - self.problem.n_spent
        masks = self.division.masks.add(left, self.n_units, block=self.block)
        return indices if masks == self.division.masks else (yield from self._flip(masks))

    def estimate_pairs(self, indices: SobolIndices) -> Steps[tuple[SobolIndices, dict[str, int]]]:
        """Add pairs to the indices, if they have masks of their own; also their base masks."""
        if not self.division.pairs:
            return indices, {}
        assert self.budget is not None
        left = self.budget - self.problem.n_spent
        steps = self._serve(_with_pairs(indices, left, self.method.interactions))
        indices, n_base = yield from steps
        return indices, {"pair_base_masks": n_base}

    def make_attribution(
        self, indices: SobolIndices, path: FoundPath | None = None, **made: int
    ) -> Attribution:
        """What is found so far."""
        n_distinct = self.problem.n_scored
        return Attribution(
            indices.signed[self.units],
            is_signed=self.method.sign is not None,
            settings=_record_settings(indices) | made,
            indices=indices,
            mask_counts=(n_distinct + indices.n_masks - indices.n_distinct, n_distinct),
            path=path,
            units=self.units if self.n_units < self.problem.n_features else None,
        )

    def _flip(self, masks: BaseMasks) -> Steps[SobolIndices]:
        return self._estimate(
            estimator="flip", base_masks=masks.n_base, leader_masks=masks.n_leader
        )

    def _estimate(self, **how: Any) -> Steps[SobolIndices]:
        asked = self.method
        usual = {"design": asked.design, "keep": asked.keep, "sign": asked.sign, "seed": self.seed}
        config = make_config(self.n_units, **{**usual, **how})
        # A few base masks without a change do not mean that the score is constant.
        return self._serve(sobol_steps(config, warns_of_constant=False))

    def _serve(self, steps: Steps[Any]) -> Steps[Any]:
        return self.problem.serve(translate(steps, lambda masks: masks[:, self.units]))


def _with_pairs(
    indices: SobolIndices, left: int, interactions: int
) -> Steps[tuple[SobolIndices, int]]:
    """Add the pairs of the units with the highest indices; also return their base masks.

    The first base masks are those of the indices, whose flips are known; in further ones only these
    units are flipped.
    """
    made, n_units = indices.settings, len(indices.total)
    assert made.design is not None
    assert made.keep is not None
    n_pairs = count_pairs(interactions, n_units)
    top = np.argsort(-indices.total.max(axis=1), kind="stable")[:interactions]
    n_base = left // n_pairs
    if n_base > made.base_masks:
        more = (left - made.base_masks * n_pairs) // (1 + len(top) + n_pairs)
        n_base = min(made.base_masks + more, max(made.base_masks, MOST_BASE_MASKS_OF_PAIRS))
    pairs = yield from pair_indices(
        Design(made.design, n_units, keep=made.keep, seed=made.seed),
        np.sort(top),
        base_masks=n_base,
        keep=made.keep,
        variance=indices.variance,
    )
    return replace(indices, pairs=pairs), n_base


def choose_screened_units(
    method: Sobol, problem: Problem, budget: int, seed: int
) -> Steps[Integers]:
    """Merge features into units, so that base masks with their flips fit the budget.

    In a long text several base masks must fit, so that there are intervals; else one is enough.
    """
    wanted, d = method.wanted, problem.n_features
    per_unit = 2 if wanted.sign == "occlusion" else 1
    half = (budget - 1) // 2
    part = _BASE_PART if method.path and problem.decision is not None else 1.0
    has_own = method.base_masks is not None or method.precision is not None
    is_long = d > MOST_UNSCREENED and not has_own
    max_units = (int(half * part) // _LEAST_BASE_MASKS - 1) // per_unit
    is_thorough = (
        is_long
        and part * (budget - 1) < _LEAST_BASE_MASKS * (1 + per_unit * d)
        and max_units >= _LEAST_UNITS
    )
    if not is_thorough:
        if budget >= wanted.least_masks(d):
            return np.arange(d)
        n_runs = max(1, (budget - 2) // per_unit)
        if budget < _LEAST_TO_SCREEN or 2 * n_runs >= d:
            # Too few masks to screen, or enough for pairs of neighbours.
            return np.arange(d) * n_runs // d
        max_units = (half - 1) // per_unit
    assert method.keep is not None
    steps = choose_units(
        build_hierarchy(d, problem.levels), passes=half, max_units=max_units,
        keep_rate=method.keep, seed=seed, is_thorough=is_thorough,
    )  # fmt: skip
    # For all labels: units must not depend on the target.
    return (yield from problem.serve(steps))


def _record_settings(indices: SobolIndices) -> dict[str, Any]:
    """How the indices were made, for an explanation's settings."""
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


def warn_if_constant(
    indices: SobolIndices, found_path: FoundPath | None, *, is_grouped: bool = False
) -> None:
    """Warn if all scores are equal."""
    if not np.any(indices.variance) and not (found_path and found_path.order):
        said = "the score is the same whatever is left out, so all scores are 0"
        if is_grouped:
            said += (
                "; words were masked as groups, and what cancels out within a group is missed. A "
                "larger budget masks each word by itself"
            )
        warn(said, ConstantScoreWarning)
