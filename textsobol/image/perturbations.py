"""What happens to regions that are absent, completely or in part."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

Perturbation = Callable[["Tensor", "Tensor"], "Tensor"]
"""From a picture ``(1, channels, height, width)`` and masks ``(masks, 1, height, width)``, from 0
(absent) to 1 (present), to perturbed pictures ``(masks, channels, height, width)``."""

PERTURBATIONS = ("inpaint", "blur", "amplitude")
_BLURS = 5  # levels of blur; others are interpolated
_LARGEST_SIGMA = 10.0  # pixels


def make_perturbation(name: str | Perturbation, image: Tensor, baseline: Any) -> Perturbation:
    """The perturbation of one picture.

    Args:
        name: ``inpaint`` mixes in the baseline; ``blur`` blurs, more for lower masks;
            ``amplitude`` scales towards zero; or a function.
        image: the picture ``(1, channels, height, width)``.
        baseline: of ``inpaint``: ``zero``, ``mean`` (of the picture, by channel), a number, one
            number per channel, or a picture: an array with channels last or a tensor with
            channels first.
    """
    if callable(name):
        return name
    if name not in PERTURBATIONS:
        raise ValueError(f"unknown perturbation {name!r}; known: {', '.join(PERTURBATIONS)}")
    if name == "blur":
        return _blur(image)
    filling = make_baseline(baseline if name == "inpaint" else "zero", image)
    return lambda picture, masks: picture * masks + filling * (1 - masks)


def make_baseline(baseline: Any, image: Tensor) -> Tensor:
    """What replaces absent pixels, of a shape that broadcasts to the picture."""
    import torch

    if isinstance(baseline, str):
        if baseline == "zero":
            return torch.zeros_like(image[:, :, :1, :1])
        if baseline == "mean":
            return image.mean(dim=(2, 3), keepdim=True)
        raise ValueError(f"unknown baseline {baseline!r}; known: zero, mean, or numbers")
    if not isinstance(baseline, torch.Tensor):
        baseline = torch.as_tensor(np.asarray(baseline))
        if baseline.ndim == 3:  # arrays have their channels last
            baseline = baseline.permute(2, 0, 1)
    values: Tensor = baseline.detach().to(image.device, image.dtype)
    channels, height, width = image.shape[1:]
    if values.ndim == 0:
        return values.reshape(1, 1, 1, 1)
    if values.shape == (channels,):
        return values.reshape(1, channels, 1, 1)
    if values.shape == (channels, height, width):
        return values[None]
    raise ValueError(
        f"a baseline of shape {tuple(values.shape)} does not fit a picture of shape "
        f"{(channels, height, width)}; give a number, one number per channel, or a picture"
    )


def _blur(image: Tensor) -> Perturbation:
    import torch

    sigmas = torch.linspace(0, 1, _BLURS)
    levels = torch.cat([_blur_evenly(image, float(s) * _LARGEST_SIGMA) for s in sigmas])

    def perturb(picture: Tensor, masks: Tensor) -> Tensor:
        # Interpolate between two levels of blur.
        at = (1 - masks) * (_BLURS - 1)
        result = torch.zeros_like(picture).expand(len(masks), -1, -1, -1).clone()
        for level in range(_BLURS):
            result += (1 - (at - level).abs()).clamp(min=0) * levels[level]
        return result

    return perturb


def _blur_evenly(image: Tensor, sigma: float) -> Tensor:
    """A Gaussian blur; edges are replicated, not darkened."""
    import torch
    from torch.nn.functional import conv2d, pad

    if sigma == 0:
        return image
    radius = max(1, round(3 * sigma))
    offsets = torch.arange(-radius, radius + 1, dtype=image.dtype, device=image.device)
    kernel = torch.exp(-(offsets**2) / (2 * sigma**2))
    kernel = (kernel / kernel.sum()).expand(image.shape[1], 1, 1, -1)
    channels = image.shape[1]
    across = conv2d(pad(image, (radius, radius, 0, 0), mode="replicate"), kernel, groups=channels)
    down = kernel.transpose(2, 3)
    return conv2d(pad(across, (0, 0, radius, radius), mode="replicate"), down, groups=channels)
