"""Files that are damaged, hostile, or cannot be written."""

from __future__ import annotations

import copy
import csv
import errno
import io
import json
import os
import pickle
import random
import re
import resource
import stat
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.lib import format as npy
from pyarrow import parquet
from rich.console import Console

from tests.corpus.samples import tiny_model
from tests.prompts import tiny
from textsobol import (
    ImageExplainer,
    ImageExplanation,
    Prompt,
    Sobol,
    TextExplainer,
    TextExplanation,
    save_comparison,
    save_report,
    schemas,
)
from textsobol.corpus.directory import JobDirectory
from textsobol.corpus.view import save_words
from textsobol.corpus.words import CorpusWord, tally_words
from textsobol.image.pictures import as_data_uri
from textsobol.render.page import render_comparison, render_explanation
from textsobol.render.report import render_report
from textsobol.render.terminal import show_picture
from textsobol.text import serialise


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


def pair() -> TextExplanation:
    return tiny_model()(("good bad film", "not bad at all"), method=Sobol(interactions=2))


def three_topics() -> TextExplanation:
    def topics(texts: list[str]) -> list[list[float]]:
        return [[t.count("goal"), 2.0 * t.count("vote"), t.count("star")] for t in texts]

    explainer = TextExplainer(topics, label_names=["sports", "politics", "film"], progress=False)
    return explainer("A star goal, a vote").contrast("sports", "politics")


def segmented() -> ImageExplanation:
    picture = np.random.default_rng(1).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    explainer = ImageExplainer(lambda p: p.mean(axis=(1, 2, 3)), grid=(2, 2), progress=False)
    return explainer(
        picture, segments=np.arange(48).reshape(6, 8) // 10, method=Sobol(base_masks=1)
    )


def answered() -> TextExplanation:
    prompt = Prompt("{hint} Review: {text}", parts={"hint": "Short."}, features="parts")
    explainer = TextExplainer(tiny.model(), tiny.tokenizer(), prompt=prompt)
    return explainer("A film", target=" good film")


TEXTS: dict[str, Callable[[], TextExplanation]] = {
    "sobol": explained,
    "occlusion": lambda: explained("occlusion"),
    "model": lambda: TextExplainer()("A gripping film, ruined by its dull ending.", budget=6),
    "pair": pair,
    "contrast": three_topics,
    "answer": answered,
}
PICTURES: dict[str, Callable[[], ImageExplanation]] = {"grid": pictured, "segments": segmented}


@pytest.mark.parametrize("kind", TEXTS)
def test_good_texts_come_back_as_they_were(tmp_path: Path, kind: str) -> None:
    explanation = TEXTS[kind]()
    explanation.save(tmp_path / "x.json")
    assert TextExplanation.load(tmp_path / "x.json") == explanation


@pytest.mark.parametrize("suffix", ["json", "npz"])
@pytest.mark.parametrize("kind", PICTURES)
def test_good_pictures_come_back_as_they_were(tmp_path: Path, kind: str, suffix: str) -> None:
    explanation = PICTURES[kind]()
    explanation.save(tmp_path / f"x.{suffix}")
    again = ImageExplanation.load(tmp_path / f"x.{suffix}")
    assert again.to_dict() == explanation.to_dict()
    np.testing.assert_array_equal(again.image, explanation.image)
    np.testing.assert_array_equal(again.regions.of_pixel, explanation.regions.of_pixel)
    assert "NaN" not in json.dumps(again.to_dict()), "which is no JSON"


def test_pictures_that_earlier_versions_saved_are_read(tmp_path: Path) -> None:
    """They have NaN where null stands now."""
    segmented().save(tmp_path / "x.json")
    text = (tmp_path / "x.json").read_text()
    assert '"error": [null, ' in text
    older = re.sub(r"\[null, [nul, ]*\]", lambda m: m[0].replace("null", "NaN"), text)
    assert '"error": [NaN, NaN' in older
    (tmp_path / "x.json").write_text(older)
    again = ImageExplanation.load(tmp_path / "x.json")
    assert np.isnan(again.map("error")[0, 0])


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


HOSTILE: list[Any] = [
    None, True, False, 0, 1, -1, 2**31, 10**30, 10**400, 0.5, -1e9, 1e99, 1e308, float("nan"),
    float("inf"), "", "x", "POSITIVE", "\x00", "<script>", [], {}, [[]], [1, 2, 3], {"a": 1},
    {"": None}, nested(50), nested(500), "z" * 10_000,
]  # fmt: skip


def list_places(data: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All places of plain values, an array of numbers counting as a few."""
    found = [at] if at else []
    inside: Any = ()
    if isinstance(data, dict):
        inside = data.items()
    elif isinstance(data, list):
        inside = list(enumerate(data))[:6]
    for key, value in inside:
        found += list_places(value, (*at, key))
    return found


def mutate(data: Any, rng: random.Random) -> tuple[str, Any]:
    """A copy with one thing changed, and what that is."""
    data = copy.deepcopy(data)
    *parents, key = rng.choice(list_places(data))
    holder = data
    for parent in parents:
        holder = holder[parent]
    change = rng.choice(["delete", "replace", "replace", "replace", "add", "repeat", "rename"])
    if change == "delete":
        del holder[key]
    elif change == "replace":
        holder[key] = rng.choice(HOSTILE)
    elif change == "add" and isinstance(holder, dict):
        holder[rng.choice(["more", "constructor", "__class__", ""])] = rng.choice(HOSTILE)
    elif change == "repeat" and isinstance(holder, list):
        holder[:] = rng.choice([holder + holder, holder[::-1], [holder[0]] * 5])
    elif change == "rename" and isinstance(holder, dict):
        holder[rng.choice(["other", "score", "bad", "words"])] = holder.pop(key)
    return f"{change} {[*parents, key]}", data


def draw_text(explanation: TextExplanation) -> None:
    assert str(explanation)
    assert repr(explanation)
    assert "<html" in render_explanation(explanation)
    assert "<html" in render_report([explanation])
    render_comparison({"one": explanation, "two": explanation})
    for label in explanation.targets:
        if label in explanation.probabilities:
            explanation.for_target(label).top(3)
    assert TextExplanation.from_dict(explanation.to_dict()).to_dict() == explanation.to_dict()


def draw_picture(explanation: ImageExplanation) -> None:
    show_picture(explanation, Console(file=io.StringIO()))
    assert repr(explanation)
    for label in explanation.targets:
        own = explanation.for_target(label)
        assert own.map(size="image").shape == own.image.shape[:2]


MUTATIONS = 250


def load_or_refuse(kind: Any, path: Path, what: str = "") -> Any:
    """What the file holds, or ``None``; the refusal must be short and name the file."""
    try:
        return kind.load(path)
    except ValueError as error:
        refusal = str(error)
    assert str(path) in refusal, what
    assert len(refusal) < 1000, what
    return None


def draw(explanation: Any, what: str) -> None:
    try:
        (draw_text if isinstance(explanation, TextExplanation) else draw_picture)(explanation)
    except Exception as error:
        raise AssertionError(f"{what}: {error!r}") from error


@pytest.mark.parametrize("kind", TEXTS)
def test_a_changed_file_of_a_text_is_shown_or_refused(tmp_path: Path, kind: str) -> None:
    good, rng, path = TEXTS[kind]().to_dict(), random.Random(kind), tmp_path / "x.json"
    n_refused = 0
    for _ in range(MUTATIONS):
        what, data = mutate(good, rng)
        path.write_text(json.dumps(data), encoding="utf-8")
        explanation = load_or_refuse(TextExplanation, path, what)
        n_refused += explanation is None
        if explanation is not None:
            draw(explanation, what)
    assert MUTATIONS // 2 < n_refused < MUTATIONS


@pytest.mark.parametrize("kind", PICTURES)
def test_a_changed_file_of_a_picture_is_shown_or_refused(tmp_path: Path, kind: str) -> None:
    PICTURES[kind]().save(tmp_path / "x.json")
    PICTURES[kind]().save(tmp_path / "x.npz")
    good, rng, path = json.loads((tmp_path / "x.json").read_text()), random.Random(kind), None
    with np.load(tmp_path / "x.npz") as file:
        arrays = {name: file[name] for name in ("image", "regions")}
    n_refused = 0
    for number in range(MUTATIONS):
        what, data = mutate(good, rng)
        path = tmp_path / ("y.json" if number % 2 else "y.npz")
        if number % 2:
            path.write_text(json.dumps(data), encoding="utf-8")
        else:
            about = {k: v for k, v in data.items() if k not in ("image", "segments")}
            np.savez_compressed(path, about=np.array(json.dumps(about)), **arrays)
        explanation = load_or_refuse(ImageExplanation, path, what)
        n_refused += explanation is None
        if explanation is not None:
            draw(explanation, what)
    assert MUTATIONS // 3 < n_refused < MUTATIONS


def spoil(content: bytes, rng: random.Random) -> bytes:
    """Cut off, change, add or repeat bytes."""
    place = rng.randrange(len(content))
    match rng.randrange(4):
        case 0:
            return content[:place]
        case 1:
            return content[:place] + rng.randbytes(rng.randrange(1, 9)) + content[place + 3 :]
        case 2:
            return content[:place] + content[place // 2 :]
        case _:
            return (
                content[:place]
                + bytes([content[place] ^ (1 << rng.randrange(8))])
                + content[place + 1 :]
            )


@pytest.mark.parametrize("name", ["text.json", "picture.json", "picture.npz"])
def test_spoiled_bytes_are_shown_or_refused(tmp_path: Path, name: str) -> None:
    path, rng = tmp_path / name, random.Random(name)
    SAVERS[name](path)
    good = path.read_bytes()
    kind: Any = TextExplanation if name == "text.json" else ImageExplanation
    for _ in range(MUTATIONS):
        path.write_bytes(spoil(good, rng))
        explanation = load_or_refuse(kind, path)
        if explanation is not None:
            draw(explanation, name)


ENCODINGS = ["utf-16", "utf-32", "utf-8-sig", "cp037"]


@pytest.mark.parametrize("name", ["text.json", "picture.json"])
def test_other_encodings_and_endless_brackets_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    SAVERS[name](path)
    text = path.read_text(encoding="utf-8")
    kind: Any = TextExplanation if name == "text.json" else ImageExplanation
    bad = [text.encode(encoding) for encoding in ENCODINGS]
    bad += [b"[" * 100_000, b'{"a":' * 100_000, b"", b"\x00" * 100, b"null", b"[]", b'"x"', b"{}"]
    bad += [text.encode() + b"x", b"9" * 100_000, b'{"schema": 2, "schema": 1}']
    for content in bad:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=name):
            kind.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["words"][3]["scores"]["good"].update(low="x"), r"words\[3\].scores.good.low:"),
        (lambda d: d["words"][3].update(start=10**6), r"words\[3\].start: words must be ascend"),
        (lambda d: d["words"][3].update(start=-1), r"words\[3\].start:"),
        (lambda d: d["words"][1].update(text="b"), r"words\[1\].text: is not what the text has"),
        (lambda d: d["words"][1].update(part=1), r"words\[1\].part: there is one text only"),
        (lambda d: d["words"][1].update(status="gone"), r"words\[1\].status:"),
        (lambda d: d["words"][1]["scores"].pop("bad"), r"words\[1\].scores: must be of the same"),
        (lambda d: d["pairs"][0].update(words=[0, 99]), r"pairs\[0\].words: there are \d+ words"),
        (lambda d: d["path"]["steps"][0].update(words=[99]), r"path.steps\[0\].words: there are"),
        (lambda d: d["path"]["steps"][0].update(words=[]), r"path.steps\[0\].words:"),
        (lambda d: d.update(target="ugly"), "target: was not analysed"),
        (lambda d: d["prediction"].update(label="ugly"), "prediction.label: must be the likeliest"),
        (lambda d: d["settings"].update(score="logit"), "a probability is between 0 and 1"),
        (lambda d: d.update(words=[]), "words: no word is scored"),
        (lambda d: d["cost"].pop("forwarded"), "cost.forwarded: Field required"),
        (lambda d: d["cost"].update(seconds=None), "cost.seconds: Input should be a valid number"),
        (lambda d: d["cost"].update(calls=3), "cost.cached: is missing"),
        (lambda d: d.update(more=1), "more: Extra inputs are not permitted"),
        (lambda d: d.pop("words"), "words: Field required"),
        (lambda d: d.update(schema=1), "schema 1 is not known to this version; it reads 2"),
    ],
)
def test_an_error_names_the_place(change: Callable[[Any], Any], message: str) -> None:
    data = copy.deepcopy(explained().to_dict())
    data["prediction"]["probabilities"]["bad"] = 7.0
    data["prediction"]["label"] = "bad"
    TextExplanation.from_dict(data)
    change(data)
    with pytest.raises(ValueError, match=message):
        TextExplanation.from_dict(data)


def write_npz(path: Path, about: Any, **arrays: Any) -> Path:
    np.savez_compressed(path, about=np.array(json.dumps(about)), **arrays)
    return path


def test_a_small_file_cannot_ask_for_much_memory(tmp_path: Path) -> None:
    """1.6 kB once took 59 seconds and 6.2 GB."""
    about = pictured().to_dict()
    image = pictured().image
    arrays = {"image": image, "regions": pictured().regions.of_pixel}
    huge = [[20_000, 20_000], [8000, 8000], [2**40, 2**40], [1, 10**18], [7000, 9]]
    tracemalloc.start()
    try:
        for size in huge:
            path = write_npz(tmp_path / "x.npz", {**about, "size": size}, **arrays)
            with pytest.raises(ValueError, match=r"x\.npz is no explanation of a picture"):
                ImageExplanation.load(path)
            whole = {**about, "size": size, "segments": None, "image": as_data_uri(image)}
            (tmp_path / "x.json").write_text(json.dumps(whole))
            with pytest.raises(ValueError, match=r"x\.json is no explanation of a picture"):
                ImageExplanation.load(tmp_path / "x.json")
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


def header(dtype: str, shape: tuple[int, ...]) -> bytes:
    file = io.BytesIO()
    npy.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    return file.getvalue()


def members() -> dict[str, bytes]:
    file = io.BytesIO()
    about = np.array(json.dumps(pictured().to_dict()))
    np.savez(file, about=about, image=pictured().image, regions=pictured().regions.of_pixel)
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


ARRAYS: dict[str, Callable[[dict[str, bytes]], Any]] = {
    "a pickle": lambda m: m.update({"image.npy": header("|O", (12, 16, 3)) + pickle.dumps([1])}),
    "a pickled text": lambda m: m.update({"about.npy": header("|O", ()) + pickle.dumps("x")}),
    "no array": lambda m: m.update({"image.npy": b"PNG"}),
    "floats": lambda m: m.update({"image.npy": header("<f8", (12, 16, 3)) + bytes(12 * 16 * 24)}),
    "another shape": lambda m: m.update({"image.npy": header("|u1", (12, 16)) + bytes(12 * 16)}),
    "too short": lambda m: m.update({"image.npy": m["image.npy"][:-5]}),
    "too long": lambda m: m.update({"image.npy": m["image.npy"] + bytes(2000)}),
    "a huge shape": lambda m: m.update({"image.npy": header("|u1", (2**31, 2**31, 3))}),
    "a negative shape": lambda m: m.update({"image.npy": header("|u1", (-12, -16, 3))}),
    "a long header": lambda m: m.update({"image.npy": m["image.npy"][:8] + b"\xff" * 70_000}),
    "a missing array": lambda m: m.pop("image.npy"),
    "one more": lambda m: m.update({"../../evil.npy": b"x"}),
    "a huge text": lambda m: m.update({"about.npy": header("<U2000000000", ())}),
    "an empty text": lambda m: m.update({"about.npy": header("<U0", ())}),
    "a text that is no text": lambda m: m.update({"about.npy": header("<U1", ()) + b"\xff" * 4}),
    "half a character": lambda m: m.update({"about.npy": header("<U1", ()) + b"\x00\xd8\x00\x00"}),
}  # fmt: skip


@pytest.mark.parametrize("how", ARRAYS)
def test_arrays_of_another_kind_are_refused(tmp_path: Path, how: str) -> None:
    contents, path = members(), tmp_path / "x.npz"

    def write(packing: int = zipfile.ZIP_DEFLATED) -> None:
        with zipfile.ZipFile(path, "w", packing) as archive:
            for name, content in contents.items():
                archive.writestr(name, content)

    write()
    ImageExplanation.load(path)
    write(zipfile.ZIP_LZMA)
    with pytest.raises(ValueError, match=r"x\.npz .*packed in an unusual way"):
        ImageExplanation.load(path)
    ARRAYS[how](contents)
    write()
    with pytest.raises(ValueError, match=r"x\.npz is no explanation of a picture"):
        ImageExplanation.load(path)


def test_a_bomb_of_zeros_is_not_unpacked(tmp_path: Path) -> None:
    contents = members()
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("about.npy", contents["about.npy"])
        archive.writestr("regions.npy", contents["regions.npy"])
        archive.writestr("image.npy", contents["image.npy"] + bytes(50_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="not as long as its shape says"):
            ImageExplanation.load(tmp_path / "x.npz")
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


def test_the_picture_of_another_size_is_not_unpacked(tmp_path: Path) -> None:
    pictured().save(tmp_path / "x.json")
    data = json.loads((tmp_path / "x.json").read_text())
    data["image"] = as_data_uri(np.zeros((5000, 5000, 3), dtype=np.uint8))
    (tmp_path / "x.json").write_text(json.dumps(data))
    with pytest.raises(ValueError, match="image: has 5000 x 5000 pixels instead of 12 x 16"):
        ImageExplanation.load(tmp_path / "x.json")


def test_the_published_schemas_are_those_of_the_code() -> None:
    place = Path(__file__).parents[2] / "docs" / "schema"
    assert sorted(path.name for path in place.iterdir()) == sorted(schemas.PUBLISHED)
    for name, model in schemas.PUBLISHED.items():
        again = "python -m textsobol.schemas docs/schema"
        assert (place / name).read_text() == schemas.format_schema(model), again


def test_the_code_names_the_versions_of_the_schemas() -> None:
    assert TextExplanation.to_dict(explained())["schema"] == schemas.TEXT_SCHEMA == serialise.SCHEMA
    assert pictured().to_dict()["schema"] == schemas.PICTURE_SCHEMA


def test_pydantic_is_loaded_only_to_read_files() -> None:
    code = (
        "import sys, textsobol, textsobol.cli, textsobol.text.explanation, textsobol.corpus;"
        "print([m for m in ('pydantic', 'filelock.x') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_label_of_a_file_can_control_the_terminal() -> None:
    for change in ({"low": "x"}, {}):
        data = copy.deepcopy(explained().to_dict())
        own = {**data["words"][0]["scores"]["good"], **change}
        data["words"][0]["scores"]["\x1b[31m\u202e"] = own
        with pytest.raises(ValueError, match=r"words\[\d\]\.scores") as refused:
            TextExplanation.from_dict(data)
        assert not {"\x1b", "\u202e"} & set(str(refused.value))
    data = copy.deepcopy(explained().to_dict())
    data["settings"]["score"] = "logit"
    data["prediction"]["probabilities"] = {"\x1b[31m": 9.0}
    with pytest.raises(ValueError, match="between 0 and 1") as refused:
        TextExplanation.from_dict(data)
    assert "\x1b" not in str(refused.value)


@pytest.mark.parametrize("kind", [TextExplanation, ImageExplanation])
def test_no_more_of_a_file_is_read_than_is_wanted(
    tmp_path: Path, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schemas, "MOST_BYTES", 1_000_000)
    (tmp_path / "x.json").symlink_to("/dev/zero")
    with pytest.raises(ValueError, match=r"x\.json is longer than 1,000,000 bytes"):
        kind.load(tmp_path / "x.json")
    with (tmp_path / "y.json").open("wb") as file:
        file.truncate(10**12)
    with pytest.raises(ValueError, match=r"y\.json is longer than"):
        kind.load(tmp_path / "y.json")


def test_a_million_wrong_numbers_are_one_error(tmp_path: Path) -> None:
    data = pictured().to_dict()
    whole = {**data, "segments": None, "image": as_data_uri(pictured().image)}
    whole["scores"]["corner"]["score"] = ["x"] * 1_000_000
    (tmp_path / "x.json").write_text(json.dumps(whole))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"scores\.corner\.score\[0\]: "):
            ImageExplanation.load(tmp_path / "x.json")
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()
