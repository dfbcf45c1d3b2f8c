"""Reviews as a table for jobs, cut to a number of words."""

import re
from pathlib import Path

from textsobol.corpus.source import load


def write_reviews(data: str, path: Path, *, texts: int, most_words: int | None) -> float:
    """The first reviews of a file as Parquet with ids; returns their mean number of words.

    Args:
        data: a file or hub id with a column ``text``.
        path: of the table.
        texts: number of them.
        most_words: where longer ones are cut, if anywhere.
    """
    import pyarrow as pa
    from pyarrow import parquet

    rows = load(data).select(range(texts))
    cut = [
        " ".join(re.sub(r"(<br\s*/?>\s*)+", " ", text).split()[:most_words])
        for text in rows["text"]
    ]
    ids = [f"review-{number:05d}" for number in range(texts)]
    parquet.write_table(pa.table({"id": ids, "text": cut}), path)
    return sum(len(text.split()) for text in cut) / texts
