"""Gates: how much a model sees of every word, between 0 (not at all) and 1 (as it is).

A gate multiplies the weight of its word's tokens as attention keys: log g is added to their
attention scores in every layer, through a float attention mask with four dimensions, which
transformers adds as it is. One backward pass gives the derivative of a score with respect to all
gates at once. A gate of 0 is what ``perturbation="pad"`` does to a word.

Which models take such a mask is not listed but tried, once for every model: gates of 1 must give
the model's own answer, and gates of 0 that of the padded text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from textsobol.inference import in_evaluation
from textsobol.sobol.arrays import Floats
from textsobol.text.classifiers import HuggingFaceClassifier
from textsobol.text.embeddings import encode_whole
from textsobol.text.words import Span

if TYPE_CHECKING:
    from torch import Tensor

_LEAST_GATE = 1e-30  # its logarithm is finite, and nothing is left of a key
_SAME = 1e-3  # largest difference of logits that rounding explains
_takes_gates: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()


class GatedText:
    """The logits of one text or pair as a function of a gate for every word.

    Args:
        classifier: a model of transformers with its tokenizer.
        texts: the text or pair, as much as the model sees of it.
        spans: of the words, for each text.
    """

    def __init__(
        self,
        classifier: HuggingFaceClassifier,
        texts: Sequence[str],
        spans: Sequence[Sequence[Span]],
    ) -> None:
        import torch

        self._model = classifier.model
        self._ids, self._types, owners = encode_whole(classifier, texts, spans)
        self.device = self._ids.device
        self._owners = torch.tensor(owners, device=self.device)

    @property
    def n_tokens(self) -> int:
        """Tokens that every row of gates costs."""
        return int(self._ids.shape[1])

    def forward(self, gates: Tensor) -> Tensor:
        """Logits ``(rows, labels)`` for gates ``(rows, words)``, with gradients."""
        import torch

        is_word = self._owners >= 0
        own = gates[:, self._owners.clamp(min=0)]
        seen = torch.where(is_word, own, torch.ones_like(own))
        return _run(self._model, self._ids, seen, self._types)


def _run(model: Any, ids: Tensor, seen: Tensor, types: Tensor | None) -> Tensor:
    """Logits of token ids ``(1, tokens)`` for how much of each is seen ``(rows, tokens)``."""
    import torch

    dtype = next(model.parameters()).dtype
    n_rows, n_tokens = seen.shape
    added = torch.log(seen.clamp(min=_LEAST_GATE)).to(dtype)[:, None, None, :]
    added = added.expand(n_rows, 1, n_tokens, n_tokens)
    if _is_causal(model):
        lowest = torch.finfo(dtype).min
        later = torch.full((n_tokens, n_tokens), lowest, dtype=dtype, device=seen.device)
        added = added + later.triu(1)
    more = {} if types is None else {"token_type_ids": types.expand(n_rows, -1)}
    with in_evaluation(model):
        logits: Tensor = model(
            input_ids=ids.expand(n_rows, -1), attention_mask=_as_taken(model, added), **more
        ).logits
    return logits.float()


def _is_causal(model: Any) -> bool:
    """Whether tokens see only those before them, so that the mask must say so, too."""
    attentions = (m for m in model.modules() if hasattr(m, "is_causal"))
    return any(bool(module.is_causal) for module in attentions)


def _as_taken(model: Any, added: Tensor) -> Any:
    """The mask in the form that the model takes; ModernBERT has two kinds of layers."""
    window = getattr(model.config, "sliding_window", None)
    if getattr(model.config, "model_type", "") != "modernbert" or window is None:
        return added
    import torch

    places = torch.arange(added.shape[-1], device=added.device)
    is_far = (places[:, None] - places[None, :]).abs() > window
    near = added.masked_fill(is_far, torch.finfo(added.dtype).min)
    return {"full_attention": added, "sliding_attention": near}


def takes_gates(classifier: HuggingFaceClassifier) -> bool:
    """Whether the model takes gates, and they mean what they should; tried once for every model."""
    model = classifier.model
    if not getattr(classifier.tokenizer, "is_fast", False):
        return False
    if model not in _takes_gates:
        _takes_gates[model] = _try_gates(model)
    return _takes_gates[model]


def _try_gates(model: Any) -> bool:
    import torch

    device = next(model.parameters()).device
    n_ids = int(model.config.vocab_size)
    pad = getattr(model.config, "pad_token_id", None)
    ids = [k for k in range(min(n_ids, 12)) if k != pad][:8]
    tokens = torch.tensor([ids * 3], device=device)
    seen = torch.ones(tokens.shape, device=device)
    seen[0, 3:5] = 0
    try:
        with torch.no_grad():
            for shown in (torch.ones_like(seen), seen):
                with in_evaluation(model):
                    own = model(input_ids=tokens, attention_mask=shown.long()).logits.float()
                if not torch.allclose(own, _run(model, tokens, shown, None), atol=_SAME):
                    return False
    except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError):
        return False
    return True


def gate_gradients(
    text: GatedText,
    gates: Floats,
    score: Callable[[Tensor], Tensor],
    *,
    batch_tokens: int = 4096,
) -> tuple[Floats, Floats]:
    """Scores ``(rows, labels)`` at gates ``(rows, words)``, and their derivatives.

    Args:
        text: the text.
        gates: between 0 and 1.
        score: logits to the scores that are analysed, with gradients.
        batch_tokens: most tokens that are run together.

    Returns:
        Scores, and derivatives ``(rows, words, labels)``.
    """
    import torch

    at_once = max(1, batch_tokens // text.n_tokens)
    scores, slopes = [], []
    for start in range(0, len(gates), at_once):
        own = torch.tensor(
            gates[start : start + at_once], dtype=torch.float32, device=text.device
        ).requires_grad_()
        found = score(text.forward(own))
        columns = range(found.shape[1])
        last = len(columns) - 1
        by_label = [
            torch.autograd.grad(found[:, k].sum(), own, retain_graph=k < last)[0] for k in columns
        ]
        scores.append(found.detach().double().cpu().numpy())
        slopes.append(torch.stack(by_label, dim=2).double().cpu().numpy())
    return np.concatenate(scores), np.concatenate(slopes)
