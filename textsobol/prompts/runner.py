"""Run prompts through a model: what they share only once, where that gives the same numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from textsobol.inference import in_evaluation, is_out_of_memory
from textsobol.ledger import Cost
from textsobol.prompts.full_prompts import FullPrompts
from textsobol.prompts.shared_prefixes import SharedPrefixes
from textsobol.prompts.token_trees import AnswerTree, Tokens
from textsobol.sobol.arrays import Floats
from textsobol.steps import Tick

# How far shared and full prompts may differ, in log-probability.
_CLOSE, _CLOSE_IN_HALF_PRECISION = 1e-3, 0.5


@dataclass
class PromptCost(Cost):
    """What prompts have cost.

    Attributes:
        full: tokens of the prompts and answers, had each prompt been run by itself.
    """

    full: int = 0

    def metadata(self) -> dict[str, float]:
        """Tokens that were run, and the part of all tokens that did not have to be."""
        saved = max(0.0, 1 - self.tokens / self.full) if self.full else 0.0
        return {"tokens": self.tokens, "shared": round(saved, 4)}


class PromptRunner:
    """Log-probabilities of answers after prompts, by whatever way is right for the model.

    Args:
        model: a language model of transformers; never changed.
        pad: a token for padding.
        batch_tokens: most tokens of a batch; by default what suits the model.
        shares: run what prompts begin with alike only once, if this model can.
    """

    def __init__(self, model: Any, pad: int, batch_tokens: int | None, *, shares: bool) -> None:
        self._model = model
        self._full = FullPrompts(model, pad, batch_tokens)
        has_encoder = getattr(model.config, "is_encoder_decoder", False)
        shares = shares and not has_encoder  # an encoder's tokens see those after them, too
        self._shared = SharedPrefixes(model, batch_tokens) if shares else None
        self._checked = 0  # tokens of the longest prompt for which sharing was checked

    def __call__(
        self, prompts: Sequence[Tokens], tree: AnswerTree, cost: PromptCost, tick: Tick
    ) -> Floats:
        """Log-probabilities ``(prompts, asked tokens)`` of different prompts, none empty."""
        with inference(self._model):
            longest = max(prompts, key=len)
            if self._shared is not None and len(longest) > self._checked:
                self._check_sharing(longest, tree)
            runner = self._shared or self._full
            n_run, n_padding = runner.n_run, self._full.n_padding
            found = _halve_if_needed(runner, prompts, tree, tick)
        cost.tokens += runner.n_run - n_run
        cost.padding += self._full.n_padding - n_padding
        cost.full += sum(len(prompt) + len(tree.tokens) for prompt in prompts)
        return found

    def _check_sharing(self, prompt: Tokens, tree: AnswerTree) -> None:
        """Share nothing if the model then says something else.

        Models may count positions in their own way, look at a window of tokens only, or keep a
        state that cannot be shared. Two prompts with a common beginning show it.
        """
        import torch

        assert self._shared is not None
        third = max(1, len(prompt) // 3)
        pair = list(dict.fromkeys([prompt, prompt[:third] + prompt[-third:]]))
        expected = _halve_if_needed(self._full, pair, tree, lambda _: None)
        is_single = self._model.dtype in (torch.float32, torch.float64)
        close = _CLOSE if is_single else _CLOSE_IN_HALF_PRECISION
        self._checked = len(prompt)
        try:
            found = _halve_if_needed(self._shared, pair, tree, lambda _: None)
        except Exception as error:
            if is_out_of_memory(error):
                raise
            self._shared = None
            return
        if not np.allclose(found, expected, rtol=0, atol=close):
            self._shared = None


def _halve_if_needed(
    runner: SharedPrefixes | FullPrompts, prompts: Sequence[Tokens], tree: AnswerTree, tick: Tick
) -> Floats:
    """Run prompts in smaller and smaller batches, until memory suffices."""
    while True:
        try:
            return runner(prompts, tree, tick)
        except Exception as error:
            if not is_out_of_memory(error) or runner.batch_tokens == 1:
                raise
        runner.batch_tokens //= 2


@contextmanager
def inference(model: Any) -> Iterator[None]:
    """Run torch without gradients, in evaluation mode."""
    import torch

    with in_evaluation(model), torch.inference_mode():
        yield
