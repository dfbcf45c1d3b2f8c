"""What we are compared with: attribution methods under one contract, by name."""

from textsobol.methods.contract import Attribution, Differentiable, Game, Method
from textsobol.methods.gradients import gradient_input, integrated_gradients, saliency, smoothgrad
from textsobol.methods.peers import kernel_shap, lime, permutation_shap
from textsobol.methods.perturbing import GREEDY_DELETIONS, greedy, occlusion, random_scores, rise
from textsobol.methods.sobol import sobol

__all__ = ["METHODS", "Attribution", "Differentiable", "Game", "Method", "method_named"]


def _none(n_features: int) -> int:
    """Of methods that do not mask anything."""
    return 0


def _search(n_features: int) -> int:
    return 1 + min(GREEDY_DELETIONS, n_features) * n_features


METHODS: dict[str, Method] = {
    "sobol": Method("Sobol", sobol, "black box", lambda d: d + 2),
    "random": Method("Random", random_scores, "baseline", _none, _none, is_signed=False),
    "saliency": Method("Saliency", saliency, "white box", _none, _none, is_signed=False),
    "gradient_input": Method("Gradient x Input", gradient_input, "white box", _none, _none),
    "smoothgrad": Method("SmoothGrad", smoothgrad, "white box", _none, _none, is_signed=False),
    "integrated_gradients": Method(
        "Integrated gradients", integrated_gradients, "white box", _none, _none
    ),
    "occlusion": Method("Occlusion", occlusion, "black box", lambda d: d + 1, lambda d: d + 1),
    "rise": Method("RISE", rise, "black box", lambda d: 2),
    "lime": Method("LIME", lime, "black box", lambda d: 2),
    "kernel_shap": Method("KernelSHAP", kernel_shap, "black box", lambda d: 2 * d + 2),
    "permutation_shap": Method(
        "Permutation SHAP", permutation_shap, "black box", lambda d: 2 * d + 1
    ),
    "greedy": Method("Greedy search", greedy, "search", lambda d: d + 1, _search, is_signed=False),
}


def method_named(name: str) -> Method:
    """The method of that name.

    Example:
        >>> method_named("occlusion").title
        'Occlusion'
    """
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}; known: {', '.join(METHODS)}")
    return METHODS[name]
