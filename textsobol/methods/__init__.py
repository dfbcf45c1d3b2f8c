"""What we are compared with: attribution methods under one contract, by name."""

from collections.abc import Callable, Sequence
from typing import Any

from textsobol.methods.contract import Attribution, Differentiable, Method, Problem
from textsobol.methods.gradients import gradient_input, integrated_gradients, saliency, smoothgrad
from textsobol.methods.layers import gradcam
from textsobol.methods.peers import kernel_shap, lime, partition_shap, permutation_shap
from textsobol.methods.perturbing import GREEDY_DELETIONS, greedy, occlusion, random_scores
from textsobol.methods.rise import rise
from textsobol.methods.sobol import sobol
from textsobol.steps import Steps

__all__ = [
    "METHODS",
    "TEXT_METHODS",
    "Attribution",
    "Differentiable",
    "Method",
    "Problem",
    "method_named",
]


_SOBOL_SETTINGS = (
    "keep",
    "estimator",
    "design",
    "rows",
    "sign",
    "interactions",
    "precision",
    "stable_top",
    "path",
)


def _none(n_features: int) -> int:
    """Of methods that do not mask anything."""
    return 0


def _search(n_features: int) -> int:
    return 1 + min(GREEDY_DELETIONS, n_features) * n_features


def _gradient(title: str, steps: Callable[..., Steps[Attribution]], **others: Any) -> Method:
    return Method(title, steps, "white box", _none, _none, finest=True, **others)


METHODS: dict[str, Method] = {
    "sobol": Method("Sobol", sobol, "black box", lambda d: 2, options=_SOBOL_SETTINGS),
    "random": Method(
        "Random", random_scores, "baseline", _none, _none, is_signed=False, finest=True
    ),
    "saliency": _gradient("Saliency", saliency, is_signed=False),
    "gradient_input": _gradient("Gradient x Input", gradient_input),
    "smoothgrad": _gradient("SmoothGrad", smoothgrad, is_signed=False),
    "integrated_gradients": _gradient("Integrated gradients", integrated_gradients),
    "gradcam": _gradient(
        "Grad-CAM", gradcam, is_signed=False, pictures_only=True, options=("layer",)
    ),
    "occlusion": Method("Occlusion", occlusion, "black box", lambda d: d + 1, lambda d: d + 1),
    "rise": Method("RISE", rise, "black box", lambda d: 2, finest=True),
    "lime": Method("LIME", lime, "black box", lambda d: 2),
    "kernel_shap": Method("KernelSHAP", kernel_shap, "black box", lambda d: 2 * d + 2),
    "permutation_shap": Method(
        "Permutation SHAP", permutation_shap, "black box", lambda d: 2 * d + 1
    ),
    "partition_shap": Method("Partition SHAP", partition_shap, "black box", lambda d: 2),
    "greedy": Method("Greedy search", greedy, "search", lambda d: d + 1, _search, is_signed=False),
}


TEXT_METHODS = [name for name, method in METHODS.items() if not method.pictures_only]


def method_named(name: str, among: Sequence[str] = tuple(METHODS)) -> Method:
    """The method of that name, if it is one of those that can be used.

    Example:
        >>> method_named("occlusion").title
        'Occlusion'
    """
    if name not in among:
        raise ValueError(f"unknown method {name!r}; known: {', '.join(among)}")
    return METHODS[name]
