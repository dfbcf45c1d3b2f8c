"""What a model puts out, and what is analysed and shown of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, softmax

from textsobol.sobol.arrays import Floats

if TYPE_CHECKING:
    from torch import Tensor

SCORES = ("logit", "probability", "output")


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


def analysed(outputs: Floats, activation: str, score: str, labels: Sequence[int]) -> Floats:
    """The scores whose variance is shared out ``(rows, labels)``, of the labels asked for.

    ``logit`` is the log-odds log(p / (1 - p)) of a label. It does not flatten out where the model
    is sure, as the probability does, and so still tells words apart there. ``output`` is what the
    model puts out before any activation, the same as ``logit`` but for softmax. Outputs without
    activation are analysed as they are.

    Example:
        >>> analysed(np.array([[0.0, 2.0]]), "softmax", "logit", [0, 1])
        array([[-2.,  2.]])
    """
    labels = list(labels)
    if activation != "none" and score == "probability":
        return probabilities(outputs, activation)[:, labels]
    if activation != "softmax" or score == "output":
        return outputs[:, labels]
    return np.asarray(outputs[:, labels] - _without_each(outputs)[:, labels])


def _without_each(outputs: Floats) -> Floats:
    """Log sum exp of all labels but one, for every one ``(rows, labels)``.

    The highest output is left out and put in by itself: all others take less than half of the
    sum, so that nothing is lost when they are taken off.
    """
    rows = np.arange(len(outputs))
    first = outputs.argmax(axis=1)
    others = outputs.copy()
    others[rows, first] = -np.inf
    rest = np.asarray(np.logaddexp.reduce(others, axis=1))
    whole = np.logaddexp(rest, outputs[rows, first])[:, None]
    others = np.asarray(whole + np.log1p(-np.exp(others - whole)))
    others[rows, first] = rest
    return others


def analysed_tensor(outputs: Tensor, activation: str, score: str, labels: Sequence[int]) -> Tensor:
    """`analysed` of a torch tensor, with gradients."""
    import torch

    labels = list(labels)
    if activation != "none" and score == "probability":
        shares = outputs.softmax(1) if activation == "softmax" else outputs.sigmoid()
        return shares[:, labels]
    if activation != "softmax" or score == "output":
        return outputs[:, labels]
    every = torch.arange(outputs.shape[1])
    others = [torch.logsumexp(outputs[:, every != label], 1) for label in labels]
    return outputs[:, labels] - torch.stack(others, 1)
