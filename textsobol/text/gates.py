"""Gates: how much a model sees of every word, between 0 (not at all) and 1 (as it is).

A gate multiplies the weight of its word's tokens as attention keys: log g is added to their
attention scores in every layer (`gated_attention`), which changes nothing of the model. One
backward pass gives the derivative of a score with respect to all gates at once. A gate of 0 is what
``perturbation="pad"`` does to a word.

A model without attention can have gates of its own: a parameter ``gates`` of its ``forward``. It is
given a float tensor ``(texts, tokens)`` between 0 and 1 beside ``input_ids`` and an
``attention_mask`` of ones. Its logits must be differentiable in ``gates``; gates of 1 must change
nothing, and gates of 0 must do what zeros in the attention mask do.

Which models take gates is tried (`gate_ways`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from textsobol.inference import is_out_of_memory
from textsobol.sobol.arrays import Floats, Integers
from textsobol.text.batches import choose_batch_tokens
from textsobol.text.classifiers import HuggingFaceClassifier
from textsobol.text.embeddings import encode_whole
from textsobol.text.gate_ways import choose_dtype, find_way, run_gated
from textsobol.text.words import Span

if TYPE_CHECKING:
    from torch import Tensor


class GatedText:
    """The logits of one text or pair as a function of a gate for every word.

    Args:
        classifier: a model of transformers with its tokenizer.
        texts: the text or pair, as much as the model sees of it.
        spans: of the words, for each text.

    Raises:
        ValueError: when the model takes no gates.
    """

    def __init__(
        self,
        classifier: HuggingFaceClassifier,
        texts: Sequence[str],
        spans: Sequence[Sequence[Span]],
    ) -> None:
        import torch

        way = find_way(classifier)
        if way is None:
            raise ValueError(f"{type(classifier.model).__name__} takes no gates")
        self._way = way
        self._model = classifier.model
        with torch.inference_mode(False):
            self._ids, self._types, owners = encode_whole(classifier, texts, spans)
            self.device = self._ids.device
            self._owners = torch.tensor(owners, device=self.device)
        self.dtype = choose_dtype(self._model)
        self.batch_tokens = classifier.batch_tokens or choose_batch_tokens(
            self._model, self.device.type
        )

    @property
    def n_tokens(self) -> int:
        """Tokens that every row of gates costs."""
        return int(self._ids.shape[1])

    def forward(self, gates: Tensor) -> Tensor:
        """Logits ``(rows, labels)`` for gates ``(rows, words)``, with gradients.

        In double precision if the model has it, else at least in single precision.
        """
        import torch

        is_word = self._owners >= 0
        own = gates.to(self.device, self.dtype)[:, self._owners.clamp(min=0)]
        seen = torch.where(is_word, own, torch.ones_like(own))
        return run_gated(self._model, self._way, self._ids, seen, self._types).to(self.dtype)


def takes_gates(classifier: HuggingFaceClassifier) -> bool:
    """Whether the model takes gates, and they mean what they should; tried once for every model."""
    return find_way(classifier) is not None


def gate_gradients(
    text: GatedText,
    gates: Floats,
    score: Callable[[Tensor], Tensor],
    *,
    batch_tokens: int | None = None,
) -> tuple[Floats, Floats]:
    """Scores ``(rows, labels)`` at gates ``(rows, words)``, and their derivatives.

    Args:
        text: the text.
        gates: between 0 and 1.
        score: logits to the scores that are analysed, with gradients; each row for itself.
        batch_tokens: most tokens that are run together; by default what suits the model.

    Returns:
        Scores, and derivatives ``(rows, words, labels)``.
    """
    import torch

    at_once = max(1, (batch_tokens or text.batch_tokens) // text.n_tokens)
    found: list[tuple[Floats, Floats]] = []
    start = 0
    while start < len(gates):
        try:
            with torch.inference_mode(False), torch.enable_grad():
                found.append(_differentiate(text, gates[start : start + at_once], score))
        except Exception as error:
            if not is_out_of_memory(error) or at_once == 1:
                raise
            at_once //= 2
        else:
            start += at_once
    scores, slopes = zip(*found, strict=True)
    return np.concatenate(scores), np.concatenate(slopes)


def window_gradients(
    windows: Sequence[tuple[GatedText, Integers]],
    gates: Floats,
    score: Callable[[Tensor], Tensor],
    aggregate: str,
) -> Floats:
    """Derivatives ``(rows, words, labels)`` of scores of a text in several windows.

    Windows are differentiated one by one, with the logits of the others as they are, so that memory
    is that of one window.

    Args:
        windows: each with the numbers of its words.
        gates: between 0 and 1 ``(rows, words)``.
        score: see `gate_gradients`; of the windows' aggregated logits.
        aggregate: ``mean`` or ``max``.
    """
    import torch

    slopes: list[Floats] = []
    for row in gates:
        with torch.inference_mode(False), torch.no_grad():
            every = [text.forward(torch.tensor(row[None, own])) for text, own in windows]

        def score_window(
            logits: Tensor, number: int, every: Sequence[Tensor] = tuple(every)
        ) -> Tensor:
            together = torch.cat([*every[:number], logits, *every[number + 1 :]])
            is_mean = aggregate == "mean"
            whole = together.mean(dim=0) if is_mean else together.amax(dim=0)
            return score(whole[None])

        found = [
            gate_gradients(text, row[None, own], partial(score_window, number=number))[1][0]
            for number, (text, own) in enumerate(windows)
        ]
        total = np.zeros((len(row), found[0].shape[1]))
        for (_, own), part in zip(windows, found, strict=True):
            total[own] += part
        slopes.append(total)
    return np.array(slopes)


def _differentiate(
    text: GatedText, gates: Floats, score: Callable[[Tensor], Tensor]
) -> tuple[Floats, Floats]:
    """`gate_gradients` of one batch: one backward pass for labels that differ only in sign."""
    import torch

    own = torch.tensor(gates, dtype=text.dtype, device=text.device).requires_grad_()
    logits = text.forward(own)
    outputs = logits.detach().requires_grad_()
    scores = score(outputs)
    directions = [
        torch.autograd.grad(column.sum(), outputs, retain_graph=True, materialize_grads=True)[0]
        for column in scores.unbind(1)
    ]
    sources = [_find_source(directions, k) for k in range(len(directions))]
    last = max(j for j, _ in sources)
    own_slopes = {
        j: torch.autograd.grad(logits, own, directions[j], retain_graph=j < last)[0]
        for j in sorted({j for j, _ in sources})
    }
    slopes = torch.stack([sign * own_slopes[j] for j, sign in sources], dim=2)
    return _to_numpy(scores), _to_numpy(slopes)


def _find_source(directions: Sequence[Tensor], k: int) -> tuple[int, int]:
    """The first label whose score changes with the logits as label ``k``'s does, and the sign."""
    import torch

    for j in range(k):
        for sign in (1, -1):
            if torch.allclose(directions[k], sign * directions[j], rtol=1e-3, atol=1e-6):
                return j, sign
    return k, 1


def _to_numpy(tensor: Tensor) -> Floats:
    return np.asarray(tensor.detach().double().cpu().numpy())
