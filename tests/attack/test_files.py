"""Files that are damaged, hostile, or cannot be written."""

from __future__ import annotations

import csv
import errno
import os
import resource
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from textsobol import (
    ImageExplainer,
    ImageExplanation,
    Sobol,
    TextExplainer,
    TextExplanation,
    save_comparison,
    save_report,
)
from textsobol.corpus.directory import JobDirectory
from textsobol.corpus.view import save_words
from textsobol.corpus.words import CorpusWord, tally_words


def moods(texts: list[str]) -> list[list[float]]:
    return [[0.1 * text.count("dull"), text.count("fine") - 0.5] for text in texts]


@cache
def explained(method: Any = None) -> TextExplanation:
    explainer = TextExplainer(moods, label_names=["bad", "good"], progress=False)
    chosen = method or Sobol(interactions=2, base_masks=8, estimator="flip")
    return explainer("a dull, dull film, but for some fine music and a fine end", method=chosen)


@cache
def pictured() -> ImageExplanation:
    picture = np.random.default_rng(0).integers(0, 256, (12, 16, 3), dtype=np.uint8)
    explainer = ImageExplainer(
        lambda p: np.stack([p[:, :3, :3].mean(axis=(1, 2, 3)), p.mean(axis=(1, 2, 3))], 1),
        grid=(3, 4), label_names=["corner", "all"], progress=False,
    )  # fmt: skip
    return explainer(picture, method=Sobol(base_masks=8))


def words() -> list[CorpusWord]:
    return tally_words([explained()]).words()


SAVERS: dict[str, Callable[[Path], None]] = {
    "text.json": lambda path: explained().save(path),
    "text.html": lambda path: explained().save(path),
    "text.png": lambda path: explained().save(path),
    "text.svg": lambda path: explained().save(path),
    "picture.json": lambda path: pictured().save(path),
    "picture.npz": lambda path: pictured().save(path),
    "picture.png": lambda path: pictured().save(path),
    "picture.svg": lambda path: pictured().save(path),
    "picture.pdf": lambda path: pictured().save(path),
    "report.html": lambda path: save_report([explained()], path),
    "comparison.html": lambda path: save_comparison([explained(), explained("occlusion")], path),
    "words.csv": lambda path: save_words(words(), path),
    "words.parquet": lambda path: save_words(words(), path),
    "_manifest.json": lambda path: JobDirectory(path.parent).write_manifest({"a": "b" * 600}),
}
each_saver = pytest.mark.parametrize("name", SAVERS)
OLD = b"the earlier file"


@contextmanager
def full_disk(n_bytes: int) -> Iterator[None]:
    """No file can grow beyond so many bytes; the system itself refuses to write more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@each_saver
def test_a_disk_that_is_full_half_way_leaves_the_earlier_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    SAVERS[name](tmp_path / f"{name}.warm{path.suffix}" if name[0] != "_" else path)
    for other in tmp_path.iterdir():
        other.unlink()
    path.write_bytes(OLD)
    with full_disk(300), pytest.raises(OSError, match=name) as failed:
        SAVERS[name](path)
    assert failed.value.errno == errno.EFBIG or "File too large" in str(failed.value)
    assert path.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [path]


@each_saver
def test_a_disk_that_is_full_at_the_end_leaves_the_earlier_file(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system may accept what is written, and find that there is no space when it is flushed."""

    def refuse(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / name
    path.write_bytes(OLD)
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match=rf"{name}|No space left"):
        SAVERS[name](path)
    assert path.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError, UnicodeEncodeError])
def test_whatever_stops_the_writing_leaves_the_earlier_file(
    tmp_path: Path, kind: type[BaseException]
) -> None:
    from textsobol.files import write_file

    is_encoding = issubclass(kind, UnicodeEncodeError)
    error = kind(*(("utf-8", "\ud800", 0, 1, "no") if is_encoding else ()))

    def write(file: Any) -> None:
        file.write(b"half")
        raise error

    (tmp_path / "x").write_bytes(OLD)
    with pytest.raises(kind):
        write_file(tmp_path / "x", write)
    assert (tmp_path / "x").read_bytes() == OLD
    assert len(list(tmp_path.iterdir())) == 1


def test_a_text_that_is_not_unicode_leaves_the_earlier_file(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(OLD)
    with pytest.raises(ValueError, match="surrogates"):
        replace(explained(), text="\ud800" + str(explained().text)).save(path)
    assert path.read_bytes() == OLD


@each_saver
def test_links_and_permissions_are_kept(tmp_path: Path, name: str) -> None:
    place = tmp_path / "elsewhere" / name
    place.parent.mkdir()
    place.write_bytes(OLD)
    place.chmod(0o640)
    path = tmp_path / name
    path.symlink_to(Path("elsewhere") / name)
    SAVERS[name](path)
    assert path.is_symlink()
    assert place.read_bytes() != OLD
    assert stat.S_IMODE(place.stat().st_mode) == 0o640
    assert sorted(tmp_path.rglob("*")) == sorted([path, place.parent, place])


@each_saver
def test_a_new_file_has_the_usual_permissions(tmp_path: Path, name: str) -> None:
    before = os.umask(0o027)
    try:
        SAVERS[name](tmp_path / name)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o640
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_link_to_nothing_makes_the_file(tmp_path: Path) -> None:
    (tmp_path / "x.json").symlink_to("y.json")
    explained().save(tmp_path / "x.json")
    assert TextExplanation.load(tmp_path / "y.json") == explained()


def test_the_longest_name_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / f"{'n' * 250}.json"
    explained().save(path)
    assert TextExplanation.load(path) == explained()


def test_what_is_no_regular_file_is_written_directly(tmp_path: Path) -> None:
    (tmp_path / "x.json").symlink_to(os.devnull)
    explained().save(tmp_path / "x.json")
    assert (tmp_path / "x.json").is_symlink()
    assert not Path(os.devnull).is_file()
    os.mkfifo(tmp_path / "pipe.json")
    reader = os.open(tmp_path / "pipe.json", os.O_RDONLY | os.O_NONBLOCK)
    explained().save(tmp_path / "pipe.json")
    assert os.read(reader, 10) == b'{"schema":'
    os.close(reader)


@pytest.mark.parametrize("name", ["missing/x.json", "x.json"])
def test_places_that_cannot_be_written_are_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "x.json").mkdir()
    with pytest.raises(OSError, match=name):
        explained().save(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


FORMULAS = [
    '=HYPERLINK("http://x")', "+1", "-1", "@sum", "\tx", "\rx", "\nx",
    "\uff1d1", "\uff0b1", "\uff0d1", "\uff201", '=1,"2',
]  # fmt: skip


@pytest.mark.parametrize("hostile", FORMULAS)
def test_no_cell_of_a_table_is_a_formula(tmp_path: Path, hostile: str) -> None:
    rows = [
        CorpusWord(hostile, "good", 2, 3, -0.5, -0.75, float("nan"), -1.0),
        CorpusWord("fine", hostile, 2, 3, 0.5, 0.25, 0.75, 1.0),
    ]
    save_words(rows, tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(newline="", encoding="utf-8") as file:
        first, second = csv.DictReader(file)
    assert first["word"] == second["label"] == f"'{hostile}"
    assert (first["label"], second["word"]) == ("good", "fine"), "nothing else is changed"
    assert (first["score"], first["low"], first["high"]) == ("-0.5", "-0.75", "")
    save_words(rows, tmp_path / "x.parquet")
    table = parquet.read_table(tmp_path / "x.parquet")
    assert table.column("word").to_pylist() == [hostile, "fine"]
    assert table.schema.field("score").type == pa.float64()
