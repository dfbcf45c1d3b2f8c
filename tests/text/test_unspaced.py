"""Chinese, Japanese, Thai, Lao, Khmer and Burmese: words by real libraries, and without any."""

import importlib.util
import sys
import warnings
from typing import Any

import pytest

pytest.importorskip("hypothesis")

from hypothesis import given
from hypothesis import strategies as st

from tests.text.tiny import tokenizer
from textsobol import SegmenterWarning, Sobol, TextExplainer
from textsobol.text.segmenters import describe_unit, get_segmenter
from textsobol.text.unspaced import WordSegmenter, name_cutters
from textsobol.text.words import check_spans

LIBRARIES = ("jieba", "sudachipy", "pythainlp", "icu", "icu4py")
TEXTS = {
    "zh": "我非常喜欢这部电影。不会吧!",
    "ja": "この映画は全然面白くなかったです。",
    "th": "ผมไม่ชอบหนังเรื่องนี้เลย",
    "lo": "ຂ້ອຍມັກຮູບເງົານີ້",
    "km": "ខ្ញុំចូលចិត្តភាពយន្តនេះណាស់។",
    "my": "ဒီရုပ်ရှင်ကိုကျွန်တော်ကြိုက်တယ်။",
}
WORDS = {
    "zh": ["我", "非常", "喜欢", "这部", "电影", "不会", "吧"],
    "ja": ["この", "映画", "は", "全然", "面白く", "なかっ", "た", "です"],
    "th": ["ผม", "ไม่", "ชอบ", "หนัง", "เรื่อง", "นี้", "เลย"],
    "lo": ["ຂ້ອຍ", "ມັກ", "ຮູບເງົາ", "ນີ້"],
    "km": ["ខ្ញុំ", "ចូលចិត្ត", "ភាពយន្ត", "នេះ", "ណាស់"],
    "my": ["ဒီ", "ရုပ်ရှင်", "ကို", "ကျွန်တော်", "ကြိုက်", "တယ်"],
}
LIBRARY = {"zh": "jieba", "ja": "sudachipy", "th": "pythainlp"}


def cut(segment: Any, text: str) -> list[str]:
    return [text[start:end] for start, end in check_spans(segment(text), text)]


def hide(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """Make packages invisible, as if they were not installed."""
    for package in packages:
        monkeypatch.setitem(sys.modules, package, None)


@pytest.mark.parametrize("language", TEXTS)
def test_words_by_the_library_for_the_language(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide(monkeypatch, "icu")  # which would go before icu4py
    library = LIBRARY.get(language, "icu4py")
    pytest.importorskip(library)
    text, segment = TEXTS[language], WordSegmenter()
    assert cut(segment, text) == WORDS[language]
    (name,) = name_cutters(segment, [text, "and English"]).values()
    assert name.startswith(f"{library} {importlib.metadata.version(library)}")


@pytest.mark.parametrize("package", ["icu4py", "icu"])
@pytest.mark.parametrize("language", TEXTS)
def test_words_by_icu(language: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(package)
    hide(monkeypatch, *(each for each in LIBRARIES if each != package))
    text = TEXTS[language]
    found = cut(WordSegmenter(), text)
    name = name_cutters(WordSegmenter(), [text])[language]
    assert name.startswith({"icu": "PyICU", "icu4py": "icu4py"}[package])
    # Its dictionaries are not those of the libraries; most words are the same.
    assert len(set(found) & set(WORDS[language])) >= len(WORDS[language]) / 2
    assert "".join(found) == "".join(WORDS[language])


@pytest.mark.parametrize("package", ["icu4py", "icu"])
def test_characters_beyond_16_bits_do_not_shift_icus_words(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(package)
    hide(monkeypatch, *(each for each in LIBRARIES if each != package))
    assert cut(WordSegmenter(), "𠀀𠮷我喜欢")[-2:] == ["我", "喜欢"]


def test_mixed_texts() -> None:
    for library in LIBRARY.values():
        pytest.importorskip(library)
    text = "很well-made的iPhone12电影:) I love หนัง, not T-恤!"
    assert cut(WordSegmenter(), text) == [
        "很", "well-made", "的", "iPhone12", "电影", "I", "love", "หนัง", "not", "T", "恤",
    ]  # fmt: skip
    assert set(name_cutters(WordSegmenter(), [text])) == {"zh", "th"}
    # Kana decide whose characters they are, but not a single one as an ornament.
    assert set(name_cutters(WordSegmenter(), ["映画が好き"])) == {"ja"}
    assert set(name_cutters(WordSegmenter(), ["优良の品质。大家都非常喜欢"])) == {"zh"}


def test_korean_keeps_its_spaces() -> None:
    text = "이 영화는 美國에서 정말 재미있어요!"
    assert cut(WordSegmenter(), text) == ["이", "영화는", "美國에서", "정말", "재미있어요"]
    assert name_cutters(WordSegmenter(), [text]) == {}


def test_without_a_library_the_models_tokens_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    hide(monkeypatch, *LIBRARIES)
    vocabulary = [("<unk>", 0.0), ("▁", -3.0), ("喜欢", -1.0), *((each, -4.0) for each in "我这部")]
    core = Tokenizer(models.Unigram(vocabulary, unk_id=0))
    core.pre_tokenizer = pre_tokenizers.Metaspace()
    tok = PreTrainedTokenizerFast(tokenizer_object=core, unk_token="<unk>")
    segment = WordSegmenter(tok)
    with pytest.warns(SegmenterWarning, match="features are tokens of the model.*install jieba"):
        assert cut(segment, "我喜欢这部, 我!") == ["我", "喜欢", "这", "部", "我"]
    assert name_cutters(segment, ["我喜欢"]) == {"zh": "tokens of the model"}
    assert name_cutters(segment, ["他喜欢"]) == {"zh": "characters"}, "a character it does not know"
    # Of byte pairs, several tokens are one character.
    with pytest.warns(SegmenterWarning):
        assert cut(WordSegmenter(tokenizer("byte bpe, gpt-2")), "很好看") == ["很", "好", "看"]


def test_with_nothing_at_all_there_are_characters_and_one_hint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hide(monkeypatch, *LIBRARIES)
    with pytest.warns(SegmenterWarning, match="Japanese.*pip install sudachipy sudachidict_core"):
        found = cut(WordSegmenter(), "東京のカラオケ")
    assert found == ["東", "京", "の", "カラオケ"]
    with pytest.warns(SegmenterWarning, match=r"Lao has no spaces.*pip install icu4py"):
        assert cut(WordSegmenter(), "ນີ້") == ["ນີ້"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        explainer = TextExplainer(lambda texts: [text.count("好") for text in texts])
        for explanation in explainer.many(["很好", "不好"], method=Sobol(base_masks=2)):
            assert explanation.settings["segmenters"] == {"zh": "characters"}
    assert len(caught) == 1


@given(st.text("我们电影のカーか\u3099ผเมนีໄລខ្ញុំဒီ\u200b\ufe0f𠮷 한ab-.1!,", max_size=40))
def test_any_mixture_is_cut_in_place(text: str) -> None:
    for segment in (WordSegmenter(), WordSegmenter(has_punctuation=True)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SegmenterWarning)
            found = check_spans(segment(text), text)
        held = {place for start, end in found for place in range(start, end)}
        assert all(place in held for place, each in enumerate(text) if each.isalnum())


def test_long_runs_are_cut_in_pieces() -> None:
    pytest.importorskip("sudachipy")
    text = "この映画は面白い" * 4_000  # more than SudachiPy takes at once
    found = cut(WordSegmenter(), text)
    assert "".join(found) == text
    assert len(found) == pytest.approx(4 * 4_000, rel=0.01)


def test_a_chinese_text_is_explained_by_words() -> None:
    pytest.importorskip("jieba")

    def likes(texts: list[str]) -> Any:
        return [2.0 * ("喜欢" in text) - ("电影" in text) - ("film" in text) for text in texts]

    explanation = TextExplainer(likes)(TEXTS["zh"])
    assert [(each.word, round(each.effect, 3)) for each in explanation.top(2)] == [
        ("喜欢", 2.0), ("电影", -1.0),
    ]  # fmt: skip
    assert explanation.settings["segmenters"]["zh"].startswith("jieba 0.")
    assert explanation.from_dict(explanation.to_dict()).settings == explanation.settings
    assert "segmenters" not in TextExplainer(likes)("a good film").settings


def test_a_spacy_pipeline_is_a_unit() -> None:
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("zh")
    assert cut(get_segmenter(nlp), "我喜欢!") == ["我", "喜", "欢"]
    assert describe_unit(nlp) == "spacy:zh_pipeline"
