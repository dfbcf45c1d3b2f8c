"""SHAP, by its own package, on the same masks as everything else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from textsobol.methods.contract import Attribution, Problem
from textsobol.methods.method import Method
from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.steps import Steps

_PARTITION_MASKS = 10  # asked for together: shap's own number


class _Shapley(Method):
    """Values of an explainer of shap, which replaces features of the whole input by nothing."""

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
    """Shapley values by weighted regression (Lundberg & Lee 2017), by shap's KernelExplainer.

    Without shap's selection of features, which would leave all but ten without a score.
    """

    name = "kernel_shap"
    title = "KernelSHAP"

    def least_masks(self, n_features: int) -> int:
        """As many as a regression on so many features needs."""
        return 2 * n_features + 2

    def _values(self, shap: Any, score: Any, problem: Problem, budget: int, seed: int) -> Any:
        # Two of the masks are the whole input and the empty one.
        explainer = shap.KernelExplainer(score, _nothing(problem))
        return explainer.shap_values(_whole(problem), nsamples=budget - 2, l1_reg=0, silent=True)


@dataclass(frozen=True)
class PermutationShap(_Shapley):
    """Shapley values by walks there and back (Štrumbelj & Kononenko), by shap's explainer."""

    name = "permutation_shap"
    title = "Permutation SHAP"

    def least_masks(self, n_features: int) -> int:
        """One walk there and back."""
        return 2 * n_features + 1

    def _values(self, shap: Any, score: Any, problem: Problem, budget: int, seed: int) -> Any:
        explainer = shap.explainers.Permutation(score, _nothing(problem), seed=seed)
        # Walks share their ends, which shap counts again for each of them.
        d = problem.n_features
        n_walks = (budget - 1) // (2 * d) or 1
        return explainer(_whole(problem), max_evals=n_walks * (2 * d + 1), silent=True).values


@dataclass(frozen=True)
class PartitionShap(_Shapley):
    """Owen values along a tree of neighbours (Lundberg), by shap's Partition explainer.

    The tree halves a text between paragraphs, between sentences, then anywhere; a picture across
    its longer side. What matters most for any of the labels is opened first, ten masks at a time;
    what the budget does not open shares its score evenly.
    """

    name = "partition_shap"
    title = "Partition SHAP"
    quantity = "Owen value"

    def _values(self, shap: Any, score: Any, problem: Problem, budget: int, seed: int) -> Any:
        tree = neighbour_tree(problem.n_features, problem.levels, problem.plane)
        masker = shap.maskers.Partition(_nothing(problem), clustering=tree)
        # Two masks are the whole input and the empty one; the others come in pairs.
        found = shap.explainers.Partition(score, masker)(
            _whole(problem), max_evals=budget - budget % 2, batch_size=_PARTITION_MASKS, silent=True
        )
        return found.values


def _explain_only_feature(problem: Problem) -> Steps[Attribution]:
    """The one feature of a problem has all the difference; some libraries fail on it."""
    both = yield from problem.score(np.array([[True], [False]]))
    return Attribution(both[:1] - both[1:], settings={"samples": 2})


def neighbour_tree(
    n_features: int, levels: Sequence[Integers] = (), plane: tuple[int, int] | None = None
) -> Floats:
    """A binary tree over features, in the format of scipy's linkages; see `Problem`.

    Example:
        >>> neighbour_tree(3, [np.array([0, 0, 1])]).astype(int).tolist()
        [[0, 1, 2, 2], [3, 2, 3, 3]]
    """
    merges: list[tuple[int, int, int, int]] = []

    def node(features: Integers) -> int:
        if len(features) == 1:
            return int(features[0])
        is_first = _first_half(features, levels, plane)
        left, right = node(features[is_first]), node(features[~is_first])
        merges.append((left, right, len(features), len(features)))
        return n_features - 1 + len(merges)

    node(np.arange(n_features))
    return np.array(merges, dtype=float)


def _first_half(
    features: Integers, levels: Sequence[Integers], plane: tuple[int, int] | None
) -> Array:
    """Which of at least two features go into the first branch."""
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


def _nothing(problem: Problem) -> Floats:
    return np.zeros((1, problem.n_features))


def _whole(problem: Problem) -> Floats:
    return np.ones((1, problem.n_features))


def _import_shap() -> Any:
    try:
        import shap
    except ImportError as error:
        raise ImportError('SHAP methods need shap: pip install "textsobol[bench]"') from error
    return shap
