"""Methods that look at gradients, through captum: of words where they become vectors, of pixels.

Attributions of single numbers are summed up to features: absolute gradients for saliency and
SmoothGrad, signed ones for the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from textsobol.methods.contract import Attribution, Differentiable, Problem
from textsobol.steps import Steps

SAMPLES, NOISE = 80, 0.2  # of SmoothGrad
STEPS = 80  # of integrated gradients
_BATCH = 16  # rows forwarded together


def saliency(problem: Problem, *, budget: int, seed: int) -> Steps[Attribution]:
    """Absolute gradient (Simonyan et al. 2014)."""

    def attribute(captum: Any, model: Differentiable, label: int) -> Any:
        return captum.Saliency(model.forward).attribute(model.inputs, target=label)

    return summed_up(problem, attribute, passes=1)


def gradient_input(problem: Problem, *, budget: int, seed: int) -> Steps[Attribution]:
    """Gradient times input (Shrikumar et al. 2017)."""

    def attribute(captum: Any, model: Differentiable, label: int) -> Any:
        return captum.InputXGradient(model.forward).attribute(model.inputs, target=label)

    return summed_up(problem, attribute, passes=1)


def smoothgrad(problem: Problem, *, budget: int, seed: int) -> Steps[Attribution]:
    """Size of the mean gradient over noisy inputs (Smilkov et al. 2017).

    The noise has the standard deviation 0.2, whatever the spread of the vectors.
    """
    import torch

    def attribute(captum: Any, model: Differentiable, label: int) -> Any:
        # The noise comes in single precision, whatever that of the model.
        noisy = captum.NoiseTunnel(
            captum.Saliency(lambda inputs: model.forward(inputs.to(model.inputs.dtype)))
        )
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            gradients = noisy.attribute(
                model.inputs,
                nt_type="smoothgrad",
                nt_samples=SAMPLES,
                nt_samples_batch_size=_BATCH,
                stdevs=NOISE,
                target=label,
                abs=False,
            )
            return gradients.abs()

    return summed_up(
        problem, attribute, passes=SAMPLES, settings={"samples": SAMPLES, "noise": NOISE}
    )


def integrated_gradients(problem: Problem, *, budget: int, seed: int) -> Steps[Attribution]:
    """Gradients along the way from the zero vector (Sundararajan et al. 2017), trapezoid rule.

    The weights of captum's rule sum to 79 / 80 for 80 steps: all scores are that much too small.
    """

    def attribute(captum: Any, model: Differentiable, label: int) -> Any:
        return captum.IntegratedGradients(model.forward).attribute(
            model.inputs,
            target=label,
            n_steps=STEPS,
            method="riemann_trapezoid",
            internal_batch_size=_BATCH,
        )

    return summed_up(problem, attribute, passes=STEPS, settings={"steps": STEPS})


def summed_up(
    problem: Problem,
    attribute: Callable[[Any, Differentiable, int], Any],
    *,
    passes: int,
    settings: dict[str, Any] | None = None,
) -> Steps[Attribution]:
    """What captum attributes to numbers, summed up to features, for every label.

    Args:
        problem: the problem.
        attribute: captum's methods, the model and the number of a label to attributions
            ``(1, positions, ...)``.
        passes: forward passes for each label.
        settings: for the record.
    """
    yield from ()  # nothing is masked, so nothing is asked of the driver
    captum, model = opened(problem)
    n_labels = problem.n_labels
    scores = np.zeros((problem.n_features, n_labels))
    owned = model.owners >= 0
    for label in range(n_labels):
        found = attribute(captum, model, label).detach().double().cpu().numpy()[0]
        by_position = found.reshape(len(model.owners), -1).sum(axis=1)
        np.add.at(scores[:, label], model.owners[owned], by_position[owned])
    return Attribution(scores, settings=settings or {}, passes=passes * n_labels)


def opened(problem: Problem) -> tuple[Any, Differentiable]:
    """Captum's methods, and the model of a problem with inputs that gradients are taken of."""
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
    # Else captum warns that it does so.
    return captum.attr, replace(model, inputs=model.inputs.detach().requires_grad_())
