"""A text without some of its words, as strings.

The text is cut at white space outside of words. A piece between two cuts, with the white space
before it, is a *stretch*: " gripping," holds one word and a comma. If a word is absent, the rest of
its stretch stays; if nothing is left, its white space is removed too. A stretch depends only on its
own words, so that not every masked text has to be tokenized.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import regex

from textsobol.sobol.arrays import Array, Integers
from textsobol.text.words import Span

_SPACE = regex.compile(r"\s+")


@dataclass(frozen=True)
class Stretch:
    """A piece of text without white space outside of words.

    Attributes:
        lead: the white space before it.
        parts: its text in pieces, each with the number of its word, or -1 for what stays.
    """

    lead: str
    parts: tuple[tuple[str, int], ...]

    @cached_property
    def words(self) -> Integers:
        """Numbers of its words."""
        return np.array([word for _, word in self.parts if word >= 0], dtype=np.int64)


class MaskedText:
    """A text whose words can be left out or replaced.

    Args:
        text: the text.
        spans: the words that can be left out, ascending and without overlap.
        replacement: what replaces a word that is left out; nothing by default.

    Example:
        >>> masked = MaskedText("A gripping, fine film.", [(2, 10), (12, 16)])
        >>> masked.render(np.array([[True, True], [False, True], [False, False]]))
        ['A gripping, fine film.', 'A , fine film.', 'A , film.']
    """

    def __init__(self, text: str, spans: Sequence[Span], replacement: str = "") -> None:
        self.text = text
        self.n_words = len(spans)
        self._replacement = replacement
        self.stretches = _cut(text, spans)
        self._rendered: dict[tuple[int, int], str] = {}

    def render(self, masks: Array) -> list[str]:
        """The text for each mask of ``masks (masks, words)``."""
        texts = []
        for codes in self.variants(masks).tolist():
            pieces = [self.variant_text(k, code) for k, code in enumerate(codes)]
            first = next((k for k, piece in enumerate(pieces) if piece), 0)
            if first > 0:
                pieces[first] = self.variant_text(first, codes[first], leads=True)
            texts.append("".join(pieces))
        return texts

    def variants(self, masks: Array) -> Integers:
        """A number for what is left of each stretch: ``(masks, stretches)``.

        Bit b says whether the stretch's b-th word is present. The numbers are Python integers if a
        stretch, such as a text without spaces, has too many words for 64 bits.
        """
        number = np.int64 if self.most_words_in_a_stretch < 63 else object
        codes = np.zeros((len(masks), len(self.stretches)), dtype=number)
        sizes = np.array([len(stretch.words) for stretch in self.stretches])
        bits = [1 << b for size in sizes.tolist() for b in range(size)]
        if bits:
            present = masks * np.array(bits, dtype=number)
            # Words are in the order of the stretches that hold them; some hold none.
            first = np.cumsum(sizes) - sizes
            codes[:, sizes > 0] = np.add.reduceat(present, first[sizes > 0], axis=1)
        return codes

    @cached_property
    def most_words_in_a_stretch(self) -> int:
        """Words of the longest stretch."""
        return max((len(stretch.words) for stretch in self.stretches), default=0)

    def variant_text(self, stretch: int, code: int, *, leads: bool = False) -> str:
        """What is left of a stretch; without its white space if it starts the text."""
        key = (stretch, code)
        if key not in self._rendered:
            self._rendered[key] = self._render_variant(self.stretches[stretch], code)
        text = self._rendered[key]
        return text.removeprefix(self.stretches[stretch].lead) if leads else text

    def _render_variant(self, stretch: Stretch, code: int) -> str:
        bits = iter(range(len(stretch.words)))
        left = "".join(
            text if word < 0 or code >> next(bits) & 1 else self._replacement
            for text, word in stretch.parts
        )
        return stretch.lead + left if left else ""


def _cut(text: str, spans: Sequence[Span]) -> list[Stretch]:
    """Cut the text at white space outside of words."""
    ends = np.array([end for _, end in spans])
    cuts = []
    for match in _SPACE.finditer(text):
        next_word = int(np.searchsorted(ends, match.start(), side="right"))
        if next_word == len(spans) or spans[next_word][0] >= match.end():
            cuts.append(match.span())
    starts = [(0, 0), *(cut for cut in cuts if cut[0] > 0)]
    if cuts and cuts[0][0] == 0:
        starts[0] = cuts[0]
    if len(starts) > 1 and starts[-1][1] == len(text):
        starts.pop()  # white space at the end stays with the last stretch
    stretches, word = [], 0
    for (lead_start, start), (end, _) in zip(starts, [*starts[1:], (len(text), 0)], strict=True):
        parts, position = [], start
        while word < len(spans) and spans[word][1] <= end:
            word_start, word_end = spans[word]
            parts += [(text[position:word_start], -1), (text[word_start:word_end], word)]
            position = word_end
            word += 1
        parts.append((text[position:end], -1))
        stretches.append(Stretch(text[lead_start:start], tuple(part for part in parts if part[0])))
    return stretches
