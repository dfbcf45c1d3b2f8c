"""The words of all texts of a job, read shard by shard."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from textsobol.corpus.results import ExplainedTexts
from textsobol.corpus.schema import read_row
from textsobol.corpus.words import CorpusWord, Occurrences, WordTally, find_neighbours
from textsobol.files import write_csv, write_file
from textsobol.provenance import digest_of
from textsobol.sobol.arrays import Floats
from textsobol.text.explanation import TextExplanation

_SCORES = "words.list.element.scores.list.element"
_COLUMNS = [
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
    tally, predicted = WordTally(least_texts), Counter[str]()
    hashes: list[tuple[str, int, int]] = []
    for shard, (table, occurrences) in enumerate(_read_shards(found)):
        ids, labels = (table.column(name).to_pylist() for name in ("id", "prediction"))
        explained = [row for row, label in enumerate(labels) if label is not None]
        tally.add(occurrences, len(explained))
        predicted.update(labels[row] for row in explained)
        # The smallest hashes: as good as random, and always the same.
        hashed = ((digest_of([ids[row].encode()]), shard, row) for row in explained if sample)
        hashes = heapq.nsmallest(sample, [*hashes, *hashed])
    for _, occurrences in _read_shards(found):
        tally.add_phrases(occurrences)
    return CorpusView(
        words=tally.words(),
        phrases=tally.phrases(),
        least_texts=tally.least_texts,
        predicted=predicted,
        texts=tally.n_texts,
        failed=found.failed,
        sample=sorted((shard, row) for _, shard, row in hashes),
    )


def read_sample(found: ExplainedTexts, view: CorpusView) -> Iterator[TextExplanation]:
    """The explanations of a view's sample, in the order of the input."""
    rows: dict[int, list[int]] = {}
    for shard, row in view.sample:
        rows.setdefault(shard, []).append(row)
    for shard, own in rows.items():
        with found.open_shard(shard) as file:
            table = file.read().take(own)
        yield from map(read_row, table.to_pylist())


def save_words(words: Iterable[CorpusWord], path: str | Path) -> None:
    """Write words and phrases to a table, ``.csv`` or ``.parquet``, a row for every label.

    In a ``.csv``, texts that a spreadsheet would take for formulas begin with a single quote.

    Args:
        words: what to write.
        path: the file.
    """
    path = Path(path)
    rows = [
        {name: None if value != value else value for name, value in row.items()}  # NaN
        for row in ({**asdict(word), "weight": word.weight} for word in words)
    ]
    types = {field.name: str(field.type) for field in fields(CorpusWord)} | {"weight": "float"}
    if path.suffix.lower() == ".csv":
        write_csv(path, list(types), rows)
    elif path.suffix.lower() == ".parquet":
        import pyarrow as pa
        from pyarrow import parquet

        kinds = {"str": pa.string(), "int": pa.int64(), "float": pa.float64()}
        schema = pa.schema({name: kinds[kind] for name, kind in types.items()})
        table = pa.Table.from_pylist(rows, schema=schema)
        write_file(path, lambda file: parquet.write_table(table, file))
    else:
        raise ValueError(f"cannot save words as {path.suffix or path}; known: .csv, .parquet")


def _read_shards(found: ExplainedTexts) -> Iterator[tuple[Any, Occurrences]]:
    for place in range(len(found.paths)):
        with found.open_shard(place) as file:
            table = file.read(columns=_COLUMNS)
        yield table, _find_words(table)


def _find_words(table: Any) -> Occurrences:
    """The words of a shard that were masked by themselves, not as part of a group."""
    import pyarrow.compute as pc

    words = table.column("words").combine_chunks()
    documents = pc.list_parent_indices(words).to_numpy()
    words = pc.list_flatten(words)
    word = pc.list_parent_indices(words.field("scores")).to_numpy()  # of each score
    is_alone = (words.field("shared_by").to_numpy() == 1)[word]
    scores = pc.list_flatten(words.field("scores")).filter(is_alone)
    labels = scores.field("label").dictionary_encode()
    scored, place = np.unique(word[is_alone], return_inverse=True)

    def by_label(name: str) -> dict[str, Floats]:
        numbers = scores.field(name).to_numpy(zero_copy_only=False)
        values = np.full((len(labels.dictionary), len(scored)), np.nan)
        values[labels.indices.to_numpy(), place] = numbers
        return dict(zip(labels.dictionary.to_pylist(), values, strict=True))

    texts = [table.column(name).to_pylist() for name in ("text", "text_pair")]
    spans = np.stack([words.field(name).to_numpy() for name in ("part", "start", "end")], axis=1)
    return Occurrences(
        documents[scored].astype(np.int64),
        [text.lower() for text in words.field("text").take(scored).to_pylist()],
        find_neighbours(texts, documents[scored], scored, spans[scored]),
        by_label("score"),
        by_label("effect"),
    )
