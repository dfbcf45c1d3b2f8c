import json
import math
import random
import warnings
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from tests.problems import arguments
from tests.text.tiny import FAMILIES, counting_bert, tokenizer
from textsobol import ConstantScoreWarning, Sobol, TextExplainer, TextExplanation, WindowWarning
from textsobol.text.inputs import default_budget
from textsobol.text.records import WordScore

# Short texts often lack the words that one of the labels counts.
pytestmark = pytest.mark.filterwarnings("ignore::textsobol.ConstantScoreWarning")
TEXT = "The plot is good but the ending is bad and long."


def counting(texts: list[str]) -> np.ndarray:
    return np.array([[t.count("bad"), t.count("good") - 0.5 * t.count("long")] for t in texts])


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("perturbation", ["delete", "film"])
def test_the_words_that_the_model_looks_at_come_first(family: str, perturbation: str) -> None:
    tok = tokenizer(family)
    explainer = TextExplainer(counting_bert(tok), tok, perturbation=perturbation)
    explanation = explainer(TEXT, method="sobol")
    positive = {each.word: each.score for each in explanation.for_target("LABEL_1").top(2)}
    assert set(positive) == {"good", "bad"}
    assert positive["good"] > 0 > positive["bad"]
    negative = {each.word: each.score for each in explanation.for_target("LABEL_0").top(2)}
    assert negative["bad"] > 0 > negative["good"]


@pytest.mark.parametrize("perturbation", ["mask", "pad"])
def test_masking_and_padding_find_them_too(perturbation: str) -> None:
    explainer = TextExplainer(counting_bert(tokenizer()), tokenizer(), perturbation=perturbation)
    top = {each.word: each.score for each in explainer(TEXT).for_target("LABEL_1").top(2)}
    assert set(top) == {"good", "bad"}
    assert top["good"] > 0 > top["bad"]


def test_pairs_are_explained_in_both_texts() -> None:
    explainer = TextExplainer(counting_bert(tokenizer()), tokenizer())
    explanation = explainer(("the film is good", "a bad ending"))
    assert [word.part for word in explanation.words] == [0, 0, 0, 0, 1, 1, 1]
    top = explanation.for_target("LABEL_1").top(2)
    assert {each.word for each in top} == {"good", "bad"}
    assert TextExplanation.from_dict(explanation.to_dict()) == explanation


def test_repeated_words_are_separate() -> None:
    explanation = TextExplainer(counting)("good or good", method="sobol")
    assert [(w.text, w.start) for w in explanation.words] == [("good", 0), ("or", 5), ("good", 8)]
    first, _, last = (w.scores["1"].score for w in explanation.words)
    assert first == pytest.approx(last)
    assert first == pytest.approx(0.5)


def test_ignored_words_stay_and_carry_no_score() -> None:
    seen: set[str] = set()

    def spy(texts: list[str]) -> np.ndarray:
        seen.update(texts)
        return counting(texts)

    explanation = TextExplainer(spy, ignore="stopwords")(
        "The film is not good", method=Sobol(base_masks=8)
    )
    assert [w.status for w in explanation.words] == [
        "ignored", "scored", "ignored", "scored", "scored",
    ]  # fmt: skip
    assert all("The" in text and "is" in text for text in seen)
    assert explanation.words[0].scores == {}
    assert explanation.score_of(explanation.words[0]).score == 0


@pytest.mark.parametrize("unit", ["word", "token", "sentence", "paragraph"])
def test_units(unit: str) -> None:
    text = "The film is good. The ending is bad.\n\nIt is long."
    explainer = TextExplainer(counting_bert(tokenizer()), tokenizer(), unit=unit)
    explanation = explainer(text, method=Sobol(base_masks=4))
    n_units = {"word": 11, "token": 14, "sentence": 3, "paragraph": 2}[unit]
    assert len(explanation.words) == n_units
    assert all(text[w.start : w.end] == w.text for w in explanation.words)
    custom = TextExplainer(counting, unit=lambda t: [(0, 17), (18, 36)])(
        text, method=Sobol(base_masks=4)
    )
    assert [w.text for w in custom.words] == ["The film is good.", "The ending is bad."]


def test_all_labels_come_from_the_same_rows() -> None:
    calls = 0

    def count(texts: list[str]) -> np.ndarray:
        nonlocal calls
        calls += len(texts)
        return counting(texts)

    explainer = TextExplainer(count, label_names=["neg", "pos"])
    both = explainer(TEXT, method=Sobol(base_masks=3))
    n_both, calls = calls, 0
    one = explainer(TEXT, method=Sobol(base_masks=3), targets=["pos"])
    assert calls == n_both == both.cost["forwarded"]
    assert both.targets == ("neg", "pos")
    assert one.targets == ("pos",)
    assert set(one.probabilities) == {"neg", "pos"}
    for a, b in zip(both.words, one.words, strict=True):
        assert a.scores["pos"] == b.scores["pos"]


def test_the_same_seed_gives_the_same_explanation() -> None:
    explainer = TextExplainer(counting_bert(tokenizer()), tokenizer())
    text = " ".join([TEXT, TEXT])
    one, other, another = (explainer(text, method=Sobol(base_masks=2), seed=s) for s in (0, 0, 1))
    assert one.words == other.words
    assert one.words != another.words


def test_explanations_are_complete_and_survive_json(tmp_path: Any) -> None:
    explanation = TextExplainer(counting_bert(tokenizer()), tokenizer())(
        TEXT, method=Sobol(base_masks=1)
    )
    assert math.isnan(explanation.words[0].scores["LABEL_0"].low), "one mask cannot tell"
    path = tmp_path / "explanation.json"
    explanation.save(path)
    assert TextExplanation.load(path) == explanation
    data = json.loads(path.read_text())
    assert data["schema"] == 2
    assert data["text"] == TEXT
    assert set(data["prediction"]) == {"label", "probabilities"}
    word = data["words"][3]
    assert (word["text"], word["start"], word["end"], word["status"]) == ("good", 12, 16, "scored")
    assert set(word["scores"]["LABEL_1"]) == {
        "score", "low", "high", "total", "total_low", "total_high", "first", "first_low",
        "first_high", "effect", "effect_low", "effect_high", "stability",
    }  # fmt: skip
    assert {"rows", "distinct", "seconds"} <= set(data["cost"])
    assert {"model", "method", "estimator", "keep", "seed", "versions"} <= set(data["settings"])
    with pytest.raises(ValueError, match=r"cannot save as \.docx; known: \.json"):
        explanation.save(tmp_path / "x.docx")
    with pytest.raises(ValueError, match="schema 99"):
        TextExplanation.from_dict({**data, "schema": 99})


def test_a_data_frame_has_a_row_for_every_word_and_label() -> None:
    pytest.importorskip("pandas")
    frame = TextExplainer(counting)(TEXT, method=Sobol(base_masks=2)).to_dataframe()
    assert len(frame) == 11 * 2
    named = {field.name for field in fields(WordScore)}
    assert set(frame.columns) == {*named, "status"}


def test_many_is_lazy() -> None:
    def texts() -> Any:
        yield "a good film"
        raise AssertionError("asked for too early")

    explanations = TextExplainer(counting).many(texts(), method=Sobol(base_masks=2))
    assert next(explanations).text == "a good film"


def test_one_word_is_exact() -> None:
    explanation = TextExplainer(counting)("good")
    assert explanation.settings["estimator"] == "exact"
    assert explanation.words[0].scores["1"].score == 1
    assert explanation.words[0].scores["1"].low == explanation.words[0].scores["1"].high == 1


def test_words_outside_the_window_are_told_and_score_zero() -> None:
    tok, model = tokenizer(), counting_bert(tokenizer())
    text = " ".join(["film"] * 90) + " good"
    with pytest.warns(WindowWarning, match="29 of 91 words lie outside") as caught:
        explanation = TextExplainer(model, tok)(text, method=Sobol(base_masks=1))
    (warning,) = [w for w in caught if w.category is WindowWarning]
    assert warning.filename == __file__
    statuses = [w.status for w in explanation.words]
    assert statuses == ["scored"] * 62 + ["outside"] * 29
    assert explanation.score_of(explanation.words[-1]).score == 0


def test_a_pair_longer_than_the_window_loses_the_end_of_the_longer_text() -> None:
    with pytest.warns(WindowWarning):
        explanation = TextExplainer(counting_bert(tokenizer()), tokenizer())(
            (" ".join(["film"] * 90), "a good film"), method=Sobol(base_masks=1)
        )
    assert [w.status for w in explanation.words if w.part == 1] == ["scored"] * 3
    assert sum(w.status == "scored" for w in explanation.words if w.part == 0) == 64 - 3 - 3


def test_two_long_texts_share_the_window() -> None:
    with pytest.warns(WindowWarning):
        explanation = TextExplainer(counting_bert(tokenizer()), tokenizer())(
            (" ".join(["film"] * 60), " ".join(["good"] * 59)), method=Sobol(base_masks=1)
        )
    kept = [sum(w.status == "scored" for w in explanation.words if w.part == k) for k in (0, 1)]
    assert kept == [30, 30]


def test_a_unit_longer_than_the_window_is_cut_inside() -> None:
    explainer = TextExplainer(counting_bert(tokenizer()), tokenizer(), unit="paragraph")
    for lead in ("", "\n "):
        text = "good " + " ".join(["film"] * 90)
        explanation = explainer(lead + text)
        assert explanation.words[0].status == "scored"
        assert explanation.words[0].text == text


def test_replacements_may_make_a_text_longer_than_the_window() -> None:
    explainer = TextExplainer(
        counting_bert(tokenizer()), tokenizer(), perturbation="some other long thing"
    )
    assert explainer(" ".join(["good"] * 50), method=Sobol(base_masks=1)).cost["forwarded"] > 1


def test_left_truncation_is_refused_not_mistaken() -> None:
    tok = FAMILIES["wordpiece uncased"]()
    tok.truncation_side = "left"
    with pytest.raises(ValueError, match="cuts texts on the left"):
        TextExplainer(counting_bert(tok), tok)(" ".join(["film"] * 90))


def test_pairs_in_the_form_of_transformers() -> None:
    explainer = TextExplainer(counting_bert(tokenizer()), tokenizer())
    pair = explainer({"text": "a good film", "text_pair": "a bad film"}, method=Sobol(base_masks=1))  # type: ignore[arg-type]
    assert pair.text == ("a good film", "a bad film")
    with pytest.raises(ValueError, match=r"explainer\.many\(texts\)"):
        explainer(["a good film", "a bad film"])  # type: ignore[arg-type]


def test_many_names_the_text_that_fails() -> None:
    with pytest.raises(ValueError, match="text 1: nothing to explain"):
        list(TextExplainer(counting).many(["a good film", ""], method=Sobol(base_masks=1)))
    with pytest.raises(ValueError, match="takes a list of texts"):
        list(TextExplainer(counting).many("a good film"))


def test_words_whose_effects_cancel_out_still_rank() -> None:
    def one_of_two(texts: list[str]) -> list[float]:
        return [("good" in t) != ("bad" in t) for t in texts]

    explanation = TextExplainer(one_of_two)("good film bad", method="sobol")
    assert [each.word for each in explanation.top(3)] == ["good", "bad", "film"]
    assert explanation.top(1)[0].score == pytest.approx(1)


def test_the_budget_is_never_exceeded() -> None:
    calls = 0

    def count(texts: list[str]) -> np.ndarray:
        nonlocal calls
        calls += len(texts)
        return counting(texts)

    for budget in (13, 40, 100):
        calls = 0
        explanation = TextExplainer(count)(TEXT, budget=budget)
        assert calls <= budget
        assert explanation.cost["forwarded"] == calls
    calls = 0
    TextExplainer(count)(TEXT)
    assert calls <= default_budget(11)


TEN = "one two three four five six seven eight nine ten"


@pytest.mark.parametrize(
    "settings",
    [
        {"estimator": "exact", "budget": 1024},
        {"estimator": "exact"},
        {"estimator": "jansen", "budget": 40},
        {"estimator": "jansen", "budget": 25},
        {"estimator": "jansen", "budget": 35, "sign": "occlusion"},
        {"estimator": "flip", "budget": 12},
        {"estimator": "flip", "budget": 22, "sign": "occlusion"},
        {"sign": "occlusion", "budget": 24},
        {"sign": "occlusion", "budget": 22},
        {"sign": "occlusion", "budget": 25, "interactions": 3},
        *({"sign": "occlusion", "budget": budget} for budget in range(2, 22)),
        {"design": "random", "budget": 1024},
    ],
)
@pytest.mark.parametrize("path", [True, False])
def test_a_budget_that_is_enough_is_not_refused(settings: dict[str, Any], path: bool) -> None:
    def model(texts: list[str]) -> list[list[float]]:
        has = [text.split() for text in texts]
        return [[2.0 * ("two" in h) - ("six" in h) * ("one" in h), 0.3] for h in has]

    explanation = TextExplainer(model, label_names=["yes", "no"])(
        TEN, **arguments({"path": path, **settings})
    )
    assert explanation.cost["forwarded"] <= settings.get("budget", 1024)
    if settings.get("estimator") == "exact":
        assert explanation.is_exact
        assert not path or (explanation.flip is not None and explanation.flip.is_smallest)


@pytest.mark.parametrize(
    ("settings", "least"),
    [
        ({"estimator": "exact", "budget": 1023}, 1024),
        ({"estimator": "jansen", "budget": 24}, 25),
        ({"estimator": "flip", "budget": 21, "sign": "occlusion"}, 22),
        ({"budget": 24, "sign": "occlusion", "interactions": 3}, 25),
    ],
)
def test_a_budget_that_is_refused_is_the_one_that_was_given(
    settings: dict[str, Any], least: int
) -> None:
    said = f"budget={settings['budget']}: 10 words.* need at least {least} forward passes"
    with pytest.raises(ValueError, match=said):
        TextExplainer(counting)(TEN, **arguments(settings))


def test_what_base_masks_leave_of_a_budget_goes_to_the_path() -> None:
    text = " ".join(f"w{k}" for k in range(40))
    slopes = np.random.default_rng(0).exponential(size=40)

    def model(texts: list[str]) -> list[float]:
        return [sum(slopes[int(word[1:])] for word in text.split()) for text in texts]

    found = TextExplainer(model)(text, budget=800, method=Sobol(base_masks=2))
    assert found.settings["base_masks"] == 2
    assert found.cost["forwarded"] > 600
    assert found.cost["forwarded"] <= 800


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        ("", {}, "nothing to explain: the text is empty or blank"),
        (" \n\t", {}, "nothing to explain: the text is empty or blank"),
        ("...", {}, "nothing to explain: the text has no words"),
        (("good", " "), {}, "nothing to explain"),
        (("a", "b", "c"), {}, "a pair of strings"),
        (b"bytes", {}, "a text is a string"),
        (None, {}, "a text is a string"),
        ("bad \ud800 half", {}, "half of a surrogate pair at character 4"),
        (TEXT, {"targets": ["2"]}, "unknown label '2'; known: 0, 1"),
        (TEXT, {"targets": []}, "known: 0, 1"),
        (TEXT, {"keep": 0.0}, "between 0 and 1"),
        (TEXT, {"keep": 1.0}, "between 0 and 1"),
        (TEXT, {"budget": 12, "estimator": "flip"}, "11 words need at least 13 forward passes"),
        (TEXT, {"budget": 1}, "needs at least 2 forward passes for 11 words"),
        (TEXT, {"method": "shap"}, "unknown method 'shap'; known: sobol"),
        (TEXT, {"estimator": "shap"}, "unknown estimator"),
    ],
)
def test_bad_input(text: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TextExplainer(counting)(text, **arguments(settings))


@pytest.mark.parametrize(
    ("making", "message"),
    [
        ({"unit": "syllable"}, "unknown unit"),
        ({"score": "margin"}, "unknown score 'margin'; known: logit, probability"),
        ({"ignore": "nothing"}, "'stopwords', a list"),
        ({"batch_texts": 0}, "at least 1"),
        ({"batch_tokens": 0}, "at least 1"),
    ],
)
def test_bad_settings_of_the_explainer(making: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TextExplainer(counting, **making)


def test_perturbations_that_a_model_cannot_do() -> None:
    with pytest.raises(ValueError, match="needs a model with a tokenizer"):
        TextExplainer(counting, perturbation="mask")(TEXT)
    tok = tokenizer("unigram, always")
    with pytest.raises(ValueError, match="no mask token"):
        TextExplainer(counting_bert(tok), tok, perturbation="mask")(TEXT)
    gpt = tokenizer("byte bpe, gpt-2")
    with pytest.raises(ValueError, match="needs a fast tokenizer with a pad token"):
        TextExplainer(counting_bert(gpt), gpt, perturbation="pad")(TEXT)


def test_a_model_that_never_changes_its_mind() -> None:
    with pytest.warns(ConstantScoreWarning):
        explanation = TextExplainer(lambda texts: [0.7] * len(texts))(TEXT)
    assert all(w.scores["0"].score == 0 for w in explanation.words)
    json.dumps(explanation.to_dict(), allow_nan=False)


def _strange_text(rng: random.Random) -> str:
    pieces = [
        "good", "bad", "film", " ", "  ", "\n", "\r\n", "\t", "\x00", "\x1b[31m", "\u2028",
        "\U0001f600", "\U0001f468\u200d\U0001f469", "\u0301", "a\u0301\u0323", "\u202e", "\u200f",
        "\u05e9\u05dc\u05d5\u05dd", "\u0645", "\ud83d", "\udc00", "\u4e2d\u6587", "<br />", "</s>",
        "[MASK]", "[CLS]", "'", '"', "...", "!!", ":)", "\ufeff", "\xad", "-", "/", ".", "9",
        "\xa0", "\u3000",
    ]  # fmt: skip
    text = "".join(rng.choice(pieces) for _ in range(rng.randrange(12)))
    if rng.random() < 0.01:
        text += "x" * 10_000
    return text


@pytest.mark.parametrize("family", ["wordpiece uncased", "byte bpe, roberta"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_strange_texts_are_explained_or_refused(family: str) -> None:
    """1,000 texts a tokenizer: emoji, marks, right-to-left, NUL, half surrogates, long words."""
    rng = random.Random(family)
    tok = tokenizer(family)
    explainer = TextExplainer(counting_bert(tok), tok)
    n_explained = 0
    for _ in range(1000):
        text = _strange_text(rng)
        try:
            explanation = explainer(text, method=Sobol(base_masks=1))
        except ValueError:
            continue
        n_explained += 1
        assert all(text[w.start : w.end] == w.text for w in explanation.words)
        json.dumps(explanation.to_dict(), allow_nan=False).encode()
    assert n_explained > 400


def test_no_warning_on_an_ordinary_text() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TextExplainer(counting_bert(tokenizer()), tokenizer())(TEXT)
