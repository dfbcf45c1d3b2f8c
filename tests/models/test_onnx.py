"""ONNX models of ONNX Runtime and optimum, with a tokenizer."""

import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import TextClassificationPipeline

from tests.models.checks import TEXT, check_scores, get_given
from tests.text.tiny import counting_bert, tokenizer
from textsobol import BlackBoxError, Sobol, TextExplainer

SMALL = Sobol(base_masks=2)


def export(path: Path, *, inputs: tuple[str, ...], shape: list[Any], shares: bool = False) -> Any:
    """An ONNX graph that adds up two numbers of every token, if it is not masked."""
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(0)
    table = rng.normal(size=(len(tokenizer()), 2)).astype(np.float32)
    weights = [numpy_helper.from_array(table, "table")]
    node = helper.make_node
    nodes = [node("Gather", ["table", "input_ids"], ["values"])]
    if "attention_mask" in inputs:
        weights.append(numpy_helper.from_array(np.array([2], dtype=np.int64), "last"))
        nodes += [
            node("Unsqueeze", ["attention_mask", "last"], ["wide"]),
            node("Cast", ["wide"], ["seen"], to=TensorProto.FLOAT),
            node("Mul", ["values", "seen"], ["kept"]),
        ]
    kept = "kept" if "attention_mask" in inputs else "values"
    weights.append(numpy_helper.from_array(np.array([1], dtype=np.int64), "axis"))
    nodes.append(node("ReduceSum", [kept, "axis"], ["sums"], keepdims=0))
    nodes.append(node("Softmax" if shares else "Identity", ["sums"], ["logits"]))
    graph = helper.make_graph(
        nodes,
        "counts",
        [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in inputs],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [shape[0], 2])],
        weights,
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), path)
    return runtime.InferenceSession(path, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize(
    ("inputs", "shape"),
    [
        (("input_ids", "attention_mask"), ["rows", "tokens"]),
        (("input_ids",), ["rows", "tokens"]),
        (("input_ids", "attention_mask"), [1, 24]),
    ],
    ids=["masked", "without mask", "fixed"],
)
def test_onnx_runtime(tmp_path: Path, inputs: tuple[str, ...], shape: list[Any]) -> None:
    tok = tokenizer()
    session = export(tmp_path / "model.onnx", inputs=inputs, shape=shape)
    explainer = TextExplainer(session, tok, label_names=["neg", "pos"], batch_tokens=60)

    def classify(texts: list[str]) -> Any:
        probabilities = []
        for text in texts:
            padding = {"padding": "max_length", "max_length": 24} if shape[0] == 1 else {}
            given = tok(text, return_tensors="np", **padding)
            (logits,) = session.run(["logits"], {name: given[name] for name in inputs})
            probabilities.append(torch.tensor(logits[0]).softmax(0).tolist())
        return probabilities

    check_scores(explainer, classify)
    explanation = explainer(TEXT, method=SMALL)
    assert list(explanation.probabilities) == ["neg", "pos"]
    assert explanation.settings["score"] == "logit"
    assert explanation.settings["window"] == (24 if shape[0] == 1 else 64)
    assert get_given(explainer) == {
        "kind": "onnxruntime", "name": "InferenceSession", "version": version("onnxruntime"),
    }  # fmt: skip


@pytest.mark.slow
def test_onnx_runtime_agrees_with_its_torch_model(tmp_path: Path) -> None:
    """The same explanation from a model and from its export, word by word."""
    pytest.importorskip("onnxscript")
    runtime = pytest.importorskip("onnxruntime")
    tok = tokenizer()
    model = counting_bert(tok)
    session = runtime.InferenceSession(_export_bert(model, tok, tmp_path / "model.onnx"))
    ways: list[dict[str, Any]] = [
        {}, {"perturbation": "mask"}, {"perturbation": "pad"}, {"unit": "token"},
    ]  # fmt: skip
    for settings in ways:
        one = TextExplainer(model, tok, **settings)(TEXT, method=Sobol(base_masks=4, gates=False))
        other = TextExplainer(session, tok, **settings)(
            TEXT, method=Sobol(base_masks=4, gates=False)
        )
        assert list(other.probabilities) == ["0", "1"]
        assert list(other.probabilities.values()) == pytest.approx(
            list(one.probabilities.values()), abs=1e-5
        )
        for word, same in zip(one.words, other.words, strict=True):
            if word.scores:
                score = same.scores["1"].score
                assert word.scores["LABEL_1"].score == pytest.approx(score, abs=1e-4)
    pair = ("a good film", "not bad")
    one, other = TextExplainer(model, tok)(pair), TextExplainer(session, tok)(pair)
    assert list(other.probabilities.values()) == pytest.approx(
        list(one.probabilities.values()), abs=1e-5
    )


def _export_bert(model: Any, tok: Any, path: Path) -> Path:
    class Plain(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
            return self.model(input_ids, attention_mask, token_type_ids).logits

    names = ["input_ids", "attention_mask", "token_type_ids"]
    example = tok(["a good film", "bad"], padding=True, return_tensors="pt")
    rows, tokens = torch.export.Dim("rows"), torch.export.Dim("tokens")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Plain().eval(), tuple(example[name] for name in names), path, input_names=names,
            output_names=["logits"], dynamo=True, verbose=False, external_data=False,
            dynamic_shapes=tuple({0: rows, 1: tokens} for _ in names),
        )  # fmt: skip
    return path


def test_onnx_models_that_cannot_be_used_are_told_why(tmp_path: Path) -> None:
    tok = tokenizer()
    shape = ["rows", "tokens"]
    session = export(tmp_path / "a.onnx", inputs=("input_ids",), shape=shape, shares=True)
    with pytest.raises(ValueError, match="a model needs its tokenizer"):
        TextExplainer(session)
    with pytest.raises(BlackBoxError, match=r"are probabilities, not logits; .*\(text: "):
        TextExplainer(session, tok)(TEXT, method=SMALL)
    other = export(tmp_path / "b.onnx", inputs=("input_ids", "pixels"), shape=shape)
    with pytest.raises(ValueError, match="takes input_ids, pixels; known are input_ids, att"):
        TextExplainer(other, tok)
    good = export(tmp_path / "c.onnx", inputs=("input_ids",), shape=shape)
    with pytest.raises(ValueError, match="3 labels were named, but the classifier returns 2"):
        TextExplainer(good, tok, label_names=["a", "b", "c"])(TEXT, method=SMALL)


# optimum


class ORTModelForSequenceClassification:
    """Works like optimum's: token tensors in, an output with logits, a config, no torch module."""

    input_names = ("input_ids", "attention_mask", "token_type_ids")

    def __init__(self, model: Any) -> None:
        self._model = model
        self.config = model.config

    def __call__(self, **tensors: Any) -> Any:
        assert set(tensors) == set(self.input_names)
        with torch.inference_mode():
            return self._model(**tensors)


def check_optimum(model: Any, tok: Any) -> None:
    explainer = TextExplainer(model, tok)

    def classify(texts: list[str]) -> Any:
        rows = [model(**tok(text, return_tensors="pt")).logits[0].softmax(0) for text in texts]
        return [row.tolist() for row in rows]

    check_scores(explainer, classify)
    explanation = explainer(TEXT, method=SMALL)
    assert list(explanation.probabilities) == ["NEG", "POS"]
    assert explanation.settings["window"] == 64
    again = TextExplainer((model, tok))(TEXT, method=SMALL)
    assert again.words == explanation.words
    with pytest.raises(ValueError, match="this model has its own: NEG, POS"):
        TextExplainer(model, tok, label_names=["neg", "pos"])


def test_what_works_like_an_optimum_model() -> None:
    tok = tokenizer()
    model = ORTModelForSequenceClassification(counting_bert(tok, id2label={0: "NEG", 1: "POS"}))
    check_optimum(model, tok)


def test_optimum(tmp_path: Path) -> None:
    pytest.importorskip("optimum.onnxruntime", exc_type=ImportError)
    from optimum.onnxruntime import ORTModelForSequenceClassification as Real

    tok = tokenizer()
    bert = counting_bert(tok, id2label={0: "NEG", 1: "POS"}, label2id={"NEG": 0, "POS": 1})
    bert.config.save_pretrained(tmp_path)
    _export_bert(bert, tok, tmp_path / "model.onnx")
    model = Real.from_pretrained(tmp_path)
    check_optimum(model, tok)
    pipe = TextClassificationPipeline(model=model, tokenizer=tok)
    explanation = TextExplainer(pipe)(TEXT, method=SMALL)
    expected = {one["label"]: one["score"] for one in pipe(TEXT, top_k=None)}
    assert explanation.probabilities == pytest.approx(expected, abs=1e-5)
