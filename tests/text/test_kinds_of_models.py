"""Own classes, functions of every form, pairs, labels without names, and what is no classifier."""

from typing import Any

import numpy as np
import pytest
import transformers
from transformers import TextClassificationPipeline

from tests.text.tiny import counting_bert, random_model, tokenizer
from textsobol import BlackBoxError, Sobol, TextExplainer
from textsobol.text.given import describe_given

TEXT = "a good film, not a bad one"
SMALL = Sobol(base_masks=3)


def count_good(text: str) -> float:
    return 0.9 if "good" in text else 0.2


class Mood:
    """As little as a class needs."""

    labels = ("sad", "happy")
    returns = "probabilities"
    version = "3"

    def __init__(self) -> None:
        self.batches: list[int] = []

    def predict(self, texts: list[str]) -> Any:
        assert all(isinstance(text, str) for text in texts)
        self.batches.append(len(texts))
        return [[1 - count_good(text), count_good(text)] for text in texts]


def test_an_own_class_is_explained_in_log_odds() -> None:
    model = Mood()
    explanation = TextExplainer(model, batch_texts=5)(TEXT, method=SMALL)
    assert explanation.probabilities == pytest.approx({"sad": 0.1, "happy": 0.9})
    assert explanation.settings["given"] == {"kind": "TextModel", "name": "Mood", "version": "3"}
    assert explanation.settings["score"] == "logit"
    best = explanation.top(1)[0]
    assert best.word == "good"
    assert best.effect == pytest.approx(np.log(9) - np.log(0.25))
    assert max(model.batches) == 5
    assert vars(model) == {"batches": model.batches}


@pytest.mark.parametrize(
    ("returns", "shown"),
    [
        ("scores", {"a": 0.0, "b": 2.0}),
        ("logits", {"a": 0.1192, "b": 0.8808}),
        ("log-odds", {"a": 0.5, "b": 0.8808}),
    ],
)
def test_an_own_class_says_what_its_numbers_are(returns: str, shown: dict[str, float]) -> None:
    class Numbers:
        labels = ("a", "b")

        def __init__(self) -> None:
            self.returns = returns

        def predict(self, texts: list[str]) -> Any:
            return [[0.0, 2.0 * ("good" in text)] for text in texts]

    explanation = TextExplainer(Numbers())(TEXT, method=SMALL)
    assert explanation.probabilities == pytest.approx(shown, abs=1e-4)
    assert explanation.settings["score"] == ("output" if returns == "scores" else "logit")


def test_an_own_class_that_is_wrong_is_told_so() -> None:
    model = Mood()
    model.returns = "percent"
    with pytest.raises(ValueError, match=r"Mood.returns is 'percent'; known: scores, prob"):
        TextExplainer(model)
    model.returns, model.labels = "scores", "happy"  # type: ignore[assignment]
    with pytest.raises(ValueError, match=r"Mood.labels must be a list of names, not 'happy'"):
        TextExplainer(model)
    model.labels = ("one",)  # type: ignore[assignment]
    with pytest.raises(ValueError, match="the classifier has 1 labels, one, but returns 2 scores"):
        TextExplainer(model)(TEXT, method=SMALL)
    with pytest.raises(TypeError, match="cannot explain the class Mood; give an object of it"):
        TextExplainer(Mood)
    with pytest.raises(ValueError, match="this model has its own: sad, happy"):
        TextExplainer(Mood(), label_names=["down", "up"])


def test_an_object_with_predict_alone_has_numbered_labels() -> None:
    class Network:  # as Keras without its classes
        def predict(self, texts: list[str]) -> Any:
            return np.array([[1 - count_good(text), count_good(text)] for text in texts])

    explanation = TextExplainer(Network(), score="logit")(TEXT, method=SMALL)
    assert explanation.probabilities == pytest.approx({"0": 0.1, "1": 0.9})
    assert "label_names" in explanation.settings["hint"]
    named = TextExplainer(Network(), label_names=["sad", "happy"])(TEXT, method=SMALL)
    assert list(named.probabilities) == ["sad", "happy"]
    assert "hint" not in named.settings


def test_a_function_may_yield_its_scores() -> None:
    explanation = TextExplainer(lambda texts: map(count_good, texts))(TEXT, method=SMALL)
    assert explanation.probabilities == pytest.approx({"0": 0.9})


def frame_of(texts: list[str]) -> Any:
    pandas = pytest.importorskip("pandas")
    good = [count_good(text) for text in texts]
    return pandas.DataFrame({"happy": good, "sad": [1 - each for each in good]})


def dicts_of(texts: list[str]) -> Any:
    found = [{"sad": 1 - count_good(text), "happy": count_good(text)} for text in texts]
    return [dict(sorted(each.items(), key=lambda item: -item[1])) for each in found]


@pytest.mark.parametrize("function", [frame_of, dicts_of])
def test_names_in_a_functions_answers_are_used(function: Any) -> None:
    explanation = TextExplainer(function, score="logit", batch_texts=4)(TEXT, method=SMALL)
    assert explanation.probabilities == pytest.approx({"happy": 0.9, "sad": 0.1})
    assert list(explanation.probabilities) == ["happy", "sad"]
    assert explanation.top(1)[0].word == "good"
    ordered = TextExplainer(function, label_names=["sad", "happy"])(TEXT, method=SMALL)
    assert ordered.probabilities == pytest.approx({"sad": 0.1, "happy": 0.9})
    assert list(ordered.probabilities) == ["sad", "happy"]
    with pytest.raises(BlackBoxError, match=r"labels \['happy', 'sad'\], expected \['a', 'b'\]"):
        TextExplainer(function, label_names=["a", "b"])(TEXT, method=SMALL)


def test_numbers_in_a_functions_answers_can_be_named() -> None:
    pandas = pytest.importorskip("pandas")

    def frame(texts: list[str]) -> Any:
        return pandas.DataFrame([[count_good(text), 0.0] for text in texts], columns=[1, 0])

    def answers(texts: list[str]) -> Any:
        names = {f"LABEL_{k}": float(k) for k in range(12)}
        return [[{"label": n, "score": s} for n, s in reversed(names.items())] for _ in texts]

    explanation = TextExplainer(frame, label_names=["none", "good"])(TEXT, method=SMALL)
    assert explanation.probabilities == pytest.approx({"none": 0.0, "good": 0.9})
    names = [f"name {k}" for k in range(12)]
    with pytest.warns(UserWarning, match="is the same whatever"):
        twelve = TextExplainer(answers, label_names=names)(TEXT, method=SMALL)
    assert twelve.probabilities == pytest.approx({f"name {k}": float(k) for k in range(12)})


def test_a_label_that_is_missing_or_double_is_named() -> None:
    pandas = pytest.importorskip("pandas")

    def changing(texts: list[str]) -> Any:
        return [{"a": 1.0} if "bad" in text else {"a": 1.0, "b": 0.0} for text in texts]

    with pytest.raises(BlackBoxError, match=r"returned the labels \['a', 'b'\], expected \['a'\]"):
        TextExplainer(changing)(TEXT, method=SMALL)
    with pytest.raises(BlackBoxError, match="returned a label twice: a, a"):
        TextExplainer(lambda t: pandas.DataFrame([[0.0, 1.0]] * len(t), columns=["a", "a"]))(
            TEXT, method=SMALL
        )


def test_a_function_of_pairs() -> None:
    seen: set[Any] = set()

    def entails(pairs: list[tuple[str, str]]) -> Any:
        seen.update(pairs)
        return [[float("film" in first and "movie" in second)] for first, second in pairs]

    pair = ("a good film", "one movie")
    explanation = TextExplainer(entails, batch_texts=3)(pair, method=Sobol(estimator="exact"))
    assert pair in seen
    assert ("a good film", "") in seen
    assert ("good", "one") in seen
    assert len(seen) == 2**5
    assert {word.word for word in explanation.top(2)} == {"film", "movie"}
    assert [word.part for word in explanation.words] == [0, 0, 0, 1, 1]
    with pytest.raises(BlackBoxError, match=r"KeyError: 'x' \(text: \('', ''\)\)"):
        TextExplainer(
            lambda pairs: (
                [dict[str, float]()["x"] for p in pairs if p == ("", "")] or [0.0] * len(pairs)
            )
        )(pair, method=Sobol(estimator="exact"))


def test_pairs_go_through_pipelines_with_steps_of_their_own() -> None:
    tok = tokenizer()
    pipe = TextClassificationPipeline(
        model=counting_bert(tok), tokenizer=tok, add_special_tokens=True, stride=0
    )
    pair = ("a good film", "not bad")
    explanation = TextExplainer(pipe)(pair, method=SMALL)
    answer = pipe({"text": pair[0], "text_pair": pair[1]}, top_k=None)
    expected = {one["label"]: one["score"] for one in answer}
    assert explanation.probabilities == pytest.approx(expected, abs=1e-6)


def test_numbered_labels_of_a_transformer_can_be_named() -> None:
    tok, model = tokenizer(), counting_bert(tokenizer())
    plain = TextExplainer(model, tok)(TEXT, method=SMALL)
    assert list(plain.probabilities) == ["LABEL_0", "LABEL_1"]
    assert "label_names" in plain.settings["hint"]
    named = TextExplainer(model, tok, label_names=["neg", "pos"])(TEXT, method=SMALL)
    assert list(named.probabilities.values()) == list(plain.probabilities.values())
    assert list(named.probabilities) == named.settings["label_names"] == ["neg", "pos"]
    assert model.config.id2label == {0: "LABEL_0", 1: "LABEL_1"}
    with pytest.raises(ValueError, match="3 labels were named, but the classifier returns 2"):
        TextExplainer(model, tok, label_names=["a", "b", "c"])
    own = counting_bert(tok, id2label={0: "NEG", 1: "POS"})
    for names in (["neg", "pos"], ["POS", "NEG"]):
        with pytest.raises(ValueError, match="this model has its own: NEG, POS"):
            TextExplainer(own, tok, label_names=names)
    TextExplainer(own, tok, label_names=["NEG", "POS"])


def test_an_unknown_label_among_numbers_gets_a_hint() -> None:
    explainer = TextExplainer(lambda texts: [[0.0, count_good(text)] for text in texts])
    with pytest.raises(
        ValueError, match=r"label 'POS' is not known; analysed: 0, 1; .*label_names"
    ):
        explainer(TEXT, target="POS", method=SMALL)
    with pytest.raises(ValueError, match=r"unknown label 'POS'; known: 0, 1; .*label_names="):
        explainer(TEXT, targets=["POS"], method=SMALL)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (
            "GPT2LMHeadModel",
            "GPT2LMHeadModel writes text; .*SequenceClass.*prompt=textsobol.Prompt",
        ),
        (
            "GPT2Model",
            "GPT2Model gives embeddings; load it with AutoModelForSequenceClassification",
        ),
    ],
)
def test_models_without_a_classifiers_head_are_refused(
    kind: str, reason: str, tmp_path: Any
) -> None:
    tok = tokenizer("byte bpe, gpt-2")
    config = transformers.GPT2Config(
        vocab_size=len(tok), n_embd=16, n_layer=1, n_head=2, n_positions=64,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    model = getattr(transformers, kind)(config)
    with pytest.raises(TypeError, match=f"not a classifier: {reason}"):
        TextExplainer(model, tok)
    with pytest.raises(TypeError, match=f"not a classifier: {reason}"):
        TextExplainer((model, tok))
    model.save_pretrained(tmp_path)
    tok.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=rf"not a trained text classifier.*; its {reason}"):
        TextExplainer(tmp_path)


def test_pipelines_for_other_tasks_are_refused() -> None:
    tok = tokenizer()
    bert = counting_bert(tok).bert
    with pytest.raises(TypeError, match="not a classifier: BertModel gives embeddings"):
        TextExplainer(bert, tok)
    pipe = transformers.FeatureExtractionPipeline(model=bert, tokenizer=tok)
    with pytest.raises(TypeError, match="not a classifier: FeatureExtractionPipeline is another"):
        TextExplainer(pipe)


def test_own_subclasses_of_library_models_are_taken() -> None:
    class Judge(transformers.GPT2ForSequenceClassification):
        pass

    class JudgeModel(type(counting_bert(tokenizer()))):  # type: ignore[misc]
        pass

    tok = tokenizer()
    judge = JudgeModel(counting_bert(tok).config).eval()
    assert TextExplainer(judge, tok)("a good film", method=SMALL).settings["given"]["kind"] == (
        "transformers"
    )
    assert describe_given(Judge)["name"] == "Judge"


def test_what_was_given_is_recorded() -> None:
    tok, model = tokenizer(), random_model("bert", tokenizer())
    version = transformers.__version__
    record = {"kind": "transformers", "name": "BertForSequenceClassification", "version": version}
    assert describe_given(model) == describe_given((model, tok)) == record
    assert describe_given(count_good) == {"kind": "function", "name": "count_good"}
    assert describe_given(None) == {"kind": "bundled model", "name": "imdb-bilstm"}
