"""The words of all texts of a job, read shard by shard."""

from __future__ import annotations

import csv
import hashlib
import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from textsobol.corpus.results import ExplainedTexts
from textsobol.corpus.schema import explanation_of
from textsobol.corpus.words import CorpusWord, Occurrences, WordTally, find_neighbours
from textsobol.sobol.arrays import Floats
from textsobol.text.explanation import TextExplanation

_SCORES = "words.list.element.scores.list.element"
_READ = [
    "id", "text", "text_pair", "prediction", "error",
    *(f"words.list.element.{name}" for name in ("text", "start", "end", "part", "shared_by")),
    *(f"{_SCORES}.{name}" for name in ("label", "score", "effect")),
]  # fmt: skip


@dataclass(frozen=True)
class CorpusView:
    """Which words and phrases push to which label, over all texts.

    Attributes:
        words: all words for every label, those with the highest weight first.
        phrases: neighbouring words that enough texts contain.
        least_texts: how many texts are enough.
        predicted: number of texts by predicted label.
        texts: number of texts that were explained.
        failed: number of texts that could not be explained.
        sample: shard and row of the texts for a page, chosen by hashes of their ids.
    """

    words: Sequence[CorpusWord]
    phrases: Sequence[CorpusWord]
    least_texts: int
    predicted: Mapping[str, int]
    texts: int
    failed: int
    sample: Sequence[tuple[int, int]]


def corpus_view(
    found: ExplainedTexts, *, sample: int = 0, least_texts: int | None = None
) -> CorpusView:
    """Read a job's texts twice, a shard at a time, keeping sums only.

    Args:
        found: the explained texts.
        sample: number of texts to choose for a page.
        least_texts: texts that must contain a phrase; by default 2, or one of a thousand.

    Example:
        >>> from textsobol import read_explanations
        >>> view = corpus_view(read_explanations("explained/"))  # doctest: +SKIP
        >>> view.words[0].word, view.words[0].label  # doctest: +SKIP
        ('worst', 'NEGATIVE')
    """
    tally, predicted = WordTally(), Counter[str]()
    drawn: list[tuple[int, int, int]] = []
    for number, (table, occurrences) in enumerate(_shards(found)):
        ids, labels = (table.column(name).to_pylist() for name in ("id", "prediction"))
        explained = [k for k, label in enumerate(labels) if label is not None]
        tally.add(occurrences, len(explained))
        predicted.update(labels[k] for k in explained)
        for k in explained if sample else ():
            # The smallest hashes: as good as random, and always the same.
            entry = (-_hash(ids[k]), number, k)
            (heapq.heappushpop if len(drawn) >= sample else heapq.heappush)(drawn, entry)
    least = tally.least_texts if least_texts is None else least_texts
    for _, occurrences in _shards(found):
        tally.add_phrases(occurrences, least)
    return CorpusView(
        words=tally.words(),
        phrases=tally.phrases(least),
        least_texts=least,
        predicted=predicted,
        texts=tally.n_texts,
        failed=found.failed,
        sample=sorted((shard, row) for _, shard, row in drawn),
    )


def drawn_texts(found: ExplainedTexts, view: CorpusView) -> Iterator[TextExplanation]:
    """The explanations of a view's sample, in the order of the input."""
    from pyarrow import parquet

    rows: dict[int, list[int]] = {}
    for shard, row in view.sample:
        rows.setdefault(shard, []).append(row)
    paths = found.paths
    for shard, own in rows.items():
        for row in parquet.read_table(paths[shard]).take(own).to_pylist():
            yield explanation_of(row)


def save_words(words: Iterable[CorpusWord], path: str | Path) -> None:
    """Write words and phrases to a table, ``.csv`` or ``.parquet``, a row for every label.

    Args:
        words: what to write.
        path: the file.
    """
    path = Path(path)
    names = [*(field.name for field in fields(CorpusWord)), "weight"]
    rows = ({**asdict(word), "weight": word.weight} for word in words)
    if path.suffix.lower() == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            writer.writerows({k: "" if v != v else v for k, v in row.items()} for row in rows)
    elif path.suffix.lower() == ".parquet":
        import pyarrow as pa
        from pyarrow import parquet

        plain = [{k: None if v != v else v for k, v in row.items()} for row in rows]
        kinds = {"str": pa.string(), "int": pa.int64(), "float": pa.float64()}
        schema = {field.name: kinds[str(field.type)] for field in fields(CorpusWord)}
        schema["weight"] = pa.float64()
        parquet.write_table(pa.Table.from_pylist(plain, schema=pa.schema(schema)), path)
    else:
        raise ValueError(f"cannot save words as {path.suffix or path}; known: .csv, .parquet")


def _shards(found: ExplainedTexts) -> Iterator[tuple[Any, Occurrences]]:
    from pyarrow import parquet

    for path in found.paths:
        with parquet.ParquetFile(path) as file:
            table = file.read(columns=_READ)
        yield table, _occurrences(table)


def _occurrences(table: Any) -> Occurrences:
    """The words of a shard that were masked by themselves, not as part of a group."""
    import pyarrow.compute as pc

    words = table.column("words").combine_chunks()
    documents = pc.list_parent_indices(words).to_numpy()
    flat = pc.list_flatten(words)
    scores = flat.field("scores")
    owner = pc.list_parent_indices(scores).to_numpy()
    is_alone = (flat.field("shared_by").to_numpy() == 1)[owner]
    owner = owner[is_alone]
    each = pc.list_flatten(scores).filter(is_alone)
    labels = each.field("label").dictionary_encode()
    numbers = labels.indices.to_numpy()
    scored = np.unique(owner)
    place = np.searchsorted(scored, owner)

    def of_label(number: int, name: str) -> Floats:
        own = numbers == number
        values = np.full(len(scored), np.nan)
        values[place[own]] = each.field(name).to_numpy(zero_copy_only=False)[own]
        return values

    names = dict(enumerate(labels.dictionary.to_pylist()))
    texts = [table.column(name).to_pylist() for name in ("text", "text_pair")]
    spans = np.stack([flat.field(name).to_numpy() for name in ("part", "start", "end")], axis=1)
    return Occurrences(
        documents[scored].astype(np.int64),
        flat.field("text").take(scored).to_pylist(),
        find_neighbours(texts, documents[scored], scored, spans[scored]),
        {name: of_label(number, "score") for number, name in names.items()},
        {name: of_label(number, "effect") for number, name in names.items()},
    )


def _hash(name: str) -> int:
    digest = hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big")
