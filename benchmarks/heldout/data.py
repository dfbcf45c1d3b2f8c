"""Texts of any labelled file, in random order."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.imdb.data import last_of
from benchmarks.provenance import command_of, digest_of, versions_of, weights_of, without_place
from textsobol import TextExplainer
from textsobol.corpus.source import load

_TEXTS, _LABELS = ("text", "review"), ("label", "sentiment")  # columns
_NAMES = ("negative", "positive")  # of labels that are only numbered
_PACKAGES = ("textsobol", "torch", "transformers", "captum", "lime", "lightgbm", "scikit-learn",
             "shap", "shapiq")  # fmt: skip


@dataclass(frozen=True)
class Item:
    """A text to explain.

    Attributes:
        id: tells it from all others.
        text: without ``<br />`` and without quotes around it.
        label: the true one, in small letters.
    """

    id: str
    text: str
    label: str

    @property
    def n_words(self) -> int:
        """About how many words it has."""
        return len(self.text.split())


def read_texts(
    source: str, *, seed: int, min_words: int = 1, max_words: int | None = None, last: int = 0
) -> list[Item]:
    """Texts of a file, shuffled.

    Args:
        source: JSON lines, CSV or Parquet, with a column ``text`` or ``review`` and a column
            ``label`` or ``sentiment``.
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
    texts, labels = (_column(data, names) for names in (_TEXTS, _LABELS))
    ids = data["id"] if "id" in data.column_names else range(len(data))
    every = [
        Item(str(name), clean(text), name_of(label))
        for name, text, label in zip(ids, data[texts], data[labels], strict=True)
    ]
    readable = [one for one in every if any(map(str.isalnum, one.text))]
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
        "texts": digest_of(f"{one.id}\0{one.text}\0{one.label}\0".encode() for one in items),
        "seed": seed,
        **more,
        "versions": versions_of(_PACKAGES),
        "_command": command_of(module),
        "_started": time.strftime("%Y-%m-%d"),
    }
