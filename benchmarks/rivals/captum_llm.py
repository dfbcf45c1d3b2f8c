"""captum's attribution for language models, on the same masks as everything else.

captum chooses the masks and makes scores of what it is told; the log-probabilities of the answer
come from our model of masks, which gives what captum's own forward function gives (tested), and
does not run it again for prompts that are known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.rivals.callback import Scored
from textsobol.methods import Attribution
from textsobol.sobol.arrays import Array, Floats


def captum_llm_ablation(game: Scored, *, budget: int, seed: int) -> Attribution:
    """LLMAttribution with FeatureAblation: every word left out alone."""
    captum = _captum()
    return Attribution(_attribute(game, captum.FeatureAblation))


def captum_llm_kernel_shap(game: Scored, *, budget: int, seed: int) -> Attribution:
    """LLMAttribution with KernelShap, whose masks are drawn at random."""
    import torch

    captum = _captum()
    if game.n_features == 1:  # captum fails on it
        return captum_llm_ablation(game, budget=budget, seed=seed)
    with torch.random.fork_rng(devices=[]):
        found = _attribute(game, captum.KernelShap, seed, n_samples=budget)
    return Attribution(found, settings={"samples": budget})


def _attribute(game: Scored, method: Callable[[Any], Any], seed: int = 0, **options: Any) -> Floats:
    """Scores ``(features, labels)``, of one label after another, from the same masks."""
    import torch

    captum = _captum()
    asked: list[Array] = []

    class Told(captum.LLMAttribution):  # type: ignore[misc, name-defined]
        """It is told log-probabilities instead of running the model."""

        def _forward_func(self, mask: Any, *_: Any, **__: Any) -> Any:
            asked.append(mask.numpy().reshape(-1) > 0.5)
            told = torch.as_tensor(known[bytes(asked[-1])])
            return told.repeat(1, 2) if self.include_per_token_attr else told

    model = SimpleNamespace(device=torch.device("cpu"), forward=lambda: None)
    words = captum.TextTemplateInput(lambda *own: " ".join(own), ["x"] * game.n_features)
    told = Told(method(model), tokenizer=_OneToken())

    def attribute() -> Floats:
        torch.manual_seed(seed)
        target = torch.zeros(1, dtype=torch.long)
        found = told.attribute(words, target=target, **options).seq_attr
        return np.asarray(found.numpy(), dtype=float)

    # Which masks it asks for does not depend on what it is told: first find out, so that all can be
    # scored in one call.
    known: Mapping[bytes, float] = defaultdict(float)
    attribute()
    masks = np.array(asked)
    columns = []
    for scores in game.score(masks).T.tolist():
        known = dict(zip(map(bytes, masks), scores, strict=True))
        columns.append(attribute())
    return np.stack(columns, axis=1)


class _OneToken:
    """A tokenizer of one token: captum wants a name for the answer."""

    def decode(self, ids: Any) -> str:
        return "x"

    def __call__(self, text: str, **_: Any) -> dict[str, Any]:
        return {"input_ids": [0], "offset_mapping": [(0, 1)]}


def _captum() -> Any:
    try:
        import captum.attr
    except ImportError as error:
        raise ImportError('captum methods need captum: pip install "textsobol[bench]"') from error
    return captum.attr
