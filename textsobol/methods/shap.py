"""SHAP, through the shap package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from textsobol.methods.contract import Attribution, Problem
from textsobol.methods.method import Method
from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.steps import Steps

_PARTITION_MASKS = 10  # per call; shap's own number


class _Shapley(Method):
    """Values from one of shap's explainers; absent features are masked."""

    quantity = "Shapley value"

    def attribute(self, problem: Problem, *, budget: int | None, seed: int) -> Steps[Attribution]:
        """See `Method.attribute`."""
        assert budget is not None
        shap = _import_shap()
        if problem.n_features == 1:
            return (yield from _explain_only_feature(problem))
        n_masks = budget

        def values(score: Callable[[Array], Floats]) -> Floats:
            state = np.random.get_state()  # noqa: NPY002  (shap draws from it)
            try:
                np.random.seed(seed)  # noqa: NPY002
                return np.asarray(
                    self._values(shap, lambda masks: score(masks > 0.5), problem, n_masks, seed)
                )
            finally:
                np.random.set_state(state)  # noqa: NPY002

        found = yield from problem.call(values)
        scores = found.reshape(problem.n_features, -1).astype(float)
        return Attribution(scores, settings={"samples": budget})

    def _values(self, shap: Any, score: Any, problem: Problem, budget: int, seed: int) -> Any:
        raise NotImplementedError


@dataclass(frozen=True)
class KernelShap(_Shapley):
    """Shapley values by weighted regression (Lundberg & Lee 2017): shap's KernelExplainer.

    Without shap's feature selection, which would give only ten features a score.
    """

    name = "kernel_shap"
    title = "KernelSHAP"

    def least_masks(self, n_features: int) -> int:
        """Enough for the regression."""
        return 2 * n_features + 2

    def _values(self, shap: Any, score: Any, problem: Problem, budget: int, seed: int) -> Any:
        # Two of the masks are the whole input and the empty one.
        explainer = shap.KernelExplainer(score, _zeros(problem))
        return explainer.shap_values(_ones(problem), nsamples=budget - 2, l1_reg=0, silent=True)


@dataclass(frozen=True)
class PermutationShap(_Shapley):
    """Shapley values by permutations, forwards and backwards (Štrumbelj & Kononenko)."""

    name = "permutation_shap"
    title = "Permutation SHAP"

    def least_masks(self, n_features: int) -> int:
        """One permutation, forwards and backwards."""
        return 2 * n_features + 1

    def _values(self, shap: Any, score: Any, problem: Problem, budget: int, seed: int) -> Any:
        explainer = shap.explainers.Permutation(score, _zeros(problem), seed=seed)
        # Permutations share their ends, which shap counts for each of them.
        d = problem.n_features
        n_walks = (budget - 1) // (2 * d) or 1
        return explainer(_ones(problem), max_evals=n_walks * (2 * d + 1), silent=True).values


@dataclass(frozen=True)
class PartitionShap(_Shapley):
    """Owen values along a tree of neighbours (Lundberg): shap's Partition explainer.

    The tree halves a text between paragraphs, then sentences, then anywhere; a picture across its
    longer side. The group that matters most for any label is split first, ten masks at a time; the
    features of a group that is never split share its score equally.
    """

    name = "partition_shap"
    title = "Partition SHAP"
    quantity = "Owen value"

    def _values(self, shap: Any, score: Any, problem: Problem, budget: int, seed: int) -> Any:
        tree = build_neighbour_tree(problem.n_features, problem.levels, problem.plane)
        masker = shap.maskers.Partition(_zeros(problem), clustering=tree)
        # Two masks are the whole input and the empty one; the others come in pairs.
        found = shap.explainers.Partition(score, masker)(
            _ones(problem),
            max_evals=budget - budget % 2,
            batch_size=_PARTITION_MASKS,
            silent=True,
        )
        return found.values


def _explain_only_feature(problem: Problem) -> Steps[Attribution]:
    """Explain a problem with one feature, on which some of shap's explainers fail."""
    both = yield from problem.score(np.array([[True], [False]]))
    return Attribution(both[:1] - both[1:], settings={"samples": 2})


def build_neighbour_tree(
    n_features: int, levels: Sequence[Integers] = (), plane: tuple[int, int] | None = None
) -> Floats:
    """Build a binary tree over features, as a scipy linkage; see `Problem`.

    Example:
        >>> build_neighbour_tree(3, [np.array([0, 0, 1])]).astype(int).tolist()
        [[0, 1, 2, 2], [3, 2, 3, 3]]
    """
    merges: list[tuple[int, int, int, int]] = []

    def node(features: Integers) -> int:
        if len(features) == 1:
            return int(features[0])
        is_first = _choose_first_half(features, levels, plane)
        left, right = node(features[is_first]), node(features[~is_first])
        merges.append((left, right, len(features), len(features)))
        return n_features - 1 + len(merges)

    node(np.arange(n_features))
    return np.array(merges, dtype=float)


def _choose_first_half(
    features: Integers, levels: Sequence[Integers], plane: tuple[int, int] | None
) -> Array:
    """Which of two or more features go into the first branch."""
    if plane is not None:
        down, across = np.divmod(features, plane[1])
        side = down if np.ptp(down) >= np.ptp(across) else across
        return np.asarray(side <= (side.min() + side.max()) // 2)
    places = np.arange(1, len(features))
    middle = len(features) / 2
    for level in levels:
        ends = places[np.diff(level[features]) != 0]
        if len(ends):
            places = ends
            break
    cut = places[np.abs(places - middle).argmin()]
    return np.asarray(np.arange(len(features)) < cut)


def _zeros(problem: Problem) -> Floats:
    return np.zeros((1, problem.n_features))


def _ones(problem: Problem) -> Floats:
    return np.ones((1, problem.n_features))


def _import_shap() -> Any:
    try:
        import shap
    except ImportError as error:
        raise ImportError('SHAP methods need shap: pip install "textsobol[bench]"') from error
    return shap
