"""Prompts with what else an explainer can do."""

from pathlib import Path
from typing import Any

import pytest

from tests.prompts.tiny import ANSWERS, REVIEW, model, tokenizer
from textsobol import Prompt, TextExplainer, TextExplanation
from textsobol.prompts.local import LocalScorer

TEXT = "A good film, a bad film; good actors, bad script! The plot is dull and long."
LABELS = Prompt(REVIEW, answers=ANSWERS)


def make(family: str, prompt: Prompt = LABELS) -> TextExplainer:
    return TextExplainer(model(family), tokenizer(family), prompt=prompt, progress=False)


@pytest.mark.parametrize("family", ["gpt2", "t5"])
def test_the_cost_of_a_prompt_is_estimated(family: str) -> None:
    explainer = make(family)
    found = explainer.estimate(TEXT, method="lime")
    cost = explainer(TEXT, method="lime").cost
    assert not found.is_most
    assert found.passes == cost["forwarded"]
    # How much prompts share depends on how many there are: a few share less.
    assert found.tokens == pytest.approx(cost["tokens"], rel=0.5)
    assert found.seconds is not None


@pytest.mark.filterwarnings("ignore:.* is slower than float32")
def test_tokens_that_measure_precision_are_not_counted() -> None:
    tok, lm = tokenizer("llama"), model("llama")
    half = TextExplainer(lm, tok, prompt=LABELS, dtype="bfloat16", progress=False)
    assert (
        half("A good film", method="occlusion").cost["tokens"]
        == (make("llama")("A good film", method="occlusion").cost["tokens"])
    )


def test_an_answer_that_is_cut_within_a_character(monkeypatch: pytest.MonkeyPatch) -> None:
    tok = tokenizer()
    scorer = LocalScorer(model(), tok)
    tokens = [*tok(" good \u597d\u597d")["input_ids"][:-1], tok.eos_token_id]
    monkeypatch.setattr(scorer, "_choose_next", lambda _, written: tokens[len(written)])
    assert scorer.write_answer("Review:") == " good \u597d"


def test_the_token_for_padding_in_a_prompt_is_seen() -> None:
    asked: list[dict[str, Any]] = []
    lm = model("qwen2")
    hook = lm.register_forward_pre_hook(
        lambda _, args, given: asked.append(given), with_kwargs=True
    )
    LocalScorer(lm, tokenizer()).write_answer("<pad>Review: A film")
    hook.remove()
    assert all(given["attention_mask"].all() for given in asked)


def test_gradients_are_refused_before_they_are_estimated() -> None:
    with pytest.raises(ValueError, match="gradient methods need"):
        make("gpt2").estimate(TEXT, method="saliency")


def test_labels_that_are_numbers_are_saved(tmp_path: Path) -> None:
    numbered: dict[Any, Any] = {0: " negative", 1: " positive"}
    explanation = make("gpt2", Prompt(REVIEW, answers=numbered))("A film")
    explanation.save(tmp_path / "own.json")
    assert TextExplanation.load(tmp_path / "own.json") == explanation
    with pytest.raises(ValueError, match="the label '1' is there twice"):
        Prompt(REVIEW, answers={**numbered, "1": " great"})


HALF = "\ud83d"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"template": HALF + REVIEW}, "the prompt has half of a surrogate pair at character 0"),
        ({"answers": {"a": HALF, "b": "b"}}, "an answer has half of a surrogate pair"),
        ({"answers": {HALF: "a", "b": "b"}}, "a label has half of a surrogate pair"),
        ({"calibrate": HALF}, "the text of calibrate= has half"),
        ({"template": REVIEW + "{d}", "parts": {"d": HALF}}, "part 'd' has half"),
        ({"template": REVIEW + "{d}", "parts": {"d": 3}}, "part 'd' must be a text, or a list"),
        ({"template": REVIEW + "{d}", "parts": ["d"]}, "parts= maps names to texts"),
        ({"template": b"{text}"}, "a prompt is a string"),
        ({"features": None}, "features=None: give 'text', 'parts', 'all' or a list of names"),
        ({"separator": None}, "separator=None: give a string"),
    ],
)
def test_prompts_that_no_model_can_read(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Prompt(**{"template": REVIEW, "answers": ANSWERS, **given})


def test_what_no_model_can_read_in_a_call() -> None:
    free = make("gpt2", Prompt(REVIEW))
    with pytest.raises(ValueError, match="target= has half of a surrogate pair"):
        free("A film", target=HALF)
    with pytest.raises(ValueError, match="target=3: an answer is a string"):
        free("A film", target=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="perturbation= has half of a surrogate pair"):
        TextExplainer(lambda texts: [0.0] * len(texts), perturbation=HALF)
    with pytest.raises(ValueError, match=r"the text has no words: unit=.word\+punctuation"):
        free("? !", target=" good")


def test_what_a_chat_template_refuses_is_said() -> None:
    tok = tokenizer.__wrapped__()  # one of its own, to be changed
    tok.chat_template = "{{ raise_exception('System role not supported') }}"
    chat = Prompt([{"role": "system", "content": "{text}"}], answers=ANSWERS)
    with pytest.raises(ValueError, match=r"chat template .* System role not supported; change"):
        TextExplainer(model(), tok, prompt=chat)("A film")
