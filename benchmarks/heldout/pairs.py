"""Pairs of texts, made of labelled items: do both parts come from the same item?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.heldout.data import Item
from textsobol.files import write_text
from textsobol.text.words import find_sentences

FEWEST_WORDS = 4  # of either part
SAME, OTHER = "same", "other"
Split = Sequence[tuple[Item, str, str]]
Row = dict[str, str]


def write_pairs(items: Sequence[Item], out: Path, *, held_out: int, seed: int) -> int:
    """Write pairs of items with two sentences or more; returns how many there are.

    The last pairs share no item with those before, so that they can be held out; of the others,
    every item begins two: one with its own rest, one with that of another item.

    Args:
        items: in random order.
        out: JSON lines with the columns ``id``, ``first``, ``second`` and ``label``.
        held_out: number of pairs at the end.
        seed: of which items are paired with another one.
    """
    halves = [(item, split_in_two(item.parts[0])) for item in items]
    split = [(item, *found) for item, found in halves if found]
    if len(split) <= held_out:
        raise SystemExit(f"only {len(split)} items can be split: give a smaller --held-out")
    rng = np.random.default_rng(seed)
    end = len(split) - held_out
    train, test = split[:end], split[end:]
    rows = [row for pair in zip(_own(train), _others(train, rng), strict=True) for row in pair]
    is_same = rng.permutation(held_out) % 2 == 0
    tested = zip(is_same, _own(test), _others(test, rng), strict=True)
    rows += [own if is_own else other for is_own, own, other in tested]
    write_text(out, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return len(rows)


def split_in_two(text: str) -> tuple[str, str] | None:
    """The first sentence and the rest; ``None`` where either is too short.

    Example:
        >>> split_in_two("Shares of banks fell sharply. Those of insurers did not fall.")
        ('Shares of banks fell sharply.', 'Those of insurers did not fall.')
        >>> split_in_two("Shares fell sharply.") is None
        True
    """
    end = find_sentences(text)[0][1]
    first, second = text[:end].strip(), text[end:].strip()
    is_long_enough = min(len(first.split()), len(second.split())) >= FEWEST_WORDS
    return (first, second) if is_long_enough else None


def _own(split: Split) -> list[Row]:
    return [_row(item, first, second, SAME) for item, first, second in split]


def _others(split: Split, rng: np.random.Generator) -> list[Row]:
    """The rest is that of another item of the same label: topics alone decide nothing."""
    of_label: dict[str, list[int]] = {}
    for place in rng.permutation(len(split)).tolist():
        of_label.setdefault(split[place][0].label, []).append(place)
    if min(map(len, of_label.values()), default=2) < 2:
        raise SystemExit("too few items of a label: give more, or another --held-out")
    other = {
        p: q
        for places in of_label.values()
        for p, q in zip(places, np.roll(places, 1).tolist(), strict=True)
    }
    return [
        _row(item, first, split[other[place]][2], OTHER)
        for place, (item, first, _) in enumerate(split)
    ]


def _row(item: Item, first: str, second: str, label: str) -> Row:
    return {"id": f"{item.id}-{label}", "first": first, "second": second, "label": label}
