"""Whether explanations are stable over seeds and budgets, and depend on the model's weights."""

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
"""From a seed, or a budget, to scores ``(features,)``."""


def stability(explain: Explain, seeds: Sequence[int]) -> float:
    """Mean rank correlation of scores over all pairs of seeds.

    Example:
        >>> stability(lambda seed: np.array([1.0, 2.0, 3.0]), [0, 1, 2])
        1.0
    """
    if len(seeds) < 2:
        raise ValueError("stability needs at least two seeds")
    found = [explain(seed) for seed in seeds]
    return float(np.mean([spearman(one, other) for one, other in combinations(found, 2)]))


def convergence(explain: Explain, budgets: Sequence[int], converged: Floats) -> list[float]:
    """Rank correlation with converged scores, for each budget."""
    return [spearman(explain(budget), converged) for budget in budgets]


def randomise(model: Any, seed: int) -> Iterator[tuple[str, Any]]:
    """Randomise a copy of a torch model layer by layer, from output to input.

    The check of Adebayo et al. (2018): an explanation that does not change does not depend on the
    weights. Parameters are sampled from a normal distribution with their own mean and standard
    deviation. The model itself is not changed.

    Yields:
        The name of the layer just randomised, and the copy (always the same object).
    """
    import torch

    model = copy.deepcopy(model)
    generator = torch.Generator().manual_seed(seed)
    layers: dict[str, list[Any]] = {}  # in the order of their parameters, from input to output
    for name, parameter in model.named_parameters():
        layers.setdefault(_name_layer(name), []).append(parameter)
    for layer, parameters in reversed(layers.items()):
        with torch.no_grad():
            for parameter in parameters:
                noise = torch.randn(parameter.shape, generator=generator).to(parameter)
                spread = parameter.std(correction=0)
                parameter.copy_(noise * spread + parameter.mean())
        yield layer, model


def _name_layer(name: str) -> str:
    """The numbered layer of a parameter, or else its module.

    Example:
        >>> _name_layer("bert.encoder.layer.3.attention.self.query.weight")
        'bert.encoder.layer.3'
        >>> _name_layer("bert.embeddings.word_embeddings.weight"), _name_layer("classifier.bias")
        ('bert.embeddings', 'classifier')
    """
    layer = re.match(r"(.*?\.\d+)\.", name)
    return layer[1] if layer else ".".join(name.split(".")[:-1][:2])
