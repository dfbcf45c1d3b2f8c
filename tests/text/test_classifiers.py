"""Every kind of classifier gives the scores that it would give by itself, and stays as it was."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    GPT2Config,
    GPT2ForSequenceClassification,
    TextClassificationPipeline,
    ZeroShotClassificationPipeline,
)

from tests.text.tiny import FAMILIES, counting_bert, tokenizer
from textsobol import BlackBoxError, Sobol, TextExplainer
from textsobol.text.classifiers import HuggingFaceClassifier

TEXT = "The plot is good but the ending is bad and long, really good."


def pipe_of(model: Any, tok: Any, **settings: Any) -> TextClassificationPipeline:
    return TextClassificationPipeline(model=model, tokenizer=tok, **settings)


def pipeline_scores(pipe: Any, text: str) -> dict[str, float]:
    return {answer["label"]: answer["score"] for answer in pipe(text, top_k=None)}


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"problem_type": "multi_label_classification"},
        {"problem_type": "regression"},
        {"labels": 1},
        {"labels": 3},
    ],
)
def test_a_pipelines_own_scores_are_shown(config: dict[str, Any]) -> None:
    """Softmax, sigmoid for several labels, none for regression."""
    pipe = pipe_of(counting_bert(tokenizer(), **config), tokenizer())
    explanation = TextExplainer(pipe)(TEXT, method=Sobol(base_masks=1))
    assert explanation.probabilities == pytest.approx(pipeline_scores(pipe, TEXT), abs=1e-6)


@pytest.mark.parametrize("function", ["softmax", "sigmoid", "none"])
def test_a_pipelines_function_is_respected(function: str) -> None:
    pipe = pipe_of(counting_bert(tokenizer()), tokenizer(), function_to_apply=function)
    explanation = TextExplainer(pipe)(TEXT, method=Sobol(base_masks=1))
    assert explanation.probabilities == pytest.approx(pipeline_scores(pipe, TEXT), abs=1e-6)


def test_every_way_to_give_a_model_gives_the_same_explanation(tmp_path: Any) -> None:
    model, tok = counting_bert(tokenizer()), tokenizer()
    model.save_pretrained(tmp_path)
    tok.save_pretrained(tmp_path)
    ways: list[Any] = [
        TextExplainer(model, tok),
        TextExplainer((model, tok)),
        TextExplainer(pipe_of(model, tok)),
        TextExplainer(tmp_path),
        TextExplainer(str(tmp_path)),
        TextExplainer(model, tok, _token_path=False),
        TextExplainer(model, tok, batch_tokens=1),
    ]
    explanations = [way(TEXT, method=Sobol(base_masks=3)) for way in ways]
    for other in explanations[1:]:
        for one_word, other_word in zip(explanations[0].words, other.words, strict=True):
            for label, score in one_word.scores.items():
                assert other_word.scores[label].score == pytest.approx(score.score, abs=1e-5)


def test_a_function_is_given_the_masked_texts() -> None:
    seen: set[str] = set()

    def count(texts: list[str]) -> np.ndarray:
        assert isinstance(texts, list)
        seen.update(texts)
        return np.array([[t.count("bad"), t.count("good")] for t in texts], dtype=float)

    explanation = TextExplainer(count, label_names=["neg", "pos"])(
        "good bad", method=Sobol(estimator="exact")
    )
    assert seen == {"good bad", "good", "bad", ""}
    assert explanation.probabilities == {"neg": 1.0, "pos": 1.0}
    assert explanation.words[0].scores["pos"].score == pytest.approx(1)
    assert explanation.words[0].scores["neg"].score == 0


@pytest.mark.parametrize("form", ["vector", "tensor", "lists", "answers"])
def test_a_function_may_answer_in_many_forms(form: str) -> None:
    def count(texts: list[str]) -> Any:
        good = [float(t.count("good")) for t in texts]
        if form == "vector":
            return good
        if form == "tensor":
            return torch.tensor(good).requires_grad_()
        if form == "lists":
            return [[-g, g] for g in good]
        # in the order of the scores, as pipelines answer
        answers = [[{"label": "b", "score": g}, {"label": "a", "score": -g}] for g in good]
        return [sorted(answer, key=lambda one: -one["score"]) for answer in answers]

    explanation = TextExplainer(count)("a good film", method=Sobol(base_masks=4))
    label = {"vector": "0", "tensor": "0", "lists": "1", "answers": "b"}[form]
    (best,) = explanation.for_target(label).top(1)
    assert best.word == "good"
    assert best.score == pytest.approx(1)


def test_answers_without_all_labels_are_refused() -> None:
    def top_only(texts: list[str]) -> list[dict[str, Any]]:
        return [{"label": "good" if "good" in t else "bad", "score": 0.9} for t in texts]

    with pytest.raises(BlackBoxError, match="top_k=None"):
        TextExplainer(top_only)("a good film", method=Sobol(base_masks=4))


def test_the_text_on_which_a_function_fails_is_named() -> None:
    def picky(texts: list[str]) -> list[float]:
        if any("film" not in text for text in texts):
            raise KeyError("film")
        return [1.0] * len(texts)

    with pytest.raises(BlackBoxError, match=r"KeyError: 'film' \(text: '(a|good|a good|)'\)"):
        TextExplainer(picky)("a good film", method=Sobol(base_masks=4))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_the_text_with_a_score_that_is_not_finite_is_named(bad: float) -> None:
    def broken(texts: list[str]) -> list[float]:
        return [1.0 if "good" in text else bad for text in texts]

    with pytest.raises(BlackBoxError, match=r"returned .* for the text '(a film|film|a|)'"):
        TextExplainer(broken)("a good film", method=Sobol(base_masks=4))


def test_a_model_with_scores_that_are_not_finite_is_named() -> None:
    model = counting_bert(tokenizer())
    with torch.no_grad():
        model.classifier.bias[0] = torch.nan
    with pytest.raises(BlackBoxError, match=r"nan.*scores must be finite \(text: 'a good film'\)"):
        TextExplainer(model, tokenizer())("a good film", method=Sobol(base_masks=4))


def test_wrong_numbers_of_scores_or_labels_are_named() -> None:
    with pytest.raises(
        BlackBoxError, match=r"^the classifier returned \[nan\] for the text .*finite$"
    ):
        TextExplainer(lambda texts: [float("nan")] * len(texts))(TEXT)
    with pytest.raises(BlackBoxError, match=r"was given \d texts and returned scores of 1;"):
        TextExplainer(lambda texts: [0.5])("a good film", method=Sobol(base_masks=4))
    with pytest.raises(ValueError, match="3 labels were named, but the classifier returns 2"):
        TextExplainer(lambda texts: np.zeros((len(texts), 2)), label_names=["a", "b", "c"])(
            "good", method=Sobol(base_masks=1)
        )
    with pytest.raises(
        BlackBoxError, match="of type str that is no array of numbers; it must return scores"
    ):
        TextExplainer(lambda texts: "positive")("good film", method=Sobol(base_masks=1))


def test_what_cannot_be_explained_is_named() -> None:
    with pytest.raises(
        TypeError, match="cannot explain an object of type int; give a text-classification"
    ):
        TextExplainer(3)
    with pytest.raises(ValueError, match="a model needs its tokenizer"):
        TextExplainer(counting_bert(tokenizer()))
    with pytest.raises(ValueError, match=r"'\./nowhere/at-all': there is no such directory"):
        TextExplainer("./nowhere/at-all")
    with pytest.raises(ValueError, match="candidate_labels go with"):
        TextExplainer(lambda t: [0.0], candidate_labels=["a"])


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_that_is_given_is_changed(fails: bool) -> None:
    tok = FAMILIES["wordpiece uncased"]()
    model = counting_bert(tok).to(torch.float64)
    model.train()
    model.bert.embeddings.eval()  # a part that its owner keeps frozen
    tok.backend_tokenizer.enable_truncation(5)
    before = {name: module.training for name, module in model.named_modules()}
    settings = (len(tok), tok.padding_side, tok.model_max_length, tok.backend_tokenizer.truncation)
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    if fails:
        model.register_forward_hook(lambda *_: (_ for _ in ()).throw(OSError("broken")))
        with pytest.raises(BlackBoxError, match="OSError: broken"):
            TextExplainer(model, tok)(TEXT, method=Sobol(base_masks=2))
    else:
        one, other = (TextExplainer(model, tok)(TEXT, method=Sobol(base_masks=2)) for _ in range(2))
        assert one.words == other.words, "dropout is off while explaining"
    assert {name: module.training for name, module in model.named_modules()} == before
    assert (
        len(tok),
        tok.padding_side,
        tok.model_max_length,
        tok.backend_tokenizer.truncation,
    ) == settings
    for name, value in model.state_dict().items():
        assert value.dtype == weights[name].dtype
        torch.testing.assert_close(value, weights[name])


@pytest.mark.parametrize("multi_label", [False, True])
def test_zero_shot_agrees_with_its_pipeline(multi_label: bool) -> None:
    tok = tokenizer()
    model = counting_bert(
        tok, labels=3, id2label={0: "contradiction", 1: "neutral", 2: "entailment"},
        label2id={"contradiction": 0, "neutral": 1, "entailment": 2},
    )  # fmt: skip
    pipe = ZeroShotClassificationPipeline(model=model, tokenizer=tok, multi_label=multi_label)
    names = ["good", "bad film", "long"]
    explainer = TextExplainer(pipe, candidate_labels=names)
    explanation = explainer(TEXT, method=Sobol(base_masks=2))
    answer = pipe(TEXT, candidate_labels=names, multi_label=multi_label)
    expected = dict(zip(answer["labels"], answer["scores"], strict=True))
    assert explanation.probabilities == pytest.approx(expected, abs=1e-5)
    with pytest.raises(ValueError, match="needs candidate_labels"):
        TextExplainer(pipe)


def test_texts_are_not_given_to_a_function_twice() -> None:
    seen: Counter[str] = Counter()

    def count(texts: list[str]) -> list[float]:
        seen.update(texts)
        return [float(len(text)) for text in texts]

    for text, estimator in (("very very good", "exact"), ("good " * 40, "flip")):
        seen.clear()
        explanation = TextExplainer(count, batch_texts=7)(text, method=Sobol(estimator=estimator))
        assert set(seen.values()) == {1}
        assert explanation.cost["forwarded"] == len(seen)
    explanation = TextExplainer(count)("a good film", method=Sobol(estimator="exact"))
    assert explanation.cost["distinct"] == explanation.cost["forwarded"] == 8


@pytest.mark.parametrize("model_pad", [None, 0])
def test_decoders_classify(model_pad: int | None) -> None:
    """GPT-2 reads its decision from the last token and refuses batches it cannot measure."""
    tok = tokenizer("byte bpe, gpt-2")
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=len(tok), n_embd=16, n_layer=1, n_head=2, n_positions=64,
        pad_token_id=model_pad, eos_token_id=0, bos_token_id=0,
    )  # fmt: skip
    model = GPT2ForSequenceClassification(config).eval()
    explanation = TextExplainer(model, tok)("good film", method=Sobol(estimator="exact"))
    expected = pipeline_scores(pipe_of(model, tok), "good film")
    assert explanation.probabilities == pytest.approx(expected, abs=1e-5)


def test_an_untrained_head_is_refused(tmp_path: Any) -> None:
    counting_bert(tokenizer()).bert.save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"not a trained text classifier.*classifier\.bias"):
        TextExplainer(tmp_path)


def test_arguments_that_do_not_apply_are_refused() -> None:
    tok, model = tokenizer(), counting_bert(tokenizer(), id2label={0: "NEG", 1: "POS"})
    with pytest.raises(ValueError, match="this model has its own: NEG, POS"):
        TextExplainer(model, tok, label_names=["a", "b"])
    with pytest.raises(ValueError, match="tokenizer= goes with a model"):
        TextExplainer(pipe_of(model, tok), tok)
    for labels in ("pos", ["a", "a"]):
        with pytest.raises(ValueError, match="label_names must be a list of different names"):
            TextExplainer(lambda texts: [[0.0, 1.0]], label_names=labels)
    with pytest.raises(ValueError, match="without a transformers config"):
        TextExplainer(torch.nn.Linear(2, 2), tok)


def test_pipelines_with_tokenizer_settings_of_their_own_are_called_as_they_are() -> None:
    pipe = pipe_of(counting_bert(tokenizer()), tokenizer(), add_special_tokens=False)
    explanation = TextExplainer(pipe)(TEXT, method=Sobol(base_masks=2))
    assert explanation.probabilities == pytest.approx(pipeline_scores(pipe, TEXT), abs=1e-6)


def test_the_budget_of_zero_shot_counts_every_question() -> None:
    tok = tokenizer()
    names = {0: "contradiction", 1: "neutral", 2: "entailment"}
    model = counting_bert(
        tok, labels=3, id2label=names, label2id={name: k for k, name in names.items()}
    )
    pipe = ZeroShotClassificationPipeline(model=model, tokenizer=tok)
    explainer = TextExplainer(pipe, candidate_labels=["good", "bad", "long"])
    assert (
        explainer("a good film", budget=40, method=Sobol(estimator="flip")).cost["forwarded"] <= 40
    )
    with pytest.raises(ValueError, match=r"at least 15 forward passes.*each of the 3 labels"):
        explainer("a good film", budget=14, method=Sobol(estimator="flip"))


def test_windows_follow_the_smallest_limit() -> None:
    tok, model = FAMILIES["byte bpe, roberta"](), counting_bert(tokenizer("byte bpe, roberta"))
    explainer = TextExplainer(model, tok)
    assert isinstance(explainer._classifier, HuggingFaceClassifier)
    assert explainer._classifier.max_length == 64
    pipe = pipe_of(model, tok, truncation=True, max_length=10)
    limited = TextExplainer(pipe)._classifier
    assert limited.window(["x"]) == 10 - 2
    tok.model_max_length = 10**30
    model.config.model_type = "roberta"
    assert TextExplainer(model, tok)._classifier.window(["x"]) == 64 - 1 - 1 - 2
