"""How much of a text fits the model's window."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from textsobol.errors import WindowWarning, warn
from textsobol.text.classifiers import Classifier
from textsobol.text.records import Word
from textsobol.text.tokens import encode_plain, keep_settings
from textsobol.text.words import Segmenter, Span, check_spans


def find_spans(segment: Segmenter, texts: Sequence[str], tokenizer: Any) -> list[list[Span]]:
    """The words of each text; segmenting leaves the tokenizer as it is."""
    with keep_settings(tokenizer):
        return [check_spans(segment(text), text) for text in texts]


def find_visible_words(
    classifier: Classifier,
    is_ignored: Callable[[str], bool],
    texts: Sequence[str],
    spans: Sequence[Sequence[Span]],
) -> tuple[Sequence[Word], list[int]]:
    """All words with their status, and how many characters of each text fit the window."""
    cuts = _find_cuts(classifier, texts, spans)
    words = []
    for part, (text, own, cut) in enumerate(zip(texts, spans, cuts, strict=True)):
        for number, (start, end) in enumerate(own):
            word = text[start:end]
            # Only the first word can be cut; all others fit or do not.
            is_outside = end > cut and (number > 0 or start >= cut)
            status = "outside" if is_outside else "ignored" if is_ignored(word) else "scored"
            words.append(Word(word, start, end, status, part=part))
    n_outside = sum(word.status == "outside" for word in words)
    if n_outside:
        warn(
            f"{n_outside} of {len(words)} words lie outside the window of the {classifier.name} "
            f"model; it cannot see them, and they are scored 0. With long='window' (--long window) "
            f"a window slides over the text, and all words are scored",
            WindowWarning,
        )
    return words, cuts


def _find_cuts(
    classifier: Classifier, texts: Sequence[str], spans: Sequence[Sequence[Span]]
) -> list[int]:
    """Characters of each text that fit the model's window, whole words only.

    Of a pair the longer text is cut first, as tokenizers do (``longest_first``). A first word that
    does not fit, such as a long paragraph, is itself cut.
    """
    tokenizer, window = classifier.tokenizer, classifier.window(texts)
    cuts = [len(text) for text in texts]
    if window is None:
        return cuts

    def count_tokens(text: str) -> int:
        with keep_settings(tokenizer):
            return len(encode_plain(tokenizer, [text])[0])

    def find_cut(text: str, places: Sequence[int], room: int) -> int:
        """The last of the ascending places at which the text still fits ``room`` tokens."""
        n_fitting = bisect_right(
            places, room, key=lambda place: count_tokens(text[:place].rstrip())
        )
        return len(text[: places[n_fitting - 1]].rstrip()) if n_fitting else 0

    sizes = [count_tokens(text) for text in texts]
    if sum(sizes) <= window:
        return cuts
    if tokenizer.truncation_side == "left":
        raise ValueError(
            f"the text has {sum(sizes)} tokens and the model's window {window}; this tokenizer "
            f"cuts texts on the left, which is not supported: cut the text yourself, or give "
            f"long='window'"
        )
    for part, (text, size) in enumerate(zip(texts, sizes, strict=True)):
        room = max(window - sum(sizes) + size, window // len(texts))
        if size > room:
            starts = [start for start, _ in spans[part][1:]]
            cuts[part] = find_cut(text, [*starts, len(text)], room) or find_cut(
                text, range(1, len(text)), room
            )
    return cuts
