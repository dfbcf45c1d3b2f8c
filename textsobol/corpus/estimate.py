"""What a job of many texts will cost, before it is started."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from textsobol.corpus.shard import derive_seed
from textsobol.corpus.source import Item, Source
from textsobol.errors import TextsobolWarning
from textsobol.estimate import Estimate

if TYPE_CHECKING:
    from textsobol.text.explainer import TextExplainer

_SAMPLE = 32  # texts


def estimate_corpus(
    explainer: TextExplainer,
    data: Any,
    *,
    column: str = "text",
    pair_column: str | None = None,
    id_column: str | None = None,
    split: str | None = None,
    limit: int | None = None,
    sample: int = _SAMPLE,
    seed: int = 0,
    **settings: Any,
) -> Estimate:
    """What `explain_corpus` would cost with the same arguments; nothing is written.

    If there are more than ``sample`` texts, so many of them, evenly spread, stand for all. Texts
    that cannot be explained cost nothing. Rows of different texts fill batches together, so that
    short texts take less time than this says.

    Example:
        >>> from datasets import Dataset  # doctest: +SKIP
        >>> print(estimate_corpus(explainer, "reviews.parquet"))  # doctest: +SKIP
        2,000 texts: about 2,610,000 forward passes (...), about 26 min; estimated from 32 of them
    """
    source = Source(
        data, column=column, pair_column=pair_column, id_column=id_column, split=split, limit=limit
    )
    if source.n_texts is None:
        if limit is None:
            raise ValueError(
                "the number of texts of a stream is not known: give a limit (--limit), or save it "
                "as Parquet first"
            )
        items = list(islice(source.items(), min(sample, limit)))
        n_texts = limit if len(items) == min(sample, limit) else len(items)
    else:
        n_texts = source.n_texts
        rows = np.unique(np.linspace(0, n_texts - 1, min(sample, n_texts)).astype(int)).tolist()
        items = [next(source.items(row, row + 1)) for row in rows]
    found, errors = [], []
    for item in items:
        try:
            found.append(_estimate(explainer, item, seed, settings))
        except ValueError as error:
            errors.append(error)
    if not found:
        raise ValueError(f"none of {len(items)} texts can be explained; {errors[0]}")
    return _add_up(found, len(items), n_texts)


def _estimate(
    explainer: TextExplainer, item: Item, seed: int, settings: dict[str, Any]
) -> Estimate:
    if item.text is None:
        raise ValueError("nothing to explain: there is no text")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TextsobolWarning)
        return explainer.estimate(item.text, seed=derive_seed(seed, item.id), **settings)


def _add_up(found: Sequence[Estimate], n_items: int, n_texts: int) -> Estimate:
    times = n_texts / n_items

    def add(name: str) -> float | None:
        values = [getattr(each, name) for each in found]
        known = [value for value in values if value is not None]
        return times * sum(known) if known else None

    def count(name: str) -> int | None:
        total = add(name)
        return None if total is None else round(total)

    return Estimate(
        count("passes") or 0,
        is_most=any(each.is_most for each in found),
        windows=count("windows"),
        tokens=count("tokens"),
        seconds=add("seconds"),
        texts=n_texts,
        sampled=n_items if n_items < n_texts else None,
    )
