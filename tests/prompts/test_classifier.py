"""Explanations of prompts against plain calls of the plain model."""

import json
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from tokenizers import normalizers

from tests.prompts.tiny import (
    ANSWERS,
    CAUSAL,
    REVIEW,
    model,
    score_plainly,
    tokenizer,
)
from textsobol import Prompt, TextExplainer, TextExplanation

TEXT = "A good and long film"
WORDS = TEXT.split()
CHAT = [
    {"role": "system", "content": "Decide."},
    {"role": "user", "content": "{text}"},
]


def explainer_of(family: str, prompt: Prompt, **options: Any) -> TextExplainer:
    return TextExplainer(model(family), tokenizer(family), prompt=prompt, **options)


def fill(template: Any, mask: tuple[int, ...]) -> Any:
    """The prompt with some words of `TEXT`, without the package's own masking."""
    text = " ".join(word for word, own in zip(WORDS, mask, strict=True) if own)
    if isinstance(template, str):
        return template.replace("{text}", text) if text else template.replace(" {text}", "")
    return [{**m, "content": m["content"].replace("{text}", text)} for m in template]


def score_labels(family: str, prompt: Any, answers: Any = ANSWERS) -> np.ndarray:
    by_label = [
        [score_plainly(family, prompt, a).sum() for a in ([own] if isinstance(own, str) else own)]
        for own in answers.values()
    ]
    return np.array([logsumexp(own) for own in by_label])


def sobol_by_hand(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Signed total indices and mean effects at keep rate 1/2, from all 2^d scores."""
    d = int(np.log2(len(scores)))
    cube = scores.reshape((2,) * d)
    changes = [np.take(cube, 1, k) - np.take(cube, 0, k) for k in range(d)]
    effects = np.array([change.mean() for change in changes])
    totals = np.array([(change**2).mean() for change in changes]) / 4 / cube.var()
    return np.where(effects < 0, -totals, totals), effects


@pytest.mark.parametrize("template", [REVIEW, CHAT], ids=["plain", "chat"])
@pytest.mark.parametrize("family", [*CAUSAL, "t5"])
def test_exact_indices_are_those_of_all_plain_prompts(family: str, template: Any) -> None:
    explanation = explainer_of(family, Prompt(template, answers=ANSWERS))(TEXT)
    assert explanation.is_exact
    masks = list(product((0, 1), repeat=len(WORDS)))
    scores = np.array([score_labels(family, fill(template, mask)) for mask in masks])
    likely = softmax(scores[-1])
    assert list(explanation.probabilities) == ["negative", "positive"]
    np.testing.assert_allclose(list(explanation.probabilities.values()), likely, atol=1e-5)
    expected, effects = sobol_by_hand(scores[:, 1] - scores[:, 0])
    own = [word.scores["positive"] for word in explanation.words]
    np.testing.assert_allclose([m.score for m in own], expected, atol=1e-3)
    np.testing.assert_allclose([m.effect for m in own], effects, atol=1e-3)


def test_calibration_subtracts_the_answers_to_a_text_without_content() -> None:
    prompt = Prompt(REVIEW, answers=ANSWERS, calibrate="N/A")
    explanation = explainer_of("qwen2", prompt)(TEXT)
    offset = score_labels("qwen2", REVIEW.replace("{text}", "N/A"))
    expected = softmax(score_labels("qwen2", REVIEW.replace("{text}", TEXT)) - offset)
    np.testing.assert_allclose(list(explanation.probabilities.values()), expected, atol=1e-5)
    np.testing.assert_allclose(
        list(explanation.settings["calibration"].values()), offset, atol=1e-4
    )
    assert explanation.settings["prompt"]["calibrate"] == "N/A"
    assert (
        "calibration" not in explainer_of("qwen2", Prompt(REVIEW, answers=ANSWERS))(TEXT).settings
    )


@pytest.mark.parametrize("family", ["llama", "t5"])
def test_the_tokens_of_an_answer(family: str, tmp_path: Path) -> None:
    answer = " a bad film, a bad script"
    explanation = explainer_of(family, Prompt(REVIEW))(TEXT, target=answer)
    whole, *parts = explanation.targets
    assert whole == answer == explanation.answer == explanation.prediction == explanation.target
    assert len(parts) > 4
    assert " bad (1)" in parts
    masks = list(product((0, 1), repeat=len(WORDS)))
    scores = np.array([score_plainly(family, fill(REVIEW, mask), answer) for mask in masks])
    for target, own in zip([whole, *parts], [scores.sum(axis=1), *scores.T], strict=True):
        expected, _ = sobol_by_hand(own)
        found = [word.scores[target].score for word in explanation.words]
        np.testing.assert_allclose(found, expected, atol=1e-3, err_msg=target)
    np.testing.assert_allclose(
        list(explanation.probabilities.values()), np.exp([scores[-1].sum(), *scores[-1]]), atol=1e-5
    )
    assert explanation.settings["score"] == "log-probability"
    explanation.save(tmp_path / "own.json")
    assert TextExplanation.load(tmp_path / "own.json") == explanation
    by_token = json.loads((tmp_path / "own.json").read_text())["words"][1]["scores"]
    assert list(by_token) == [whole, *parts], "a table of words and tokens"
    assert explanation.path is not None
    assert {step.prediction for step in explanation.path.steps} <= {answer}


def test_phrases_of_an_answer() -> None:
    answer = " a bad film, really"
    explanation = explainer_of("gpt2", Prompt(REVIEW))(TEXT, target=answer, targets=["bad film"])
    assert explanation.targets == (answer, "bad film")
    scores = score_plainly("gpt2", REVIEW.replace("{text}", TEXT), answer)
    tokens = [tokenizer().decode([i]) for i in tokenizer()(answer)["input_ids"]]
    inside = [k for k, token in enumerate(tokens) if token.strip() in ("b", "bad", "film", "f")]
    inside = list(range(min(inside), max(inside) + 1))
    assert "".join(tokens[k] for k in inside) == " bad film"
    np.testing.assert_allclose(
        explanation.probabilities["bad film"], np.exp(scores[inside].sum()), rtol=1e-4
    )
    with pytest.raises(ValueError, match="'good' is no phrase of the answer"):
        explainer_of("gpt2", Prompt(REVIEW))(TEXT, target=answer, targets=["good"])


@pytest.mark.parametrize("family", ["gpt2", "t5"])
def test_the_models_own_answer_is_explained_by_default(family: str) -> None:
    tok, lm = tokenizer(family), model(family)
    whole = REVIEW.replace("{text}", "A bad film")
    inputs = tok(whole, return_tensors="pt")
    ids = lm.generate(**inputs, do_sample=False, max_new_tokens=24)[0].tolist()
    own = ids[1:] if family == "t5" else ids[inputs["input_ids"].shape[1] :]
    explanation = explainer_of(family, Prompt(REVIEW))("A bad film")
    assert explanation.settings["is_own_answer"] is True
    written = tok.decode(own, skip_special_tokens=True).strip().splitlines()[0]
    assert explanation.answer is not None
    assert explanation.answer.strip() == written.strip()


def test_documents_are_named_and_any_target_that_is_no_label_is_an_answer() -> None:
    prompt = Prompt(
        "{document}\n\nQuestion: {text}\nAnswer:", answers={"yes": " yes", "no": " no"},
        parts={"document": ["Paris is long.", "Rome is good.", "It is bad."]}, features="parts",
    )  # fmt: skip
    explainer = explainer_of("llama", prompt)
    explanation = explainer("Is it?")
    assert explanation.text == prompt.fill("Is it?")
    assert explanation.names == ["document 1", "document 2", "document 3"]
    assert explanation.words[1].text == "Rome is good."
    assert {each.name for each in explanation.top(3)} == set(explanation.names)
    assert explanation.cost["shared"] > 0
    assert explainer("Is it?", target=" Paris").answer == " Paris"
    with pytest.raises(ValueError, match="label 'Yes ' is not known; labels: yes, no"):
        explainer("Is it?", target="Yes ")


def test_the_same_answer_whatever_the_batches() -> None:
    text = "A good film, a bad film; good actors, bad script! The plot is dull and long."
    prompt = Prompt(REVIEW, answers=ANSWERS)
    one, other = (
        explainer_of("qwen2", prompt, batch_tokens=size)(text, seed=3) for size in (40, 4000)
    )
    assert [each.name for each in one.top(5)] == [each.name for each in other.top(5)]
    for a, b in zip(one.words, other.words, strict=True):
        assert a.scores["positive"].score == pytest.approx(b.scores["positive"].score, abs=1e-4)
    assert other.cost["shared"] > 0.35, "more than the beginning of the prompt"
    assert other.cost["shared"] >= one.cost["shared"] > 0.3


def test_models_and_prompts_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    tok, lm = tokenizer(), model()
    prompt = Prompt(REVIEW, answers=ANSWERS)
    for give, said in (
        (lambda: TextExplainer(prompt=prompt), "the bundled one is none"),
        (lambda: TextExplainer(len, prompt=prompt), "cannot be given to a builtin_function"),
        (lambda: TextExplainer(lm, prompt=prompt), "a model needs its tokenizer"),
        (lambda: TextExplainer(lm, tok), r"prompt=textsobol\.Prompt"),
        (
            lambda: TextExplainer(lm, tok, prompt=cast(Any, REVIEW)),
            "a textsobol.Prompt, not str",
        ),
        (lambda: TextExplainer(lm, tok, prompt=prompt, label_names=["a"]), "in answers="),
        (lambda: TextExplainer(lm, tok, prompt=prompt)("word " * 300), "shorten the text, or"),
        (lambda: TextExplainer(lm, tok, prompt=prompt)(("a", "b")), "one text, not a pair"),
        (
            lambda: TextExplainer(lm, tok, prompt=prompt, perturbation="pad")("a b"),
            "use 'delete' or a replacement",
        ),
        (
            lambda: TextExplainer(
                lm, tok, prompt=Prompt(REVIEW + " ", answers={"a": "bad", "b": "good"})
            )("a b"),
            "let the prompt end without white space",
        ),
        (lambda: TextExplainer(lm, tok, prompt=Prompt(REVIEW))("a", target=" "), "is blank"),
    ):
        with pytest.raises((TypeError, ValueError), match=said):
            give()


def test_answers_that_the_tokenizer_cannot_tell_apart_and_a_chat_without_a_template() -> None:
    tok = tokenizer.__wrapped__()  # one of its own, to be changed

    def explain(template: Any, **answers: str) -> None:
        TextExplainer(model(), tok, prompt=Prompt(template, answers=answers))("A film")

    tok.backend_tokenizer.normalizer = normalizers.Replace("\u200b", "")
    with pytest.raises(ValueError, match="has no tokens with this tokenizer"):
        explain(REVIEW, a=" good", b="\u200b")
    tok.backend_tokenizer.normalizer = normalizers.Lowercase()
    with pytest.raises(ValueError, match="the answer ' Good' begins with all tokens of ' good'"):
        explain(REVIEW, a=" good", b=" Good")
    tok.chat_template = None
    with pytest.raises(ValueError, match="no chat template"):
        explain(CHAT, a=" good", b=" bad")


def test_a_saved_model_is_loaded_by_its_directory(tmp_path: Path) -> None:
    for family in ("gpt2", "t5"):
        model(family).save_pretrained(tmp_path / family)
        tokenizer(family).save_pretrained(tmp_path / family)
        prompt = Prompt(REVIEW, answers=ANSWERS)
        explanation = TextExplainer(tmp_path / family, prompt=prompt)("A film")
        assert explanation.probabilities == pytest.approx(
            explainer_of(family, prompt)("A film").probabilities, abs=1e-5
        )
        assert explanation.settings["model"] == family


@pytest.mark.filterwarnings("ignore:.* is slower than float32")
def test_another_dtype_is_measured_against_the_model_as_given() -> None:
    given = explainer_of("llama", Prompt(REVIEW, answers=ANSWERS), dtype="float16")
    explanation = given(TEXT)
    assert 0 < explanation.settings["precision_difference"] < 0.1
    assert explanation.settings["dtype"] == "float16"
