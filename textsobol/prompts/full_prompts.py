"""Run a language model on every prompt in full: right for every model, and nothing is shared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from textsobol.prompts.logits import compute_logits, read_log_probabilities
from textsobol.prompts.token_trees import AnswerTree, Tokens
from textsobol.sobol.arrays import Array, Floats, Integers
from textsobol.steps import Tick
from textsobol.text.batches import choose_batch_tokens

_MOST_LOGITS = 2**25  # numbers, of one batch


class FullPrompts:
    """Log-probabilities of answers after prompts, each prompt and answer in a row of its own.

    Rows are padded on the right, whatever the tokenizer says: nothing that is read comes after
    padding, and positions count from the first token.

    Args:
        model: a language model of transformers, in evaluation mode while it is called; of an
            encoder and a decoder, the encoder reads the prompt.
        pad: a token for padding.
        batch_tokens: most tokens of a batch; by default what suits the model.

    Attributes:
        batch_tokens: most tokens of a batch; may be changed between calls.
        n_run: tokens that were run so far, padding included.
        n_padding: how many of these were padding.
    """

    def __init__(self, model: Any, pad: int, batch_tokens: int | None) -> None:
        self.n_run = 0
        self.n_padding = 0
        self._model = model
        self._pad = pad
        self.batch_tokens = batch_tokens or choose_batch_tokens(model, model.device.type)
        self._has_encoder = bool(getattr(model.config, "is_encoder_decoder", False))

    def __call__(self, prompts: Sequence[Tokens], answers: AnswerTree, tick: Tick) -> Floats:
        """Log-probabilities ``(prompts, asked tokens)``; see `SharedPrefixes`."""
        found = np.empty((len(prompts), len(answers.asked)))
        lengths = np.array([len(prompt) for prompt in prompts])
        for batch in self._split(np.argsort(-lengths, kind="stable"), lengths, answers):
            own = [prompts[k] for k in batch]
            found[batch] = (self._decode if self._has_encoder else self._continue)(own, answers)
            tick(len(batch))
        return found

    def _split(self, order: Integers, lengths: Integers, answers: AnswerTree) -> Iterator[Integers]:
        """Batches of prompts, the longest first."""
        start, n_more = 0, max(map(len, answers.paths))
        n_words = int(getattr(self._model.config, "vocab_size", 1))
        most_rows = _MOST_LOGITS // (n_words * (n_more + 1))
        while start < len(order):
            n_rows = self.batch_tokens // int(lengths[order[start]] + n_more)
            yield order[start : start + max(1, min(n_rows, most_rows))]
            start += max(1, min(n_rows, most_rows))

    def _continue(self, prompts: Sequence[Tokens], answers: AnswerTree) -> Floats:
        """A decoder alone: the answer follows the prompt."""
        found = np.empty((len(prompts), len(answers.asked)))
        last = np.array([[len(prompt) - 1] for prompt in prompts], dtype=np.int64)
        for path, columns, depths in answers.rows():
            ids, seen = self._pad_rows([prompt + path for prompt in prompts])
            tokens = [answers.asked[column][1] for column in columns]
            given = {"input_ids": ids, "attention_mask": seen}
            found[:, columns] = self._read(last + np.array(depths), tokens, given)
        return found

    def _decode(self, prompts: Sequence[Tokens], answers: AnswerTree) -> Floats:
        """An encoder reads the prompt, and the decoder writes the answer."""
        found = np.empty((len(prompts), len(answers.asked)))
        ids, seen = self._pad_rows(prompts)
        encoded = self._model.get_encoder()(input_ids=ids, attention_mask=seen)
        start = int(self._model.config.decoder_start_token_id)
        for path, columns, depths in answers.rows():
            own, _ = self._pad_rows([(start, *path)] * len(prompts))
            tokens = [answers.asked[column][1] for column in columns]
            given = {"encoder_outputs": encoded, "attention_mask": seen, "decoder_input_ids": own}
            found[:, columns] = self._read(np.tile(depths, (len(prompts), 1)), tokens, given)
        return found

    def _read(self, places: Integers, tokens: Sequence[int], inputs: dict[str, Any]) -> Floats:
        """Log-probabilities of tokens at places ``(prompts, tokens)`` of the rows."""
        import torch

        keep, at = np.unique(places, return_inverse=True)
        kept = torch.as_tensor(keep, device=self._model.device)
        logits = compute_logits(self._model, kept, **inputs)
        rows = np.arange(len(places))[:, None] * len(keep) + at.reshape(places.shape)
        return read_log_probabilities(logits.flatten(0, 1), rows, np.tile(tokens, (len(rows), 1)))

    def _pad_rows(self, rows: Sequence[Tokens]) -> tuple[Any, Any]:
        """Token ids and attention mask ``(rows, tokens)``."""
        import torch

        width = max(map(len, rows))
        ids = np.full((len(rows), width), self._pad, dtype=np.int64)
        seen: Array = np.zeros((len(rows), width), dtype=np.int64)
        for k, row in enumerate(rows):
            ids[k, : len(row)] = row
            seen[k, : len(row)] = 1
        self.n_run += ids.size
        self.n_padding += int(ids.size - seen.sum())
        device = self._model.device
        return torch.from_numpy(ids).to(device), torch.from_numpy(seen).to(device)
