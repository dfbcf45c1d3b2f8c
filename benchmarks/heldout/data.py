"""Texts of any labelled file, in random order."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.imdb.data import PAIR, last_of
from benchmarks.provenance import command_of, digest_of, versions_of, weights_of, without_place
from textsobol import TextExplainer
from textsobol.corpus.source import load
from textsobol.text.inputs import Text

_TEXTS, _LABELS = ("text", "review"), ("label", "sentiment")  # columns
_NAMES = ("negative", "positive")  # of labels that are only numbered
_PACKAGES = ("textsobol", "torch", "transformers", "captum", "lime", "lightgbm", "scikit-learn",
             "shap", "shapiq")  # fmt: skip


@dataclass(frozen=True)
class Item:
    """A text, or a pair of texts, to explain.

    Attributes:
        id: tells it from all others.
        text: without ``<br />`` and without quotes around it.
        label: the true one, in small letters.
    """

    id: str
    text: Text
    label: str

    @property
    def parts(self) -> tuple[str, ...]:
        """The text alone, or both of a pair."""
        return (self.text,) if isinstance(self.text, str) else self.text

    @property
    def n_words(self) -> int:
        """About how many words it has."""
        return sum(len(part.split()) for part in self.parts)


def read_texts(
    source: str, *, seed: int, min_words: int = 1, max_words: int | None = None, last: int = 0
) -> list[Item]:
    """Texts of a file, shuffled.

    Args:
        source: JSON lines, CSV or Parquet, with a column ``text`` or ``review``, or the columns
            ``first`` and ``second`` of pairs, and a column ``label`` or ``sentiment``.
        seed: of the order.
        min_words: fewest words.
        max_words: most words, or ``None`` for any number.
        last: only so many texts at the end of the file; 0 for all.
    """
    try:
        data = load(source, None)
    except ValueError as error:
        raise SystemExit(str(error)) from None
    data = last_of(data, last) if last else data
    is_pair = set(PAIR) <= set(data.column_names)
    columns = PAIR if is_pair else (_column(data, _TEXTS),)
    texts = zip(*(map(clean, data[name]) for name in columns), strict=True)
    labels = data[_column(data, _LABELS)]
    ids = data["id"] if "id" in data.column_names else range(len(data))
    every = [
        Item(str(name), parts if is_pair else parts[0], name_of(label))
        for name, parts, label in zip(ids, texts, labels, strict=True)
    ]
    readable = [one for one in every if all(any(map(str.isalnum, part)) for part in one.parts)]
    fitting = [one for one in readable if min_words <= one.n_words <= (max_words or one.n_words)]
    order = np.random.default_rng(seed).permutation(len(fitting))
    return [fitting[k] for k in order]


def clean(text: str) -> str:
    """A text without line breaks of HTML and without quotes around all of it.

    Example:
        >>> clean('"Dull.<br /><br />Very dull."')
        'Dull. Very dull.'
    """
    text = re.sub(r"(<br\s*/?>\s*)+", " ", text).strip()
    is_quoted = len(text) > 2 and text[0] == text[-1] == '"'
    return text[1:-1].strip() if is_quoted else text


def name_of(label: Any) -> str:
    """A label in small letters; 0 and 1 are those of sentiment.

    Example:
        >>> name_of(1), name_of("Sci/Tech")
        ('positive', 'sci/tech')
    """
    return (_NAMES[label] if label in (0, 1) else str(label)).lower()


def _column(data: Any, names: Sequence[str]) -> str:
    for name in names:
        if name in data.column_names:
            return name
    raise SystemExit(f"there is no column {' or '.join(names)}, but {', '.join(data.column_names)}")


def settings_of(
    explainer: TextExplainer,
    module: str,
    source: str,
    items: Sequence[Item],
    seed: int,
    **more: Any,
) -> Mapping[str, Any]:
    """What results must have in common to stand in one file.

    Args:
        explainer: of the model.
        module: the benchmark.
        source: of the texts.
        items: all texts that could be chosen, in their order.
        seed: of the order and of all methods.
        more: that results must share.
    """
    return {
        "model": explainer.name,
        "weights": weights_of(explainer.model),
        "precision": str(next(explainer.model.parameters()).dtype).removeprefix("torch."),
        "data": without_place(source),
        "texts": digest_of(_bytes_of(one) for one in items),
        "seed": seed,
        **more,
        "versions": versions_of(_PACKAGES),
        "_command": command_of(module),
        "_started": time.strftime("%Y-%m-%d"),
    }


def _bytes_of(one: Item) -> bytes:
    return "".join(f"{part}\0" for part in (one.id, *one.parts, one.label)).encode()
