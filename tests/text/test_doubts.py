"""Warnings of words that a model does not know, and of punctuation that outweighs the words."""

from typing import Any

import pytest

from tests.text.tiny import counting_bert, tokenizer
from textsobol import PunctuationWarning, Sobol, TextExplainer, UnknownWordsWarning

SMALL = Sobol(base_masks=2, path=False)
FOREIGN = {
    "Spanish": "Fui a ver esta película y la verdad es que me ha decepcionado bastante.",
    "German": "Ich habe mir diesen Film angesehen und wurde ziemlich enttäuscht.",
    "Indonesian": "Saya menonton film ini dengan harapan besar dan cukup kecewa.",
    "Vietnamese": "Tôi đi xem bộ phim này với nhiều kỳ vọng và khá thất vọng.",
    "Russian": "Я пошёл на этот фильм и был разочарован.",
    "Hindi": "मैंने यह फिल्म बड़ी उम्मीदों के साथ देखी।",
    "Korean": "큰 기대를 안고 이 영화를 봤는데 꽤 실망했습니다.",
    "nothing known": "Hrmpfl",
    "gibberish": "qxzv wkjh plmn bvcx zzgh trwq",
    "code": "for k, v in xs.items(): fn(k, *args, **kwargs); self._buf.append(v)",
}


@pytest.fixture(scope="module")
def bundled() -> TextExplainer:
    return TextExplainer(progress=False)


@pytest.mark.parametrize("kind", FOREIGN)
def test_the_bundled_model_says_that_it_does_not_know_the_words(
    bundled: TextExplainer, kind: str
) -> None:
    with pytest.warns(
        UnknownWordsWarning, match=r" % of the words .* English film reviews.*--model"
    ):
        explanation = bundled(FOREIGN[kind], method=SMALL)
    assert explanation.settings["unknown_words"] >= 0.25
    assert explanation.from_dict(explanation.to_dict()).settings == explanation.settings


@pytest.mark.parametrize(
    "text",
    [
        "Kurosawa's Yojimbo is a masterpiece.",
        "Björk and Lars von Trier? It's a musical <br /><br />10/10!",
        "The Zyzzyx-Qwghlm saga, part 2: the script by McHrmpfl is as dull as the first one was.",
        "Zyzzyx rules",
    ],
)
def test_names_are_no_other_language(bundled: TextExplainer, text: str) -> None:
    assert "unknown_words" not in bundled(text, method=SMALL).settings


def test_other_tokenizers_with_an_unknown_token_say_it_too() -> None:
    tok = tokenizer("wordpiece cased")
    explainer = TextExplainer(counting_bert(tok), tok)
    with pytest.warns(
        UnknownWordsWarning, match=r"^60 % of the words are unknown to the \S+ model, so"
    ):
        explanation = explainer("good good ЖЖ ЩЩ ЮЮ", method=SMALL)
    assert explanation.settings["unknown_words"] == 0.6
    # Byte pairs know every text; a function has no tokenizer.
    tok = tokenizer("byte bpe, roberta")
    for found in (
        TextExplainer(counting_bert(tok), tok),
        TextExplainer(lambda ts: list(map(len, ts))),
    ):
        assert "unknown_words" not in found("good ЖЖ ЩЩ ЮЮ", method=SMALL).settings


def shouts(texts: list[str]) -> Any:
    return [2.0 * text.count("!") + 0.5 * ("film" in text) for text in texts]


def test_punctuation_that_does_more_than_the_words_is_told() -> None:
    text = "Wow! What! a film"
    with pytest.warns(PunctuationWarning, match=r"moves the score of 0 by \+4.00, .* by 0.50: "):
        explanation = TextExplainer(shouts)(text)
    assert explanation.settings["punctuation_effect"] == 4.0
    found = TextExplainer(shouts, unit="word+punctuation")(text)
    effects = {each.name: each.effect for each in found.top(3)}
    assert effects == pytest.approx({"! (1)": 2.0, "! (2)": 2.0, "film": 0.5})
    assert "punctuation_effect" not in found.settings
    assert found.settings["unit"] == "word+punctuation"


def test_punctuation_that_does_less_is_not() -> None:
    found = TextExplainer(
        lambda texts: [text.count("film") + 0.4 * text.count("!") for text in texts]
    )
    assert "punctuation_effect" not in found("What! A film! And a film").settings


def test_of_a_pair_both_texts_have_punctuation() -> None:
    seen: set[tuple[str, str]] = set()

    def compare(pairs: list[tuple[str, str]]) -> Any:
        seen.update(pairs)
        return [abs(one.count("?") - other.count("?")) + 0.1 * ("a" in one) for one, other in pairs]

    with pytest.warns(PunctuationWarning, match=r"by \+1.00, .* by 0.10"):
        TextExplainer(compare)(("a film?", "a film!"))
    assert ("a film", "a film") in seen


def test_the_budget_holds_with_the_pass_for_punctuation() -> None:
    calls: list[str] = []

    def count(texts: list[str]) -> Any:
        calls.extend(texts)
        return [float(text.count("good")) for text in texts]

    text = "A good film, or so, he said; good enough, then, to see."
    for budget in (4, 20, 45, 46, 47, 200):
        calls.clear()
        explanation = TextExplainer(count)(text, budget=budget)
        assert len(calls) == explanation.cost["forwarded"] <= budget
