"""A classifier as a function of its embeddings, for gradient methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textsobol.inference import in_evaluation
from textsobol.methods.contract import Differentiable
from textsobol.outputs import compute_score_tensor
from textsobol.sobol.arrays import Integers
from textsobol.text.classifiers import HuggingFaceClassifier
from textsobol.text.tokens import find_owners, keep_settings
from textsobol.text.words import Span

if TYPE_CHECKING:
    from torch import Tensor


def embed(
    classifier: HuggingFaceClassifier,
    texts: Sequence[str],
    spans: Sequence[Sequence[Span]],
    score: str,
    labels: Sequence[int],
) -> Differentiable:
    """The scores of a text as a function of its token embeddings.

    Args:
        classifier: a transformers model with its tokenizer.
        texts: the text or pair, cut to the model's window.
        spans: of the features, for each text.
        score: what is analysed; see `outputs.compute_scores`.
        labels: numbers of the labels.
    """
    import torch

    model, tokenizer = classifier.model, classifier.tokenizer
    if not getattr(tokenizer, "is_fast", False):
        raise ValueError("gradient methods need a fast tokenizer: others have no offsets")
    ids, types, owners = encode_whole(classifier, texts, spans)
    device = ids.device
    with torch.no_grad():
        vectors = model.get_input_embeddings()(ids)

    # A model without a pad token cannot find the end of a text in a batch.
    is_alone = getattr(model.config, "pad_token_id", None) is None

    def forward(inputs: Tensor) -> Tensor:
        if is_alone and len(inputs) > 1:
            return torch.cat([forward(row[None]) for row in inputs])
        more = {} if types is None else {"token_type_ids": types.expand(len(inputs), -1)}
        seen = torch.ones(inputs.shape[:2], dtype=torch.long, device=device)
        # cuDNN refuses gradients of recurrent layers outside of training.
        with in_evaluation(model), torch.backends.cudnn.flags(enabled=False):
            try:
                logits = model(inputs_embeds=inputs, attention_mask=seen, **more).logits
            except NotImplementedError as error:
                raise ValueError(
                    f"gradient methods need a model that accepts inputs_embeds, which "
                    f"{type(model).__name__} does not"
                ) from error
        return compute_score_tensor(logits, classifier.activation, score, labels)

    return Differentiable(forward, vectors, owners)


def encode_whole(
    classifier: HuggingFaceClassifier, texts: Sequence[str], spans: Sequence[Sequence[Span]]
) -> tuple[Tensor, Tensor | None, Integers]:
    """Token ids and types ``(1, tokens)`` of a text or pair; the word of each ``(tokens,)``."""
    import torch

    tokenizer = classifier.tokenizer
    with keep_settings(tokenizer):
        encoding = tokenizer(
            *([text] for text in texts),
            return_offsets_mapping=True, truncation=False, padding=False, verbose=False,
        )  # fmt: skip
    device = next(classifier.model.get_input_embeddings().parameters()).device
    types = None
    if "token_type_ids" in tokenizer.model_input_names and "token_type_ids" in encoding:
        types = torch.tensor(encoding["token_type_ids"], device=device)
    owners = find_owners(encoding["offset_mapping"][0], encoding.sequence_ids(0), spans)
    return torch.tensor(encoding["input_ids"], device=device), types, owners
