"""Models of other libraries give the probabilities that the libraries give."""

import importlib.util
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import TextClassificationPipeline

from tests.text.tiny import counting_bert, tokenizer
from textsobol import BlackBoxError, Sobol, TextExplainer
from textsobol.text.masked_text import MaskedText
from textsobol.text.words import find_words

TEXT = "The plot is good but the ending is bad and long."
SMALL = Sobol(base_masks=2)
TEXTS = ["a good film", "good actors", "really good", "a bad film", "bad actors", "really bad"]


def check_scores(explainer: TextExplainer, expected: Any, *, atol: float = 1e-5) -> None:
    """Probabilities of 40 masked texts, the empty one among them, against the library's own."""
    spans = list(find_words(TEXT))
    masks = np.random.default_rng(0).random((40, len(spans))) < 0.5
    masks[0], masks[1] = True, False
    texts = MaskedText(TEXT, spans).render(masks)
    found = explainer.masked(TEXT).predict_masks(masks)
    np.testing.assert_allclose(found, expected(texts), atol=atol)


def get_given(explainer: TextExplainer) -> dict[str, str]:
    given = explainer.settings["given"]
    assert isinstance(given, dict)
    return given


# spaCy


def make_spacy(component: str, labels: list[str]) -> Any:
    spacy = pytest.importorskip("spacy")
    from spacy.training import Example

    nlp = spacy.blank("en")
    pipe = nlp.add_pipe(component)
    for label in labels:
        pipe.add_label(label)
    examples = [
        Example.from_dict(nlp.make_doc(text), {"cats": {n: float(n in text) for n in labels}})
        for text in TEXTS
    ]
    spacy.util.fix_random_seed(0)
    nlp.initialize(lambda: examples)
    for _ in range(8):
        nlp.update(examples)
    return nlp


@pytest.mark.parametrize("component", ["textcat", "textcat_multilabel"])
def test_spacy(component: str) -> None:
    nlp = make_spacy(component, ["good", "bad"])
    explainer = TextExplainer(nlp, batch_texts=6)
    explanation = explainer("a really good film", method=SMALL)
    assert explanation.probabilities == pytest.approx(nlp("a really good film").cats, abs=1e-6)
    assert explanation.prediction == explanation.top(1)[0].word == "good"
    assert explanation.settings["score"] == "logit"
    assert get_given(explainer) == {
        "kind": "spacy", "name": "en_pipeline 0.0.0", "version": version("spacy"),
    }  # fmt: skip

    def classify(texts: list[str]) -> Any:
        docs = [nlp(text) for text in texts]
        return [[doc.cats["good"], doc.cats["bad"]] for doc in docs]

    check_scores(explainer, classify, atol=1e-5)


def test_an_empty_text_has_the_same_score_in_every_batch_of_spacy() -> None:
    nlp = make_spacy("textcat", ["good", "bad"])
    alone, among = (TextExplainer(nlp, batch_texts=n).masked("good bad") for n in (1, 50))
    masks = np.array([[True, True], [True, False], [False, False]])
    np.testing.assert_allclose(alone.predict_masks(masks), among.predict_masks(masks), atol=1e-6)
    assert alone.predict_masks(masks)[2].sum() == pytest.approx(1, abs=1e-5)


def test_a_spacy_pipeline_without_categories_is_no_classifier() -> None:
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    with pytest.raises(TypeError, match=r"not a classifier: the spaCy pipeline en_.* textcat"):
        TextExplainer(nlp)


# ONNX Runtime


def export(path: Path, *, inputs: tuple[str, ...], shape: list[Any], shares: bool = False) -> Any:
    """An ONNX graph that counts token 0's to 4's neighbours: mean of an embedding, by the mask."""
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
    import warnings

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
    with pytest.raises(ValueError, match="3 labels were named, but the classifier gives 2"):
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
    with pytest.raises(ValueError, match="labels of its own: NEG, POS"):
        TextExplainer(model, tok, label_names=["neg", "pos"])


def test_what_works_like_an_optimum_model() -> None:
    tok = tokenizer()
    model = ORTModelForSequenceClassification(counting_bert(tok, id2label={0: "NEG", 1: "POS"}))
    check_optimum(model, tok)


def test_optimum(tmp_path: Path) -> None:
    pytest.importorskip("optimum.onnxruntime")
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


# Keras


@pytest.mark.parametrize("activation", ["softmax", "sigmoid", "linear"])
def test_keras(activation: str) -> None:
    if importlib.util.find_spec("tensorflow") is None:
        pytest.skip("needs keras and tensorflow, which alone reads strings")
    keras = pytest.importorskip("keras")
    keras.utils.set_random_seed(0)
    words = keras.layers.TextVectorization(
        vocabulary=["good", "bad", "film", "plot"], output_mode="multi_hot"
    )
    given = keras.Input(shape=(1,), dtype="string")
    n_labels = 1 if activation == "sigmoid" else 3
    model = keras.Model(given, keras.layers.Dense(n_labels, activation=activation)(words(given)))
    names = ["a", "b", "c"][:n_labels]
    explainer = TextExplainer(model, label_names=names)

    def classify(texts: list[str]) -> Any:
        import tensorflow

        return model.predict(tensorflow.constant(texts), verbose=0)

    check_scores(explainer, classify)
    assert explainer.settings["score"] == ("output" if activation == "linear" else "logit")
    assert get_given(explainer)["kind"] == "keras"


# sentence-transformers and SetFit


class Encoder(torch.nn.Module):
    """Works like a SentenceTransformer: counts words, leaves evaluation mode on."""

    def encode(self, texts: list[str]) -> Any:
        self.eval()
        return np.array([[text.count(word) for word in ("good", "bad")] for text in texts])


class EncoderWithHead:
    """Works like a SetFitModel: a body, a head of scikit-learn; ``predict`` gives labels."""

    def __init__(self, labels: list[str] | None, classes: list[Any]) -> None:
        linear_model = pytest.importorskip("sklearn.linear_model")
        self.model_body = Encoder()
        self.labels = labels
        wanted = [classes["bad" in text] for text in TEXTS]
        self.model_head = linear_model.LogisticRegression().fit(
            self.model_body.encode(TEXTS), wanted
        )
        self.model_body.train()

    def predict_proba(self, texts: list[str]) -> Any:
        return torch.from_numpy(self.model_head.predict_proba(self.model_body.encode(texts)))

    def predict(self, texts: list[str]) -> Any:
        return self.model_head.predict(self.model_body.encode(texts))

    __call__ = predict


@pytest.mark.parametrize(
    ("labels", "classes", "names"),
    [
        (None, ["pos", "neg"], ["neg", "pos"]),
        (["pos", "neg"], [0, 1], ["pos", "neg"]),
        (None, [0, 1], ["0", "1"]),
    ],
)
def test_an_encoder_with_a_head(labels: Any, classes: list[Any], names: list[str]) -> None:
    model = EncoderWithHead(labels, classes)
    explainer = TextExplainer(model)
    check_scores(explainer, model.predict_proba)
    model.model_body.train()
    explanation = explainer(TEXT, method=SMALL)
    assert list(explanation.probabilities) == names
    assert model.model_body.training, "what was given stays as it was"


def make_encoder() -> Any:
    sentence_transformers = pytest.importorskip("sentence_transformers")
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    torch.manual_seed(0)
    static = StaticEmbedding(tokenizer().backend_tokenizer, embedding_dim=8)
    return sentence_transformers.SentenceTransformer(modules=[static], device="cpu")


def test_setfit() -> None:
    setfit = pytest.importorskip("setfit")
    linear_model = pytest.importorskip("sklearn.linear_model")
    body = make_encoder()
    wanted = [int("bad" in text) for text in TEXTS]
    head = linear_model.LogisticRegression(C=100).fit(body.encode(TEXTS), wanted)
    model = setfit.SetFitModel(model_body=body, model_head=head, labels=["pos", "neg"])
    explainer = TextExplainer(model)
    check_scores(explainer, model.predict_proba)
    explanation = explainer(TEXT, method=SMALL)
    assert list(explanation.probabilities) == ["pos", "neg"]
    assert explanation.prediction == model.predict([TEXT])[0]
    assert get_given(explainer)["kind"] == "setfit"


def test_a_sentence_transformer_alone_is_no_classifier() -> None:
    with pytest.raises(TypeError, match=r"not a classifier: SentenceTransformer gives embeddings"):
        TextExplainer(make_encoder())
