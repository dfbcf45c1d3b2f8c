"""Run a causal language model on many prompts that begin alike: what they share is run once.

The sorted prompts are a tree. What all of them begin with is run first; its keys and values are
what all others attend to. Subtrees that fit a batch are run as one sequence of tokens, where each
attends to its ancestors only (`token_trees.Pack`). Larger ones are split, after what their own
prompts share was run. Keys and values are only held for the path to the current subtree, so that
memory does not grow with the number of prompts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from textsobol.prompts.logits import compute_logits, read_log_probabilities
from textsobol.prompts.token_trees import (
    AnswerTree,
    Pack,
    SortedPrompts,
    Tokens,
    count_common,
    make_pack,
)
from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.steps import Tick

if TYPE_CHECKING:
    from torch import Tensor

_LEAST_NODES, _MOST_NODES = 256, 2048
_MOST_LOGITS = 2**25  # numbers, of one batch


@dataclass(frozen=True)
class _Path:
    """Tokens that were run, with their keys and values.

    Attributes:
        ids: the tokens.
        pieces: keys and values by layer, for one stretch of the tokens after another.
    """

    ids: Tokens = ()
    pieces: tuple[tuple[tuple[Tensor, Tensor], ...], ...] = ()

    def cut(self, length: int) -> _Path:
        """The first tokens."""
        pieces, left = [], length
        for piece in self.pieces:
            if left > 0:
                pieces.append(tuple((k[:, :, :left], v[:, :, :left]) for k, v in piece))
            left -= piece[0][0].shape[2]
        return _Path(self.ids[:length], tuple(pieces))

    def make_cache(self) -> Any:
        """A cache of transformers with these keys and values, which the model may add to."""
        import torch
        from transformers import DynamicCache

        cache = DynamicCache()
        for number, layer in enumerate(zip(*self.pieces, strict=True)):
            keys, values = (torch.cat(own, dim=2) for own in zip(*layer, strict=True))
            cache.update(keys, values, number)
        return cache

    def add(self, ids: Tokens, cache: Any) -> _Path:
        """With further tokens, the last ones in a cache."""
        layers = getattr(cache, "layers", None)  # of transformers 4.54 or later
        every = (
            zip(cache.key_cache, cache.value_cache, strict=True)
            if layers is None
            else ((layer.keys, layer.values) for layer in layers)
        )
        start = len(self.ids)
        # Copies: views would keep the whole cache in memory.
        piece = tuple((k[:, :, start:].clone(), v[:, :, start:].clone()) for k, v in every)
        return _Path((*self.ids, *ids), (*self.pieces, piece))


class SharedPrefixes:
    """Log-probabilities of answers after prompts, for models whose tokens see only earlier ones.

    Args:
        model: a causal language model of transformers, in evaluation mode while it is called.
        batch_tokens: most tokens of a batch; by default what suits the model's width.

    Attributes:
        batch_tokens: most tokens of a batch; may be changed between calls.
        n_run: tokens that were run so far.
    """

    def __init__(self, model: Any, batch_tokens: int | None) -> None:
        self.n_run = 0
        self._model = model
        self._n_words = int(getattr(model.config, "vocab_size", 1))
        width = int(getattr(model.config, "hidden_size", _MOST_NODES))
        # Every token of a batch is compared with all others, most of which it does not see: in
        # batches longer than the model is wide, that would take longer than a batch of its own.
        self.batch_tokens = batch_tokens or int(np.clip(width, _LEAST_NODES, _MOST_NODES))
        self._last = _Path()  # what all prompts of the last call share

    def __call__(self, prompts: Sequence[Tokens], answers: AnswerTree, tick: Tick) -> Floats:
        """Log-probabilities ``(prompts, asked tokens)``.

        Args:
            prompts: different ones, none of them empty.
            answers: what is asked after each.
            tick: called with the number of prompts scored since the last call.
        """
        every = SortedPrompts(prompts)
        shared = every.find_shared(0, len(prompts))
        self._last = self._extend(self._last.cut(count_common(self._last.ids, shared)), shared)
        found = np.empty((len(prompts), len(answers.asked)))
        for start, stop, path in self._visit(every, 0, len(prompts), self._last, answers):
            pack = make_pack(every, start, stop, len(path.ids), answers)
            found[every.order[start:stop]] = self._score(pack, path, answers)
            tick(stop - start)
        return found

    def _visit(
        self, prompts: SortedPrompts, start: int, stop: int, path: _Path, answers: AnswerTree
    ) -> Iterator[tuple[int, int, _Path]]:
        """Ranges of prompts that fit a batch, each with what its prompts share, already run."""
        path = self._extend(path, prompts.find_shared(start, stop))
        depth = len(path.ids)
        ranges: list[tuple[int, int]] = []
        for own_start, own_stop in prompts.split(start, stop, depth):
            if ranges and self._fits(prompts, ranges[-1][0], own_stop, depth, answers):
                ranges[-1] = (ranges[-1][0], own_stop)
            else:
                ranges.append((own_start, own_stop))
        for own_start, own_stop in ranges:
            if self._fits(prompts, own_start, own_stop, depth, answers):
                yield own_start, own_stop, path
            else:  # their next token is the same
                yield from self._visit(prompts, own_start, own_stop, path, answers)

    def _fits(
        self, prompts: SortedPrompts, start: int, stop: int, depth: int, answers: AnswerTree
    ) -> bool:
        n_prompts = stop - start
        n_nodes = prompts.count_nodes(start, stop, depth) + n_prompts * len(answers.tokens)
        n_logits = n_prompts * len(answers.read) * self._n_words
        is_small = n_nodes <= self.batch_tokens and n_logits <= _MOST_LOGITS
        # A prompt's last token and its answers are always run together.
        return is_small or (n_prompts == 1 and prompts.lengths[start] == depth + 1)

    def _extend(self, path: _Path, ids: Tokens) -> _Path:
        """Run the tokens that follow a path."""
        while len(path.ids) < len(ids):
            start = len(path.ids)
            new = ids[start : start + self.batch_tokens]
            cache = path.make_cache()
            self._forward(np.array(new), start + np.arange(len(new)), [len(new) - 1], cache)
            path = path.add(new, cache)
        return path

    def _score(self, pack: Pack, path: _Path, answers: AnswerTree) -> Floats:
        """Log-probabilities ``(prompts, asked tokens)`` of a subtree."""
        depth = len(path.ids)
        sees = np.concatenate([np.ones((len(pack.tokens), depth), bool), pack.sees], axis=1)
        keep, places = np.unique(pack.reads, return_inverse=True)
        logits = self._forward(
            pack.tokens, depth + pack.depths, keep, path.make_cache(), self._make_mask(sees)
        )
        columns = [answers.read.index(node) for node, _ in answers.asked]
        places = places.reshape(pack.reads.shape)[:, columns]
        tokens = np.tile([token for _, token in answers.asked], (len(places), 1))
        return read_log_probabilities(logits, places, tokens)

    def _make_mask(self, sees: Array) -> Tensor:
        """What attention adds: 0, or the least number where a token does not see another."""
        import torch

        hidden = torch.from_numpy(~sees).to(self._model.device)
        added = torch.zeros(hidden.shape, dtype=self._model.dtype, device=hidden.device)
        return added.masked_fill(hidden, torch.finfo(added.dtype).min)[None, None]

    def _forward(
        self,
        tokens: Integers,
        positions: Integers,
        keep: Sequence[int] | Integers,
        cache: Any,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Logits after some of the tokens; keys and values are added to the cache."""
        import torch

        self.n_run += len(tokens)
        device = self._model.device
        given = {} if mask is None else {"attention_mask": mask}
        return compute_logits(
            self._model,
            torch.as_tensor(keep, device=device),
            input_ids=torch.as_tensor(tokens, device=device)[None],
            position_ids=torch.as_tensor(positions, device=device)[None],
            past_key_values=cache,
            use_cache=True,
            **given,
        )[0]
