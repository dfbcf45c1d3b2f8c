"""What an explanation costs is known before it is made."""

import time
from typing import Any

import numpy as np
import pytest

from tests.text.tiny import counting_bert, random_model, tokenizer
from textsobol import Sobol, TextExplainer, remote
from textsobol.estimate import Estimate

SHORT = "A very very good film, but the ending is bad and the plot is not good."
LONG = " ".join(np.random.default_rng(0).choice(["good", "film", "not", "bad", "plot"], size=150))

FIXED: list[Any] = [
    "occlusion", "rise", "random", Sobol(base_masks=2, path=False), Sobol("jansen", path=False),
]  # fmt: skip
ADAPTIVE: list[Any] = [
    "sobol", "gates", "greedy", Sobol(gates=False), Sobol(precision=0.9), Sobol(base_masks=2),
]  # fmt: skip


def count_rows(model: Any) -> list[tuple[int, int]]:
    """Rows and tokens of every batch that the model is given from now on."""
    batches: list[tuple[int, int]] = []
    model.register_forward_pre_hook(
        lambda module, args, given: batches.append(
            (len(given["input_ids"]), int(given["attention_mask"].sum()))
        ),
        with_kwargs=True,
    )
    return batches


@pytest.mark.parametrize("text", [SHORT, LONG], ids=["short", "long"])
@pytest.mark.parametrize("method", FIXED, ids=str)
def test_passes_and_tokens_are_those_of_the_explanation(text: str, method: Any) -> None:
    tok = tokenizer()
    model = counting_bert(tok)
    explainer = TextExplainer(model, tok, long="window", progress=False)
    found = explainer.estimate(text, method=method, seed=3)
    batches = count_rows(model)
    cost = explainer(text, method=method, seed=3).cost
    assert not found.is_most
    assert found.passes == cost["forwarded"]
    assert found.windows == cost.get("windows")
    assert found.tokens == sum(tokens for _, tokens in batches)


@pytest.mark.filterwarnings("ignore:precision=0.9")
@pytest.mark.parametrize("text", [SHORT, LONG], ids=["short", "long"])
@pytest.mark.parametrize("method", ADAPTIVE, ids=str)
def test_what_depends_on_the_scores_costs_at_most_that_much(text: str, method: Any) -> None:
    tok = tokenizer()
    explainer = TextExplainer(counting_bert(tok), tok, long="window", progress=False)
    found = explainer.estimate(text, method=method)
    cost = explainer(text, method=method).cost
    if found.is_most:
        assert str(found).startswith("at most ")
        assert cost["forwarded"] <= found.passes <= 3 * cost["forwarded"]
    else:  # so short that gates ask for all flips
        assert (method, text) == ("gates", SHORT)
        assert found.passes == cost["forwarded"]


def test_all_masks_of_a_short_text_are_known_whatever_the_path() -> None:
    explainer = TextExplainer(lambda texts: [t.count("good") for t in texts], progress=False)
    found = explainer.estimate("A very very good film")
    assert not found.is_most
    assert found.passes == explainer("A very very good film").cost["forwarded"] == 24


def test_gradients_are_counted() -> None:
    pytest.importorskip("captum")
    tok = tokenizer()
    explainer = TextExplainer(counting_bert(tok), tok, progress=False)
    for method in ("saliency", "smoothgrad", "integrated_gradients"):
        found = explainer.estimate(SHORT, method=method)
        assert found.passes == explainer(SHORT, method=method).cost["forwarded"]


def test_labels_of_a_zero_shot_pipeline_are_counted() -> None:
    from transformers import pipeline

    tok = tokenizer()
    model = random_model("bert", tok, num_labels=3)
    model.config.id2label = {0: "contradiction", 1: "neutral", 2: "entailment"}
    model.config.label2id = {name: k for k, name in model.config.id2label.items()}
    pipe = pipeline("zero-shot-classification", model=model, tokenizer=tok)
    explainer = TextExplainer(pipe, candidate_labels=["good", "bad", "long"], progress=False)
    found = explainer.estimate(SHORT, method="occlusion")
    assert found.passes == explainer(SHORT, method="occlusion").cost["forwarded"] == 3 * 16


def test_seconds_are_measured_on_a_part_of_the_work() -> None:
    calls: list[int] = []

    def slow(texts: list[str]) -> list[float]:
        calls.append(len(texts))
        time.sleep(0.002 * len(texts))
        return [float(text.count("good")) for text in texts]

    found = TextExplainer(slow, progress=False).estimate(LONG, method="lime", budget=2000)
    assert found.seconds is not None
    assert 4 < found.seconds < 12  # 2,000 times 2 ms
    assert sum(calls) <= 1 + 200, "the text, and a tenth of the work"


def test_a_remote_model_is_called_once() -> None:
    calls: list[str] = []

    def ask(text: str) -> list[float]:
        calls.append(text)
        return [0.3, 0.7]

    model = remote(ask, single=True, name="model", activation="softmax")
    found = TextExplainer(model, progress=False).estimate(SHORT, method="occlusion")
    assert calls == [SHORT]
    assert (found.passes, found.seconds, found.tokens) == (16, None, None)


def test_work_that_is_too_long_to_rehearse_is_bounded() -> None:
    explainer = TextExplainer(lambda texts: [len(t) % 7 for t in texts], progress=False)
    found = explainer.estimate(LONG, method="rise", budget=1_000_000)
    assert found.is_most
    assert found.passes == 1_000_000


def test_it_reads_well() -> None:
    found = Estimate(3000, is_most=True, windows=12_345, tokens=9_876_543, seconds=7200.0)
    assert str(found) == (
        "at most 3,000 forward passes (about 12,300 windows, 9,880,000 tokens), about 2.0 h"
    )
    assert str(Estimate(1, is_most=False, seconds=0.04)) == "1 forward pass, about 0.0 s"
