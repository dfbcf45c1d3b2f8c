"""The rows of the page: methods, as all benchmarks call them here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

ATTRIBUTIONS, SEARCHES, CHANCE = "attributions", "searches", "a random order"


@dataclass(frozen=True)
class Method:
    """A row.

    Attributes:
        title: in tables and plots.
        group: attributions score words; searches only look for deletions.
        is_ours: whether it is part of textsobol and not a rival's.
    """

    title: str
    group: str = ATTRIBUTIONS
    is_ours: bool = False


METHODS: Mapping[str, Method] = {
    "default": Method("ours, the default", is_ours=True),
    "default-own": Method("ours, default, own budget", is_ours=True),
    "scores": Method("ours, without a path", is_ours=True),
    "flip": Method("ours, flip", is_ours=True),
    "gates": Method("ours, gates", is_ours=True),
    "jansen": Method("Sobol of the paper (Jansen)"),
    "interpreto_sobol": Method("Sobol, interpreto"),
    "occlusion": Method("occlusion"),
    "rise": Method("RISE"),
    "lime": Method("LIME"),
    "interpreto_lime": Method("LIME, interpreto"),
    "ridge": Method("ridge regression"),
    "kernel_shap": Method("KernelSHAP"),
    "interpreto_kernel_shap": Method("KernelSHAP, interpreto"),
    "captum_kernel_shap": Method("KernelSHAP, captum"),
    "shapiq_kernel": Method("KernelSHAP, shapiq"),
    "permutation_shap": Method("permutation SHAP"),
    "partition_shap": Method("Partition SHAP"),
    "captum_shapley": Method("Shapley sampling, captum"),
    "shapiq_kadd": Method("kADD-SHAP, shapiq"),
    "shapiq_svarm": Method("SVARM, shapiq"),
    "shapiq_banzhaf": Method("Banzhaf values, shapiq"),
    "oddshap": Method("OddSHAP, shapiq"),
    "regression_msr": Method("RegressionMSR, shapiq"),
    "proxyshap": Method("ProxySHAP, shapiq"),
    "proxyspex": Method("ProxySPEX, shapiq"),
    "saliency": Method("saliency"),
    "gradient_input": Method("gradient x input"),
    "integrated_gradients": Method("integrated gradients"),
    "path": Method("ours, the path", SEARCHES, is_ours=True),
    "greedy": Method("greedy search", SEARCHES),
    "random": Method("a random order", CHANCE),
}
OUR_DEFAULTS = ("default", "default-own")


def is_rival(name: str) -> bool:
    """Whether it is an attribution of others."""
    method = METHODS[name]
    return method.group == ATTRIBUTIONS and not method.is_ours
