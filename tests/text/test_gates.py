"""Gates: 1 is the model itself, 0 the padded text, and gradients are finite differences."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    AlbertConfig,
    AlbertForSequenceClassification,
    BertConfig,
    BertForSequenceClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    ElectraConfig,
    ElectraForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    LlamaConfig,
    LlamaForSequenceClassification,
    ModernBertConfig,
    ModernBertForSequenceClassification,
    MPNetConfig,
    MPNetForSequenceClassification,
    RobertaConfig,
    RobertaForSequenceClassification,
    XLNetConfig,
    XLNetForSequenceClassification,
)

from tests.text.tiny import FAMILIES, tokenizer
from textsobol import TextExplainer
from textsobol.text.gates import GatedText, gate_gradients, takes_gates
from textsobol.text.words import find_words

TEXT = "The plot is good but the ending is bad and long."
_COMMON: dict[str, Any] = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16,
    "max_position_embeddings": 80, "initializer_range": 0.5,
}  # fmt: skip
_GPT: dict[str, Any] = {
    "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64, "initializer_range": 0.5,
}  # fmt: skip


def _encoder(kind: Any, config: Any, **more: Any) -> Callable[[int, int], Any]:
    return lambda size, pad: kind(config(vocab_size=size, pad_token_id=pad, **_COMMON, **more))


MODELS: dict[str, Callable[[int, int], Any]] = {
    "bert": _encoder(BertForSequenceClassification, BertConfig),
    "roberta": _encoder(RobertaForSequenceClassification, RobertaConfig),
    "electra": _encoder(ElectraForSequenceClassification, ElectraConfig, embedding_size=16),
    "albert": _encoder(AlbertForSequenceClassification, AlbertConfig, embedding_size=16),
    "mpnet": _encoder(MPNetForSequenceClassification, MPNetConfig),
    "llama": _encoder(LlamaForSequenceClassification, LlamaConfig, num_key_value_heads=1),
    "distilbert": lambda size, pad: DistilBertForSequenceClassification(
        DistilBertConfig(
            vocab_size=size,
            pad_token_id=pad,
            dim=16,
            n_layers=2,
            n_heads=2,
            hidden_dim=16,
            max_position_embeddings=80,
            initializer_range=0.5,
        )
    ),
    "gpt2": lambda size, pad: GPT2ForSequenceClassification(
        GPT2Config(vocab_size=size, pad_token_id=pad, bos_token_id=0, eos_token_id=0, **_GPT)
    ),
    "modernbert": lambda size, pad: ModernBertForSequenceClassification(
        ModernBertConfig(
            vocab_size=size,
            pad_token_id=pad,
            hidden_size=16,
            num_hidden_layers=3,
            num_attention_heads=2,
            intermediate_size=16,
            max_position_embeddings=80,
            local_attention=8,
            initializer_range=0.5,
            bos_token_id=0,
            eos_token_id=0,
            cls_token_id=0,
            sep_token_id=0,
        )
    ),
}


def _classifier(kind: str, attention: str) -> Any:
    torch.manual_seed(0)
    tok = tokenizer() if kind == "bert" else FAMILIES["byte bpe, roberta"]()
    model = MODELS[kind](len(tok), tok.pad_token_id).eval()
    if kind != "mpnet":
        model.set_attn_implementation(attention)
    return TextExplainer(model, tok)._classifier


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("kind", MODELS)
def test_gates_mean_what_they_should(kind: str, attention: str) -> None:
    classifier = _classifier(kind, attention)
    assert takes_gates(classifier)
    spans = find_words(TEXT)
    text = GatedText(classifier, [TEXT], [spans])
    model = classifier.model
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    with torch.no_grad():
        whole = text.forward(torch.ones(1, len(spans)))
        own = model(**classifier.tokenizer([TEXT], return_tensors="pt")).logits
    torch.testing.assert_close(whole, own, atol=1e-4, rtol=1e-4)

    masks = np.random.default_rng(0).random((4, len(spans))) < 0.6
    padded = TextExplainer(model, classifier.tokenizer, perturbation="pad").masked(TEXT)
    outputs = padded._outputs(masks)
    with torch.no_grad():
        gated = text.forward(torch.tensor(masks, dtype=torch.float32))
    np.testing.assert_allclose(gated.numpy(), outputs, atol=1e-3)

    gates = np.random.default_rng(1).uniform(0.2, 1.0, (3, len(spans)))
    scores, slopes = gate_gradients(text, gates, lambda logits: logits, batch_tokens=40)
    with torch.no_grad():
        np.testing.assert_allclose(
            scores, text.forward(torch.tensor(gates, dtype=torch.float32)), atol=1e-4
        )
    double = model.double()
    step = 1e-5
    for word in (1, 3, 8):
        higher, lower = gates.copy(), gates.copy()
        higher[:, word] += step
        lower[:, word] -= step
        with torch.no_grad():
            up, down = (text.forward(torch.tensor(g)).double() for g in (higher, lower))
        # Logits come in single precision, whose rounding the quotient enlarges.
        wanted = ((up - down) / (2 * step)).numpy()
        np.testing.assert_allclose(slopes[:, word], wanted, atol=0.05, rtol=0.05)
    double.float()
    assert not model.training
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())


def test_models_that_take_no_gates_say_so() -> None:
    tok = FAMILIES["byte bpe, roberta"]()
    config = XLNetConfig(
        vocab_size=len(tok), d_model=16, n_layer=1, n_head=2, d_inner=16, pad_token_id=1
    )
    classifier: Any = TextExplainer(XLNetForSequenceClassification(config).eval(), tok)._classifier
    assert not takes_gates(classifier)
    assert not takes_gates(TextExplainer()._classifier)  # type: ignore[arg-type]
