"""LIME and SHAP, by their own packages, on the same masks as everything else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from textsobol.methods.contract import Attribution, Problem
from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.steps import Steps

_KERNEL_WIDTH = 25.0  # LimeTextExplainer's
_PARTITION_ROWS = 10  # asked for together: shap's own number


def lime(problem: Problem, *, budget: int, seed: int) -> Steps[Attribution]:
    """A linear model of the score near the input (Ribeiro et al. 2016), by lime's own fit.

    Masks and weights are those of ``LimeTextExplainer``: any number of words is left out, each
    number equally often, and masks near the whole text weigh more.
    """
    try:
        from lime.lime_base import LimeBase
    except ImportError as error:
        raise ImportError('method="lime" needs lime: pip install "textsobol[bench]"') from error
    random = np.random.RandomState(seed)
    masks = _lime_masks(random, budget, problem.n_features)
    scores = yield from problem.score(masks)
    # Cosine distance to the whole text, in hundredths as in lime.
    distances = 100 * (1 - np.sqrt(masks.mean(axis=1)))
    fit = LimeBase(lambda d: np.sqrt(np.exp(-(d**2) / _KERNEL_WIDTH**2)), random_state=random)
    found = np.zeros((problem.n_features, scores.shape[1]))
    for label in range(scores.shape[1]):
        _, weights, _, _ = fit.explain_instance_with_data(
            masks.astype(float),
            scores,
            distances,
            label,
            problem.n_features,
            feature_selection="none",
        )
        for feature, weight in weights:
            found[feature, label] = weight
    return Attribution(found, settings={"samples": budget})


def _lime_masks(random: np.random.RandomState, n_rows: int, n_features: int) -> Array:
    masks = np.ones((n_rows, n_features), dtype=bool)
    sizes = random.randint(1, n_features + 1, n_rows - 1)
    for row, size in enumerate(sizes, start=1):
        masks[row, random.choice(n_features, size, replace=False)] = False
    return masks


def kernel_shap(problem: Problem, *, budget: int, seed: int) -> Steps[Attribution]:
    """Shapley values by weighted regression (Lundberg & Lee 2017), by shap's KernelExplainer.

    Without shap's selection of features, which would leave all but ten without a score.
    """
    shap = _shap()
    # Two of the rows are the whole input and the empty one.
    return _shapley(
        problem,
        budget,
        seed,
        lambda f, nothing, everything: np.asarray(
            shap.KernelExplainer(f, nothing).shap_values(
                everything, nsamples=budget - 2, l1_reg=0, silent=True
            )
        ),
    )


def permutation_shap(problem: Problem, *, budget: int, seed: int) -> Steps[Attribution]:
    """Shapley values by walks there and back (Štrumbelj & Kononenko), by shap's explainer."""
    shap = _shap()

    def values(f: Any, nothing: Floats, everything: Floats) -> Floats:
        explainer = shap.explainers.Permutation(f, nothing, seed=seed)
        # Walks share their ends, which shap counts again for each of them.
        n_walks = (budget - 1) // (2 * problem.n_features) or 1
        max_evals = n_walks * (2 * problem.n_features + 1)
        return np.asarray(explainer(everything, max_evals=max_evals, silent=True).values)

    return _shapley(problem, budget, seed, values)


def partition_shap(problem: Problem, *, budget: int, seed: int) -> Steps[Attribution]:
    """Owen values along a tree of neighbours (Lundberg), by shap's Partition explainer.

    The tree halves a text between paragraphs, between sentences, then anywhere; a picture across
    its longer side. What matters most for any of the labels is opened first, ten masks at a time;
    what the budget does not open shares its score evenly.
    """
    shap = _shap()
    tree = neighbour_tree(problem.n_features, problem.levels, problem.plane)
    if problem.n_features == 1:
        return only_feature(problem)

    def values(f: Any, nothing: Floats, everything: Floats) -> Floats:
        masker = shap.maskers.Partition(nothing, clustering=tree)
        explainer = shap.explainers.Partition(f, masker)
        # Two rows are the whole input and the empty one; the others come in pairs.
        max_evals = budget - budget % 2
        found = explainer(everything, max_evals=max_evals, batch_size=_PARTITION_ROWS, silent=True)
        return np.asarray(found.values)

    return _shapley(problem, budget, seed, values)


def only_feature(problem: Problem) -> Steps[Attribution]:
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


def _shapley(problem: Problem, budget: int, seed: int, values: Any) -> Steps[Attribution]:
    nothing, everything = np.zeros((1, problem.n_features)), np.ones((1, problem.n_features))

    def seeded(score: Callable[[Array], Floats]) -> Floats:
        state = np.random.get_state()  # noqa: NPY002  (shap draws from it)
        try:
            np.random.seed(seed)  # noqa: NPY002
            return np.asarray(values(lambda masks: score(masks > 0.5), nothing, everything))
        finally:
            np.random.set_state(state)  # noqa: NPY002

    found = yield from problem.call(seeded)
    return Attribution(
        found.reshape(problem.n_features, -1).astype(float), settings={"samples": budget}
    )


def _shap() -> Any:
    try:
        import shap
    except ImportError as error:
        raise ImportError('SHAP methods need shap: pip install "textsobol[bench]"') from error
    return shap
