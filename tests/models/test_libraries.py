"""Models of other libraries give the probabilities that the libraries give."""

import importlib.util
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.models.checks import TEXT, check_scores, get_given
from tests.text.tiny import counting_bert, tokenizer
from textsobol import Sobol, TextExplainer

SMALL = Sobol(base_masks=2)
TEXTS = ["a good film", "good actors", "really good", "a bad film", "bad actors", "really bad"]


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
    with pytest.raises(TypeError, match="pipeline en_pipeline has no components; train one"):
        TextExplainer(nlp)
    nlp.add_pipe("sentencizer")
    with pytest.raises(TypeError, match=r"not a classifier: the spaCy pipeline en_.* textcat"):
        TextExplainer(nlp)


# Keras


def import_keras() -> Any:
    if importlib.util.find_spec("tensorflow") is None:
        pytest.skip("needs keras and tensorflow, which alone reads strings")
    keras = pytest.importorskip("keras")
    keras.utils.set_random_seed(0)
    return keras


def count_words(keras: Any) -> Any:
    return keras.layers.TextVectorization(
        vocabulary=["good", "bad", "film", "plot"], output_mode="multi_hot"
    )


def run_keras(model: Any, texts: list[str]) -> Any:
    import tensorflow

    return model.predict(tensorflow.constant(texts), verbose=0)


@pytest.mark.parametrize("activation", ["softmax", "sigmoid", "linear"])
def test_keras(activation: str) -> None:
    keras = import_keras()
    given = keras.Input(shape=(1,), dtype="string")
    n_labels = 1 if activation == "sigmoid" else 3
    last = keras.layers.Dense(n_labels, activation=activation)
    model = keras.Model(given, last(count_words(keras)(given)))
    names = ["a", "b", "c"][:n_labels]
    for form in (model, model.predict):
        explainer = TextExplainer(form, label_names=names)
        check_scores(explainer, lambda texts: run_keras(model, texts))
        assert explainer.settings["score"] == ("output" if activation == "linear" else "logit")
        assert get_given(explainer)["kind"] == "keras"


def test_the_layers_of_an_own_keras_model_say_nothing_of_its_output() -> None:
    keras = import_keras()

    class Own(keras.Model):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.last = keras.layers.Dense(2, activation="softmax")
            self.first = count_words(keras)

        def call(self, texts: Any) -> Any:
            return self.last(self.first(texts))

    class Bare(keras.Model):  # type: ignore[name-defined, misc]
        def call(self, texts: Any) -> Any:
            return keras.ops.stack([count_words(keras)(texts)[:, 0]] * 2, axis=1)

    for model in (Own(), Bare()):
        explainer = TextExplainer(model)
        check_scores(explainer, partial(run_keras, model))
        assert explainer.settings["score"] == "output"
    likely = TextExplainer(Own(), score="logit")
    assert likely.settings["score"] == "logit"


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


def test_a_cross_encoder_takes_pairs(tmp_path: Path) -> None:
    sentence_transformers = pytest.importorskip("sentence_transformers")
    tok = tokenizer()
    counting_bert(tok, id2label={0: "no", 1: "yes"}).save_pretrained(tmp_path)
    tok.save_pretrained(tmp_path)
    model = sentence_transformers.CrossEncoder(str(tmp_path), device="cpu")
    pair = ("a good film", "not bad")
    explanation = TextExplainer(model)(pair, method=SMALL)
    own = torch.softmax(torch.tensor(model.predict([pair])[0]), 0).tolist()
    assert explanation.probabilities == pytest.approx(
        dict(zip(["no", "yes"], own, strict=True)), abs=1e-5
    )
    assert explanation.settings["given"]["kind"] == "sentence-transformers"


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of SetFit itself
def test_setfit_with_a_head_of_torch(tmp_path: Path) -> None:
    setfit = pytest.importorskip("setfit")
    tok = tokenizer()
    counting_bert(tok).bert.save_pretrained(tmp_path)
    tok.save_pretrained(tmp_path)
    model = setfit.SetFitModel.from_pretrained(
        str(tmp_path), use_differentiable_head=True, head_params={"out_features": 2},
        labels=["neg", "pos"], device="cpu",
    )  # fmt: skip
    explainer = TextExplainer(model)
    check_scores(explainer, lambda texts: model.predict_proba(texts).detach().numpy())
    assert list(explainer(TEXT, method=SMALL).probabilities) == ["neg", "pos"]


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
