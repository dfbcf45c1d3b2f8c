"""The measurement of corpus jobs: what it compares is the same work."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("psutil")
pytest.importorskip("pyarrow")

from pyarrow import parquet

from benchmarks.corpus import killing
from benchmarks.corpus.reviews import write_reviews
from benchmarks.corpus.throughput import throughput
from tests.corpus.samples import reviews, tiny_model, write_csv
from textsobol import explain_corpus


@pytest.fixture
def table(tmp_path: Path) -> Path:
    source = write_csv(tmp_path / "texts.csv", [{"text": text} for text in reviews(6)])
    path = tmp_path / "reviews.parquet"
    assert write_reviews(str(source), path, texts=5, most_words=4) == 4
    return path


def test_reviews_are_cut_and_have_ids(table: Path) -> None:
    rows = parquet.read_table(table).to_pylist()
    assert [row["id"] for row in rows] == [f"review-{k:05d}" for k in range(5)]
    assert rows[0]["text"] == " ".join(reviews(6)[0].split()[:4])


def test_the_big_batch_has_all_rows_of_the_job(table: Path) -> None:
    explainer = tiny_model()
    found = throughput(explainer, table, 1, method="occlusion")
    texts = [row["text"] for row in parquet.read_table(table).to_pylist()]
    alone = [explainer(text, method="occlusion") for text in texts]
    assert found.rows == sum(one.cost["forwarded"] for one in alone)
    assert found.tokens >= found.rows
    assert found.forward > 0
    assert found.job > 0


def test_other_bytes_are_told(tmp_path: Path, table: Path) -> None:
    for name, size in (("one", 2), ("two", 2), ("three", 3)):
        explain_corpus(tiny_model(), table, out=tmp_path / name, id_column="id", shard_size=size)
    assert killing.texts_done(tmp_path / "one") == 5
    assert killing.same_files(tmp_path / "one", tmp_path / "two")
    assert not killing.same_files(tmp_path / "one", tmp_path / "three")


def test_a_job_that_fails_is_no_measurement() -> None:
    with pytest.raises(RuntimeError, match="the job ended with 5"):
        killing.run([sys.executable, "-c", "raise SystemExit(5)"])
    used = killing.run([sys.executable, "-c", "x = bytearray(200_000_000)"])
    assert used.megabytes > 190
    assert used.seconds > 0
