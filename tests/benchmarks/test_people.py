"""The benchmark of agreement with people: what is marked, the measures, a small run."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

pytest.importorskip("pandas")

import numpy as np
from typer.testing import CliRunner

from benchmarks.people.__main__ import app
from benchmarks.people.agreement import average_precision, choose_top
from benchmarks.people.texts import read_marked, write_sentences
from benchmarks.reporting import read_results
from tests.benchmarks.killing import cut_last_line

POST = "What a lovely day it is. You are a complete idiot. Nobody likes rain on Sunday."


def write(path: Path, *lines: Mapping[str, object]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def span_of(text: str, part: str) -> list[int]:
    return [text.index(part), text.index(part) + len(part)]


def test_only_texts_with_evidence_are_read(tmp_path: Path) -> None:
    marked = {"id": "a", "text": POST, "rationales": [span_of(POST, "idiot")]}
    plain = {"id": "b", "text": "A quiet day.", "rationales": []}
    long = {"id": "c", "text": POST * 2, "label": 0, "rationales": [[0, 4]]}
    path = write(tmp_path / "posts.jsonl", marked, plain, long)
    (found,) = read_marked(path, seed=0, longest=20)
    assert (found.id, found.label, found.marked) == ("a", 1, [tuple(span_of(POST, "idiot"))])
    assert {text.id for text in read_marked(path, seed=0)} == {"a", "c"}


def test_sentences_are_toxic_if_a_span_touches_them_and_balanced(tmp_path: Path) -> None:
    post = {"id": "a", "text": POST, "rationales": [span_of(POST, "complete idiot")]}
    path = write(tmp_path / "posts.jsonl", post)
    assert write_sentences(path, tmp_path / "new" / "sentences.jsonl", seed=0) == 2
    written = (tmp_path / "new" / "sentences.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in written]
    assert {s["text"] for s in found if s["label"]} == {"You are a complete idiot."}
    assert len(found) == 2, "one of the two other sentences was drawn"


def test_measures_know_the_best_and_the_worst() -> None:
    marked = np.array([True, True, False, False, False])
    assert average_precision(np.array([5.0, 4, 3, 2, 1]), marked) == 1.0
    assert average_precision(np.array([1.0, 2, 3, 4, 5]), marked) == (1 / 4 + 2 / 5) / 2
    assert choose_top(np.arange(5.0), 0.01).sum() == 1, "at least one"


def test_a_small_run_goes_on_and_is_reported(tmp_path: Path) -> None:
    texts = [
        ("a", "A gripping, beautifully acted film. The plot is thin.", "gripping, beautifully", 1),
        (
            "b",
            "A dull and lifeless film; the worst of the year.",
            "dull and lifeless film; the worst",
            0,
        ),
        ("c", "A masterpiece, says nobody.", "masterpiece", 0),  # which the model gets wrong
    ]
    lines = [
        {"id": name, "text": text, "label": label, "rationales": [span_of(text, part)]}
        for name, text, part, label in texts
    ]
    data, out = write(tmp_path / "films.jsonl", *lines), tmp_path / "results"
    command = ["run", f"--data={data}", "--task=films", f"--out={out}"]

    for limit in ("1", "3", "3"):
        done = CliRunner().invoke(app, [*command, "--limit", limit])
        assert done.exit_code == 0, done.output
    n_results = len(read_results(out / "films-imdb-bilstm.jsonl").lines)
    cut_last_line(out / "films-imdb-bilstm.jsonl")
    done = CliRunner().invoke(app, [*command, "--limit", "3"])
    assert done.exit_code == 0, done.output
    assert len(read_results(out / "films-imdb-bilstm.jsonl").lines) == n_results
    found = read_results(out / "films-imdb-bilstm.jsonl").lines
    assert {line["text"] for line in found} == {"a", "b"}
    assert len(found) == len({(line["variant"], line["text"]) for line in found})
    by_variant = {line["variant"]: line["auprc"] for line in found if line["text"] == "b"}
    assert by_variant["sobol"] > 0.5

    page = tmp_path / "RESULTS.md"
    page.write_text(
        "before\n<!-- films-imdb-bilstm -->\n<!-- end of films-imdb-bilstm -->\nafter\n"
    )
    done = CliRunner().invoke(app, ["report", f"--out={out}", f"--into={page}"])
    assert done.exit_code == 0, done.output
    assert "| sobol, the default |" in page.read_text()
    assert page.read_text().endswith("after\n")
