"""One call of a language model, and the log-probabilities of tokens after some positions."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from textsobol.sobol.arrays import Floats, Integers

if TYPE_CHECKING:
    from torch import Tensor

_MOST_FLOATS = 2**24  # of logits that are read at once


def compute_logits(model: Any, keep: Tensor, **inputs: Any) -> Tensor:
    """Logits at the positions ``keep (positions,)`` of all rows ``(rows, positions, words)``."""
    # All logits would take as long as several layers.
    if "logits_to_keep" in inspect.signature(model.forward).parameters:
        logits: Tensor = model(**inputs, logits_to_keep=keep).logits
    else:
        logits = model(**inputs).logits[:, keep]
    return logits


def read_log_probabilities(logits: Tensor, places: Integers, tokens: Integers) -> Floats:
    """The log-probability of each of ``tokens`` at its place, a row of ``logits (places, words)``.

    Both arrays have the shape of the result.
    """
    import torch

    n_rows = max(1, _MOST_FLOATS // logits.shape[-1])
    starts = range(0, len(logits), n_rows)
    sums = torch.cat([logits[k : k + n_rows].float().logsumexp(1) for k in starts])
    at, words = (torch.as_tensor(each, device=logits.device) for each in (places, tokens))
    return np.asarray((logits[at, words].float() - sums[at]).cpu().numpy(), dtype=float)
