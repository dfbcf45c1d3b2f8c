"""A model in another dtype: a copy makes the passes, and what is given stays as it is."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    LlamaConfig,
    LlamaForSequenceClassification,
    TextClassificationPipeline,
    ZeroShotClassificationPipeline,
)

from tests.text.tiny import counting_bert, tokenizer
from textsobol import SlowDtypeWarning, Sobol, TextExplainer, TextExplanation
from textsobol.methods import METHODS
from textsobol.render.page import list_facts
from textsobol.text import classifiers, precision
from textsobol.text.loading import load_model

TEXT = "The plot is good but the ending is bad and long, really good."
REVIEW = "A gripping, beautifully acted film, ruined by its dull and awfully long ending."


@pytest.fixture(autouse=True)
def fast_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the machine: no warning that a dtype is slow."""
    monkeypatch.setattr(precision, "_find_cpu_features", lambda: {"avx512_bf16", "avx512_fp16"})


def score_words(explanation: TextExplanation) -> np.ndarray:
    label = explanation.target
    return np.array([word.scores[label].score for word in explanation.words if word.scores])


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_scores_are_the_same_but_for_rounding(dtype: str) -> None:
    own = TextExplainer()(REVIEW)
    quick = TextExplainer(dtype=dtype)(REVIEW)
    assert quick.settings["dtype"] == dtype
    assert 0 < quick.settings["precision_difference"] < 0.1
    np.testing.assert_allclose(score_words(own), score_words(quick), atol=0.03)
    assert quick.top(1)[0].name == own.top(1)[0].name
    assert not {"dtype", "precision_difference"} & own.settings.keys()


def test_the_difference_is_the_one_that_the_docstring_describes() -> None:
    model, tok = load_model()
    quick = TextExplainer(model, tok, dtype="bfloat16")(REVIEW, targets=["POSITIVE"])
    masked = [
        TextExplainer(model, tok, dtype=dtype).masked(REVIEW, targets=["POSITIVE"])
        for dtype in (None, "bfloat16")
    ]
    masks = np.random.default_rng(0).random((4, masked[0].n_features)) < 0.5
    masks[0] = True
    one, other = (each.score_masks(masks) for each in masked)
    assert quick.settings["precision_difference"] == pytest.approx(
        np.abs(one - other).max(), rel=1e-2
    )


def test_the_model_that_is_given_is_not_changed() -> None:
    tok, model = tokenizer(), counting_bert(tokenizer())
    model.train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    dtypes = set()
    # A hook is copied with the model: it sees the passes of both.
    model.register_forward_pre_hook(lambda module, _: dtypes.add(module.dtype))
    explainer = TextExplainer(model, tok, dtype="bfloat16")
    assert explainer._classifier.runner is explainer._classifier.runner  # type: ignore[attr-defined]
    explainer(TEXT, method=Sobol(base_masks=2))
    assert dtypes == {torch.float32, torch.bfloat16}
    assert explainer.model is model
    assert model.training
    assert model.bert.training
    for name, value in model.state_dict().items():
        assert value.dtype == before[name].dtype
        torch.testing.assert_close(value, before[name], rtol=0, atol=0)


def test_nothing_is_copied_before_the_first_text_or_for_the_models_own_dtype(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copies = []

    def convert(model: Any, dtype: str) -> Any:
        found = precision.convert(model, dtype)
        copies.extend([found] if found is not model else [])
        return found

    monkeypatch.setattr(classifiers, "convert", convert)
    tok, model = tokenizer(), counting_bert(tokenizer())
    explanation = TextExplainer(model, tok, dtype="float32")(TEXT, method=Sobol(base_masks=2))
    assert explanation.settings["precision_difference"] == 0
    explainer = TextExplainer(model, tok, dtype="bfloat16")
    assert not copies
    for _ in range(2):
        explainer(TEXT, method=Sobol(base_masks=2))
    assert len(copies) == 1


def test_frequencies_of_rotary_positions_keep_their_precision() -> None:
    tok = tokenizer()
    model = LlamaForSequenceClassification(
        LlamaConfig(
            vocab_size=len(tok), hidden_size=16, intermediate_size=16, num_hidden_layers=1,
            num_attention_heads=2, num_key_value_heads=2, pad_token_id=tok.pad_token_id,
        )
    ).eval()  # fmt: skip
    copied = precision.convert(model, "bfloat16")
    assert copied.dtype == torch.bfloat16
    found = {name: value for name, value in copied.named_buffers() if name.endswith("inv_freq")}
    assert found
    for name, value in found.items():
        assert value.dtype == torch.float32
        assert value is not dict(model.named_buffers())[name]
    TextExplainer(model, tok, dtype="bfloat16")(TEXT, method=Sobol(base_masks=2))


@pytest.mark.parametrize("batch_tokens", [1, 64, 4096])
def test_the_seed_decides_whatever_the_size_of_a_batch(batch_tokens: int) -> None:
    usual = TextExplainer(dtype="bfloat16")(REVIEW, seed=3)
    explainer = TextExplainer(dtype="bfloat16", batch_tokens=batch_tokens)
    one, other = explainer(REVIEW, seed=3), explainer(REVIEW, seed=3)
    assert one.words == other.words
    np.testing.assert_allclose(score_words(usual), score_words(one), atol=0.03)


def test_a_batch_that_is_too_large_is_halved_in_the_copy_too() -> None:
    tok, model = tokenizer(), counting_bert(tokenizer())
    plain = TextExplainer(model, tok, dtype="bfloat16")(TEXT, method=Sobol(base_masks=3))
    sizes = []

    def too_large(module: Any, args: Any, kwargs: Any) -> None:
        sizes.append(len(kwargs["input_ids"]))
        if len(kwargs["input_ids"]) > 3:
            raise RuntimeError("CUDA error: out of memory")

    model.register_forward_pre_hook(too_large, with_kwargs=True)
    tight = TextExplainer(model, tok, dtype="bfloat16")(TEXT, method=Sobol(base_masks=3))
    assert max(sizes) > 3
    np.testing.assert_allclose(score_words(plain), score_words(tight), atol=0.03)


def test_zero_shot_classifiers_too() -> None:
    names = {0: "contradiction", 1: "neutral", 2: "entailment"}
    labels = {name: k for k, name in names.items()}
    model = counting_bert(tokenizer(), labels=3, id2label=names, label2id=labels)
    pipe = ZeroShotClassificationPipeline(model=model, tokenizer=tokenizer())
    explainer = TextExplainer(pipe, candidate_labels=["good", "bad"], dtype="bfloat16")
    settings = explainer("a good film", budget=40).settings
    assert settings["dtype"] == "bfloat16"
    assert 0 <= settings["precision_difference"] < 0.1


def test_gradients_are_the_given_models_own() -> None:
    tok, model = tokenizer(), counting_bert(tokenizer())
    method = METHODS["gradient_input"]
    own, quick = (
        TextExplainer(model, tok, dtype=dtype)(TEXT, method=method) for dtype in (None, "bfloat16")
    )
    np.testing.assert_array_equal(score_words(own), score_words(quick))


def test_the_terminal_and_the_file_say_how_far_it_is_off(tmp_path: Path) -> None:
    explanation = TextExplainer(dtype="bfloat16")(REVIEW, budget=50)
    difference = explanation.settings["precision_difference"]
    last = str(explanation).splitlines()[-1]
    assert f"log-odds in bfloat16 off by up to {difference:.2g}" in last
    assert ("log-odds off by up to", difference) in list_facts(explanation)
    explanation.save(tmp_path / "one.json")
    again = TextExplanation.load(tmp_path / "one.json")
    assert again.settings["precision_difference"] == difference
    json.dumps(again.to_dict(), allow_nan=False)


def test_numbers_that_are_not_finite_are_not_recorded() -> None:
    tok, model = tokenizer(), counting_bert(tokenizer())

    def break_given(module: Any, _: Any, output: Any) -> None:
        if module.dtype == torch.float32:
            output.logits.fill_(torch.nan)

    model.register_forward_hook(break_given)
    explanation = TextExplainer(model, tok, dtype="bfloat16")(TEXT, budget=40)
    assert "precision_difference" not in explanation.settings


def test_unknown_dtypes_and_models_without_one_are_refused() -> None:
    tok, model = tokenizer(), counting_bert(tokenizer())
    with pytest.raises(ValueError, match="unknown dtype 'int8'; known: float32, bfloat16, float16"):
        TextExplainer(model, tok, dtype="int8")
    own_steps = TextClassificationPipeline(model=model, tokenizer=tok, add_special_tokens=False)
    for given in (lambda texts: [0.0 for _ in texts], own_steps):
        with pytest.raises(ValueError, match="dtype= goes with a transformers model"):
            TextExplainer(given, dtype="bfloat16")


@pytest.mark.parametrize(
    ("dtype", "features", "is_slow"),
    [
        ("bfloat16", {"avx2"}, True),
        ("bfloat16", {"avx2", "amx_bf16"}, False),
        ("bfloat16", {"asimd", "bf16"}, False),
        ("float16", {"avx512_bf16"}, True),
        ("float32", {"avx2"}, False),
        ("bfloat16", set(), False),  # not known
    ],
)
def test_a_cpu_that_is_slow_with_a_dtype_is_told(
    dtype: str, features: set[str], is_slow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precision, "_find_cpu_features", lambda: features)
    tok, model = tokenizer(), counting_bert(tokenizer())
    if is_slow:
        with pytest.warns(SlowDtypeWarning, match=f"dtype='{dtype}' is slower") as caught:
            TextExplainer(model, tok, dtype=dtype)
        assert caught[0].filename == __file__
    else:
        TextExplainer(model, tok, dtype=dtype)


def test_what_the_cpu_knows_is_read_on_any_system(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.undo()  # the fixture's
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True, "sve": False},
                        raising=False)  # fmt: skip
    monkeypatch.setattr(precision, "_CPU_INFO", tmp_path / "missing")
    assert precision._find_cpu_features() == {"avx2"}
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nFeatures\t: asimd bf16\n\n")
    monkeypatch.setattr(precision, "_CPU_INFO", tmp_path / "cpuinfo")
    assert precision._find_cpu_features() == {"avx2", "asimd", "bf16"}
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)  # torch before 2.10
    assert precision._find_cpu_features() == {"asimd", "bf16"}
