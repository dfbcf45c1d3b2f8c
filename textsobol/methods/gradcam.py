"""Grad-CAM, through captum; for pictures, since it needs a convolution."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from textsobol.methods.contract import Attribution, Differentiable, Problem
from textsobol.methods.gradients import GradientMethod, open_model, sum_by_feature
from textsobol.steps import Steps

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module


@dataclass(frozen=True)
class GradCam(GradientMethod):
    """Feature maps of a convolution, weighted by their mean gradients (Selvaraju et al. 2017).

    Attributes:
        layer: the convolution or its name; by default the last one whose maps have more than one
            pixel.
    """

    layer: str | Module | None = None

    name = "gradcam"
    title = "Grad-CAM"
    quantity = "weighted activation"
    is_for_pictures = True

    def attribute(self, problem: Problem, *, budget: int | None, seed: int) -> Steps[Attribution]:
        """See `Method.attribute`."""
        _, model = open_model(problem)
        chosen = _find_layer(model, self.layer)

        def attribute(captum: Any, model: Differentiable, label: int) -> Any:
            from torch.nn.functional import interpolate

            small = captum.LayerGradCam(model.forward, chosen).attribute(
                model.inputs, target=label, relu_attributions=True
            )
            large = interpolate(small, size=model.size, mode="bilinear", align_corners=False)
            return large.reshape(1, -1)

        names = {module: name for name, module in _get_network(model).named_modules()}
        found = yield from sum_by_feature(
            problem, attribute, passes=1, is_signed=False, made={"layer": names[chosen]}
        )
        # Finding the layer took one more pass.
        return replace(found, passes=found.passes + (self.layer is None))


def _find_layer(model: Differentiable, layer: str | Module | None) -> Module:
    network = _get_network(model)
    if isinstance(layer, str):
        try:
            return network.get_submodule(layer)
        except AttributeError:
            raise ValueError(f"the network has no layer {layer!r}") from None
    if layer is not None:
        if all(layer is not known for known in network.modules()):
            raise ValueError("the given layer is not part of the network")
        return layer
    return _find_last_convolution(model, network)


def _find_last_convolution(model: Differentiable, network: Module) -> Module:
    """The last convolution to run whose maps have more than one pixel."""
    import torch

    found: list[Module] = []

    def note(module: Module, _: Any, output: Tensor) -> None:
        if output.shape[2:].numel() > 1:
            found.append(module)

    convolutions = [m for m in network.modules() if isinstance(m, torch.nn.Conv2d)]
    hooks = [module.register_forward_hook(note) for module in convolutions]
    try:
        with torch.no_grad():
            model.forward(model.inputs)
    finally:
        for hook in hooks:
            hook.remove()
    if not found:
        raise ValueError(
            "Grad-CAM needs a convolution whose maps have more than one pixel, and the network has "
            "none; name another layer with layer="
        )
    return found[-1]


def _get_network(model: Differentiable) -> Module:
    if model.network is None:
        raise ValueError("Grad-CAM needs a torch module that takes pictures")
    return model.network
