"""The benchmark of prompts: captum is asked what it would ask itself, and runs can be resumed."""

import json
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from captum.attr import FeatureAblation, KernelShap, LLMAttribution, TextTemplateInput
from typer.testing import CliRunner

from benchmarks.prompts.__main__ import app
from benchmarks.prompts.report import accuracy_table
from benchmarks.rivals.callback import Scored
from benchmarks.rivals.captum_llm import captum_llm_ablation, captum_llm_kernel_shap
from benchmarks.speed.prompts import captum as captum_forward
from benchmarks.speed.prompts import masks_of, measure, table
from tests.benchmarks.killing import cut_last_line
from tests.prompts.tiny import REVIEW, model, score_ids, tokenizer
from textsobol import Prompt, TextExplainer

TEXT = "A good and long film"
ANSWERS = {"negative": " negative", "positive": " positive"}


def join(*words: str) -> str:
    """The prompt as our masks leave it."""
    text = " ".join(word for word in words if word)
    return REVIEW.replace("{text}", text) if text else REVIEW.replace(" {text}", "")


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_captum_for_language_models_gives_what_it_gives_with_the_model(family: str) -> None:
    tok, lm = tokenizer(family), model(family)
    explainer = TextExplainer(lm, tok, prompt=Prompt(REVIEW, answers=ANSWERS))
    game = copy(explainer.masked(TEXT))
    game._score = "output"
    game = game.with_target("positive")
    scored = Scored(game.n_features, game.score_masks)
    words = TextTemplateInput(join, TEXT.split(), baselines=[""] * 5)
    # Its masks are made of words, not of tokens: the answer's tokens are given.
    target = torch.tensor(tok.encode(" positive", add_special_tokens=False))
    with torch.no_grad():
        own = LLMAttribution(FeatureAblation(lm), tok, attr_target="log_prob")
        expected = own.attribute(words, target=target, forward_in_tokens=False).seq_attr
        found = captum_llm_ablation(scored, budget=6, seed=0).scores[:, 0]
        np.testing.assert_allclose(found, expected.numpy(), atol=1e-4)
        torch.manual_seed(3)
        shap = LLMAttribution(KernelShap(lm), tok, attr_target="log_prob")
        expected = shap.attribute(words, target=target, forward_in_tokens=False, n_samples=20)
        found = captum_llm_kernel_shap(scored, budget=20, seed=3).scores[:, 0]
        np.testing.assert_allclose(found, expected.seq_attr.numpy(), atol=2e-3)


def test_all_ways_of_the_speed_benchmark_give_the_same_numbers() -> None:
    tok, lm = tokenizer(), model()
    prompts = [tuple(tok(join(*TEXT.split()[k:]))["input_ids"]) for k in range(3)]
    (answer,) = [tuple(tok(" positive")["input_ids"])]
    with torch.inference_mode():
        found = measure(lm, tok, prompts, answer, 1)
        at_once = captum_forward(lm, tok, prompts, answer, in_tokens=False)()
    expected = [score_ids(lm, prompt, answer).sum() for prompt in prompts]
    np.testing.assert_allclose(at_once, expected, atol=1e-4)
    assert max(found[name].off for name in ("batched", "captum, answer at once", "shared")) < 1e-4
    assert found["shared"].n_tokens < found["one by one"].n_tokens
    assert "| one by one |" in table(found)
    assert masks_of(4, 7).shape == (7, 4)


def test_a_run_is_resumed_and_reported(tmp_path: Path) -> None:
    model().save_pretrained(tmp_path / "tiny")
    tokenizer().save_pretrained(tmp_path / "tiny")
    data = tmp_path / "data.jsonl"
    lines = [{"id": k, "text": f"a good and {k} long film", "label": k % 2} for k in range(3)]
    data.write_text("".join(json.dumps(line) + "\n" for line in lines))
    given = ["--model", str(tmp_path / "tiny"), "--data", str(data), "--min-words", "3"]

    def invoke(*arguments: Any) -> str:
        done = CliRunner().invoke(app, [*map(str, arguments), "--out", str(tmp_path)])
        assert done.exit_code == 0, done.output + str(done.exception)
        return done.output

    options = [*given, "--prompt", "no examples", "--rows-per-word", "2"]
    assert "7 results added" in invoke("run", *options, "--sentences", 1)
    assert "14 results added" in invoke("run", *options, "--sentences", 3)
    assert "0 results added" in invoke("run", *options, "--sentences", 3)
    cut_last_line(tmp_path / "tiny.jsonl")
    assert "1 results added" in invoke("run", *options, "--sentences", 3)
    invoke("report", tmp_path / "tiny.jsonl")
    said = (tmp_path / "report.md").read_text()
    assert "difference to captum's KernelSHAP" in said
    assert "FeatureAblation, captum for LLMs" in said
    # Prompts with examples are longer than the window of the tiny model.
    with pytest.raises(AssertionError, match="shorten the text"):
        invoke("accuracy", *given, "--sentences", 1)
    assert "| no examples | 1 | " in accuracy_table(tmp_path / "tiny.accuracy.jsonl")
