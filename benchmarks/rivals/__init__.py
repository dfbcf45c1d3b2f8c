"""Attribution methods that exist only to be measured; the package has none of them."""

from benchmarks.rivals.callback import Callback
from benchmarks.rivals.captum_llm import captum_llm_ablation, captum_llm_kernel_shap
from benchmarks.rivals.captum_shapley import captum_kernel_shap, captum_shapley
from benchmarks.rivals.relu_gradients import Deconvnet, GuidedBackprop
from benchmarks.rivals.shapiq_shapley import (
    proxyspex,
    proxyspex_least,
    shapiq_banzhaf,
    shapiq_kadd,
    shapiq_kernel,
    shapiq_svarm,
)
from textsobol.methods import Method

RIVALS: dict[str, Method] = {
    method.name: method
    for method in (
        GuidedBackprop(),
        Deconvnet(),
        Callback("shapiq_kernel", "KernelSHAP, shapiq", shapiq_kernel),
        Callback("shapiq_kadd", "kADD-SHAP, shapiq", shapiq_kadd),
        Callback("shapiq_svarm", "SVARM, shapiq", shapiq_svarm),
        Callback(
            "shapiq_banzhaf",
            "Banzhaf regression, shapiq",
            shapiq_banzhaf,
            quantity="Banzhaf value",
        ),
        Callback("proxyspex", "ProxySPEX, shapiq", proxyspex, proxyspex_least),
        Callback("captum_kernel_shap", "KernelSHAP, captum", captum_kernel_shap),
        Callback("captum_llm_kernel_shap", "KernelSHAP, captum for LLMs", captum_llm_kernel_shap),
        Callback(
            "captum_llm_ablation",
            "FeatureAblation, captum for LLMs",
            captum_llm_ablation,
            lambda d: d + 1,
            lambda d: d + 1,
        ),
        Callback("captum_shapley", "Shapley sampling, captum", captum_shapley, lambda d: d + 1),
    )
}
