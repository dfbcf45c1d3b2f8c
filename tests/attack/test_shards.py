"""Directories of jobs in which something was damaged, added, or left behind."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

from tests.corpus.samples import content, counting, reviews
from textsobol import explain_corpus, read_explanations
from textsobol.cli import app
from textsobol.corpus.directory import JobDirectory
from textsobol.corpus.source import Item, UniqueIds
from textsobol.errors import DamagedFileWarning

TEXTS = reviews(6)


def explain(out: Path, **settings: Any) -> Any:
    data = datasets.Dataset.from_dict({"text": TEXTS})
    return explain_corpus(counting(), data, out=out, shard_size=2, **settings)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("job") / "out"
    explain(out)
    return out


@pytest.fixture
def out(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "out"))


def damage(path: Path, n_bytes: int, seed: int) -> None:
    """Change bytes of the data, before the last part, which says what the data is."""
    rng = np.random.default_rng(seed)
    data = np.frombuffer(path.read_bytes(), dtype=np.uint8).copy()
    footer = int.from_bytes(data[-8:-4].tobytes(), "little") + 8
    data[rng.integers(4, len(data) - footer, size=n_bytes)] ^= 0x5A
    path.write_bytes(data.tobytes())


@pytest.mark.parametrize("n_bytes", [1, 40])
@pytest.mark.parametrize("seed", range(3))
def test_damaged_data_is_noticed_and_made_again(out: Path, n_bytes: int, seed: int) -> None:
    wanted = content(out)
    damage(out / "shard-00001.parquet", n_bytes, seed)
    message = r"shard-00001\.parquet is damaged: its checksum differs; rerun the job"
    with pytest.raises(ValueError, match=message):
        list(read_explanations(out))
    reported = CliRunner().invoke(app, ["report", str(out)])
    assert reported.exit_code == 1
    assert "is damaged" in " ".join(reported.output.split())
    with pytest.warns(DamagedFileWarning, match=r"shard-00001\.parquet in .* is made again"):
        explain(out)
    assert content(out) == wanted


def swap(out: Path) -> None:
    (out / "shard-00000.parquet").rename(out / "x")
    (out / "shard-00001.parquet").rename(out / "shard-00000.parquet")
    (out / "x").rename(out / "shard-00001.parquet")


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "emptied": lambda out: (out / "shard-00001.parquet").write_bytes(b""),
    "replaced by another": lambda out: shutil.copy(
        out / "shard-00000.parquet", out / "shard-00001.parquet"
    ),
    "swapped": swap,
    "written again by another tool": lambda out: parquet.write_table(
        parquet.read_table(out / "shard-00001.parquet"), out / "shard-00001.parquet"
    ),
}


@pytest.mark.parametrize("how", DAMAGES)
def test_files_that_are_not_what_was_written(out: Path, how: str) -> None:
    wanted = content(out)
    DAMAGES[how](out)
    with pytest.raises(ValueError, match=r"shard-0000\d\.parquet is damaged"):
        list(read_explanations(out))
    with pytest.warns(DamagedFileWarning):
        explain(out)
    assert content(out) == wanted


def test_a_missing_file_is_an_error_and_is_made_again(out: Path) -> None:
    wanted = content(out)
    (out / "shard-00002.parquet").unlink()
    with pytest.raises(ValueError, match=r"shard-00002\.parquet is missing; rerun the job"):
        read_explanations(out)
    explain(out)
    assert content(out) == wanted


@pytest.mark.parametrize("number", ["00003", "00099", "99999999"])
def test_shards_that_the_job_does_not_know_are_not_counted(out: Path, number: str) -> None:
    shutil.copy(out / "shard-00000.parquet", out / f"shard-{number}.parquet")
    found = read_explanations(out)
    assert (found.texts, len(found.paths), len(list(found))) == (6, 3, 6)
    assert explain(out).texts == 6


RECORDS: dict[str, Callable[[bytes], bytes]] = {
    "gone": lambda _: b"",
    "a line is cut off": lambda old: old[:-20],
    "a line is no JSON": lambda old: b"{{{\n" + old.split(b"\n", 1)[1],
    "a line is a list": lambda old: b"[]\n" + old.split(b"\n", 1)[1],
    "a line is bytes": lambda old: b"\xff\xfe\n" + old.split(b"\n", 1)[1],
    "a number is a text": lambda old: old.replace(b'"texts": 2', b'"texts": "2"', 1),
    "a number is huge": lambda old: old.replace(b'"texts": 2', b'"texts": 1e999', 1),
    "deep": lambda old: b"[" * 100_000 + b"\n" + old.split(b"\n", 1)[1],
}


@pytest.mark.parametrize("how", RECORDS)
def test_a_damaged_record_loses_only_its_shards(out: Path, how: str) -> None:
    wanted, path = content(out), out / "_shards.record"
    path.write_bytes(RECORDS[how](path.read_bytes()))
    with pytest.raises(
        ValueError, match=r"holds \d of 3 files; .* rerun the textsobol corpus command"
    ):
        read_explanations(out)
    explain(out)
    assert content(out) == wanted


MANIFESTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a list": lambda _: [],
    "null": lambda _: None,
    "a text": lambda _: "manifest",
    "a number": lambda _: 3,
    "nothing in it": lambda _: {},
    "another schema": lambda old: {**old, "schema": 7},
    "no job": lambda old: {k: v for k, v in old.items() if k != "job"},
    "a job of another kind": lambda old: {**old, "job": ["x"]},
    "a wrong result": lambda old: {**old, "result": {"texts": "many"}},
    "a result that is a list": lambda old: {**old, "result": []},
    "settings of another kind": lambda old: {**old, "settings": "none"},
}


@pytest.mark.parametrize("how", [*MANIFESTS, "empty", "cut off", "bytes", "deep"])
def test_a_manifest_of_another_shape_is_told(out: Path, how: str) -> None:
    path = out / "_manifest.json"
    old = path.read_bytes()
    raw = {"empty": b"", "cut off": old[:99], "bytes": b"\xff\x00\xfe", "deep": b"[" * 100_000}
    if how in raw:
        path.write_bytes(raw[how])
    else:
        path.write_text(json.dumps(MANIFESTS[how](json.loads(old))))
    before = content(out)
    for job in (read_explanations, explain):
        with pytest.raises(ValueError, match=r"_manifest\.json is not the manifest of a job"):
            job(out)
    assert content(out) == before
    reported = CliRunner().invoke(app, ["report", str(out)])
    assert reported.exit_code == 1
    assert "is not the manifest" in " ".join(reported.output.split())


def test_a_job_that_is_repaired_is_not_finished_before_its_end(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted once more while a lost shard is made again, it must not count as whole."""
    for number in (0, 2):
        (out / f"shard-0000{number}.parquet").unlink()
    written: list[Any] = []
    write = JobDirectory.write_shard

    def stop(self: JobDirectory, table: Any) -> None:
        if written:
            raise KeyboardInterrupt
        written.append(table)
        write(self, table)

    monkeypatch.setattr(JobDirectory, "write_shard", stop)
    with pytest.raises(KeyboardInterrupt):
        explain(out)
    found = read_explanations(out)
    assert not found.is_finished
    assert found.texts == 4


LOCK = """
import os, signal, sys, time
from pathlib import Path
from textsobol.corpus.directory import JobDirectory

with JobDirectory(Path(sys.argv[1])).lock():
    print("locked", flush=True)
    time.sleep(60)
"""


def test_the_lock_of_a_killed_process_does_not_block(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LOCK, str(tmp_path / "out")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        with pytest.raises(ValueError, match="another job is writing to"):
            explain(tmp_path / "out")
        process.send_signal(signal.SIGKILL)
    assert (tmp_path / "out" / ".lock").exists(), "left behind"
    assert explain(tmp_path / "out").texts == 6


def test_no_module_needs_what_only_some_systems_have() -> None:
    code = "import sys; sys.modules['fcntl'] = None; import textsobol.corpus.directory"
    subprocess.run([sys.executable, "-c", code], check=True)


class Numbered:
    """A source whose ids are given by a function."""

    def __init__(self, name: Callable[[int], str], n_texts: int) -> None:
        self.name, self.n_texts = name, n_texts

    def items(self, start: int = 0, stop: int | None = None) -> Iterator[Item]:
        for row in range(start, self.n_texts if stop is None else stop):
            yield Item(row, self.name(row), "")


def check_in_shards(source: Any, size: int) -> None:
    ids, items = UniqueIds(), list(source.items())
    for start in range(0, len(items), size):
        ids.add(items[start : start + size])
        ids.check(source)


@pytest.mark.parametrize("size", [1, 7, 100, 5000])
@pytest.mark.parametrize(("first", "again"), [(0, 1), (0, 1999), (13, 14), (1000, 1998)])
def test_a_repeated_id_is_found_wherever_it_is(size: int, first: int, again: int) -> None:
    source: Any = Numbered(lambda row: str(first if row == again else row), 2000)
    with pytest.raises(ValueError, match=rf"'{first}' in rows {first} and {again};"):
        check_in_shards(source, size)


def test_ids_of_one_hash_are_not_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textsobol.corpus.source.digest_of", lambda parts: "1f")
    check_in_shards(Numbered(str, 50), 10)


def test_checking_ids_of_a_long_stream_takes_time_in_proportion(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Counted in hashes that are sorted, which does not depend on the machine."""
    moved = [0]

    def count(function: Any) -> Callable[..., Any]:
        def counted(values: Any, **options: Any) -> Any:
            moved[0] += len(values)
            return function(values, **options)

        return counted

    monkeypatch.setattr(np, "sort", count(np.sort))
    monkeypatch.setattr(np, "argsort", count(np.argsort))
    costs = []
    for n_texts in (10_000, 40_000):
        moved[0] = 0
        check_in_shards(Numbered(str, n_texts), 50)
        costs.append(moved[0])
    assert costs[1] < 6 * costs[0], "four times as many texts, and a little more for merging"
    assert costs[1] < 20 * 40_000


def test_ids_take_about_eight_bytes_each() -> None:
    import tracemalloc

    source: Any = Numbered(str, 100_000)
    ids = UniqueIds()
    tracemalloc.start()
    try:
        for start in range(0, 100_000, 1000):
            ids.add(source.items(start, start + 1000))
            ids.check(source)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 12 * 100_000


def test_a_shard_that_holds_something_else_is_told(out: Path) -> None:
    """Written by someone who also knows how to write the record."""
    import hashlib

    import pyarrow as pa

    path, record = out / "shard-00001.parquet", out / "_shards.record"
    table = parquet.read_table(path)
    for wrong in (
        pa.table({"text": ["good"]}),
        table.set_column(2, table.schema.field("text"), pa.nulls(2, pa.string())),
        table.set_column(7, table.schema.field("words"), pa.nulls(2, table.schema.field(7).type)),
    ):
        parquet.write_table(wrong, path)
        digest = hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
        lines = [json.loads(line) for line in record.read_text().splitlines()]
        lines[1]["blake2b"] = digest
        record.write_text("".join(json.dumps(line) + "\n" for line in lines))
        with pytest.raises(
            ValueError, match=r"is not an output file of textsobol corpus|has no (text|words)"
        ):
            list(read_explanations(out))


def test_texts_that_are_not_unicode_do_not_stop_a_job(tmp_path: Path) -> None:
    class Broken(list[dict[str, str]]):
        column_names, features = ("text",), None

        def select_columns(self, names: list[str]) -> Broken:
            return self

        def select(self, rows: Any) -> Broken:
            return Broken(self[row] for row in rows)

    data = Broken([{"text": "good \ud800 film bad\udfff"}, {"text": "good film"}])
    found = explain_corpus(counting(), data, out=tmp_path)
    assert [one.text for one in found] == ["good film"]
    ((name, reason),) = found.failures()
    assert name == "0"
    assert "half of a surrogate pair" in reason
