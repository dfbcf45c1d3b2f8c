"""Prompts with features left out, as a person would write them."""

from typing import Any

import numpy as np
import pytest

from textsobol import Prompt
from textsobol.prompts.layout import Layout
from textsobol.text.words import find_words

SHOTS = "{instruction}\n\n{example}\n\nReview: {text}\nSentiment:"
PARTS = {
    "instruction": "Decide.",
    "example": ["Review: Dull.\nSentiment: negative", "Review: Fun!\nSentiment: positive"],
}


def left(prompt: Prompt, text: str, *masks: str) -> list[Any]:
    layout = Layout(prompt, text)
    spans = [span for span, _ in layout.features(find_words)]
    present = np.array([[letter == "1" for letter in mask] for mask in masks])
    assert present.shape[1] == len(spans), [layout.shown[a:b] for a, b in spans]
    whole = np.ones((1, len(spans)), dtype=bool)
    assert layout.masked(spans).render(whole) == [prompt.fill(text)], "nothing left out"
    return layout.masked(spans).render(present)


def test_words_of_the_text() -> None:
    prompt = Prompt(SHOTS, parts=PARTS)
    begin = prompt.fill("x").split("Review: x")[0]
    assert left(prompt, "A fine, long film.\n", "0111", "1010", "0001", "0000") == [
        f"{begin}Review: fine, long film.\n\nSentiment:",
        f"{begin}Review: A , long .\n\nSentiment:",
        f"{begin}Review: , film.\n\nSentiment:",
        f"{begin}Review: , .\n\nSentiment:",
    ]
    assert left(prompt, "Bad", "0") == [f"{begin}Review:\nSentiment:"]


def test_named_parts_go_with_their_separators() -> None:
    one, two = PARTS["example"]
    rest = "Review: So so\nSentiment:"
    masks = ["111", "011", "101", "110", "100", "001", "000"]
    assert left(Prompt(SHOTS, parts=PARTS, features="parts"), "So so", *masks) == [
        f"Decide.\n\n{one}\n\n{two}\n\n{rest}",
        f"{one}\n\n{two}\n\n{rest}",
        f"Decide.\n\n{two}\n\n{rest}",
        f"Decide.\n\n{one}\n\n{rest}",
        f"Decide.\n\n{rest}",
        f"{two}\n\n{rest}",
        rest,
    ]
    listed = Prompt(
        "Read:\n{doc}\n\nQuestion: {text}", parts={"doc": ["a b", "c", "d"]}, features=["doc"],
        separator="\n---\n",
    )  # fmt: skip
    assert left(listed, "Who?", "011", "101", "001", "000") == [
        "Read:\nc\n---\nd\n\nQuestion: Who?",
        "Read:\na b\n---\nd\n\nQuestion: Who?",
        "Read:\nd\n\nQuestion: Who?",
        "Read:\n\nQuestion: Who?",
    ]


def test_sentences_of_documents_beside_the_text_as_a_whole() -> None:
    prompt = Prompt(
        "{doc}\n\nQuestion: {text}", features=["doc:sentence", "text:part"],
        parts={"doc": ["One is here. Two too.", "Three."]},
    )  # fmt: skip
    assert left(prompt, "Who is it?", "1011", "0011", "0101", "1100") == [
        "One is here.\n\nThree.\n\nQuestion: Who is it?",
        "Three.\n\nQuestion: Who is it?",
        "Two too.\n\nQuestion: Who is it?",
        "One is here. Two too.\n\nQuestion:",
    ]


def test_all_words_of_a_chat_but_not_its_markup() -> None:
    chat = [
        {"role": "system", "content": "Be {how}."},
        {"role": "user", "content": "{text} - good?"},
    ]
    prompt = Prompt(chat, parts={"how": "brief"}, features="all")
    assert Layout(prompt, "A film").shown == "Be brief.\n\nA film - good?"
    assert left(prompt, "A film", "10101", "00000") == [
        [{"role": "system", "content": "Be ."}, {"role": "user", "content": "A - good?"}],
        [{"role": "system", "content": "."}, {"role": "user", "content": "- ?"}],
    ]


def test_braces_that_are_no_place() -> None:
    prompt = Prompt('{{text}} {"label": 1} {} {0}: {text}', answers=None)
    assert prompt.fill("{x}") == '{text} {"label": 1} {} {0}: {x}'


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"template": "Review:"}, r"no \{text\}: write it where"),
        ({"template": "{text} {doc}"}, r"give parts=\{'doc': ...\}, or write \{\{doc\}\}"),
        ({"template": "{text} {text}"}, r"\{text\} twice"),
        ({"template": []}, "a string with {text} in it, or a list of chat messages"),
        ({"template": [{"role": "user"}]}, "message 0 of the prompt must be"),
        ({"parts": {"doc": "x"}}, r"part 'doc' has no place in the prompt: write \{doc\}"),
        ({"template": "{text} {d}", "parts": {"d": [" "]}}, "'d' must be a text, or a list"),
        ({"template": "{text} {all}", "parts": {"all": "x"}}, "cannot be called 'all'"),
        ({"features": "document"}, "no part 'document'; known: text, parts, all"),
        ({"features": "text:line"}, "unknown unit; known: part, word, sentence, paragraph"),
        ({"features": "parts"}, "no named parts; give parts="),
        ({"features": []}, "leaves nothing to explain"),
        ({"features": ["text", "text:word"]}, "'text' is there twice"),
        ({"answers": {"a": " a"}}, "at least two labels"),
        ({"answers": {"a": " a", "b": ""}}, "answer of label 'b' must be a string"),
        ({"answers": {"no": " no", "none": " none"}}, "always be the likelier one: give other"),
        ({"answers": {"a": [" a", " and"], "b": " b"}}, "leave out the second"),
        ({"calibrate": "N/A"}, "calibrate= compares labels: give answers="),
        ({"answers": {"a": " a", "b": " b"}, "calibrate": True}, "give a text, such as 'N/A'"),
    ],
)
def test_wrong_prompts_are_refused_with_what_to_do(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Prompt(**{"template": "{text}", **given})
