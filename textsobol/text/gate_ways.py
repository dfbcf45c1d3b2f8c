"""The ways in which models take gates, and which of them is right for a model.

Which models take gates is not listed but tried, once for every model: gates of 1 must give the
model's own answer, gates of 0 that of the padded text, and gates just below 1 nearly the same.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from inspect import signature
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from textsobol.inference import in_evaluation, is_out_of_memory
from textsobol.text.classifiers import HuggingFaceClassifier
from textsobol.text.embeddings import encode_whole

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Way = Callable[["Tensor"], dict[str, "Tensor"]]
"""From how much is seen of each token ``(rows, tokens)`` to what a model is given of it."""

_N_TRIED = 150  # words; more than ModernBERT's layers see around them
_SAME = 1e-4  # difference of logits, relative to the largest, that rounding explains
_PART = 0.02  # of what hiding words changes, that gates may differ from it
_ways: WeakKeyDictionary[Any, dict[Hashable, Way | None]] = WeakKeyDictionary()
_stance_lock = threading.RLock()


def find_way(classifier: HuggingFaceClassifier) -> Way | None:
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
        try:
            found[settings] = next((way for way in ways if _try_way(classifier, way)), None)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            return None  # there may be room for the next text
    return found[settings]


def has_own_gates(classifier: HuggingFaceClassifier) -> bool:
    """Whether the model brings its own gates, as recurrent models do."""
    return find_way(classifier) is _ask_model


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
    chances = torch.rand(3, ids.shape[1], generator=torch.Generator().manual_seed(0))
    is_hidden = is_word & (chances > torch.tensor([[2.0], [0.7], [0.2]]))
    shown = torch.where(is_hidden, 0.0, 1.0).to(ids.device, choose_dtype(model))
    own = torch.cat([_call(model, ids, types, attention_mask=row[None].long()) for row in shown])
    nearly = torch.where(is_hidden[2:], 0.9999, 1.0).to(shown)
    gated = run_gated(model, way, ids, torch.cat([shown, nearly]), types)
    wanted = torch.cat([own, own[:1]]).double()
    # Some models answer NaN where a sliding window shows no word at all.
    is_number = wanted.isfinite().all(dim=1)
    if not is_number[:2].all():
        return False
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
    special = {*tokenizer.all_special_ids, getattr(classifier.model.config, "pad_token_id", None)}
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


def run_gated(model: Any, way: Way, ids: Tensor, seen: Tensor, types: Tensor | None) -> Tensor:
    """Logits of token ids ``(1, tokens)`` for how much of each is seen ``(rows, tokens)``."""
    import torch

    from textsobol.text.gated_attention import GatedAttention

    # A model without a pad token cannot find the end of a text in a batch.
    if getattr(model.config, "pad_token_id", None) is None and len(seen) > 1:
        return torch.cat([run_gated(model, way, ids, row[None], types) for row in seen])
    # Gates of a model's own need no help, and a recurrent model would be slower for it, except
    # where it was made in inference mode.
    if way is _ask_model and not next(model.parameters()).is_inference():
        return _call(model, ids, types, **way(seen))
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
    with in_evaluation(model), _uncompiled():
        logits: Tensor = model(input_ids=ids.expand(n_rows, -1), **inputs).logits
    return logits


@contextmanager
def _uncompiled() -> Iterator[None]:
    """Runs models of `torch.compile` as they are written: compiled attention takes no gates.

    This holds for the whole process, so threads take turns.
    """
    import torch

    is_compiling = "torch._dynamo" in sys.modules  # importing it takes long
    if not is_compiling or not hasattr(torch.compiler, "set_stance"):  # before torch 2.6
        yield
        return
    with _stance_lock, torch.compiler.set_stance("force_eager"):
        yield


def choose_dtype(model: Any) -> torch.dtype:
    """Double precision for a model that has it, else single."""
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
