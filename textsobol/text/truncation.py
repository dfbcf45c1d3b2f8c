"""How much of a text a model can see."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textsobol.errors import WindowWarning, warn
from textsobol.text.classifiers import Classifier
from textsobol.text.records import Word
from textsobol.text.tokens import plain_ids, untouched
from textsobol.text.words import Segmenter, Span, checked_spans


def visible_words(
    classifier: Classifier,
    segment: Segmenter,
    ignored: Callable[[str], bool],
    texts: Sequence[str],
) -> tuple[Sequence[Word], list[int]]:
    """All words with their status, and how much of each text the model can see."""
    spans = []
    for text in texts:
        with untouched(classifier.tokenizer):
            spans.append(checked_spans(segment(text), text))
    cuts = visible_lengths(classifier, texts, spans)
    words = []
    for part, (text, own, cut) in enumerate(zip(texts, spans, cuts, strict=True)):
        for number, (start, end) in enumerate(own):
            word = text[start:end]
            # Only a first word can be cut inside; all others fit or do not.
            outside = end > cut and (number > 0 or start >= cut)
            status = "outside" if outside else "ignored" if ignored(word) else "scored"
            words.append(Word(word, start, end, status, part=part))
    n_outside = sum(word.status == "outside" for word in words)
    if n_outside:
        warn(
            f"{n_outside} of {len(words)} words lie outside the {classifier.name} "
            f"model's window; it cannot see them, and they are scored 0",
            WindowWarning,
        )
    return words, cuts


def visible_lengths(
    classifier: Classifier, texts: Sequence[str], spans: Sequence[Sequence[Span]]
) -> list[int]:
    """Characters of each text that fit the model's window, whole words only.

    Of a pair the longer text is cut first, as tokenizers do (``longest_first``). A first
    word that does not fit at all, such as a long paragraph, is cut inside.
    """
    cuts = [len(text) for text in texts]
    room = classifier.window(texts)
    if room is None:
        return cuts
    tokenizer = classifier.tokenizer

    def n_tokens(text: str) -> int:
        with untouched(tokenizer):
            return len(plain_ids(tokenizer, [text])[0])

    sizes = [n_tokens(text) for text in texts]
    if sum(sizes) <= room:
        return cuts
    if tokenizer.truncation_side == "left":
        raise ValueError(
            f"the text has {sum(sizes)} tokens and the model's window {room}; this tokenizer "
            f"cuts texts on the left, which is not supported: cut the text yourself"
        )
    for part, size in enumerate(sizes):
        others = sum(sizes) - size
        left = max(room - others, room // len(texts))
        if size <= left:
            continue
        starts = [start for start, _ in spans[part][1:]]
        cut = _longest_fitting(texts[part], [*starts, len(texts[part])], left, n_tokens)
        if cut == 0:
            cut = _longest_fitting(texts[part], range(1, len(texts[part])), left, n_tokens)
        cuts[part] = cut
    return cuts


def _longest_fitting(
    text: str, places: Sequence[int], room: int, n_tokens: Callable[[str], int]
) -> int:
    """The last of the ascending places up to which the text has no more tokens than fit."""
    low, high = 0, len(places)
    while low < high:
        middle = (low + high + 1) // 2
        fits = n_tokens(text[: places[middle - 1]].rstrip()) <= room
        low, high = (middle, high) if fits else (low, middle - 1)
    return len(text[: places[low - 1]].rstrip()) if low else 0
