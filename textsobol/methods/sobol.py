"""Our own method: signed total Sobol' indices, and the path.

The indices say how much every feature matters; the path says which deletions change the prediction
soonest. Both use the same budget and scored masks. The search starts from the estimated effects and
never changes the indices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from textsobol.errors import GatesError
from textsobol.methods.contract import Attribution, Problem
from textsobol.methods.division import Wanted, buys_all_masks, check_sobol_budget, count_pairs
from textsobol.methods.gated_run import (
    LEAST_KEEP,
    MOST_GATED_PASSES,
    MOST_KEEP,
    NOTHING_SAVED,
    GatedBudget,
    GatedRun,
    divide_gated,
)
from textsobol.methods.method import Method, Scale, check_keep
from textsobol.methods.sobol_run import (
    MOST_UNSCREENED,
    MOST_USUAL_PASSES,
    SobolRun,
    choose_screened_units,
    warn_if_constant,
)
from textsobol.search.budget import USUAL_PASSES, divide_budget
from textsobol.sobol.config import make_config
from textsobol.steps import Steps, map_results

_PICTURE_BASE_MASKS = 32  # the paper's: 3,936 forward passes on its grid


@dataclass(frozen=True)
class Sobol(Method):
    """Signed total Sobol indices, with intervals, and a path.

    Attributes:
        estimator: ``auto`` scores all masks if the budget allows it (``exact``) and uses ``flip``
            otherwise; ``jansen`` is the paper's; see `textsobol.sobol_indices`.
        design: where base masks come from: ``latin``, ``random``, ``sobol``,
            ``sobol-unscrambled`` or ``halton``; by default what suits the estimator.
        keep: probability that a feature is present in a mask; for pictures also ``None``, the
            paper's real-valued masks, which need an estimator such as ``jansen``.
        base_masks: most base masks; the rest of the budget goes to the path.
        sign: where the sign of a score comes from: ``mean`` (the mean effect), ``occlusion`` (the
            paper's: leaving out that feature alone), or ``None`` for scores without sign.
        interactions: number of top features whose pairs are analysed, too. Pairs get up to a third
            of the budget, and add up to 50 % to the default budget.
        precision: add base masks until the features with the highest total index are the same ones
            in this fraction of bootstrap resamples, for example 0.95; at most the budget, or the
            passes of 64 base masks.
        stable_top: number of top features for ``precision``.
        path: also search for the words whose deletion changes the prediction soonest, with part of
            the budget.
        gates: use gate gradients, if the model has them, to find the words that can matter; only
            those are then flipped. Texts that are so short that all words can be flipped are
            analysed without gates.

    Example:
        >>> Sobol(estimator="flip", keep=0.9).keep
        0.9
        >>> Sobol(keep=2)
        Traceback (most recent call last):
        ValueError: keep=2: the probability that a word stays must be a number between 0 and 1,
        both excluded, for example 0.5
    """

    estimator: str = "auto"
    design: str | None = None
    keep: float | None = 0.5
    base_masks: int | None = None
    sign: str | None = "mean"
    interactions: int = 0
    precision: float | None = None
    stable_top: int = 5
    path: bool = True
    gates: bool = True

    name = "sobol"
    title = "Sobol"
    quantity = "share of the variance"
    has_shares = True

    def __post_init__(self) -> None:
        if self.keep is not None:
            check_keep(self.keep)
        if self.precision is None and self.stable_top != Sobol.stable_top:
            raise ValueError("stable_top has no effect without precision=: give both")
        count_pairs(self.interactions, 0)
        # Refuse at once what the core would refuse later, for any number of features.
        make_config(
            2, estimator=self.estimator, design=self.design, keep=self.keep, sign=self.sign,
            base_masks=self.base_masks, precision=self.precision, stable_top=self.stable_top,
        )  # fmt: skip

    @property
    def wanted(self) -> Wanted:
        """What the options require."""
        return Wanted.of(self.estimator, self.sign, self.interactions, keep=self.keep)

    def for_texts(self) -> Sobol:
        """Refuse real-valued masks: a word is present or absent."""
        check_keep(self.keep)
        return self

    def for_pictures(self, *, has_budget: bool) -> Sobol:
        """By default the paper's number of base masks."""
        if self.interactions:
            raise ValueError("interactions: pairs are analysed for texts only")
        asked = has_budget or self.base_masks is not None or self.precision is not None
        if asked or self.estimator == "exact":
            return self
        return replace(self, base_masks=_PICTURE_BASE_MASKS)

    def _choose_usual(self, scale: Scale, n_pairs: int) -> int:
        """Masks without a budget. A long text is screened, so that its cost is not quadratic."""
        usual, d = scale.usual, scale.n_features
        if self._divide_gated(MOST_GATED_PASSES - 1, d, scale.passes_per_gates, has_path=True):
            return min(usual, MOST_GATED_PASSES)
        if scale.has_groups and self.estimator == "auto" and not n_pairs and d > MOST_UNSCREENED:
            return min(usual, MOST_USUAL_PASSES)
        if n_pairs:
            usual = max(usual * 3 // 2, 1 + 6 * (1 + d + n_pairs))
        return max(usual, self.wanted.least_masks(d))

    @property
    def may_use_gates(self) -> bool:
        """Whether the options allow gates."""
        is_usual = self.estimator == "auto" and self.sign != "occlusion" and not self.interactions
        has_own = self.base_masks is not None or self.precision is not None
        is_near = self.keep is not None and LEAST_KEEP <= self.keep <= MOST_KEEP
        return self.gates and is_usual and is_near and not has_own

    def _divide_gated(
        self, left: int, n_features: int, passes_per_gates: int | None, *, has_path: bool
    ) -> GatedBudget | None:
        """How a budget is divided if gates are used."""
        if passes_per_gates is None or not self.may_use_gates:
            return None
        if buys_all_masks(left, n_features):
            return None
        return divide_gated(
            left, n_features, passes_per_gates=passes_per_gates, has_path=self.path and has_path
        )

    def _attribute_with_gates(
        self, problem: Problem, budget: int, seed: int
    ) -> Steps[Attribution | str | None]:
        """What is found with gates; or why they are not used, if there is something to say."""
        if not problem.model.takes_gates:
            return problem.model.gates_refusal
        divided = self._divide_gated(
            budget - problem.n_spent,
            problem.n_features,
            problem.model.passes_per_gates(),
            has_path=problem.decision is not None,
        )
        if divided is None:
            return NOTHING_SAVED
        found = yield from GatedRun(self, problem, divided, budget, seed).run()
        assert found.indices is not None
        warn_if_constant(found.indices, found.path)
        return found

    def expected_masks(self, n_features: int, *, has_path: bool = False) -> int:
        """The masks of all base masks, and of the path as without options."""
        config = make_config(
            n_features, estimator=self.estimator, design=self.design, keep=self.keep,
            sign=self.sign, base_masks=self.base_masks, precision=self.precision,
            stable_top=self.stable_top, pairs=min(self.interactions, n_features) or None,
        )  # fmt: skip
        if not (has_path and self.path):
            return 1 + config.n_masks
        usual = divide_budget(1 + USUAL_PASSES * (n_features + 1), n_features)
        return 1 + config.n_masks + usual.path_passes + usual.flip_passes

    def choose_budget(self, budget: int | None, scale: Scale) -> int | None:
        """See `Method.choose_budget`."""
        d = scale.n_features
        n_pairs = count_pairs(self.interactions, d)
        if budget is None:
            if self.base_masks is not None or self.precision is not None:
                return None
            usual = self._choose_usual(scale, n_pairs)
            return super().choose_budget(None, replace(scale, usual=usual))
        if n_pairs or self.estimator != "auto" or not scale.has_groups:
            check_sobol_budget(budget, d, self.wanted, noun=scale.noun, passes=scale.passes)
        return super().choose_budget(budget, scale)

    def attribute(self, problem: Problem, *, budget: int | None, seed: int) -> Steps[Attribution]:
        """See `Method.attribute`.

        If the budget is too small to flip every feature once, screening first merges features into
        units; see `textsobol.search.screening`.
        """
        why: str | None = None
        if budget is not None and self.may_use_gates:
            try:
                found = yield from self._attribute_with_gates(problem, budget, seed)
            except GatesError as error:
                found = str(error)  # forward passes may do where gradients do not
            if isinstance(found, Attribution):
                return found
            why = found

        def note(found: Attribution) -> Attribution:
            return found.without_gates(why)

        steps = self._attribute_by_passes(problem, budget, seed)
        return note((yield from map_results(steps, note)))

    def _attribute_by_passes(
        self, problem: Problem, budget: int | None, seed: int
    ) -> Steps[Attribution]:
        """What forward passes alone find."""
        units = np.arange(problem.n_features)
        if budget is not None and self.estimator == "auto" and not self.interactions:
            units = yield from choose_screened_units(self, problem, budget, seed)
        run = SobolRun(self, problem, budget, seed, units)
        if problem.is_streamed:
            yield from run.stream()
        indices = yield from run.estimate_indices()
        path = None
        if run.has_path:
            yield run.make_attribution(indices)
            path = yield from run.search_path(indices)
            indices = yield from run.use_rest(indices)
        indices, made = yield from run.estimate_pairs(indices)
        warn_if_constant(indices, path, is_grouped=run.n_units < problem.n_features)
        return run.make_attribution(indices, path, **made)
