"""The benchmark of deletion by shares: bounds by enumeration, chances, tables, a small run."""

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")

import numpy as np
from typer.testing import CliRunner

from benchmarks.deletion.__main__ import app
from benchmarks.deletion.measures import (
    chances_of,
    counts_of,
    measure_hard,
    measure_soft,
    search_bounds,
    search_order,
)
from benchmarks.deletion.report import Run, load, main_table, paired_table
from benchmarks.deletion.run import choose_texts
from tests.benchmarks.killing import cut_last_line
from tests.benchmarks.samples import rows_of
from textsobol.sobol.arrays import Array, Floats

WEIGHTS = np.array([0.05, 0.3, -0.2, 0.1, -0.05, 0.2, 0.0, 0.15, -0.1, 0.02])


def probability(masks: Array) -> Floats:
    return 1 / (1 + np.exp(-4 * (masks @ WEIGHTS)))


def test_words_are_deleted_and_kept_in_order() -> None:
    order = np.argsort(-WEIGHTS)
    found = measure_hard(probability, order)
    for place, n in enumerate(counts_of(10)):
        kept = np.zeros((1, 10), dtype=bool)
        kept[:, order[:n]] = True
        assert found.only[place] == probability(kept)[0]
        assert found.without[place] == probability(~kept)[0]


def test_bounds_of_words_that_add_up_are_those_of_all_choices() -> None:
    bounds = search_bounds(probability, 10)
    for place, n in enumerate(counts_of(10)):
        chosen = np.zeros((0, 10), dtype=bool)
        for some in combinations(range(10), n):
            mask = np.zeros((1, 10), dtype=bool)
            mask[:, some] = True
            chosen = np.concatenate([chosen, mask])
        without, only = probability(~chosen), probability(chosen)
        assert bounds["lowest"].without[place] == pytest.approx(without.min())
        assert bounds["highest"].without[place] == pytest.approx(without.max())
        assert bounds["lowest"].only[place] == pytest.approx(only.min())
        assert bounds["highest"].only[place] == pytest.approx(only.max())


def test_long_texts_are_searched_in_blocks() -> None:
    n_masks = []
    weights = np.random.default_rng(0).normal(size=200)

    def counted(masks: Array) -> Floats:
        n_masks.append(len(masks))
        return np.asarray(masks @ weights)

    order = search_order(counted, 200, 1.0, is_kept=False)
    assert n_masks == [200, 184, 168, 152, 136]
    assert set(order[:80]) == set(np.argsort(-weights)[:80])
    assert sorted(order) == list(range(200))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("expected", [1.0, 3.0, 4.5, 10.0])
def test_chances_have_the_asked_sum_whatever_the_scale(scale: float, expected: float) -> None:
    found = chances_of(scale * WEIGHTS, expected)
    assert found.sum() == pytest.approx(expected)
    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found[np.argsort(WEIGHTS)]) >= -1e-12).all(), "higher scores, higher chances"
    np.testing.assert_allclose(found, chances_of(WEIGHTS, expected), atol=1e-9)


def test_soft_and_hard_agree_where_chances_are_sure() -> None:
    scores = np.where(np.arange(10) < 4, 1.0, 0.0)
    soft, hard = measure_soft(probability, scores, 0), measure_hard(probability, np.arange(10))
    assert soft.without[-1] == pytest.approx(hard.without[-1])
    assert soft.only[-1] == pytest.approx(hard.only[-1])


def written(path: Path) -> Path:
    """Two texts; the lowest drop is 0.1 and the highest 0.5, except where a method beats that."""

    def curves(without: float) -> dict[str, list[float]]:
        return {"without": [without] * 4, "only": [0.9] * 4}

    header = {"model": "tiny", "data": "d", "precision": "float32", "seed": 0, "versions": {}}
    lines: list[dict[str, Any]] = [{"settings": header}]
    for text, shift in (("a", 0.0), ("b", 0.02)):
        common = {"text": text, "length": "20-60", "words": 30, "is_right": True, "whole": 0.9,
                  "passes": 9, "asked": 4}  # fmt: skip
        searched = {"lowest": {**curves(0.4), "only": [0.1] * 4}, "highest": curves(0.8)}
        lines.append(
            {
                **common,
                "method": "bounds",
                "variant": "bounds",
                "title": "greedy",
                "kind": "search",
                **searched,
            }
        )
        for name, kind, without in (
            ("default", "black box", 0.5 + shift),
            ("lime", "black box", 0.6),
            ("path", "search", 0.3),  # better than the bounds: they move
        ):
            own = {"method": name, "variant": name, "title": name, "kind": kind}
            lines.append({**common, **own, "hard": curves(without), "soft": curves(0.7)})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_tables_on_numbers_by_hand(tmp_path: Path) -> None:
    (run,) = load([written(tmp_path / "r.jsonl")])
    rows = rows_of(main_table(run))
    # Bounds of the drop: 0.1 and, by the path, 0.6.
    assert rows["lime"]["comprehensiveness ↑"].text == "0.400"
    assert rows["default"]["comprehensiveness ↑"].text == "0.580"
    assert rows["default"]["comprehensiveness ↑"].place == 1
    found = rows["path"]["comprehensiveness ↑"]
    assert (found.text, found.place) == ("1.000", 0)
    assert rows["Greedy search"]["comprehensiveness ↑"].text == "0.800"
    assert rows["Greedy search"]["sufficiency ↓"].text == "0.000"
    assert not rows["path"]["soft comprehensiveness ↑"].text
    paired = rows_of(paired_table(run))["lime"]["comprehensiveness"]
    assert (paired.text, paired.after) == ("better", "+0.180 [+0.160, +0.200]")


def test_a_text_without_bounds_or_with_methods_missing_is_left_out(tmp_path: Path) -> None:
    path = written(tmp_path / "r.jsonl")
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-1]) + "\n")
    (run,) = load([path])
    assert set(run.measured["text"]) == {"a"}
    path.write_text("\n".join(line for line in lines if '"bounds", "variant"' not in line
                              or '"text": "a"' not in line) + "\n")  # fmt: skip
    assert set(Run("tiny", load([path])[0].results).measured["text"]) == {"b"}


def test_texts_of_every_length_are_chosen(tmp_path: Path) -> None:
    data = tmp_path / "texts.jsonl"
    rows = [{"text": "word " * n, "label": 1} for n in (19, 20, 59, 60, 149, 150, 300, 900)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    chosen = choose_texts(str(data), seed=0, n_each=(5, 1, 5, 5))
    lengths = sorted(item.n_words for item in chosen)
    assert [n for n in lengths if not 60 <= n < 150] == [20, 59, 150, 300, 900]
    assert len(lengths) == 6


def test_a_small_run_and_its_report(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    words = ["gripping", "dull", "film", "long", "plot", "awful"]
    rows = [{"text": " ".join(rng.choice(words, n)), "label": 0} for n in (21, 25, 61)]
    data = tmp_path / "texts.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = ["run", "--data", str(data), "--texts", "2,1,0,0", "--passes", "2", "--out",
             str(tmp_path), "--methods", "default,occlusion,ridge,gates,random"]  # fmt: skip
    ran = CliRunner().invoke(app, asked)
    assert ran.exit_code == 0, ran.output
    assert ran.stdout.startswith("20 results added"), "gates need more passes in one text"
    assert CliRunner().invoke(app, asked).stdout.startswith("0 results added")
    path = tmp_path / "imdb-bilstm.jsonl"
    cut_last_line(path)
    assert CliRunner().invoke(app, asked).stdout.startswith("1 results added")
    made = CliRunner().invoke(app, ["report", str(path), "--out", str(tmp_path / "report")])
    assert made.exit_code == 0, made.output
    text = (tmp_path / "report" / "RESULTS.md").read_text()
    assert "| *searches* |" in text
    assert "| Path of the default |" in text
    assert str(tmp_path) not in text
    assert (tmp_path / "report" / "deletion.png").read_bytes().startswith(b"\x89PNG")
