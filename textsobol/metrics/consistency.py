"""Does an explanation stay the same when it should, and change when it should?"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from textsobol.metrics.agreement import spearman
from textsobol.sobol.arrays import Floats

Explain = Callable[[int], Floats]
"""A seed or a budget to scores ``(features,)``."""


def stability(explain: Explain, seeds: Sequence[int]) -> float:
    """Mean rank correlation of the scores of every two seeds.

    Example:
        >>> stability(lambda seed: np.array([1.0, 2.0, 3.0]), [0, 1, 2])
        1.0
    """
    if len(seeds) < 2:
        raise ValueError("stability compares the scores of at least two seeds")
    found = [explain(seed) for seed in seeds]
    return float(np.mean([spearman(one, other) for one, other in combinations(found, 2)]))


def convergence(explain: Explain, budgets: Sequence[int], converged: Floats) -> list[float]:
    """Rank correlation with converged scores, for each budget of forward passes."""
    return [spearman(explain(budget), converged) for budget in budgets]


def randomised(model: Any, seed: int) -> Iterator[tuple[str, Any]]:
    """A copy of a torch model, more and more of it random, from its output to its input.

    The check of Adebayo et al. (2018): an explanation that does not change has not looked at the
    weights. Every parameter is drawn anew from a normal distribution with its own mean and
    standard deviation. The model itself is not changed.

    Yields:
        What has just become random, and the copy: the same one every time.
    """
    import torch

    model = copy.deepcopy(model)
    generator = torch.Generator().manual_seed(seed)
    names = [name for name, _ in model.named_parameters()]
    for stage in reversed(_stages(names)):
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if _stage_of(name) != stage:
                    continue
                noise = torch.randn(parameter.shape, generator=generator).to(parameter)
                spread = parameter.std(correction=0)
                parameter.copy_(noise * spread + parameter.mean())
        yield stage, model


def _stages(names: Sequence[str]) -> list[str]:
    """Parts of a model, from its input to its output, in the order of their parameters."""
    return list(dict.fromkeys(map(_stage_of, names)))


def _stage_of(name: str) -> str:
    """A numbered layer, or the module that a parameter is in.

    Example:
        >>> _stage_of("bert.encoder.layer.3.attention.self.query.weight")
        'bert.encoder.layer.3'
        >>> _stage_of("bert.embeddings.word_embeddings.weight"), _stage_of("classifier.bias")
        ('bert.embeddings', 'classifier')
    """
    layer = re.match(r"(.*?\.\d+)\.", name)
    if layer:
        return layer[1]
    modules = name.split(".")[:-1]
    return ".".join(modules[:2])
