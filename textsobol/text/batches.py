"""Run a torch model on rows of tokens: sorted by length, batched by tokens."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from textsobol.inference import in_evaluation, is_out_of_memory
from textsobol.sobol.arrays import Floats, Integers
from textsobol.steps import Forwarded, Tick
from textsobol.text.tokens import Row

_PADDING = 0.05  # the part of a row that may always be padding
_LEAST_ROWS = 8
_CHEAP_PADDING = 1 / 24  # the part of a full batch that takes no longer than another batch
_LEAST_TOKENS, _MOST_TOKENS = 1024, 16_384
_PARAMETERS = 10_000_000  # of a model for which the least tokens are best on a CPU


class LogitRunner:
    """Logits of a HuggingFace sequence classifier, in batches of about equal length.

    Args:
        model: the model; its mode, device and dtype are left as they are.
        tokenizer: says what the model takes. Without a pad token only rows of the same
            length share a batch.
        batch_tokens: maximum tokens of a batch, padding included; by default what suits the
            device.
    """

    def __init__(self, model: Any, tokenizer: Any, batch_tokens: int | None) -> None:
        self._model = model
        # A model that does not know its pad token does not know where a padded text ends.
        self._is_alone = getattr(model.config, "pad_token_id", None) is None
        self._pad = tokenizer.pad_token_id
        # On the right, whatever the tokenizer says: with padding on the left, models with absolute
        # positions count from the wrong place and those that read the first token read padding.
        # Only a model that reads the last one, as XLNet does, needs it on the left.
        reads_last = getattr(model.config, "summary_type", None) == "last"
        self._pads_left = reads_last and tokenizer.padding_side == "left"
        self._pad_type = int(getattr(tokenizer, "pad_token_type_id", 0) or 0)
        special = (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id)
        self._stand_in = next((token for token in special if token is not None), 0)
        self._takes_types = "token_type_ids" in tokenizer.model_input_names
        self._batch_tokens = batch_tokens or self._choose_batch_tokens()

    def __call__(self, rows: Sequence[Row], tick: Tick) -> Forwarded:
        """Logits ``(rows, labels)``, and each row's tokens in its batch."""
        # Models cannot read an empty text: one token replaces it.
        stand_in = Row(np.array([self._stand_in]), np.array([0]))
        rows = [row if len(row.ids) else stand_in for row in rows]
        lengths = np.array([len(row.ids) for row in rows], dtype=np.int64)
        found: Floats | None = None  # one array: many small ones would fragment the memory
        widths = np.zeros(len(rows), dtype=np.int64)
        with self._inference():
            for batch in self._split(np.argsort(-lengths, kind="stable"), lengths):
                own = self._forward([rows[k] for k in batch])
                if found is None:
                    found = np.empty((len(rows), len(own[0][0])))
                found[batch], widths[batch] = zip(*own, strict=True)
                tick(len(batch))
        assert found is not None
        return Forwarded(found, widths, widths - lengths)

    def _split(self, order: Integers, lengths: Integers) -> Iterator[Integers]:
        """Batches, the longest rows first, so that memory runs out at once or not at all.

        A batch ends at its token limit, or where rows get so short that padding them would
        cost more than another batch.
        """
        most_cheap = _CHEAP_PADDING * min(self._batch_tokens, _MOST_TOKENS)
        start = 0
        while start < len(order):
            longest = int(lengths[order[start]])
            batch = order[start : start + max(1, self._batch_tokens // max(1, longest))]
            padding = longest - lengths[batch]
            if self._is_alone:
                n_rows = 1
            elif self._pad is None:
                n_rows = int(np.count_nonzero(padding == 0))
            else:
                is_cheap = np.cumsum(padding) <= most_cheap
                n_close = int(np.count_nonzero(is_cheap | (padding <= _PADDING * longest)))
                n_rows = max(n_close, _LEAST_ROWS)
            yield batch[:n_rows]
            start += len(batch[:n_rows])

    def _forward(self, rows: Sequence[Row]) -> list[tuple[Floats, int]]:
        try:
            width = max(len(row.ids) for row in rows)
            return [(values, width) for values in self._forward_once(rows, width)]
        except Exception as error:
            if not is_out_of_memory(error) or len(rows) == 1:
                raise
        half = len(rows) // 2
        # Later batches are smaller too: what did not fit now will not fit then.
        self._batch_tokens = half * width
        return self._forward(rows[:half]) + self._forward(rows[half:])

    def _forward_once(self, rows: Sequence[Row], longest: int) -> Floats:
        ids = np.full((len(rows), longest), self._pad or 0, dtype=np.int64)
        seen = np.zeros((len(rows), longest), dtype=np.int64)
        types = np.full((len(rows), longest), self._pad_type, dtype=np.int64)
        for k, row in enumerate(rows):
            start = longest - len(row.ids) if self._pads_left else 0
            where = slice(start, start + len(row.ids))
            ids[k, where] = row.ids
            seen[k, where] = 1 if row.seen is None else row.seen
            types[k, where] = row.types
        inputs = {"input_ids": ids, "attention_mask": seen}
        if self._takes_types:
            inputs["token_type_ids"] = types
        return self._compute(inputs)

    def _choose_batch_tokens(self) -> int:
        device = next(self._model.parameters()).device.type
        return choose_batch_tokens(self._model, device)

    @contextmanager
    def _inference(self) -> Iterator[None]:
        import torch

        with in_evaluation(self._model), torch.inference_mode():
            yield

    def _compute(self, inputs: Mapping[str, Integers]) -> Floats:
        """Logits ``(rows, labels)`` of token arrays ``(rows, tokens)``."""
        import torch

        device = next(self._model.parameters()).device
        tensors = {name: torch.from_numpy(own).to(device) for name, own in inputs.items()}
        logits = self._model(**tensors).logits
        return np.asarray(logits.float().cpu().numpy(), dtype=float)


def choose_batch_tokens(model: Any, device: str) -> int:
    """Much work at a time on an accelerator, what the caches hold on a CPU.

    The fewer parameters a model has besides its embeddings, the more tokens make the same work.
    """
    if device != "cpu":
        return _MOST_TOKENS
    layers = (model, model.get_input_embeddings())
    n_all, n_embeddings = (sum(one.numel() for one in layer.parameters()) for layer in layers)
    tokens = _LEAST_TOKENS * _PARAMETERS / max(1, n_all - n_embeddings)
    return int(np.clip(tokens, _LEAST_TOKENS, _MOST_TOKENS))


def make_row_key(row: Row) -> bytes:
    """A key for a row, different for different rows."""
    seen = b"" if row.seen is None else row.seen.tobytes()
    content = row.ids.tobytes() + row.types.tobytes() + seen
    return hashlib.blake2b(content, digest_size=16).digest()
