"""Prompts with what else an explainer can do."""

import pytest

from tests.prompts.tiny import ANSWERS, REVIEW, model, tokenizer
from textsobol import Prompt, TextExplainer

TEXT = "A good film, a bad film; good actors, bad script! The plot is dull and long."
LABELS = Prompt(REVIEW, answers=ANSWERS)


def make(family: str, prompt: Prompt = LABELS) -> TextExplainer:
    return TextExplainer(model(family), tokenizer(family), prompt=prompt, progress=False)


@pytest.mark.parametrize("family", ["gpt2", "t5"])
def test_the_cost_of_a_prompt_is_estimated(family: str) -> None:
    explainer = make(family)
    found = explainer.estimate(TEXT, method="lime")
    cost = explainer(TEXT, method="lime").cost
    assert not found.is_most
    assert found.passes == cost["forwarded"]
    # How much prompts share depends on how many there are: a few share less.
    assert found.tokens == pytest.approx(cost["tokens"], rel=0.5)
    assert found.seconds is not None


@pytest.mark.filterwarnings("ignore:.* is slower than float32")
def test_tokens_that_measure_precision_are_not_counted() -> None:
    given = {"method": "occlusion"}
    tok, lm = tokenizer("llama"), model("llama")
    half = TextExplainer(lm, tok, prompt=LABELS, dtype="bfloat16", progress=False)
    assert (
        half("A good film", **given).cost["tokens"]
        == (make("llama")("A good film", **given).cost["tokens"])
    )
