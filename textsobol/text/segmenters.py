"""Segmenters: the words that a ``unit`` names."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from textsobol.text.unspaced import WordSegmenter
from textsobol.text.words import Segmenter, Span, find_paragraphs, find_sentences, trim

UNITS = ("word", "word+punctuation", "token", "sentence", "paragraph", "spacy", "spacy:NAME")


def get_segmenter(unit: Any, tokenizer: Any = None) -> Segmenter:
    """The segmenter that a ``unit`` names, or that a spaCy pipeline or a callable is."""
    if _is_spacy_pipeline(unit):
        return spacy_segmenter(unit)
    if callable(unit):
        return unit  # type: ignore[no-any-return]
    plain = {"sentence": find_sentences, "paragraph": find_paragraphs}
    if unit in plain:
        return plain[unit]
    if unit in ("word", "word+punctuation"):
        return WordSegmenter(tokenizer, has_punctuation=unit != "word")
    if unit == "token":
        if tokenizer is None:
            raise ValueError("unit='token' needs a model with a tokenizer; use unit='word'")
        return tokenizer_segmenter(tokenizer)
    if unit == "spacy":
        return spacy_segmenter()
    if unit.startswith("spacy:"):
        return spacy_segmenter(unit.removeprefix("spacy:"))
    raise ValueError(
        f"unknown unit {unit!r}; known: {', '.join(UNITS)}, a spaCy pipeline, or a callable"
    )


def describe_unit(unit: Any) -> str:
    """The name of a ``unit`` in an explanation."""
    if isinstance(unit, str):
        return unit
    if _is_spacy_pipeline(unit):
        return f"spacy:{unit.meta['lang']}_{unit.meta['name']}"
    return str(getattr(unit, "__name__", "callable"))


def _is_spacy_pipeline(unit: Any) -> bool:
    """Without importing spaCy: a pipeline exists only if it was imported before."""
    spacy = sys.modules.get("spacy")
    return spacy is not None and isinstance(unit, spacy.language.Language)


def tokenizer_segmenter(tokenizer: Any) -> Segmenter:
    """Segments into the words that a tokenizer finds before it cuts them into tokens."""
    if not getattr(tokenizer, "is_fast", False):
        raise ValueError("unit='token' needs a fast tokenizer; use unit='word'")
    return partial(_segment_by_tokenizer, tokenizer)


def _segment_by_tokenizer(tokenizer: Any, text: str) -> list[Span]:
    encoding = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    spans: dict[int, Span] = {}
    for word, (start, end) in zip(encoding.word_ids(), encoding["offset_mapping"], strict=True):
        first, last = spans.get(word, (start, end))
        spans[word] = (min(first, start), max(last, end))
    return trim(text, (spans[word] for word in sorted(spans)))


def spacy_segmenter(model: Any = "en_core_web_sm", unit: str = "token") -> Segmenter:
    """Segments with spaCy, for linguistic units and for languages without spaces.

    Args:
        model: a loaded pipeline, the name of an installed one, or a language code such as
            ``zh``, ``ja`` or ``th`` for `spacy.blank`.
        unit: ``token``, ``noun_chunk`` (with the tokens outside of chunks) or ``sentence``.
    """
    if unit not in ("token", "noun_chunk", "sentence"):
        raise ValueError(f"unknown spaCy unit {unit!r}; known: token, noun_chunk, sentence")
    nlp = _load_spacy(model) if isinstance(model, str) else model
    if unit == "sentence" and not {"parser", "senter", "sentencizer"} & set(nlp.pipe_names):
        raise ValueError(
            "this spaCy pipeline does not find sentences: add_pipe('sentencizer') to it"
        )

    return partial(_segment_by_spacy, nlp, unit)


def _segment_by_spacy(nlp: Any, unit: str, text: str) -> list[Span]:
    document = nlp(text)
    if unit == "sentence":
        return trim(text, ((one.start_char, one.end_char) for one in document.sents))
    tokens = [(t.idx, t.idx + len(t.text)) for t in document if not (t.is_space or t.is_punct)]
    if unit == "token":
        return tokens
    chunks = [(chunk.start_char, chunk.end_char) for chunk in document.noun_chunks]
    inside = {place for start, end in chunks for place in range(start, end)}
    return sorted([*chunks, *(span for span in tokens if span[0] not in inside)])


def _load_spacy(name: str) -> Any:
    try:
        import spacy
    except ImportError as error:
        raise ImportError("spaCy is not installed: pip install 'textsobol[spacy]'") from error
    if len(name) <= 3:
        return spacy.blank(name)
    try:
        return spacy.load(name)
    except OSError as error:
        raise ValueError(
            f"the spaCy pipeline {name!r} is not installed: python -m spacy download {name}; or "
            f"give a language code such as 'zh' for a blank one"
        ) from error
