"""Segmenters take linear time, whatever the text."""

import time
from collections.abc import Callable

import pytest

from textsobol.text.unspaced import WordSegmenter
from textsobol.text.words import Span, find_paragraphs, find_sentences, find_words

HOSTILE = {
    "initials": "A. ", "spaces": " ", "newlines": "\n", "stops": ".", "marks": "!", "mixed": "!?",
    "breaks": "<br>", "open tags": "<a", "open breaks": "<br ", "tabs": "\t \n", "quotes": '."',
    "faces": ":)", "laughing": "xD", "hearts": "<3", "joints": "a-", "points": "a.", "letters": "a",
    "emoji": "\U0001f600\u200d", "flags": "\U0001f1e9", "accents": "e\u0301", "joiner": "\u200d",
    "capitals": "Mr. ", "stop and letter": ".a", "full width": "\u3002\u300d",
    "han": "\u6211", "kana": "\u304b", "thai": "\u0e40", "burmese": "\u1000", "dashes": "-",
    "dots and space": ". ", "brackets": ")]", "new line, space": "\n ", "carriage return": "\r\n",
}  # fmt: skip
SEGMENTERS = (WordSegmenter(has_punctuation=True), find_words, find_sentences, find_paragraphs)


def work(segment: Callable[[str], list[Span]], text: str) -> float:
    """Processor time of this thread, the least of three: no clock on the wall."""
    taken = []
    for _ in range(3):
        start = time.thread_time()
        segment(text)
        taken.append(time.thread_time() - start)
    return min(taken)


@pytest.mark.parametrize("end", ["", "x", " x.", "\n\nx"])
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("segment", SEGMENTERS, ids=["default", "words", "sentences", "paragraphs"])
def test_eight_times_the_length_is_eight_times_the_work(
    segment: Callable[[str], list[Span]], name: str, end: str
) -> None:
    piece = HOSTILE[name]
    short, long = (piece * (n // len(piece)) + end for n in (2_000, 16_000))
    floor = 0.002  # seconds: below it, timers say nothing
    ratio = work(segment, long) / max(floor, work(segment, short))
    assert ratio < 24, "quadratic time would be 64 times the work"
