"""Gates: how much a model sees of every word, between 0 (not at all) and 1 (as it is).

A gate multiplies the weight of its word's tokens as attention keys: log g is added to their
attention scores in every layer (`gated_attention`), which changes nothing of the model. One
backward pass gives the derivative of a score with respect to all gates at once. A gate of 0 is what
``perturbation="pad"`` does to a word.

A model without attention can have gates of its own: a parameter ``gates`` of its ``forward``. It is
given a float tensor ``(texts, tokens)`` between 0 and 1 beside ``input_ids`` and an
``attention_mask`` of ones. Its logits must be differentiable in ``gates``; gates of 1 must change
nothing, and gates of 0 must do what zeros in the attention mask do.

Which models take gates is not listed but tried, once for every model: gates of 1 must give the
model's own answer, gates of 0 that of the padded text, and gates just below 1 nearly the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from textsobol.inference import in_evaluation, is_out_of_memory
from textsobol.sobol.arrays import Floats
from textsobol.text.batches import _choose_batch_tokens
from textsobol.text.classifiers import HuggingFaceClassifier
from textsobol.text.embeddings import encode_whole
from textsobol.text.words import Span

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Way = Callable[["Tensor"], dict[str, "Tensor"]]
"""From how much is seen of each token ``(rows, tokens)`` to what a model is given of it."""

_N_TRIED = 150  # words; more than ModernBERT's layers see around them
_SAME = 1e-4  # difference of logits, relative to the largest, that rounding explains
_PART = 0.02  # of what hiding words changes, that gates may differ from it
_ways: WeakKeyDictionary[Any, dict[Hashable, Way | None]] = WeakKeyDictionary()


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

        way = _find_way(classifier)
        if way is None:
            raise ValueError(f"{type(classifier.model).__name__} takes no gates")
        self._way = way
        self._model = classifier.model
        with torch.inference_mode(False):
            self._ids, self._types, owners = encode_whole(classifier, texts, spans)
            self.device = self._ids.device
            self._owners = torch.tensor(owners, device=self.device)
        self.dtype = _choose_dtype(self._model)
        self.batch_tokens = classifier.batch_tokens or _choose_batch_tokens(
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
        return _run(self._model, self._way, self._ids, seen, self._types).to(self.dtype)


def _run(model: Any, way: Way, ids: Tensor, seen: Tensor, types: Tensor | None) -> Tensor:
    """Logits of token ids ``(1, tokens)`` for how much of each is seen ``(rows, tokens)``."""
    import torch

    from textsobol.text.gated_attention import GatedAttention

    # A model without a pad token cannot find the end of a text in a batch.
    if getattr(model.config, "pad_token_id", None) is None and len(seen) > 1:
        return torch.cat([_run(model, way, ids, row[None], types) for row in seen])
    with GatedAttention(seen) as attention:
        logits = _call(model, ids, types, **way(seen))
    if way is not _ask_model and not attention.is_found:
        raise ValueError(f"{type(model).__name__} has no attention that can be gated")
    return logits


def _call(model: Any, ids: Tensor, types: Tensor | None, **inputs: Tensor) -> Tensor:
    """Logits of token ids ``(1, tokens)`` with something else in every row."""
    n_rows = len(inputs["attention_mask"])
    if types is not None:
        inputs["token_type_ids"] = types.expand(n_rows, -1)
    with in_evaluation(model):
        logits: Tensor = model(input_ids=ids.expand(n_rows, -1), **inputs).logits
    return logits


def _choose_dtype(model: Any) -> torch.dtype:
    import torch

    is_double = next(model.parameters()).dtype == torch.float64
    return torch.float64 if is_double else torch.float32


def _show_all(seen: Tensor) -> dict[str, Tensor]:
    """Nothing but what is added to attention."""
    import torch

    return {"attention_mask": torch.ones_like(seen, dtype=torch.long)}


def _ask_model(seen: Tensor) -> dict[str, Tensor]:
    """The model's own gates."""
    return {**_show_all(seen), "gates": seen}


def _weigh(seen: Tensor) -> dict[str, Tensor]:
    """Gates as the mask, for models that average over tokens with it and else only ask for 0."""
    from textsobol.text.gated_attention import LEAST_GATE

    return {"attention_mask": seen + LEAST_GATE}


def takes_gates(classifier: HuggingFaceClassifier) -> bool:
    """Whether the model takes gates, and they mean what they should; tried once for every model."""
    return _find_way(classifier) is not None


def _find_way(classifier: HuggingFaceClassifier) -> Way | None:
    """How the model takes gates, or ``None`` if it does not."""
    if not getattr(classifier.tokenizer, "is_fast", False):
        return None
    model = classifier.model
    found = _ways.setdefault(model, {})
    # Both may change after a model was tried.
    settings = (next(model.parameters()).dtype, getattr(model.config, "_attn_implementation", None))
    if settings not in found:
        has_gates = "gates" in signature(model.forward).parameters
        ways: list[Way] = [_ask_model] if has_gates else [_show_all, _weigh]
        found[settings] = next((way for way in ways if _try_way(classifier, way)), None)
    return found[settings]


def _try_way(classifier: HuggingFaceClassifier, way: Way) -> bool:
    import torch

    try:
        with torch.inference_mode(False), torch.no_grad():
            return _is_right(classifier, way)
    except Exception as error:  # whatever a model raises that is not made for this
        if is_out_of_memory(error):
            raise
        return False


def _is_right(classifier: HuggingFaceClassifier, way: Way) -> bool:
    """Whether gates of 1, of 0 and just below 1 give what they should, up to rounding."""
    import torch

    model = classifier.model
    ids, types, is_word = _make_trial(classifier)
    lots = torch.rand(3, ids.shape[1], generator=torch.Generator().manual_seed(0))
    is_hidden = is_word & (lots > torch.tensor([[2.0], [0.7], [0.2]]))
    shown = torch.where(is_hidden, 0.0, 1.0).to(ids.device, _choose_dtype(model))
    own = torch.cat([_call(model, ids, types, attention_mask=row[None].long()) for row in shown])
    nearly = torch.where(is_hidden[2:], 0.9999, 1.0).to(shown)
    gated = _run(model, way, ids, torch.cat([shown, nearly]), types)
    wanted = torch.cat([own, own[:1]]).double()
    # Some models answer NaN where a sliding window shows no word at all.
    is_number = wanted.isfinite().all(dim=1)
    wanted, gated = wanted[is_number], gated[is_number].double()
    rounding = max(_SAME, 5 * torch.finfo(own.dtype).eps) * wanted.abs().max()
    effect = (wanted - wanted[0]).abs().max()
    return bool(((gated - wanted).abs() <= rounding + _PART * effect).all())


def _make_trial(classifier: HuggingFaceClassifier) -> tuple[Tensor, Tensor | None, Tensor]:
    """Ids and types ``(1, tokens)`` of a text of random tokens; which of them can be hidden."""
    import torch

    tokenizer, embeddings = classifier.tokenizer, classifier.model.get_input_embeddings()
    ids, types, is_word = _encode_letters(classifier, _N_TRIED)
    n_words, n_special = int(is_word.sum()), int((~is_word).sum())
    if classifier.max_length is not None and n_words + n_special > classifier.max_length:
        fitting = _N_TRIED * (classifier.max_length - n_special) // n_words
        ids, types, is_word = _encode_letters(classifier, fitting)
    special = {*tokenizer.all_special_ids, classifier.model.config.pad_token_id}
    n_ids = min(len(tokenizer), embeddings.weight.shape[0])
    ordinary = [k for k in range(n_ids) if k not in special]
    drawn = np.random.default_rng(0).choice(ordinary, size=int(is_word.sum()))
    ids[0, is_word.to(ids.device)] = torch.tensor(drawn, device=ids.device)
    return ids, types, is_word


def _encode_letters(
    classifier: HuggingFaceClassifier, n_words: int
) -> tuple[Tensor, Tensor | None, Tensor]:
    """Ids and types of a text of many equal words, and which tokens are theirs."""
    import torch

    spans = [(start, start + 1) for start in range(0, 2 * n_words, 2)]
    ids, types, owners = encode_whole(classifier, [" ".join("a" * n_words)], [spans])
    return ids, types, torch.tensor(owners >= 0)


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
            if torch.allclose(directions[k], sign * directions[j], rtol=1e-5, atol=0):
                return j, sign
    return k, 1


def _to_numpy(tensor: Tensor) -> Floats:
    return np.asarray(tensor.detach().double().cpu().numpy())
