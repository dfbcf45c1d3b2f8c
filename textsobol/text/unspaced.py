"""Words of text without spaces: Chinese, Japanese, Thai, Lao, Khmer and Burmese.

A run of such a script is cut by the first of these that is there: a library for its language, ICU's
dictionaries, the model's own tokenizer, or else into characters. Everything around the runs, such
as English names, is cut as in any other text.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import regex

from textsobol.errors import SegmenterWarning, warn
from textsobol.text.tokens import encode_plain, keep_settings
from textsobol.text.words import Span, add_punctuation, find_words, find_words_between

Cut = Callable[[str], Sequence[str]]
"""From a run to its words, which together are the run."""

_KANA = r"\p{scx=Hira}\p{scx=Kana}"
_RUN = regex.compile(
    rf"(?P<cjk>(?:[\p{{Han}}\p{{Bopo}}{_KANA}]\p{{M}}*+)++)"
    r"|(?P<th>\p{Thai}++)|(?P<lo>\p{Lao}++)|(?P<km>\p{Khmr}++)|(?P<my>\p{Mymr}++)"
)
_HANGUL, _HAN_OR_KANA = regex.compile(r"\p{Hang}"), regex.compile(rf"[\p{{Han}}{_KANA}]")
_KANA_ONLY = regex.compile(r"[\p{Hira}\p{Kana}]")
_LEAST_KANA = 0.1  # of Han and kana: Chinese texts have a few as ornaments, Japanese ones many
_CHARACTER = regex.compile(
    r"(?:[\p{Kana}\u30fc\uff70\uff9e\uff9f]\p{M}*+)++|(?:[\p{Hira}\u30fc]\p{M}*+)++|\X"
)
_LONGEST_RUN = 1000  # characters at once: libraries have limits, or are slow on long runs

_NAMES = {
    "zh": "Chinese", "ja": "Japanese", "th": "Thai", "lo": "Lao", "km": "Khmer", "my": "Burmese",
}  # fmt: skip
_BEST = {"zh": "jieba", "ja": "sudachipy sudachidict_core", "th": "pythainlp"}
_ICU = ("icu", "icu4py")  # PyICU, and a package that brings ICU with it


@dataclass(frozen=True)
class Cutter:
    """What cuts the runs of a language.

    Attributes:
        name: with its version, for an explanation's settings.
        cut: from a run to its words.
        is_makeshift: whether it does not know words.
    """

    name: str
    cut: Cut
    is_makeshift: bool = False


@dataclass(frozen=True)
class WordSegmenter:
    """Segments into words, also where a script puts no spaces between them.

    Attributes:
        tokenizer: of the model, which cuts runs where there is nothing better, or ``None``.
        has_punctuation: whether punctuation marks are features too.

    Example:
        >>> text = "Don't miss it!"
        >>> [text[start:end] for start, end in WordSegmenter(has_punctuation=True)(text)]
        ["Don't", 'miss', 'it', '!']
    """

    tokenizer: Any = None
    has_punctuation: bool = False

    def __call__(self, text: str) -> list[Span]:
        """The words of a text."""
        cutters = self.choose_cutters(text)
        for language, cutter in cutters.items():
            if cutter.is_makeshift:
                warn(_advise(language, cutter), SegmenterWarning)
        words = find_words(text)
        if cutters:
            words = [piece for word in words for piece in _cut_word(text, word, cutters)]
        return add_punctuation(text, words) if self.has_punctuation else words

    def choose_cutters(self, text: str) -> dict[str, Cutter]:
        """By language, what cuts the runs of a text."""
        runs: dict[str, list[str]] = {}
        for match in _RUN.finditer(text):
            runs.setdefault(str(match.lastgroup), []).append(match.group())
        if "cjk" in runs:
            own = runs.pop("cjk")
            if (language := _tell_language(text)) is not None:
                runs[language] = own
        return {
            language: _find_library(language) or self._make_shift(own)
            for language, own in runs.items()
        }

    def _make_shift(self, runs: Sequence[str]) -> Cutter:
        tokenizer = self.tokenizer
        if tokenizer is not None and getattr(tokenizer, "is_fast", False):
            with keep_settings(tokenizer):
                ids = encode_plain(tokenizer, runs)
            if not any(tokenizer.unk_token_id in own for own in ids):
                cut = partial(_cut_by_tokenizer, tokenizer)
                return Cutter("tokens of the model", cut, is_makeshift=True)
        return Cutter("characters", _CHARACTER.findall, is_makeshift=True)


def estimate_word_count(text: str) -> int:
    """About how many words a text has, without cutting it: two characters are a word in a run.

    Example:
        >>> estimate_word_count("a film"), estimate_word_count("我喜欢电影")
        (2, 3)
    """
    return len(text.split()) + sum(len(match.group()) for match in _RUN.finditer(text)) // 2


def name_cutters(segmenter: Any, texts: Sequence[str]) -> dict[str, str]:
    """By language, the name of what cut the runs of texts; empty if there are none."""
    if not isinstance(segmenter, WordSegmenter):
        return {}
    return {
        language: cutter.name
        for text in texts
        for language, cutter in segmenter.choose_cutters(text).items()
    }


def _tell_language(text: str) -> str | None:
    """Of Han and kana: Chinese, Japanese, or ``None`` for Korean, which has spaces."""
    n_han_or_kana = len(_HAN_OR_KANA.findall(text))
    if len(_HANGUL.findall(text)) > n_han_or_kana:
        return None
    is_japanese = len(_KANA_ONLY.findall(text)) >= _LEAST_KANA * n_han_or_kana
    return "ja" if is_japanese else "zh"


def _cut_word(text: str, word: Span, cutters: Mapping[str, Cutter]) -> Iterator[Span]:
    """Cut the runs inside what `find_words` takes for a word."""
    position, end = word
    for match in _RUN.finditer(text, *word):
        group = match.lastgroup
        own = next((k for k in ("zh", "ja") if k in cutters), "") if group == "cjk" else str(group)
        if own not in cutters:
            continue
        yield from find_words_between(text, position, match.start())
        for start in range(match.start(), match.end(), _LONGEST_RUN):
            piece = text[start : min(start + _LONGEST_RUN, match.end())]
            yield from _locate(piece, cutters[own].cut(piece), start)
        position = match.end()
    if position == word[0]:
        yield word
    else:
        yield from find_words_between(text, position, end)


def _locate(run: str, words: Sequence[str], start: int) -> Iterator[Span]:
    """Where the words of a run are in the text; its characters if a library changed them."""
    for word in words if "".join(words) == run else _CHARACTER.findall(run):
        yield start, start + len(word)
        start += len(word)


def _find_library(language: str) -> Cutter | None:
    """A library for the language, or ICU; ``None`` if neither is installed."""
    if language == "zh" and find_spec("jieba"):
        return Cutter(f"jieba {version('jieba')}", _cut_chinese)
    if language == "ja" and find_spec("sudachipy") and (kind := _find_dictionary()):
        name = f"sudachipy {version('sudachipy')}, sudachidict_{kind}"
        return Cutter(name, partial(_cut_japanese, kind))
    if language == "th" and find_spec("pythainlp"):
        return Cutter(f"pythainlp {version('pythainlp')}", _cut_thai)
    for package in _ICU:
        if find_spec(package):
            name = "PyICU" if package == "icu" else package
            return Cutter(f"{name} {version(name)}", partial(_cut_by_icu, package, language))
    return None


def _advise(language: str, cutter: Cutter) -> str:
    name, best = _NAMES[language], _BEST.get(language, "icu4py")
    return (
        f"{name} has no spaces, and no segmenter for it is installed: features are {cutter.name}. "
        f"To have words: pip install {best}"
    )


def _cut_chinese(run: str) -> list[str]:
    return list(_load_jieba().cut(run))


def _cut_japanese(kind: str, run: str) -> list[str]:
    # A tokenizer of their own for every run: they cannot be shared by threads, and cost nothing.
    sudachipy, dictionary = _import_quietly("sudachipy"), _load_dictionary(kind)
    make = getattr(dictionary, "tokenizer", None) or dictionary.create  # before 0.7
    return [each.surface() for each in make(sudachipy.SplitMode.B).tokenize(run)]


def _find_dictionary() -> str | None:
    return next(
        (kind for kind in ("core", "full", "small") if find_spec(f"sudachidict_{kind}")), None
    )


@cache
def _load_dictionary(kind: str) -> Any:
    return _import_quietly("sudachipy").Dictionary(dict=kind)


def _cut_thai(run: str) -> list[str]:
    words: list[str] = _import_quietly("pythainlp.tokenize").word_tokenize(run, engine="newmm-safe")
    return words


def _cut_by_icu(package: str, language: str, run: str) -> list[str]:
    if package == "icu":
        icu = _import_quietly("icu")
        breaks = icu.BreakIterator.createWordInstance(icu.Locale(language))
        breaks.setText(run)
        ends = list(breaks)
    else:
        breakers = _import_quietly("icu4py.breakers")
        ends = [end for _, end in breakers.WordBreaker(run, language).segments()]
    places = [0]  # of characters in UTF-16, which ICU counts in
    for character in run:
        places.append(places[-1] + 1 + (character > "\uffff"))
    if ends[-1] != len(run):
        ends = [places.index(end) for end in ends]
    return [run[start:end] for start, end in pairwise([0, *ends])]


def _cut_by_tokenizer(tokenizer: Any, run: str) -> list[str]:
    """The tokens of a run, whole characters only."""
    with keep_settings(tokenizer):
        encoding = tokenizer(
            run, add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )
    ends = {match.end() for match in regex.finditer(r"\X", run)}
    cuts, reached = [0], 0
    for start, end in encoding["offset_mapping"]:
        if start >= reached and start in ends:
            cuts.append(start)
        reached = max(reached, end)
    return [run[start:end] for start, end in pairwise([*cuts, len(run)])]


def _import_quietly(name: str) -> Any:
    """Import a library without its warnings, which are not about the user's text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module(name)


@cache
def _load_jieba() -> Any:
    """Jieba with its dictionary, without its messages about loading it."""
    jieba = _import_quietly("jieba")
    level = jieba.default_logger.level
    jieba.setLogLevel(logging.WARNING)
    jieba.initialize()
    jieba.setLogLevel(level)
    return jieba
