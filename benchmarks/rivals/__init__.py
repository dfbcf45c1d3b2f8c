"""Attribution methods that exist only to be measured; the package has none of them."""

from collections.abc import Callable

from benchmarks.rivals.callback import called_back
from benchmarks.rivals.captum_shapley import captum_kernel_shap, captum_shapley
from benchmarks.rivals.relu_gradients import deconvnet, guided_backprop
from benchmarks.rivals.shapiq_shapley import (
    proxyspex,
    proxyspex_least,
    shapiq_kadd,
    shapiq_kernel,
    shapiq_svarm,
)
from textsobol.methods import Attribution, Method
from textsobol.steps import Steps


def _shapley(
    title: str,
    attribute: Callable[..., Attribution],
    # The whole input and the empty one.
    least: Callable[[int], int] = lambda d: 2,
) -> Method:
    return Method(title, called_back(attribute), "black box", least)


def _relu_gradient(title: str, steps: Callable[..., Steps[Attribution]]) -> Method:
    return Method(
        title,
        steps,
        "white box",
        least=lambda d: 0,
        natural=lambda d: 0,
        is_signed=False,
        finest=True,
        pictures_only=True,
    )


RIVALS: dict[str, Method] = {
    "guided_backprop": _relu_gradient("Guided backprop", guided_backprop),
    "deconvnet": _relu_gradient("Deconvnet", deconvnet),
    "shapiq_kernel": _shapley("KernelSHAP, shapiq", shapiq_kernel),
    "shapiq_kadd": _shapley("kADD-SHAP, shapiq", shapiq_kadd),
    "shapiq_svarm": _shapley("SVARM, shapiq", shapiq_svarm),
    "proxyspex": _shapley("ProxySPEX, shapiq", proxyspex, proxyspex_least),
    "captum_kernel_shap": _shapley("KernelSHAP, captum", captum_kernel_shap),
    "captum_shapley": _shapley("Shapley sampling, captum", captum_shapley, lambda d: d + 1),
}
