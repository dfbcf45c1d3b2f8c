"""The benchmark of long texts, on a tiny model."""

import pytest

from benchmarks.speed.long_texts import join_reviews, measure
from tests.text.tiny import counting_bert, tokenizer
from textsobol import TextExplainer


def test_reviews_are_joined_to_the_word() -> None:
    assert join_reviews(["one two three", "four five", "six"], 4) == "one two three\n\nfour"
    with pytest.raises(ValueError, match="2 words too few"):
        join_reviews(["one"], 3)


def test_every_batch_is_run_again_and_the_model_is_left_alone() -> None:
    tok = tokenizer()
    model = counting_bert(tok)
    text = join_reviews(["the plot is good but long"] * 25, 150)
    scored, _, masked, windows, *_, ratio = measure(
        TextExplainer(model, tok, long="window", progress=False), text, 40
    )
    assert scored == "150 of 150"
    assert int(masked) <= 40
    run, rows = windows.rstrip(")").split(" (")
    assert run == rows, "no window twice"
    assert float(ratio) > 1
    assert not model._forward_hooks
