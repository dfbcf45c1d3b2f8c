"""Explanations with gates: what is said of words that were screened out, and what it costs."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification

from tests.text.tiny import CORPUS, FAMILIES, random_model
from textsobol import Sobol, TextExplainer, TextExplanation
from textsobol.methods import GateGradients

WORDS = "the plot is good but the ending is bad and long a film about nothing really"
TEXT = " ".join([WORDS, CORPUS[2], WORDS, "why was it so long"])  # 47 words


@pytest.fixture(scope="module")
def explainer() -> TextExplainer:
    return TextExplainer(*_make_model(), progress=False)


def _make_model(**more: Any) -> tuple[Any, Any]:
    tok = FAMILIES["wordpiece uncased"]()  # its own: it is changed
    tok.model_max_length = 400
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=len(tok), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=400, pad_token_id=tok.pad_token_id,
        initializer_range=0.4, **more,
    )  # fmt: skip
    return BertForSequenceClassification(config).eval(), tok


@pytest.fixture(scope="module")
def explained(explainer: TextExplainer) -> TextExplanation:
    return explainer(TEXT)


def _spent(explanation: TextExplanation, passes_per_gates: int = 3) -> int:
    return int(explanation.cost["forwarded"] + passes_per_gates * explanation.cost["gates"])


def test_words_that_were_screened_out_say_so(explained: TextExplanation) -> None:
    scored = [word for word in explained.words if word.status == "scored"]
    assert 0 < explained.n_screened < len(scored)
    assert explained.settings["gates"] is True
    assert explained.settings["leaders"] == len(scored) - explained.n_screened
    sums = explained.sums[explained.target]
    screened = [word.scores[explained.target].total for word in scored if word.screened_out]
    assert sums.screened == pytest.approx(sum(screened))
    assert sums.screened_high > sums.screened > 0
    assert f"{explained.n_screened} of {len(scored)} words were screened out" in str(explained)
    assert not any(math.isnan(word.scores[explained.target].high) for word in scored)


def test_what_is_saved_is_read_again(explained: TextExplanation, tmp_path: Path) -> None:
    explained.save(str(tmp_path / "e.json"))
    again = TextExplanation.load(str(tmp_path / "e.json"))
    assert again.to_dict() == explained.to_dict()
    assert again.n_screened == explained.n_screened
    saved = json.loads((tmp_path / "e.json").read_text())["words"]
    assert sum(word["screened_out"] for word in saved) == explained.n_screened


def test_the_path_is_made_of_real_predictions(
    explainer: TextExplainer, explained: TextExplanation
) -> None:
    assert explained.path is not None
    model = explainer.masked(TEXT)
    place = {number: k for k, number in enumerate(model.scored)}
    mask = np.ones((1, model.n_features), dtype=bool)
    for step in explained.path.steps:
        mask[0, [place[number] for number in step.words]] = False
        (wanted,) = model.predict_masks(mask)
        np.testing.assert_allclose(list(step.probabilities.values()), wanted, atol=1e-6)


@pytest.mark.parametrize("budget", [2, 10, 40, 60, 90, 120, 200, 300, 449, 1000])
@pytest.mark.parametrize("path", [True, False])
def test_no_budget_is_exceeded(explainer: TextExplainer, budget: int, path: bool) -> None:
    found = explainer(TEXT, budget=budget, method=Sobol(path=path))
    gates = 3 * int(found.cost.get("gates", 0))
    assert found.cost["distinct"] + gates <= budget


def test_short_texts_and_other_options_need_no_gates(explainer: TextExplainer) -> None:
    short = explainer("a good film and a bad ending")
    assert short.n_screened == 0
    assert "gates" not in short.cost
    assert short.settings["gates"] is False
    assert short.settings["why_no_gates"] == "gates save nothing at this length and budget"
    for method in (Sobol(gates=False), Sobol(base_masks=5), Sobol(estimator="flip"),
                   Sobol(sign="occlusion"), Sobol(interactions=3)):  # fmt: skip
        found = explainer(TEXT, method=method)
        assert "gates" not in found.cost
        assert "why_no_gates" not in found.settings, "the option says it"


def test_gates_are_an_approximate_answer_of_a_fixed_cost(
    explainer: TextExplainer, tmp_path: Path
) -> None:
    found = explainer(TEXT, method="gates")
    longer = explainer(f"{TEXT} {WORDS}", method="gates")
    assert _spent(found) == _spent(longer) == 1 + 8 + 16 + 3 * 8
    assert found.n_screened == sum(word.status == "scored" for word in found.words)
    assert "all scores are approximate" in str(found)
    found.save(str(tmp_path / "e.html"))
    assert "all scores are approximate" in (tmp_path / "e.html").read_text()
    saved = found.to_dict()
    assert saved["settings"]["quantity"] == "estimated share of the variance"
    assert all(word["screened_out"] for word in saved["words"] if word["status"] == "scored")
    assert found.path is None
    assert found.settings["estimator"] == "gates"


def test_gates_estimate_the_scores_that_many_flips_measure() -> None:
    """On a model whose words matter: rank correlation with converged effects."""
    explainer = TextExplainer(progress=False)  # the bundled classifier
    text = (
        "I wanted to like this film, but the plot is dull, the jokes are awful and the acting is "
        "wooden. Only the music, which is wonderful, and one brilliant scene near the end kept me "
        "from leaving. What a waste of a good idea and a great cast!"
    )
    truth = explainer(text, method=Sobol(estimator="flip", base_masks=64, path=False), seed=1)
    found = explainer(text, method="gates")
    wanted, effects = (
        np.array([word.scores["NEGATIVE"].effect for word in each.words if word.scores])
        for each in (truth, found)
    )
    assert np.corrcoef(wanted, effects)[0, 1] > 0.9
    top = {word.word for word in truth.top(4)}
    assert len(top & {word.word for word in found.top(5)}) >= 3


def test_a_function_has_no_gates_and_the_settings_say_so() -> None:
    explainer = TextExplainer(lambda texts: [t.count("good") - t.count("bad") for t in texts])
    for method in ("gates", "sobol"):
        found = explainer(TEXT, method=method)
        assert found.settings["gates"] is False
        assert found.settings["why_no_gates"].startswith("only torch models")
        assert found.cost["forwarded"] <= {"gates": 49, "sobol": 512}[method]
        assert found.top(1)[0].score != 0


def test_few_words_are_exact(explainer: TextExplainer) -> None:
    found = explainer("good film", method="gates")
    assert found.is_exact
    assert found.settings["gates"] is False


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ({"base_masks": 4}, "base_masks=4: must be at least 8"),
        ({"flips": 0}, "flips=0: must be at least 1"),
        ({"keep": 1.0}, "keep=1.0"),
    ],
)
def test_wrong_options_are_refused(method: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        GateGradients(**method)


def test_too_small_a_budget_is_refused(explainer: TextExplainer) -> None:
    with pytest.raises(ValueError, match="budget=20: Gate gradients need at least 49"):
        explainer(TEXT, method="gates", budget=20)
    more = explainer(TEXT, method="gates", budget=120)
    assert more.settings["base_masks"] > 8
    assert _spent(more) <= 120


def test_the_first_streamed_answer_comes_from_gates(explainer: TextExplainer) -> None:
    first, *_, last = explainer.stream(TEXT)
    assert first.cost["forwarded"] < 0.3 * last.cost["forwarded"]
    assert first.n_screened > last.n_screened
    whole = explainer(TEXT)
    assert last.to_dict()["words"] == whole.to_dict()["words"]


@pytest.mark.parametrize("method", ["sobol", "gates"])
def test_the_same_seed_gives_the_same_answer_whatever_the_batches(method: str) -> None:
    model, tok = _make_model()
    found = [
        TextExplainer(model, tok, batch_tokens=size, progress=False)(TEXT, seed=4, method=method)
        for size in (64, 4096)
    ]
    one, other = (
        np.array([list(vars(w.scores["LABEL_0"]).values()) for w in each.words if w.scores])
        for each in found
    )
    np.testing.assert_allclose(one, other, atol=1e-3)
    assert [w.screened_out for w in found[0].words] == [w.screened_out for w in found[1].words]


def test_many_labels_share_base_masks(explainer: TextExplainer) -> None:
    found = TextExplainer(*_make_model(num_labels=4), progress=False)(TEXT, method="gates")
    assert len(found.targets) == 4
    assert found.cost["gates"] == 8
    contrast = found.contrast("LABEL_0", "LABEL_2")
    assert contrast.n_screened == found.n_screened


def test_a_pair_of_texts_has_gates_in_both(explainer: TextExplainer) -> None:
    found = explainer((TEXT, WORDS))
    assert found.cost["gates"] > 0
    assert {word.part for word in found.words if word.screened_out} == {0, 1}


def test_the_users_model_is_left_as_it_was() -> None:
    model, tok = _make_model()
    model.train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    TextExplainer(model, tok, progress=False)(TEXT)
    assert model.training
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


LONG = " ".join([TEXT, WORDS, TEXT, WORDS])  # 126 words


@pytest.mark.parametrize(
    ("options", "call"),
    [
        ({"score": "probability"}, {}),
        ({"score": "output"}, {}),
        ({}, {"targets": ["POSITIVE"]}),
        ({}, {"targets": ["NEGATIVE"]}),
        ({"perturbation": "pad"}, {}),
    ],
)
def test_the_bundled_model_is_explained_whatever_is_analysed(
    options: dict[str, Any], call: dict[str, Any]
) -> None:
    found = TextExplainer(progress=False, **options)(LONG, **call)
    assert found.settings["gates"] is True
    assert found.path is not None
    assert found.cost["distinct"] + 3 * found.cost["gates"] <= 449


@pytest.mark.parametrize("budget", [100, 449, 900])
@pytest.mark.parametrize("n_labels", [1, 3, 5])
def test_budgets_hold_for_any_number_of_labels(n_labels: int, budget: int) -> None:
    model, tok = _make_model(num_labels=n_labels)
    found = TextExplainer(model, tok, progress=False)(LONG, budget=budget)
    n_rows = int(found.cost.get("gates", 0))
    per_row = 1 + 2 * n_labels
    n_of_path = n_rows - found.settings["base_masks"] if n_rows else 0
    at_most = found.cost["distinct"] + per_row * (n_rows - n_of_path) + 3 * n_of_path
    assert at_most <= budget


def test_few_words_of_many_labels_are_all_measured() -> None:
    model, tok = _make_model(num_labels=6)
    found = TextExplainer(model, tok, progress=False)("the plot is good but the ending is bad now")
    assert found.n_screened == 0


def test_a_model_that_says_no_has_a_path_that_rises() -> None:
    model, tok = _make_model(num_labels=1)
    with torch.no_grad():
        model.classifier.bias.fill_(-6.0)
    model.config.problem_type = "multi_label_classification"
    found = TextExplainer(model, tok, progress=False)(LONG)
    assert found.path is not None
    assert found.path.rises
    chances = [step.probabilities[found.path.label] for step in found.path.steps]
    assert chances == sorted(chances)


def test_gradients_that_fail_leave_the_forward_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    from textsobol.text import masked_model

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no gradients today")

    monkeypatch.setattr(masked_model, "gate_gradients", fail)
    explainer = TextExplainer(*_make_model(), progress=False)
    for method in ("sobol", "gates"):
        found = explainer(TEXT, method=method)
        assert "gates" not in found.cost
        assert found.settings["gates"] is False
        assert found.settings["why_no_gates"].endswith("failed: RuntimeError: no gradients today")


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_gradients_that_are_not_finite_leave_the_forward_passes(wrong: float) -> None:
    """Also if that happens on the way, with part of the budget spent."""
    model, tok = _make_model()
    own, n_calls = model.forward, 0

    def forward(**inputs: Any) -> Any:
        nonlocal n_calls
        found = own(**inputs)
        if torch.is_grad_enabled():
            n_calls += 1
            found.logits = found.logits * (wrong if n_calls > 12 else 1.0)
        return found

    model.forward = forward
    found = TextExplainer(model, tok, progress=False, batch_tokens=1)(TEXT)
    assert found.cost["gates"] > 0
    assert found.settings["gates"] is False
    assert found.settings["why_no_gates"] == "the classifier's gradients are not finite"
    assert _spent(found) <= 449
    assert found.n_screened == 0


def test_models_without_gates_say_that_these_were_tried() -> None:
    tok = FAMILIES["byte bpe, roberta"]()
    found = TextExplainer(random_model("bart", tok), tok, progress=False)(TEXT)
    assert found.settings["gates"] is False
    assert "were tried on this model" in found.settings["why_no_gates"]


@pytest.mark.parametrize("n_words", [40, 120, 199, 260])
def test_gates_cost_a_function_no_more_than_a_model(n_words: int) -> None:
    text = " ".join(f"w{k}" for k in range(n_words - 1)) + " good"
    explainer = TextExplainer(lambda texts: [float("good" in t) for t in texts])
    assert explainer(text, method="gates").cost["forwarded"] <= 49


def test_progress_counts_what_is_spent(explainer: TextExplainer) -> None:
    from textsobol.driver import run

    expected: list[int] = []
    ticks: list[int] = []
    steps = explainer.walk(TEXT, expect=lambda n_masks, announce: expected.append(n_masks))
    run(steps, ticks.append)
    assert 0.6 * expected[0] < sum(ticks) <= expected[0] + 30


def test_a_corpus_with_gates_is_that_of_single_texts(tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    from datasets import Dataset

    from textsobol import explain_corpus, read_explanations

    explainer = TextExplainer(*_make_model(), progress=False)
    data = Dataset.from_dict({"text": [TEXT, LONG]})
    for method in ("gates", "sobol"):
        out = tmp_path / method
        explain_corpus(explainer, data, column="text", out=str(out), method=method)
        for name, found in read_explanations(str(out)).items():
            assert name
            alone = explainer(found.text, method=method, seed=found.settings["seed"])
            assert found.n_screened == alone.n_screened > 0
            assert found.cost["gates"] == alone.cost["gates"]
            assert found.sums[found.target].screened_high == pytest.approx(
                alone.sums[alone.target].screened_high, rel=1e-3
            )
