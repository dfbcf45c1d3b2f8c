"""Gradients that are changed at every ReLU, through captum: made for pictures."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textsobol.methods import Attribution, Differentiable, Problem
from textsobol.methods.gradients import GradientMethod, open_model, sum_by_feature
from textsobol.steps import Steps

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module


class _ChangedBackprop(GradientMethod):
    """Absolute gradients of a network whose ReLUs captum has changed."""

    quantity = "absolute gradient"
    is_for_pictures = True
    captum_name: str

    def attribute(self, problem: Problem, *, budget: int | None, seed: int) -> Steps[Attribution]:
        """See `Method.attribute`."""
        _, model = open_model(problem)
        changed = _with_plain_relus(model)

        def attribute(captum: Any, model: Differentiable, label: int) -> Any:
            with warnings.catch_warnings():
                # captum says that it sets hooks; they are on a copy.
                warnings.simplefilter("ignore")
                method = getattr(captum, self.captum_name)(changed)
                return method.attribute(model.inputs, target=label).abs()

        return (yield from sum_by_feature(problem, attribute, passes=1, is_signed=False))


@dataclass(frozen=True)
class GuidedBackprop(_ChangedBackprop):
    """Absolute gradient that only flows where it and the activation are positive.

    Springenberg et al. 2014, Striving for simplicity.
    """

    name = "guided_backprop"
    title = "Guided backprop"
    captum_name = "GuidedBackprop"


@dataclass(frozen=True)
class Deconvnet(_ChangedBackprop):
    """Absolute gradient that only flows where it is positive (Zeiler & Fergus 2014)."""

    name = "deconvnet"
    title = "Deconvnet"
    captum_name = "Deconvolution"


def _with_plain_relus(model: Differentiable) -> Module:
    """A copy of the network, as a module from inputs to scores.

    captum only changes the gradients of ``torch.nn.ReLU``. ReLU6 is a ReLU with a ceiling, and
    is taken apart into the two; layers that write over their input are replaced. What a network
    calls as a function, such as ``torch.relu``, cannot be found and keeps its gradient.
    """
    from torch.nn import Hardtanh, Module, ReLU, ReLU6, Sequential

    if model.network is None or model.through is None:
        raise ValueError("methods that look into layers need a torch module for pictures")
    network, through = copy.deepcopy(model.network), model.through
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

    class Scores(Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, inputs: Tensor) -> Tensor:
            return through(self.network, inputs)

    return Scores()
