"""Methods that look into a network's layers, through captum: made for pictures."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from textsobol.methods.contract import Attribution, Differentiable, Game
from textsobol.methods.gradients import opened, summed_up

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module


def guided_backprop(game: Game, *, budget: int, seed: int) -> Attribution:
    """Absolute gradient that only flows where it and the activation are positive.

    Springenberg et al. 2014, Striving for simplicity.
    """
    return _changed_backprop(game, "GuidedBackprop")


def deconvnet(game: Game, *, budget: int, seed: int) -> Attribution:
    """Absolute gradient that only flows where it is positive (Zeiler & Fergus 2014)."""
    return _changed_backprop(game, "Deconvolution")


def gradcam(
    game: Game, *, budget: int, seed: int, layer: str | Module | None = None
) -> Attribution:
    """Feature maps of a convolution, weighted by their mean gradients (Selvaraju et al. 2017).

    Args:
        game: the game.
        budget: not used.
        seed: not used.
        layer: the convolution or its name; by default the last one whose maps have more than one
            pixel.
    """
    _, model = opened(game)
    chosen = _layer(model, layer)

    def attribute(captum: Any, model: Differentiable, label: int) -> Any:
        from torch.nn.functional import interpolate

        small = captum.LayerGradCam(model.forward, chosen).attribute(
            model.inputs, target=label, relu_attributions=True
        )
        large = interpolate(small, size=model.size, mode="bilinear", align_corners=False)
        return large.reshape(1, -1)

    names = {module: name for name, module in _network(model).named_modules()}
    found = summed_up(game, attribute, passes=1, settings={"layer": names[chosen]})
    # The layer was looked for in one more pass.
    return replace(found, passes=found.passes + (layer is None))


def _changed_backprop(game: Game, name: str) -> Attribution:
    _, model = opened(game)
    changed = _with_plain_relus(model)

    def attribute(captum: Any, model: Differentiable, label: int) -> Any:
        with warnings.catch_warnings():
            # captum says that it sets hooks; they are on a copy.
            warnings.simplefilter("ignore")
            return getattr(captum, name)(changed).attribute(model.inputs, target=label).abs()

    return summed_up(game, attribute, passes=1)


def _with_plain_relus(model: Differentiable) -> Module:
    """A copy of the network, as a module from inputs to scores.

    captum only changes the gradients of ``torch.nn.ReLU``. ReLU6 is a ReLU with a ceiling, and
    is taken apart into the two; layers that write over their input are replaced. What a network
    calls as a function, such as ``torch.relu``, cannot be found and keeps its gradient.
    """
    from torch.nn import Hardtanh, Module, ReLU, ReLU6, Sequential

    network = copy.deepcopy(_network(model))
    n_relus = 0
    for parent in list(network.modules()):
        # Not named_children(), which tells a layer that stands in two places once.
        for name, child in list(parent._modules.items()):
            if not isinstance(child, ReLU | ReLU6):
                continue
            n_relus += 1
            # The floor is out of reach: at a floor of 0 no gradient would flow, and Deconvnet
            # lets it flow there.
            ceiling = [Hardtanh(-1.0, 6.0)] if isinstance(child, ReLU6) else []
            setattr(parent, name, Sequential(ReLU(), *ceiling))
    if not n_relus:
        raise ValueError(
            "guided backpropagation and Deconvnet change ReLU layers only, and the network has "
            "none; use another method, such as 'saliency'"
        )
    assert model.through is not None
    through = model.through

    class Scores(Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, inputs: Tensor) -> Tensor:
            return through(self.network, inputs)

    return Scores()


def _layer(model: Differentiable, layer: str | Module | None) -> Module:
    network = _network(model)
    if isinstance(layer, str):
        try:
            return network.get_submodule(layer)
        except AttributeError:
            raise ValueError(f"the network has no layer {layer!r}") from None
    if layer is not None:
        if all(layer is not known for known in network.modules()):
            raise ValueError("the layer given is not one of the network's")
        return layer
    return _last_convolution(model, network)


def _last_convolution(model: Differentiable, network: Module) -> Module:
    """The last in the order of running; a squeezed one, with one pixel, shows no place."""
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
            "none; give layer="
        )
    return found[-1]


def _network(model: Differentiable) -> Module:
    if model.network is None:
        raise ValueError("methods that look into layers need a torch module for pictures")
    return model.network
