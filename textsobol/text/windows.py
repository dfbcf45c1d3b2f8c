"""Windows that slide over a text which is longer than the model's window."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from textsobol.sobol.arrays import Integers
from textsobol.sobol.checks import check_least, require
from textsobol.text.words import Span

LONG = ("outside", "window")
AGGREGATES = ("mean", "max")

_MOST_PIECES = 4  # letters, words or runs to a token, of those that are tried
_RUN = re.compile(r"\S+")


@dataclass(frozen=True)
class Windows:
    """How texts longer than the model's window are explained, so that every word gets a score.

    Windows are fixed stretches of the original text. Each begins at a word and holds as many words
    as fit the model; it shares about ``stride`` tokens with the one before. A masked text is cut
    at the same places: every window is what is left of its stretch, and is given to the model as a
    text of its own, even if nothing is left of it. So a mask changes only the windows whose words
    it leaves out, and no window is run twice. The logits of a masked text are the mean, or for
    every label the maximum, of the logits of its windows. Of a pair the longer text is cut, and
    every window holds all of the other.

    A forward pass is one masked text, with all its windows; an explanation's ``cost`` also counts
    the ``windows`` that were run.

    Attributes:
        aggregate: ``mean`` or ``max``.
        stride: most tokens that neighbouring windows share, as in the tokenizers of transformers;
            by default a quarter of the window, and at most half of it.

    Example:
        >>> Windows(aggregate="max")
        Windows(aggregate='max', stride=None)
    """

    aggregate: str = "mean"
    stride: int | None = None

    def __post_init__(self) -> None:
        require(self.aggregate, AGGREGATES, "aggregate")
        if self.stride is not None:
            check_least("stride", self.stride, 0)

    @property
    def settings(self) -> dict[str, Any]:
        """For an explanation's settings; those of a text that is too long have its ``stride``."""
        return {"long": "window", "aggregate": self.aggregate, "stride": self.stride, "windows": 1}

    def choose_stride(self, room: int) -> int:
        """The stride of windows with room for so many tokens."""
        if self.stride is None:
            return room // 4
        if self.stride > room // 2:
            raise ValueError(
                f"stride={self.stride}: windows of {room} tokens can share at most {room // 2}"
            )
        return self.stride


def read_long(long: str | Windows) -> Windows | None:
    """The windows that an option asks for; ``None`` if words beyond the window stay outside."""
    if isinstance(long, Windows):
        return long
    if long not in LONG:
        raise ValueError(f"unknown long={long!r}; known: 'outside', 'window', Windows(...)")
    return Windows() if long == "window" else None


def find_windows(
    text: str,
    words: Sequence[Span],
    *,
    room: int,
    stride: int,
    count_tokens: Callable[[str], int],
) -> list[Span]:
    """Where the windows of a text begin and end.

    They are cut at white space; only what has none and fits no window, such as a page of Chinese,
    is cut at its words, or else anywhere.

    Args:
        text: the text.
        words: its words.
        room: tokens that fit a window.
        stride: most tokens that neighbouring windows share.
        count_tokens: tokens of a piece of the text.

    Example:
        >>> text = "one two three four five"
        >>> cut = find_windows(text, [], room=3, stride=1, count_tokens=lambda t: len(t.split()))
        >>> [text[start:end] for start, end in cut]
        ['one two three', 'three four five']
    """
    levels = [
        _integers(match.start() for match in _RUN.finditer(text)),
        _integers(start for start, _ in words),
        _integers(range(len(text))),
    ]
    stop = len(text.rstrip())
    windows: list[Span] = []
    start = reached = _skip_space(text, 0)
    while reached < stop:
        for level in range(len(levels)):
            cuts = levels[level]
            cuts = cuts[(cuts > reached) & (cuts < stop)][: _MOST_PIECES * room]
            end = _find_end(text, start, [*cuts.tolist(), stop], room, count_tokens)
            if end is not None:
                break
        else:
            end = reached + 1  # a letter of more tokens than there is room for
        windows.append((start, end))
        reached = _skip_space(text, end)
        start = _find_next_start(text, (start, end), levels[: level + 1], stride, count_tokens)
    return windows


def _find_end(
    text: str, start: int, places: Sequence[int], room: int, count_tokens: Callable[[str], int]
) -> int | None:
    """The end of a window before the last of the places that fits, if any does."""
    n_fitting = bisect_right(
        places, room, key=lambda place: count_tokens(text[start:place].rstrip())
    )
    return len(text[: places[n_fitting - 1]].rstrip()) if n_fitting else None


def _find_next_start(
    text: str,
    window: Span,
    levels: Sequence[Integers],
    stride: int,
    count_tokens: Callable[[str], int],
) -> int:
    """The first place in a window from which at most ``stride`` tokens are left, else after it."""
    start, end = window
    for cuts in levels:
        places = cuts[(cuts > start) & (cuts < end)][-stride - 1 :].tolist()
        n_before = bisect_left(places, -stride, key=lambda place: -count_tokens(text[place:end]))
        if n_before < len(places):
            return int(places[n_before])
    return _skip_space(text, end)


def _skip_space(text: str, place: int) -> int:
    found = _RUN.search(text, place)
    return len(text) if found is None else int(found.start())


def _integers(values: Iterable[int]) -> Integers:
    return np.fromiter(values, dtype=np.int64)
