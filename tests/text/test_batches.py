"""Rows of tokens become batches: of about equal length, once each, smaller when memory runs out."""

from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    XLNetConfig,
    XLNetForSequenceClassification,
)

from tests.text.tiny import FAMILIES, counting_bert, tokenizer
from textsobol import BlackBoxError, Sobol, TextExplainer
from textsobol.text.batches import LogitRunner
from textsobol.text.masked_text import MaskedText
from textsobol.text.tokens import Row, StringRows
from textsobol.text.words import find_words

TEXT = "The plot is good but the ending is bad and long, really good."


def test_out_of_memory_halves_the_batch_and_goes_on() -> None:
    tok, model = tokenizer(), counting_bert(tokenizer())
    plain = TextExplainer(model, tok, batch_tokens=4096)(TEXT, method=Sobol(base_masks=3))
    sizes = []

    def too_large(module: Any, args: Any, kwargs: Any) -> None:
        sizes.append(len(kwargs["input_ids"]))
        if len(kwargs["input_ids"]) > 5:
            raise RuntimeError("CUDA error: out of memory")

    model.register_forward_pre_hook(too_large, with_kwargs=True)
    tight = TextExplainer(model, tok, batch_tokens=4096)(TEXT, method=Sobol(base_masks=3))
    first = sizes[1]
    assert first > 5, "the first batch after the prediction"
    done = np.cumsum([size if size <= 5 else 0 for size in sizes[1:]])
    later = sizes[2 + int(np.argmax(done >= first)) :]
    assert later
    assert max(later) <= 5, "later batches start small"
    for one, other in zip(plain.words, tight.words, strict=True):
        assert one.scores["LABEL_1"].score == pytest.approx(other.scores["LABEL_1"].score, abs=1e-5)


def test_an_error_that_is_not_memory_is_not_retried() -> None:
    model = counting_bert(tokenizer())
    calls = []

    def broken(*_: Any) -> None:
        calls.append(1)
        raise RuntimeError("index out of range")

    model.register_forward_hook(broken)
    with pytest.raises(BlackBoxError, match="index out of range"):
        TextExplainer(model, tokenizer())(TEXT, method=Sobol(base_masks=1))
    assert len(calls) == 1


def test_rows_are_sorted_and_padded_little() -> None:
    tok, model = tokenizer(), counting_bert(tokenizer())
    text = " ".join(["good bad very very film"] * 8)
    part = MaskedText(text, find_words(text))
    masks = np.random.default_rng(0).random((400, part.n_words)) < 0.5
    runner = LogitRunner(model, tok, 512)
    ticks: list[int] = []
    found = runner(StringRows(tok, [part])(masks), ticks.append)
    assert found.tokens is not None
    assert found.padding is not None
    assert found.padding.sum() < 0.03 * found.tokens.sum()
    assert sum(ticks) == 400
    alone = LogitRunner(model, tok, 1)(StringRows(tok, [part])(masks[:50]), ticks.append)
    np.testing.assert_allclose(found.outputs[:50], alone.outputs, atol=1e-6)


@pytest.mark.parametrize(
    ("lengths", "sizes"),
    [
        ([21] * 10 + [19] * 8 + [17] * 2, [20]),  # 24 tokens of padding: less than another batch
        ([21] * 10 + [10] * 20, [13, 17]),  # three rows of padding are, a fourth is not
        ([60] * 5 + [57] * 5 + [30] * 10, [10, 10]),
        ([60] * 2 + [30] * 10, [8, 4]),  # few rows are never left alone
    ],
)
def test_a_batch_ends_where_padding_costs_more_than_another(
    lengths: list[int], sizes: list[int]
) -> None:
    tok, model = tokenizer(), counting_bert(tokenizer())
    asked: list[int] = []
    model.register_forward_pre_hook(
        lambda module, args, kwargs: asked.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    rng = np.random.default_rng(0)
    rows = [Row(rng.integers(5, len(tok), n), np.zeros(n, dtype=np.int64)) for n in lengths]
    LogitRunner(model, tok, 1024)(rows, lambda _: None)
    assert asked == sizes


def test_the_model_is_given_masks_and_types() -> None:
    tok, model = tokenizer(), counting_bert(tokenizer())
    given: list[dict[str, torch.Tensor]] = []
    model.register_forward_pre_hook(
        lambda module, args, kwargs: given.append(kwargs), with_kwargs=True
    )
    TextExplainer(model, tok)(("a good film", "a bad film"), method=Sobol(base_masks=2))
    assert {int(value) for batch in given for value in batch["token_type_ids"].unique()} == {0, 1}
    given.clear()
    TextExplainer(model, tok, perturbation="pad")("a good film", method=Sobol(base_masks=2))
    hidden = torch.cat([(batch["attention_mask"] == 0).any(dim=1) for batch in given])
    assert hidden.any()
    whole = torch.tensor(tok("a good film")["input_ids"])
    assert all((batch["input_ids"] == whole).all() for batch in given), "tokens keep their places"


def test_models_that_pad_on_the_left() -> None:
    """XLNet reads its decision from the last position."""
    tok = FAMILIES["unigram, always"]()
    tok.padding_side = "left"
    torch.manual_seed(0)
    config = XLNetConfig(vocab_size=len(tok), d_model=16, n_layer=1, n_head=2, d_inner=16)
    model = XLNetForSequenceClassification(config).eval()
    many, alone = (
        TextExplainer(model, tok, batch_tokens=size)(TEXT, method=Sobol(base_masks=3))
        for size in (4096, 1)
    )
    assert many.cost["padding"] > 0
    for one, other in zip(many.words, alone.words, strict=True):
        assert one.scores["LABEL_1"].total == pytest.approx(other.scores["LABEL_1"].total, abs=0.01)


def test_without_a_pad_token_only_rows_of_one_length_share_a_batch() -> None:
    tok = tokenizer("byte bpe, gpt-2")
    model = counting_bert(tok)
    lengths = []
    model.register_forward_pre_hook(
        lambda module, args, kwargs: lengths.append(bool((kwargs["attention_mask"] == 1).all())),
        with_kwargs=True,
    )
    explanation = TextExplainer(model, tok)(
        "a good film and a bad ending", method=Sobol(base_masks=4)
    )
    assert all(lengths)
    assert explanation.cost["padding"] == 0
