"""Many texts, explained once each, whatever happens."""

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("datasets")

import datasets
import pyarrow as pa
from pyarrow import parquet

from tests.corpus.samples import content, count, counting, reviews, tiny_model, write_csv
from tests.text.tiny import counting_bert, tokenizer
from textsobol import Sobol, TextExplainer, explain_corpus, read_explanations
from textsobol.corpus.directory import JobDirectory
from textsobol.corpus.shard import derive_seed
from textsobol.errors import DamagedFileWarning


def rows_of(texts: list[str]) -> list[dict[str, Any]]:
    return [{"id": f"r{k}", "text": text} for k, text in enumerate(texts)]


@pytest.mark.parametrize(
    "form", ["csv", "csv.gz", "jsonl", "parquet", "directory", "dataset", "stream"]
)
def test_texts_come_in_many_forms(tmp_path: Path, form: str) -> None:
    rows = rows_of(reviews(7))
    whole = datasets.Dataset.from_list(rows)
    path = tmp_path / f"texts.{form}"
    source: Any = path
    if form.startswith("csv"):
        write_csv(path, rows)
    elif form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif form == "parquet":
        parquet.write_table(pa.Table.from_pylist(rows), path)
    elif form == "directory":
        path.mkdir()
        write_csv(path / "b.csv", rows[4:])
        write_csv(path / "a.csv", rows[:4])
    else:
        source = whole if form == "dataset" else whole.to_iterable_dataset()
    found = explain_corpus(counting(), source, out=tmp_path / "out", id_column="id", shard_size=3)
    assert [name for name, _ in found.items()] == [row["id"] for row in rows]
    assert [one.text for one in found] == [row["text"] for row in rows]
    assert found.is_finished
    assert [len(parquet.read_table(path)) for path in found.paths] == [3, 3, 1]


def test_a_text_gets_what_it_would_get_alone(tmp_path: Path) -> None:
    explainer, texts = tiny_model(), reviews(20)
    data = datasets.Dataset.from_dict({"text": texts})
    found = explain_corpus(
        explainer, data, out=tmp_path, shard_size=8, seed=5, method=Sobol(interactions=2)
    )
    assert len(found) == 20
    for name, one in found.items():
        alone = explainer(texts[int(name)], seed=derive_seed(5, name), method=Sobol(interactions=2))
        assert one.settings == alone.settings
        assert {**one.cost, "seconds": 0, "padding": 0} == {
            **alone.cost,
            "seconds": 0,
            "padding": 0,
        }
        assert one.path is not None
        assert alone.path is not None
        assert [step.words for step in one.path.steps] == [step.words for step in alone.path.steps]
        assert one.advised == alone.advised
        for label, sums in one.sums.items():
            assert sums.value == pytest.approx(alone.sums[label].value, abs=1e-5)
        assert [pair.words for pair in one.pairs] == [pair.words for pair in alone.pairs]
        assert one.probabilities == pytest.approx(alone.probabilities, abs=1e-6)
        for word, other in zip(one.words, alone.words, strict=True):
            assert (word.text, word.start, word.status) == (other.text, other.start, other.status)
            for label, score in word.scores.items():
                assert score.score == pytest.approx(other.scores[label].score, abs=1e-5)
                assert score.low == pytest.approx(other.scores[label].low, abs=1e-4, nan_ok=True)


def test_exact_scores_come_back_exactly(tmp_path: Path) -> None:
    explainer, texts = counting(), reviews(10)
    data = datasets.Dataset.from_dict({"text": texts})
    found = explain_corpus(explainer, data, out=tmp_path, method="occlusion")
    for name, one in read_explanations(tmp_path).items():
        alone = explainer(texts[int(name)], method="occlusion", seed=derive_seed(0, name))
        assert one.words == alone.words, "also what is not known"
    assert found.manifest["settings"]["method"] == "occlusion"


def test_order_and_neighbours_do_not_matter(tmp_path: Path) -> None:
    rows = rows_of(reviews(12))
    one = explain_corpus(
        counting(), datasets.Dataset.from_list(rows), out=tmp_path / "a", id_column="id"
    )
    data = datasets.Dataset.from_list(rows[::-1][:7])
    two = explain_corpus(counting(), data, out=tmp_path / "b", id_column="id", shard_size=2)
    forwards, backwards = dict(one.items()), dict(two.items())
    assert set(backwards) == {f"r{k}" for k in range(5, 12)}
    for name, explanation in backwards.items():
        assert explanation.words == forwards[name].words


def test_pairs_are_explained_in_both_texts(tmp_path: Path) -> None:
    data = datasets.Dataset.from_dict({"a": ["good film", "bad"], "b": ["not bad", None]})
    found = explain_corpus(tiny_model(), data, out=tmp_path, column="a", pair_column="b")
    (one,) = found
    assert one.text == ("good film", "not bad")
    assert [word.part for word in one.words] == [0, 0, 1, 1]
    assert dict(found.failures()) == {"1": "nothing to explain: there is no text"}


def test_what_fails_is_recorded_and_the_rest_goes_on(tmp_path: Path) -> None:
    texts = ["good", "", "bad film", None, "  ", "poison good", "..."]

    def sometimes(asked: list[str]) -> list[list[float]]:
        if any("poison" in text for text in asked):
            raise RuntimeError("cannot read this")
        return count(asked)

    data = datasets.Dataset.from_dict({"text": texts})
    found = explain_corpus(
        TextExplainer(sometimes, label_names=["bad", "good"]), data, out=tmp_path
    )
    assert (found.texts, found.failed, len(found)) == (7, 5, 2)
    errors = dict(found.failures())
    assert list(errors) == ["1", "3", "4", "5", "6"]
    assert errors["1"] == "nothing to explain: the text is empty or blank"
    assert errors["3"] == "nothing to explain: there is no text"
    assert "cannot read this (text: 'poison good')" in errors["5"]
    assert "the text has no words: unit=" in errors["6"]
    assert found.manifest["result"] == {"texts": 7, "failed": 5, "shards": 1}


def test_failures_can_be_tried_again(tmp_path: Path) -> None:
    is_down = True

    def endpoint(texts: list[str]) -> list[list[float]]:
        if is_down and any("film" in text for text in texts):
            raise TimeoutError("no answer")
        return count(texts)

    explainer = TextExplainer(endpoint, label_names=["bad", "good"], progress=False)
    data = datasets.Dataset.from_dict({"text": ["good", "bad film", "good good", "bad"]})
    job: dict[str, Any] = {"out": tmp_path, "shard_size": 2}
    assert explain_corpus(explainer, data, **job).failed == 1
    kept = (tmp_path / "shard-00001.parquet").stat().st_mtime_ns
    is_down = False
    assert explain_corpus(explainer, data, **job).failed == 1, "what is recorded stays"
    assert explain_corpus(explainer, data, retry_failed=True, **job).failed == 0
    assert (tmp_path / "shard-00001.parquet").stat().st_mtime_ns == kept


def test_a_job_in_which_nothing_works_stops_and_records_nothing(tmp_path: Path) -> None:
    data = datasets.Dataset.from_dict({"text": reviews(20)})
    with pytest.raises(RuntimeError, match=r"all of 16 texts failed.*'great' is not known"):
        explain_corpus(counting(), data, out=tmp_path, target="great")
    assert read_explanations(tmp_path).texts == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 1}, "settings.seed: 0 there, 1 here"),
        ({"budget": 99}, "settings.budget: None there, 99 here"),
        ({"shard_size": 3}, "shard_size: 2 there, 3 here"),
        ({"limit": 3}, "input.limit: None there, 3 here"),
        ({"column": "other"}, "input.column: 'text' there, 'other' here"),
    ],
)
def test_other_settings_are_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    data = datasets.Dataset.from_dict({"text": reviews(4), "other": reviews(4)})
    explain_corpus(counting(), data, out=tmp_path, shard_size=2)
    before = content(tmp_path)
    with pytest.raises(ValueError, match="results of another job") as refused:
        explain_corpus(counting(), data, **{"out": tmp_path, "shard_size": 2, **change})
    assert message in str(refused.value)
    assert content(tmp_path) == before


def test_another_model_is_refused(tmp_path: Path) -> None:
    data = datasets.Dataset.from_dict({"text": reviews(4)})
    explain_corpus(tiny_model(), data, out=tmp_path)
    other = tiny_model()
    other.model.classifier.weight.data[0, 0] += 1
    with pytest.raises(ValueError, match=r"weights: '\w{16}' there, '\w{16}' here"):
        explain_corpus(other, data, out=tmp_path)


def test_another_dtype_is_another_job(tmp_path: Path) -> None:
    data = datasets.Dataset.from_dict({"text": reviews(4)})
    model = counting_bert(tokenizer())

    def explain(dtype: str | None, name: str) -> dict[str, Any]:
        explainer = TextExplainer(model, tokenizer(), dtype=dtype, progress=False)
        explain_corpus(explainer, data, out=tmp_path / name)
        found: dict[str, Any] = json.loads((tmp_path / name / "_manifest.json").read_text())
        return found

    own, wide = explain(None, "own"), explain("float32", "wide")
    assert own["job"] != wide["job"]
    assert "dtype" not in own["explainer"]
    assert wide["explainer"]["dtype"] == "float32"
    with pytest.raises(ValueError, match=r"explainer.dtype: None there, 'float32' here"):
        explain("float32", "own")
    (first, *_) = read_explanations(tmp_path / "wide")
    assert first.settings["precision_difference"] == 0


def test_other_texts_are_refused(tmp_path: Path) -> None:
    texts = reviews(6)
    data = datasets.Dataset.from_dict({"text": texts})
    explain_corpus(counting(), data, out=tmp_path, shard_size=2)
    changed = datasets.Dataset.from_dict({"text": [*texts[:3], "another one", *texts[4:]]})
    with pytest.raises(ValueError, match="rows 2 to 3 are not those that were explained before"):
        explain_corpus(counting(), changed, out=tmp_path, shard_size=2)


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "texts.csv", rows_of(reviews(3)))
    explain_corpus(counting(), path, out=tmp_path / "out")
    write_csv(path, rows_of(reviews(4)))
    with pytest.raises(ValueError, match=r"input.digest: '\w+' there, '\w+' here"):
        explain_corpus(counting(), path, out=tmp_path / "out")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"column": "review"}, "no column 'review'; it has id, text, number"),
        ({"column": "number"}, "holds int64, not texts"),
        ({"id_column": "twice"}, "no column 'twice'"),
        (
            {"id_column": "number"},
            "2 texts have the same id as an earlier one, such as '1' in rows 0 and 2",
        ),
        ({"limit": 0}, "limit=0: must be at least 1"),
        ({"shard_size": 0}, "shard_size=0: must be at least 1"),
        ({"engine": "spark"}, "unknown engine 'spark'; known: local, ray"),
        ({"method": "limes"}, "unknown method 'limes'"),
    ],
)
def test_wrong_input_is_told_before_the_work(
    tmp_path: Path, given: dict[str, Any], message: str
) -> None:
    rows = [{**row, "number": k} for row, k in zip(rows_of(reviews(4)), (1, 2, 1, 1), strict=True)]
    path = write_csv(tmp_path / "texts.csv", rows)
    with pytest.raises(ValueError, match=message):
        explain_corpus(counting(), path, out=tmp_path / "out", **given)
    assert not list(tmp_path.glob("out/*.parquet"))


def test_repeated_ids_of_a_stream_are_told_when_they_come(tmp_path: Path) -> None:
    rows = rows_of(reviews(6))
    rows[4]["id"] = "r1"
    data = datasets.Dataset.from_list(rows).to_iterable_dataset()
    with pytest.raises(ValueError, match="such as 'r1' in rows 1 and 4"):
        explain_corpus(counting(), data, out=tmp_path, id_column="id", shard_size=2)
    assert read_explanations(tmp_path).texts == 4


@pytest.mark.parametrize("name", ["broken.parquet", "broken.csv.gz", "broken.jsonl", "none.csv"])
def test_unreadable_input_is_told(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name != "none.csv":
        path.write_bytes(b'{"text": "cut o')
    with pytest.raises(ValueError, match=r"cannot read|there is no file") as message:
        explain_corpus(counting(), path, out=tmp_path / "out")
    assert name in str(message.value)
    assert not (tmp_path / "out").exists()


def test_a_setting_that_a_call_does_not_know_is_refused(tmp_path: Path) -> None:
    data = datasets.Dataset.from_dict({"text": ["good"]})
    with pytest.raises(TypeError, match="bugdet"):
        explain_corpus(counting(), data, out=tmp_path / "out", bugdet=3)


def test_only_one_job_at_a_time_and_only_into_its_own_directory(tmp_path: Path) -> None:
    data = datasets.Dataset.from_dict({"text": ["good"]})
    with (
        JobDirectory(tmp_path / "out").lock(),
        pytest.raises(ValueError, match="another job is wri"),
    ):
        explain_corpus(counting(), data, out=tmp_path / "out")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    with pytest.raises(ValueError, match=r"holds other files, such as 'thesis.txt'"):
        explain_corpus(counting(), data, out=tmp_path / "mine")
    with pytest.raises(ValueError, match="holds no explained texts"):
        read_explanations(tmp_path / "mine")


def test_a_damaged_shard_is_made_again(tmp_path: Path) -> None:
    data = datasets.Dataset.from_dict({"text": reviews(6)})
    explain_corpus(counting(), data, out=tmp_path, shard_size=2)
    wanted = content(tmp_path)
    (tmp_path / "shard-00001.parquet").write_bytes(wanted["shard-00001.parquet"][:-20])
    (tmp_path / ".shard-00002.parquet.unfinished").write_bytes(b"PAR1")
    with pytest.raises(ValueError, match=r"shard-00001.parquet is damaged.*rerun the job"):
        list(read_explanations(tmp_path))
    with pytest.warns(DamagedFileWarning, match=r"shard-00001.parquet in .* is made again"):
        explain_corpus(counting(), data, out=tmp_path, shard_size=2)
    assert content(tmp_path) == wanted, "and what was unfinished is gone"


def test_a_full_disk_leaves_whole_shards_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = datasets.Dataset.from_dict({"text": reviews(8)})
    explain_corpus(counting(), data, out=tmp_path / "wanted", shard_size=2)
    write, written = parquet.write_table, []

    def full(table: Any, file: Any, **options: Any) -> None:
        written.append(table)
        if len(written) == 3:
            file.write(b"PAR1 and a bit more")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(table, file, **options)

    monkeypatch.setattr(parquet, "write_table", full)
    with pytest.raises(
        OSError, match=r"shard-00002.parquet: No space left.*rerun the same command"
    ):
        explain_corpus(counting(), data, out=tmp_path / "out", shard_size=2)
    assert [path.name for path in sorted((tmp_path / "out").glob("*shard*.parquet*"))] == [
        "shard-00000.parquet",
        "shard-00001.parquet",
    ]
    explain_corpus(counting(), data, out=tmp_path / "out", shard_size=2)
    assert content(tmp_path / "out") == content(tmp_path / "wanted")


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError:
        pytest.skip("no mount")
    if done.returncode:
        pytest.skip("mounting a small disk needs to be allowed")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_is_really_full(tiny_disk: Path, tmp_path: Path) -> None:
    data = datasets.Dataset.from_dict({"text": reviews(60)})
    wanted = explain_corpus(counting(), data, out=tmp_path / "wanted", shard_size=6)
    with pytest.raises(OSError, match=r"cannot write .*: No space left on device"):
        explain_corpus(counting(), data, out=tiny_disk / "out", shard_size=6)
    found = read_explanations(tiny_disk / "out")
    assert 0 < found.texts < 60
    same = zip(found.items(), wanted.items(), strict=False)
    assert all(one[1].words == other[1].words for one, other in same)


JOB = """
import os, signal, sys
import datasets
from pyarrow import parquet
from textsobol import TextExplainer, explain_corpus
from textsobol.corpus import directory

out, when = sys.argv[1:]
calls, write = [], parquet.write_table

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def at_fourth_line(shard):
    if shard.shard == 3 and when in ("renamed", "recording", "recorded"):
        line = format_line(shard)
        with open(out + "/_shards.record", "ab") as record:
            record.write({"renamed": b"", "recording": line[:-9], "recorded": line}[when])
        die()
    return format_line(shard)

format_line, directory._format_line = directory._format_line, at_fourth_line

def count(texts):
    calls.append(texts)
    if when == "asking" and len(calls) == 5:
        die()
    return [[text.count("bad"), text.count("good")] for text in texts]

def write_and_die(table, file, **options):
    if when == "writing" and len(list(os.scandir(out))) == 7:  # three of them are shards
        write(table, out + "/whole", **options)
        file.write(open(out + "/whole", "rb").read()[:-9])
        os.remove(out + "/whole")
        die()
    write(table, file, **options)

parquet.write_table = write_and_die
data = datasets.Dataset.from_dict({"text": [f"good film {k} bad" for k in range(30)]})
explain_corpus(TextExplainer(count, label_names=["bad", "good"]), data, out=out, shard_size=5)
"""


def run_job(out: Path, dies: str = "never") -> int:
    command = [sys.executable, "-c", JOB, str(out), dies]
    return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode


def test_a_killed_job_goes_on_and_loses_nothing(tmp_path: Path) -> None:
    """Killed while the classifier is asked, and in the middle of writing."""
    out = tmp_path / "killed"
    assert run_job(out, dies="asking") == -signal.SIGKILL
    n_first = read_explanations(out).texts
    assert run_job(out, dies="writing") == -signal.SIGKILL
    assert len(list(out.glob(".*.unfinished"))) == 1
    found = read_explanations(out)
    assert (n_first, found.texts) == (10, 15)
    assert not found.is_finished
    assert run_job(out) == run_job(tmp_path / "whole") == 0
    assert content(out) == content(tmp_path / "whole")
    assert [name for name, _ in read_explanations(out).items()] == [str(k) for k in range(30)]


@pytest.mark.parametrize(
    ("dies", "n_texts"), [("renamed", 15), ("recording", 15), ("recorded", 20)]
)
def test_a_kill_around_the_record_loses_one_shard_at_most(
    tmp_path: Path, dies: str, n_texts: int
) -> None:
    """After a shard has its name: before, in the middle of, and after the line of its checksum."""
    out = tmp_path / "killed"
    assert run_job(out, dies=dies) == -signal.SIGKILL
    assert (out / "shard-00003.parquet").exists()
    kept = [(out / f"shard-0000{k}.parquet").stat().st_mtime_ns for k in range(3)]
    assert read_explanations(out).texts == n_texts
    assert len(list(read_explanations(out))) == n_texts
    assert run_job(out) == run_job(tmp_path / "whole") == 0
    assert content(out) == content(tmp_path / "whole")
    assert [(out / f"shard-0000{k}.parquet").stat().st_mtime_ns for k in range(3)] == kept
