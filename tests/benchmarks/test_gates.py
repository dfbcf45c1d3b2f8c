"""The benchmark of gate gradients: control variates without bias, planted words, a small run."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")

import numpy as np
from typer.testing import CliRunner

from benchmarks.gates import planted_function
from benchmarks.gates.__main__ import app
from benchmarks.gates.control import N_BASE, N_GATES, control
from benchmarks.gates.data import LENGTHS, choose_reviews, find_used
from benchmarks.gates.planted import PAIR, SINGLE, Source, draw_example
from benchmarks.gates.report import cost_rows, interval_rows, measure, truth_rows, way_rows
from benchmarks.reporting import read_results
from tests.sobol.gated_games import planted_pair

WORDS = ["gripping", "dull", "film", "long", "the", "plot", "and", "is"]


def test_control_variates_are_unbiased() -> None:
    game = planted_pair(8)
    every = np.array([[number >> k & 1 for k in range(8)] for number in range(256)], dtype=bool)
    scores = game.score(every)[:, 0]
    # The score with each feature, minus that without it, of every mask.
    flipped = np.stack([np.arange(256) ^ (1 << k) for k in range(8)], axis=1)
    true = np.where(every, 1, -1) * (scores[:, None] - scores[flipped])
    slopes = game.slopes(np.where(every, 0.7, 0.05))[..., 0]
    errors, squares = [], []
    for seed in range(3000):
        drawn = np.random.default_rng(seed).integers(256, size=N_BASE + 1)
        own, theirs, masks = true[drawn[:N_BASE]], slopes[drawn], every[drawn]
        errors.append(control(own, theirs, masks).mean(axis=0) - true.mean(axis=0))
        squares.append(control(own**2, theirs**2, masks).mean(axis=0) - (true**2).mean(axis=0))
    for found in (np.array(errors), np.array(squares)):
        found = found[:, 1:]  # the first feature does nothing
        z = found.mean(axis=0) / (found.std(axis=0, ddof=1) / np.sqrt(len(found)))
        assert np.abs(z).max() < 4, z


def test_control_variates_help_where_derivatives_know() -> None:
    rng = np.random.default_rng(0)
    plain, adjusted = [], []
    for _ in range(300):
        masks = rng.random((N_GATES, 20)) < 0.5
        slopes = rng.normal(size=(N_GATES, 20))
        differences = (2 * slopes * masks + slopes * ~masks)[:N_BASE]
        plain.append(differences.mean(axis=0))
        adjusted.append(control(differences, slopes, masks).mean(axis=0))
    assert np.var(adjusted) < 0.6 * np.var(plain)


def test_used_reviews_are_not_chosen(tmp_path: Path) -> None:
    data = tmp_path / "reviews.jsonl"
    texts = ["word " * n for n in (50, 60, 150, 300, 399, 400)]
    data.write_text(
        "\n".join(json.dumps({"id": f"r{k}", "label": 0, "text": t}) for k, t in enumerate(texts))
    )
    chosen = choose_reviews(str(data), seed=0, used={"test-r1"})
    assert [{one.id for one in chosen[length]} for length in LENGTHS] == [
        {"test-r0"}, {"test-r2"}, {"test-r3", "test-r4"}
    ]  # fmt: skip
    used = find_used()
    assert "test-test/pos/6039_9" in used
    assert len(used) > 500


def test_examples_have_the_label_that_their_planted_words_decide() -> None:
    source = Source.of(["The film was good, the plot was not. " * 20 + "lantern velvet harbor"])
    assert not {*SINGLE, *PAIR} & set(source.words)
    rng = np.random.default_rng(0)
    labels = []
    for _ in range(200):
        words, label = draw_example(source, 12, rng)
        assert len(words) == 12
        assert label == (set(SINGLE) <= set(words) or set(PAIR) <= set(words))
        labels.append(label)
    assert 70 < sum(labels) < 130


@pytest.mark.parametrize("planted", [SINGLE, PAIR])
def test_other_words_cause_the_part_of_the_variation_that_is_asked_for(
    planted: tuple[str, ...],
) -> None:
    rng = np.random.default_rng(0)
    words = planted_function.write(300, planted, rng, marks=False).split()
    for others in (0.0, 0.5):
        score = planted_function.make_function(300, planted, others, rng)
        masks = rng.random((4000, 300)) < 0.5
        texts = [" ".join(w for w, there in zip(words, mask, strict=True) if there)
                 for mask in masks]  # fmt: skip
        decides = [set(planted) <= set(text.split()) for text in texts]
        rest = np.array(score(texts)) - 2.0 * np.array(decides)
        assert rest.var() / np.var(score(texts)) == pytest.approx(others, abs=0.08)


def test_a_small_run_with_a_plain_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planted_function, "LONG", (220,))
    asked = ["planted-function", "--limit", "1", "--out", str(tmp_path)]
    found = CliRunner().invoke(app, asked)
    assert found.exit_code == 0, found.output
    lines = read_results(tmp_path / "planted-function.jsonl").lines
    assert len(lines) == 2 * len(planted_function.OTHERS)
    assert all(line["is_found"] and not line["has_gates"] for line in lines)
    cells = [row[:6] for row in planted_function.rows(lines)]
    assert cells[0] == ["220", "one word decides", "0 %", "1", "1 of 1", "1 of 1"]


def line(variant: str, deletion: float, seconds: float, **more: Any) -> dict[str, Any]:
    return {
        "variant": variant, "review": "a", "length": "40-100", "words": 3, "passes": 10, "gates": 2,
        "seconds": seconds, "deletion": deletion, "insertion": 0.5, "score": [0.3, 0.2, -0.1],
        **more,
    }  # fmt: skip


def test_tables_on_numbers_by_hand() -> None:
    column = [[1.0, 0.5, -1.0], [0.5, 0.6, None], [1.5, 0.7, None]]
    path = {"deletion": 0.35, "insertion": 0.6, "deletions": 3}
    lines = [
        line("occlusion", 0.5, 1.0),
        line("flip-4", 0.4, 4.0, effect=column, total=column),
        line("sobol", 0.4, 2.0, effect=column, total=column, path=path),
        line("greedy", 0.3, 8.0),
    ]
    measured = measure(lines, [{"review": "a", "effect": [1.5, 0.5, -1.0], "total": [1, 1, 1]}])
    (words, title, rho, rmse, *_), *_ = truth_rows(measured)
    assert (words, title, rho.strip()) == ("all", "sobol, the default", "1.000")
    assert float(rmse) == pytest.approx((0.25 / 3) ** 0.5, abs=1e-3)
    row = next(iter(interval_rows(measured)))
    assert [float(row[k]) for k in (2, 4)] == [0.5, 0.5]  # of the two that are known
    costs = {(row[0], row[1]): row for row in cost_rows(measured)}
    assert costs["40-100", "sobol, the default"][7] == "0.50 x"
    assert costs["40-100", "path of the default"][2].strip() == "0.350"
    ways = {row[0]: row[2] for row in way_rows(measured)}
    assert ways["path of the default"] == "75 %"
    assert ways["greedy search"] == "100 %"


def test_a_small_run(tmp_path: Path) -> None:
    pytest.importorskip("lime")
    pytest.importorskip("shap")
    random = np.random.default_rng(0)
    data = tmp_path / "reviews.jsonl"
    texts = [" ".join(random.choice(WORDS, n)) for n in (41, 42, 101, 201)]
    data.write_text(
        "\n".join(json.dumps({"id": k, "label": 0, "text": t}) for k, t in enumerate(texts))
    )
    asked = ["--data", str(data), "--limit", "1", "--out", str(tmp_path)]
    found = CliRunner().invoke(
        app, ["run", *asked, "--methods", "gates,lime-4,occlusion,path-many"]
    )
    assert found.exit_code == 0, found.output
    assert found.stdout.startswith("10 results added")
    again = CliRunner().invoke(
        app, ["run", *asked, "--methods", "gates,lime-4,occlusion,path-many"]
    )
    assert again.stdout.startswith("0 results added")
    marks = tmp_path / "RESULTS.md"
    name = "imdb-bilstm faithfulness"
    marks.write_text(f"Before.\n<!-- {name} -->\nold\n<!-- end of {name} -->\nAfter.\n")
    made = CliRunner().invoke(app, ["report", "--out", str(tmp_path), "--into", str(marks)])
    assert made.exit_code == 0, made.output
    text = marks.read_text()
    assert "old" not in text
    assert "| 40-100 | occlusion |" in text
    assert text.startswith("Before.\n")
    assert text.endswith("After.\n")
