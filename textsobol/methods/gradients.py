"""Gradient methods, through captum: gradients of a text's embeddings, or of pixels.

A feature's score is the sum over its numbers: of absolute gradients for saliency and SmoothGrad, of
signed attributions for the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from textsobol.methods.contract import Attribution, Differentiable, Problem
from textsobol.methods.method import MasklessMethod
from textsobol.steps import Steps

_BATCH = 16  # inputs forwarded together


class GradientMethod(MasklessMethod):
    """Methods that need no masks; they take a few forward passes per label."""

    kind = "white box"

    def count_more_passes(self, n_labels: int) -> int:
        """One for every label."""
        return n_labels


@dataclass(frozen=True)
class Saliency(GradientMethod):
    """Absolute gradient (Simonyan et al. 2014)."""

    name = "saliency"
    title = "Saliency"
    quantity = "absolute gradient"

    def attribute(self, problem: Problem, *, budget: int | None, seed: int) -> Steps[Attribution]:
        """See `Method.attribute`."""

        def attribute(captum: Any, model: Differentiable, label: int) -> Any:
            return captum.Saliency(model.forward).attribute(model.inputs, target=label)

        return sum_by_feature(problem, attribute, passes=1, is_signed=False)


@dataclass(frozen=True)
class GradientInput(GradientMethod):
    """Gradient times input (Shrikumar et al. 2017)."""

    name = "gradient_input"
    title = "Gradient x Input"
    quantity = "gradient times input"

    def attribute(self, problem: Problem, *, budget: int | None, seed: int) -> Steps[Attribution]:
        """See `Method.attribute`."""

        def attribute(captum: Any, model: Differentiable, label: int) -> Any:
            return captum.InputXGradient(model.forward).attribute(model.inputs, target=label)

        return sum_by_feature(problem, attribute, passes=1)


@dataclass(frozen=True)
class SmoothGrad(GradientMethod):
    """Absolute mean gradient over noisy inputs (Smilkov et al. 2017).

    Attributes:
        samples: number of noisy inputs.
        noise: standard deviation of the noise, not relative to the inputs.
    """

    samples: int = 80
    noise: float = 0.2

    name = "smoothgrad"
    title = "SmoothGrad"
    quantity = "absolute gradient"

    def count_more_passes(self, n_labels: int) -> int:
        """All noisy inputs for every label."""
        return self.samples * n_labels

    def attribute(self, problem: Problem, *, budget: int | None, seed: int) -> Steps[Attribution]:
        """See `Method.attribute`."""
        import torch

        def attribute(captum: Any, model: Differentiable, label: int) -> Any:
            # captum's noise has single precision; the model may have another.
            noisy = captum.NoiseTunnel(
                captum.Saliency(lambda inputs: model.forward(inputs.to(model.inputs.dtype)))
            )
            with torch.random.fork_rng():
                torch.manual_seed(seed)
                gradients = noisy.attribute(
                    model.inputs, nt_type="smoothgrad", nt_samples=self.samples,
                    nt_samples_batch_size=_BATCH, stdevs=self.noise, target=label, abs=False,
                )  # fmt: skip
                return gradients.abs()

        made = {"samples": self.samples, "noise": self.noise}
        return sum_by_feature(problem, attribute, passes=self.samples, is_signed=False, made=made)


@dataclass(frozen=True)
class IntegratedGradients(GradientMethod):
    """Gradients between the zero vector and the input (Sundararajan et al. 2017), trapezoid rule.

    The weights of captum's rule sum to 79 / 80 for 80 steps: all scores are that much too small.

    Attributes:
        n_steps: number of points between the two.
    """

    n_steps: int = 80

    name = "integrated_gradients"
    title = "Integrated gradients"
    quantity = "integrated gradient"

    def count_more_passes(self, n_labels: int) -> int:
        """All points for every label."""
        return self.n_steps * n_labels

    def attribute(self, problem: Problem, *, budget: int | None, seed: int) -> Steps[Attribution]:
        """See `Method.attribute`."""

        def attribute(captum: Any, model: Differentiable, label: int) -> Any:
            return captum.IntegratedGradients(model.forward).attribute(
                model.inputs, target=label, n_steps=self.n_steps, method="riemann_trapezoid",
                internal_batch_size=_BATCH,
            )  # fmt: skip

        return sum_by_feature(problem, attribute, passes=self.n_steps, made={"steps": self.n_steps})


def sum_by_feature(
    problem: Problem,
    attribute: Callable[[Any, Differentiable, int], Any],
    *,
    passes: int,
    is_signed: bool = True,
    made: dict[str, Any] | None = None,
) -> Steps[Attribution]:
    """Sum captum's attributions by feature, for every label.

    Args:
        problem: the problem.
        attribute: from captum's methods, the model and a label's number to attributions
            ``(1, positions, ...)``.
        passes: forward passes per label.
        is_signed: see `Attribution`.
        made: further settings.
    """
    yield from ()  # a generator, like all methods
    captum, model = open_model(problem)
    n_labels = problem.n_labels
    scores = np.zeros((problem.n_features, n_labels))
    owned = model.owners >= 0
    for label in range(n_labels):
        found = attribute(captum, model, label).detach().double().cpu().numpy()[0]
        by_position = found.reshape(len(model.owners), -1).sum(axis=1)
        np.add.at(scores[:, label], model.owners[owned], by_position[owned])
    return Attribution(scores, is_signed, settings=made or {}, passes=passes * n_labels)


def open_model(problem: Problem) -> tuple[Any, Differentiable]:
    """Captum's methods, and the differentiable model of a problem."""
    if problem.differentiable is None:
        raise ValueError(
            "gradient methods need a sequence classifier of transformers, for pictures a torch "
            "module, or a pipeline of either; functions and zero-shot pipelines give no gradients"
        )
    try:
        import captum.attr
    except ImportError as error:
        raise ImportError('gradient methods need captum: pip install "textsobol[bench]"') from error
    model = problem.differentiable()
    # captum would do this itself, with a warning.
    return captum.attr, replace(model, inputs=model.inputs.detach().requires_grad_())
