"""From a model's outputs to scores (analysed) and probabilities (shown)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, logit, softmax

from textsobol.errors import WrongScoresError
from textsobol.sobol.arrays import Floats

if TYPE_CHECKING:
    from torch import Tensor

SCORES = ("logit", "probability", "output")
# Single precision cannot hold 1 minus a smaller probability, so log-odds end there.
LEAST_PROBABILITY = 1e-7


def copy_scores(returned: Any) -> Floats:
    """What a user's function returned, as a copy: the function may reuse its array.

    Raises:
        WrongScoresError: when it holds complex numbers.

    Example:
        >>> copy_scores([1, True, 0.5])
        array([1. , 1. , 0.5])
    """
    if hasattr(returned, "detach"):
        returned = returned.detach().cpu()
        if returned.is_floating_point():
            returned = returned.double()
        returned = returned.numpy()
    if np.iscomplexobj(returned):
        raise WrongScoresError("the classifier returned complex numbers; scores must be real")
    return np.array(returned, dtype=float)


def to_log_odds(probabilities: Floats) -> Floats:
    """Log-odds of probabilities ``(rows, labels)``, so that ``sigmoid`` gives them back."""
    is_share = ((probabilities >= 0) & (probabilities <= 1)).all(axis=1)
    if not is_share.all():
        raise WrongScoresError(
            f"the classifier returned {probabilities[np.argmin(is_share)]}, which are not "
            f"probabilities; to analyse them as they are, leave out score="
        )
    return np.asarray(logit(np.clip(probabilities, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)))


def compute_probabilities(outputs: Floats, activation: str) -> Floats:
    """Probabilities ``(masks, labels)``, as the model's own pipeline computes them.

    Args:
        outputs: raw outputs ``(masks, labels)``.
        activation: ``softmax``, ``sigmoid`` (several labels at once) or ``none`` (regression, or a
            function whose scores are shown as they are) or ``log`` (outputs are logarithms of
            probabilities).
    """
    if activation == "softmax":
        return np.asarray(softmax(outputs, axis=1))
    if activation == "log":
        return np.asarray(np.exp(outputs))
    return np.asarray(expit(outputs)) if activation == "sigmoid" else outputs


def compute_scores(outputs: Floats, activation: str, score: str, labels: Sequence[int]) -> Floats:
    """The scores ``(masks, labels)`` of some labels, whose variance is analysed.

    ``logit`` is the log-odds log(p / (1 - p)) of a label. Unlike the probability, it does not
    saturate where the model is sure. ``output`` is the
    model's output before any activation; it differs from ``logit`` for softmax only. Outputs
    without activation are analysed as they are.

    Example:
        >>> compute_scores(np.array([[0.0, 2.0]]), "softmax", "logit", [0, 1])
        array([[-2.,  2.]])
    """
    labels = list(labels)
    if activation != "none" and score == "probability":
        return compute_probabilities(outputs, activation)[:, labels]
    if activation != "softmax" or score == "output":
        return outputs[:, labels]
    return np.asarray(outputs[:, labels] - _log_sum_others(outputs)[:, labels])


def _log_sum_others(outputs: Floats) -> Floats:
    """For every label, log-sum-exp of all the other labels ``(masks, labels)``.

    For the label with the highest output the others are summed directly. For any other label, its
    exp is subtracted from the whole sum, of which it is at most half, so that no precision is lost.
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


def compute_score_tensor(
    outputs: Tensor, activation: str, score: str, labels: Sequence[int]
) -> Tensor:
    """`compute_scores` of a torch tensor, with gradients."""
    import torch

    labels = list(labels)
    if activation != "none" and score == "probability":
        return (outputs.softmax(1) if activation == "softmax" else outputs.sigmoid())[:, labels]
    if activation != "softmax" or score == "output":
        return outputs[:, labels]
    every = torch.arange(outputs.shape[1])
    others = [torch.logsumexp(outputs[:, every != label], 1) for label in labels]
    return outputs[:, labels] - torch.stack(others, 1)
