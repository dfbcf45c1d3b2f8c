"""The benchmark of held-out masks: additive models by enumeration, truth, tables, a small run."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")

import numpy as np
from typer.testing import CliRunner

from benchmarks.heldout.__main__ import app
from benchmarks.heldout.additive import Additive, additive_of, banzhaf_of
from benchmarks.heldout.report import first_table, load, verdicts_of
from benchmarks.heldout.run import predicted, r2
from benchmarks.heldout.truth import find_truth, fresh_masks, walk_shapley
from benchmarks.heldout.ways import PASSES, ways
from benchmarks.rivals.apart import APART, PYTHON
from benchmarks.ways import METHODS
from tests.benchmarks.killing import cut_last_line
from tests.benchmarks.samples import rows_of
from tests.methods.test_peers import shapley, tangled
from tests.problems import attribution, black_box_of, problem_of
from textsobol import Sobol
from textsobol.methods import Attribution, Method
from textsobol.sobol.arrays import Array, Floats
from textsobol.sobol.masks import all_masks

pytestmark = [
    # shap's colour maps, on its import
    pytest.mark.filterwarnings("ignore:The set_:PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The set_:DeprecationWarning"),
]

EVERY = np.concatenate(list(all_masks(4)))
WORDS = ["gripping", "dull", "film", "long", "plot", "awful"]


def additive_game(masks: Array) -> Floats:
    """Words that add up: every additive model must be exact."""
    return (1.5 + masks @ np.array([3.0, -2.0, 0.5, 0.0]))[:, None]


def crossed_game(masks: Array) -> Floats:
    return additive_game(masks) + 4.0 * (masks[:, 0] & masks[:, 1])[:, None]


def found_in(game: Callable[[Array], Floats], method: Method, budget: int) -> Attribution:
    return attribution(method, problem_of(game, 4), budget=budget, seed=0)


@pytest.mark.parametrize("name", ["default", "flip-0.9", "jansen", "lime", "ridge", "kernel_shap"])
def test_additive_models_of_an_additive_game_are_exact(name: str) -> None:
    (way,) = ways([name], [64])
    method: Any = Sobol(**way.options) if way.method == "sobol" else METHODS[way.method]
    found = found_in(additive_game, method, 320)
    model = additive_of(method, found, empty=1.5)
    assert model.baseline is not None
    tolerance = 0.05 if name in ("lime", "ridge", "jansen") else 1e-6  # penalties, sampling
    scores = additive_game(EVERY)[:, 0]
    assert 1 - tolerance <= r2(model.predict(EVERY), scores) <= 1  # type: ignore[operator]


def test_pairs_make_up_for_what_words_cannot_say() -> None:
    found = found_in(crossed_game, Sobol(interactions=3), 64)
    model = additive_of(Sobol(), found, empty=0.0)
    scores = crossed_game(EVERY)[:, 0]
    measured = predicted(model, EVERY, scores)
    assert measured["r2"] == pytest.approx(1 - scores_of_pairs(scores), abs=1e-9)
    assert measured["pairs"] == pytest.approx(scores_of_pairs(scores), abs=1e-9)


def scores_of_pairs(scores: Floats) -> float:
    """Share of the variance that 4 z0 z1 has beyond its words: (4/4)² of all."""
    return float(1.0 / scores.var())


def test_words_of_a_unit_share_its_effect() -> None:
    found = found_in(additive_game, Sobol(estimator="flip", path=False), 64)
    units = np.array([0, 0, 0, 1, 1, 2, 3])
    merged = replace(found, units=units, scores=found.scores[units])
    expected = np.array([1.0, 1.0, 1.0, -1.0, -1.0, 0.5, 0.0])
    assert banzhaf_of(Sobol(), merged) == pytest.approx(expected)
    model = additive_of(Sobol(), merged, empty=0.0)
    assert model.predict(np.ones((1, 7), dtype=bool)) == pytest.approx(3.0)


def test_truth_is_the_same_enumerated_and_sampled() -> None:
    game = tangled(6, 3)

    def score(masks: Array) -> Floats:
        return np.asarray(black_box_of(game)(masks)[:, 0])

    exact = find_truth(score, 6, base_masks=64, seed=0)
    sampled = find_truth(score, 6, base_masks=8, seed=0)
    assert exact.is_exact
    assert not sampled.is_exact
    np.testing.assert_allclose(exact.shapley, shapley(game)[:, 0], atol=1e-9)
    walked = walk_shapley(score, 6, walks=2000, seed=0)
    np.testing.assert_allclose(walked, exact.shapley, atol=0.1 * np.abs(exact.shapley).max())


def test_fresh_masks_are_as_they_are_called() -> None:
    masks = fresh_masks(20, 4000, seed=1)
    assert masks["keep 0.9"].mean() == pytest.approx(0.9, abs=0.01)
    deleted = (~masks["deletions"]).sum(axis=1)
    assert set(deleted) == set(range(1, 20))
    assert np.bincount(deleted)[1:].std() < 0.1 * 4000 / 19 + 3 * np.sqrt(4000 / 19)
    assert masks["deletions"].mean(axis=0).std() < 0.02


def test_what_has_no_model_is_only_fitted_and_ranked() -> None:
    scores = np.array([0.0, 1.0, 2.0, 5.0])
    masks = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=bool)
    found = predicted(Additive(np.array([1.0, 2.0])), masks, scores)
    assert found["r2"] is None
    assert found["fitted"] == pytest.approx(np.corrcoef([0, 1, 2, 3], scores)[0, 1] ** 2)
    opposite = predicted(Additive(np.array([-1.0, -2.0])), masks, scores)
    assert opposite["fitted"] == 0.0
    assert opposite["lds"] == pytest.approx(-1.0)


def written(path: Path, values: dict[str, list[float]]) -> Path:
    header = {"model": "tiny", "name": "some", "data": "d", "precision": "float32", "seed": 0,
              "masks": 9, "base_masks": 9, "versions": {}}  # fmt: skip
    lines: list[dict[str, Any]] = [{"settings": header}]
    for method, numbers in values.items():
        lines += [
            {"method": method, "variant": f"{method}-2", "title": method, "asked": 2, "passes": 9,
             "text": str(text), "words": 3, "is_right": True, "is_exact": False,
             "r2 keep 0.5": number}
            for text, number in enumerate(numbers)
        ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize(
    ("ours", "verdict"), [(0.9, "first"), (0.5, "level"), (0.1, "behind"), (-9.0, "behind")]
)
def test_the_table_says_who_is_first(tmp_path: Path, ours: float, verdict: str) -> None:
    jitter = np.array([-0.03, 0.02, 0.01, 0.0])
    values = {
        "scores": (ours + jitter).tolist(),
        "lime": (0.5 - jitter[::-1]).tolist(),
        "rise": [0.0] * 4,
        "flip": [0.99] * 4,  # ours, too
    }
    (run,) = load([written(tmp_path / "r.jsonl", values)])
    verdicts = verdicts_of(run, "scores")
    row = rows_of(first_table(run, "scores", verdicts))["R², keep 0.5"]
    assert row["2"].text == verdict
    assert row["2"].after.endswith("lime")


def test_a_small_run_and_its_report(tmp_path: Path) -> None:
    for package in ("sklearn", "matplotlib"):
        pytest.importorskip(package)
    rng = np.random.default_rng(0)
    rows = [{"review": '"' + " ".join(rng.choice(WORDS, n)) + '"', "sentiment": "negative"}
            for n in (8, 12)]  # fmt: skip
    data = tmp_path / "texts.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    methods = "default,scores,pairs,jansen,occlusion,rise,ridge"
    asked = ["run", "--data", str(data), "--name", "spex", "--methods", methods, "--passes", "1,4",
             "--masks", "40", "--base-masks", "8", "--out", str(tmp_path)]  # fmt: skip
    ran = CliRunner().invoke(app, asked)
    assert ran.exit_code == 0, ran.output
    path = tmp_path / "imdb-bilstm.spex.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()][1:]
    assert {line["variant"] for line in lines} >= {"default-1", "ridge-4", "occlusion"}
    assert "jansen-1" not in {line["variant"] for line in lines}, "it needs more passes"
    assert all(line["passes"] <= 1 + 4 * (line["words"] + 1) for line in lines)
    again = CliRunner().invoke(app, asked)
    assert again.stdout.startswith("0 results added")
    cut_last_line(path)
    assert CliRunner().invoke(app, asked).stdout.startswith("1 results added")
    made = CliRunner().invoke(app, ["report", str(path), "--out", str(tmp_path / "report")])
    assert made.exit_code == 0, made.output
    text = (tmp_path / "report" / "RESULTS.md").read_text()
    assert "| imdb-bilstm: Ridge regression |" in text
    assert str(tmp_path) not in text
    assert (tmp_path / "report" / "heldout.png").read_bytes().startswith(b"\x89PNG")


def test_a_rival_in_another_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # A stand-in that follows the protocol: it returns the scores of the words alone.
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{tmp_path}/stand_in.py"\n')
    script.chmod(0o755)
    (tmp_path / "stand_in.py").write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line); d = asked['features']\n"
        "    masks = [[int(i == j) for j in range(d)] for i in range(d)]\n"
        "    print(json.dumps({'masks': masks}), flush=True)\n"
        "    scores = json.loads(sys.stdin.readline())['scores']\n"
        "    done = {'error': 'no'} if asked['budget'] == 13 else {'found': scores}\n"
        "    print(json.dumps(done), flush=True)\n"
    )
    monkeypatch.setenv(PYTHON, str(script))
    game = problem_of(additive_game, 4)
    found = attribution(APART["oddshap"], game, budget=20, seed=0)
    assert found.scores[:, 0].tolist() == [4.5, -0.5, 2.0, 1.5]
    with pytest.raises(Exception, match="oddshap: no"):
        attribution(APART["oddshap"], game, budget=13, seed=0)
    monkeypatch.delenv(PYTHON)
    assert "oddshap" not in {way.method for way in ways(["lime"], PASSES)}
    with pytest.raises(SystemExit, match=PYTHON):
        attribution(APART["oddshap"], game, budget=20, seed=0)
