"""Attribution methods under one contract, by name; `Sobol` is ours.

Call a method with its defaults by name, ``method="lime"``, or with options,
``method=Lime(kernel_width=10)``.
"""

from textsobol.methods.contract import Attribution, Differentiable, Problem
from textsobol.methods.gates import GateGradients
from textsobol.methods.gradcam import GradCam
from textsobol.methods.gradients import GradientInput, IntegratedGradients, Saliency, SmoothGrad
from textsobol.methods.lime import Lime
from textsobol.methods.limits import Greedy, Random
from textsobol.methods.method import Method, Scale
from textsobol.methods.occlusion import Occlusion
from textsobol.methods.rise import Rise
from textsobol.methods.shap import KernelShap, PartitionShap, PermutationShap
from textsobol.methods.sobol import Sobol

__all__ = [
    "METHODS",
    "PICTURE_METHODS",
    "TEXT_METHODS",
    "Attribution",
    "Differentiable",
    "GateGradients",
    "GradCam",
    "GradientInput",
    "Greedy",
    "IntegratedGradients",
    "KernelShap",
    "Lime",
    "Method",
    "Occlusion",
    "PartitionShap",
    "PermutationShap",
    "Problem",
    "Random",
    "Rise",
    "Saliency",
    "Scale",
    "SmoothGrad",
    "Sobol",
    "find_method",
]

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Sobol(), GateGradients(), Random(), Saliency(), GradientInput(), SmoothGrad(),
        IntegratedGradients(), GradCam(), Occlusion(), Rise(), Lime(), KernelShap(),
        PermutationShap(), PartitionShap(), Greedy(),
    )
}  # fmt: skip
"""The methods with their default options."""

PICTURE_METHODS = [name for name in METHODS if name != GateGradients.name]
TEXT_METHODS = [name for name, method in METHODS.items() if not method.is_for_pictures]


def find_method(method: str | Method) -> Method:
    """Find a method by name, with its default options; a `Method` is returned as it is.

    Example:
        >>> find_method("occlusion").title
        'Occlusion'
        >>> find_method(Sobol(keep=0.9)).options()["keep"]
        0.9
    """
    if isinstance(method, Method):
        return method
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}; known: {', '.join(METHODS)}")
    return METHODS[method]
