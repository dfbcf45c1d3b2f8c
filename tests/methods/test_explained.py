"""Every method by its name, on the bundled classifier: what comes out is a whole explanation."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("captum")
pytest.importorskip("lime")
pytest.importorskip("shap")

from textsobol import Sobol, TextExplainer, TextExplanation
from textsobol.cli.expand import read_attributes
from textsobol.methods import METHODS, TEXT_METHODS, Attribution, Lime, Problem, Rise
from textsobol.methods.method import MasklessMethod
from textsobol.steps import Steps
from textsobol.text.inputs import default_budget

pytestmark = [
    pytest.mark.filterwarnings("ignore:The set_:PendingDeprecationWarning"),  # of shap's import
    pytest.mark.filterwarnings("ignore:The set_:DeprecationWarning"),
]

TEXT = "A gripping, beautifully acted film, ruined by its dull ending."
LABELS = ("NEGATIVE", "POSITIVE")
OTHERS = [name for name in TEXT_METHODS if name != "sobol"]
SIGNED = ["sobol", "occlusion", "rise", "lime", "kernel_shap", "permutation_shap",
          "partition_shap", "gradient_input", "integrated_gradients"]  # fmt: skip


@pytest.fixture(scope="module")
def explainer() -> TextExplainer:
    return TextExplainer()


@pytest.fixture(scope="module")
def explained(explainer: TextExplainer) -> dict[str, TextExplanation]:
    return {}


@pytest.fixture
def of(explainer: TextExplainer, explained: dict[str, TextExplanation]) -> Any:
    def explanation(method: str) -> TextExplanation:
        if method not in explained:
            explained[method] = explainer(TEXT, method=method)
        return explained[method]

    return explanation


@pytest.mark.parametrize("method", TEXT_METHODS)
def test_every_word_has_a_score_for_every_label(of: Any, method: str) -> None:
    explanation = of(method)
    # A search takes too long for more than one label.
    searched = METHODS[method].kind == "search"
    assert explanation.targets == ((explanation.target,) if searched else LABELS)
    assert explanation.settings["method"] == method
    assert explanation.settings["seed"] == 0
    assert len(explanation.words) == 10
    for word in explanation.words:
        assert set(word.scores) == set(explanation.targets)
        assert all(np.isfinite(score.score) for score in word.scores.values())


@pytest.mark.parametrize("method", SIGNED)
def test_methods_with_a_sign_tell_praise_from_blame(of: Any, method: str) -> None:
    scores = {w.text: w.scores["POSITIVE"].score for w in of(method).words}
    assert scores["gripping"] > 0
    assert scores["beautifully"] > 0
    assert scores["dull"] < 0
    assert scores["ruined"] < 0
    for word in of(method).words:
        # Log-odds of one of two labels are those of the other one, turned around.
        one, other = (word.scores[label].score for label in LABELS)
        assert one == pytest.approx(-other, abs=1e-4)


@pytest.mark.parametrize("method", TEXT_METHODS)
def test_explanations_of_every_method_survive_json(of: Any, method: str, tmp_path: Path) -> None:
    explanation = of(method)
    assert TextExplanation.from_dict(explanation.to_dict()) == explanation
    explanation.save(tmp_path / "explanation.json")

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    text = (tmp_path / "explanation.json").read_text(encoding="utf-8")
    json.loads(text, parse_constant=refuse)
    assert TextExplanation.load(tmp_path / "explanation.json") == explanation


@pytest.mark.parametrize("method", TEXT_METHODS)
def test_nothing_that_is_shown_is_not_a_number(of: Any, method: str, tmp_path: Path) -> None:
    explanation = of(method)
    page = tmp_path / "page.html"
    explanation.save(page)
    html = page.read_text(encoding="utf-8")
    # The scripts themselves know of NaN; the data that they are given must not.
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", html, flags=re.DOTALL)
    data = [json.loads(body) for kind, body in scripts if "json" in kind]
    shown = re.sub(r"<(script|style).*?</\1>", "", html, flags=re.DOTALL)
    for text in (shown, json.dumps(data), str(explanation), repr(explanation)):
        assert not re.search(r"\b(nan|inf|infinity)\b", text, flags=re.IGNORECASE)
    assert data
    assert "gripping" in str(explanation)


@pytest.mark.parametrize("method", TEXT_METHODS)
def test_the_rows_that_were_forwarded_are_told_and_within_the_budget(
    explainer: TextExplainer, of: Any, method: str
) -> None:
    explanation = of(method)
    forwarded = explanation.cost["forwarded"]
    budget = explanation.settings["budget"]
    expected = {
        "random": 1, "occlusion": 11, "saliency": 1 + 2, "gradient_input": 1 + 2,
        "smoothgrad": 1 + 2 * 80, "integrated_gradients": 1 + 2 * 80,
    }  # fmt: skip
    if method in expected:
        assert forwarded == expected[method]
    else:
        assert 1 < forwarded <= budget
    if METHODS[method].natural_masks(1) is None:
        assert budget == default_budget(10)


@pytest.mark.parametrize("method", ["occlusion", "rise", "lime", "kernel_shap",
                                    "permutation_shap", "partition_shap",
                                    "greedy"])  # fmt: skip
def test_a_budget_below_the_least_is_refused_with_the_number(
    explainer: TextExplainer, method: str
) -> None:
    least = METHODS[method].least_masks(10)
    title = METHODS[method].title
    said = f"budget={least - 1}: {title} needs at least {least} forward passes for 10 words"
    with pytest.raises(ValueError, match=re.escape(said)):
        explainer(TEXT, method=method, budget=least - 1)


@pytest.mark.filterwarnings("ignore:Linear regression equation is singular")
@pytest.mark.parametrize("method", ["sobol", "occlusion", "rise", "lime", "kernel_shap",
                                    "permutation_shap", "partition_shap",
                                    "greedy"])  # fmt: skip
def test_the_least_budget_is_enough(explainer: TextExplainer, method: str) -> None:
    least = METHODS[method].least_masks(10)
    explanation = explainer(TEXT, method=method, budget=least)
    assert explanation.cost["forwarded"] <= least


@pytest.mark.parametrize("method", TEXT_METHODS)
def test_options_belong_to_the_method(explainer: TextExplainer, method: str) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        explainer(TEXT, method=method, keep=0.7)  # type: ignore[call-arg]
    one = METHODS[method]
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.title = "other"
    assert dataclasses.replace(one, **one.options()) == one  # type: ignore[type-var]
    assert read_attributes(type(one)).keys() == one.options().keys(), "every option is documented"


def test_an_option_that_makes_no_sense_for_texts_is_refused(explainer: TextExplainer) -> None:
    with pytest.raises(ValueError, match="method='gradcam' explains pictures only"):
        explainer(TEXT, method="gradcam")
    with pytest.raises(ValueError, match=r"keep=None: .* must be a number between 0 and 1"):
        explainer(TEXT, method=Sobol("jansen", keep=None))


def test_an_unknown_method_is_refused_with_the_known_ones(explainer: TextExplainer) -> None:
    with pytest.raises(ValueError, match=r"unknown method 'anchors'; known: sobol, .*occlusion"):
        explainer(TEXT, method="anchors")


@pytest.mark.parametrize("method", ["occlusion", "integrated_gradients", "kernel_shap"])
def test_labels_can_be_chosen(explainer: TextExplainer, of: Any, method: str) -> None:
    one = explainer(TEXT, method=method, targets=["POSITIVE"])
    assert one.targets == ("POSITIVE",)
    assert one.target == "POSITIVE"
    for chosen, every in zip(one.words, of(method).words, strict=True):
        expected = every.scores["POSITIVE"].score
        assert chosen.scores["POSITIVE"].score == pytest.approx(expected, abs=1e-6)
    looked_at = explainer(TEXT, method=method, target="NEGATIVE")
    assert looked_at.target == "NEGATIVE"
    assert looked_at.targets == LABELS
    with pytest.raises(ValueError, match="unknown label 'GOOD'"):
        explainer(TEXT, method=method, targets=["GOOD"])
    with pytest.raises(ValueError, match="'POSITIVE' was not analysed"):
        explainer(TEXT, method=method, targets=["NEGATIVE"], target="POSITIVE")


def test_every_method_explains_a_function_but_for_white_boxes() -> None:
    explainer = TextExplainer(lambda texts: [float("good" in t) - ("bad" in t) for t in texts])
    for name in TEXT_METHODS:
        if METHODS[name].kind == "white box":
            with pytest.raises(
                ValueError, match="gradient methods need a sequence classifier of transformers"
            ):
                explainer("a good or bad film", method=name)
        elif name != "random":  # every other method must find the one good word
            scores = [w.scores["0"].score for w in explainer("a good bad film", method=name).words]
            assert int(np.argmax(scores)) == 1


def test_options_that_were_chosen_are_recorded(explainer: TextExplainer) -> None:
    assert explainer(TEXT, method=Lime(kernel_width=3.0)).settings["kernel_width"] == 3.0
    assert explainer(TEXT, method=Rise(keep=0.9)).settings["keep"] == 0.9
    assert explainer(TEXT, method=Sobol(path=False)).settings["path"] is False
    assert "kernel_width" not in explainer(TEXT, method="lime").settings


def test_a_method_may_have_options_without_a_default(explainer: TextExplainer) -> None:
    @dataclasses.dataclass(frozen=True)
    class Constant(MasklessMethod):
        value: float

        name, title, quantity = "constant", "Constant", "constant"

        def attribute(
            self, problem: Problem, *, budget: int | None, seed: int
        ) -> Steps[Attribution]:
            yield from ()
            return Attribution(np.full((problem.n_features, problem.n_labels), self.value))

    found = explainer(TEXT, method=Constant(0.5))
    assert found.settings["value"] == 0.5
    assert {found.score_of(word).score for word in found.words} == {0.5}
