"""What a model puts out, and what is analysed and shown of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logsumexp, softmax

from textsobol.sobol.arrays import Floats

if TYPE_CHECKING:
    from torch import Tensor

SCORES = ("logit", "probability")


def probabilities(outputs: Floats, activation: str) -> Floats:
    """What the model's own pipeline would show ``(rows, labels)``.

    Args:
        outputs: raw outputs ``(rows, labels)``.
        activation: ``softmax``, ``sigmoid`` (several labels at once) or ``none`` (regression,
            or a function that returns what it wants to be shown).
    """
    if activation == "softmax":
        return np.asarray(softmax(outputs, axis=1))
    return np.asarray(expit(outputs)) if activation == "sigmoid" else outputs


def analysed(outputs: Floats, activation: str, score: str) -> Floats:
    """The score whose variance is shared out ``(rows, labels)``.

    ``logit`` is the log-odds log(p / (1 - p)) of every label. It does not flatten out where
    the model is sure, as the probability does, and so still tells words apart there.
    Outputs without activation are analysed as they are.

    Example:
        >>> analysed(np.array([[0.0, 2.0]]), "softmax", "logit")
        array([[-2.,  2.]])
    """
    if activation == "none":
        return outputs
    if score == "probability":
        return probabilities(outputs, activation)
    if activation == "sigmoid":
        return outputs
    labels = range(outputs.shape[1])
    others = [logsumexp(np.delete(outputs, label, axis=1), axis=1) for label in labels]
    return np.asarray(outputs - np.stack(others, axis=1))


def analysed_tensor(logits: Tensor, activation: str, score: str) -> Tensor:
    """`analysed` of a torch tensor, with gradients."""
    import torch

    if activation == "none":
        return logits
    if score == "probability":
        return torch.softmax(logits, 1) if activation == "softmax" else torch.sigmoid(logits)
    if activation == "sigmoid":
        return logits
    every = torch.arange(logits.shape[1])
    others = [torch.logsumexp(logits[:, every != label], 1) for label in every]
    return logits - torch.stack(others, 1)
