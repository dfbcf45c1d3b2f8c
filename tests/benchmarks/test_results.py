"""The page of all results, from raw lines of benchmarks that are small enough to check."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")
pytest.importorskip("matplotlib")

from typer.testing import CliRunner

from benchmarks.results.__main__ import app
from benchmarks.results.answers import Answer, read_answers
from benchmarks.results.page import verdict_of

JITTER = (-0.03, 0.02, 0.01, 0.0)


def write(path: Path, settings: dict[str, Any], lines: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    header = {"seed": 0, "data": "d.jsonl", "_command": f"python -m {path.stem}", **settings}
    content = [{"settings": header}, *lines]
    path.write_text("".join(json.dumps(line) + "\n" for line in content))


def write_heldout(root: Path, model: str, means: dict[str, float]) -> None:
    lines = [
        {"model": model, "method": method, "asked": asked, "text": str(text), "words": 9,
         "r2 keep 0.5": mean + jitter * (1 if method == "default" else -1), "rmse total": None,
         "rmse banzhaf": None}
        for method, mean in means.items()
        for asked in ((None,) if method == "occlusion" else (2, 4))
        for text, jitter in enumerate(JITTER)
    ]  # fmt: skip
    settings = {"model": model, "name": "some", "precision": "float32"}
    write(root / f"heldout/results/{model}.some.jsonl", settings, lines)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    means = {"default": 0.5, "scores": 0.9, "lime": 0.7, "ridge": 0.2}
    write_heldout(tmp_path, "imdb-bilstm", means)
    reviews = [
        {"model": "imdb-bilstm", "review": str(k), "words": 9, "rows": 90, "correlation": 0.9 + j}
        for k, j in enumerate(JITTER)
    ]
    write(tmp_path / "imdb/results/seeds/a.seeds.jsonl", {"model": "imdb-bilstm"}, reviews)
    marked = [
        {"task": "toxic-posts", "model": "toxicity-bilstm", "variant": name, "text": str(k),
         "n_words": 5, "auprc": mean + j}
        for name, mean in {"sobol": 0.8, "lime-4": 0.5}.items() for k, j in enumerate(JITTER)
    ]  # fmt: skip
    settings = {"model": "toxicity-bilstm", "precision": "float32"}
    write(tmp_path / "people/results/toxic-posts-toxicity-bilstm.jsonl", settings, marked)
    return tmp_path


def written(root: Path) -> str:
    made = CliRunner().invoke(app, ["--root", str(root), "--out", str(root / "out")])
    assert made.exit_code == 0, made.output
    assert (root / "out/results.png").read_bytes().startswith(b"\x89PNG")
    return (root / "out/RESULTS.md").read_text()


def find(root: Path, title: str, family: str = "bi-LSTM") -> Answer:
    (found,) = (a for a in read_answers(root) if (a.question.title, a.family) == (title, family))
    return found


def section(text: str, title: str) -> str:
    return text.split(f"## {title}")[1].split("\n## ")[0]


def test_the_page_says_where_ours_is_first_and_where_not(root: Path) -> None:
    text = written(root)
    behind = section(text, "Where others are better")
    assert "**Predicts held-out masks**, bi-LSTM, 4 texts: LIME 0.700, the best of 2; our" in behind
    assert "our default 0.500 (-0.200 " in behind
    assert "without a path 0.900 (first, +0.200 [+0.200, +0.200])" in behind
    first = section(text, "Where ours is first")
    assert "**Agrees with people: toxic posts**" in first
    assert "LIME 0.500, the only rival; our default with its own budget 0.800" in first
    assert "first in 1, level in 0, behind in 1**, of 2" in text
    assert str(root) not in text


def test_the_table_marks_the_best_and_leaves_out_what_was_not_measured(root: Path) -> None:
    table = section(written(root), "Every method and question").splitlines()
    (scores,) = (line for line in table if line.startswith("| ours, without a path"))
    assert "**0.900**" in scores
    (own,) = (line for line in table if line.startswith("| ours, default, own budget"))
    assert "| 0.900 |" in own, "nothing to compare two seeds with: not marked"
    assert not any(line.startswith("| occlusion") for line in table)


def test_conditions_stand_beside_every_number(root: Path) -> None:
    conditions = section(written(root), "Conditions")
    assert "| predicts held-out masks | `imdb-bilstm` | [heldout](heldout/RESULTS.md)" in conditions
    assert "88.94 % on 5,000 IMDB test reviews" in conditions
    assert "1. `python -m imdb-bilstm.some`" in conditions


def test_a_new_model_needs_nothing_but_its_raw_lines(root: Path) -> None:
    write_heldout(root, "mpnet-imdb-bf16", {"default": 0.9, "scores": 0.9, "lime": 0.3})
    write_heldout(root, "unheard-of", {"default": 0.9, "scores": 0.9, "lime": 0.3})
    text = written(root)
    assert "*MPNet: attributions*" in text
    assert "*unheard-of: attributions*" in text
    verdict = verdict_of(find(root, "predicts held-out masks", "MPNet"), "default")
    assert verdict is not None
    assert (verdict.word, verdict.rival) == ("first", "lime")


def test_methods_of_a_column_have_the_same_texts(root: Path) -> None:
    path = root / "heldout/results/imdb-bilstm.some.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    ridge = [k for k, line in enumerate(lines) if '"ridge"' in line]
    path.write_text("".join(lines[: ridge[-2]]) + lines[-1][:20])  # killed there
    assert "ridge" not in find(root, "predicts held-out masks").values
    assert len(find(root, "predicts held-out masks").values) == 4


def test_what_is_no_directory_of_results_is_refused(tmp_path: Path) -> None:
    made = CliRunner().invoke(app, ["--root", str(tmp_path), "--out", str(tmp_path)])
    assert made.exit_code == 1
