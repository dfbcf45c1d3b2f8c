"""The ImageNet benchmark on a small model: everything runs, resumes, and counts what it should."""

import doctest
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from typer.main import get_command
from typer.testing import CliRunner

pytest.importorskip("pandas")
pytest.importorskip("PIL", reason="the bench extra is not installed")

from benchmarks.imagenet import convergence, preprocessing, speed
from benchmarks.imagenet import ways as ways_module
from benchmarks.imagenet.__main__ import app
from benchmarks.imagenet.data import class_names, photos
from benchmarks.imagenet.model import load
from benchmarks.imagenet.onnx import OnnxForward
from benchmarks.imagenet.run import SCORE_IN_WORDS, Picture, Setup
from benchmarks.imagenet.ways import NAMES, flip, planned, ways
from benchmarks.passes import explained
from tests.benchmarks.killing import whole_and_killed
from tests.benchmarks.photos import photo_directory, tiny_resnet
from textsobol.metrics import pixel_faithfulness

run = CliRunner().invoke
FLIP_ROWS = (32, 16, 8, 4)
GRID = (4, 4)
N_CELLS = 16
SMALL = ["--grid", "4x4", "--steps", "8", "--rise-masks", "20,40"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return photo_directory(
        tmp_path_factory.mktemp("photos") / "data", ["5 5 30 30;10 20 40 39"] * 5
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_resnet(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def setup(data: Path, model: Path) -> Setup:
    return Setup(load(str(model)), class_names(data), GRID, "logit", batch=8)


@pytest.fixture
def common(data: Path, model: Path) -> list[str]:
    return ["--model", str(model), "--data", str(data)]


def results(path: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [line for line in lines if "settings" not in line]


@pytest.mark.parametrize("module", [convergence, preprocessing, speed, ways_module])
def test_the_examples_of_the_docstrings_hold(module: ModuleType) -> None:
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


def test_the_score_of_the_paper_is_analysed_by_default() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    defaults = {
        name: parameter.default
        for name, command in commands.items()
        for parameter in command.params
        if parameter.name == "score"
    }
    assert defaults == dict.fromkeys(("run", "convergence", "sanity", "speed"), "output")
    assert defaults["run"] in SCORE_IN_WORDS


def test_a_smoke_run_of_all_methods(common: list[str], tmp_path: Path) -> None:
    done = run(app, ["run", *common, *SMALL, "--limit", "2", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    lines = results(tmp_path / "tiny.jsonl")
    expected = {name for way in ways(NAMES, N_CELLS, [20, 40]) for name in way.names}
    assert {line["variant"] for line in lines} == expected
    assert len(lines) == 2 * len(expected)
    for line in lines:
        assert len(line["deletion"]) == len(line["insertion"]) == 9
        # From the whole picture to none of it, and back.
        assert line["deletion"][0] == pytest.approx(line["insertion"][-1], abs=1e-5)
        assert line["deletion"][-1] == pytest.approx(line["insertion"][0], abs=1e-5)
        assert line["right"] == (line["label"] == line["true"])
        assert line["points_at_15"] >= line["points_at"]
        if line["kind"] == "white box":
            # Every pass is made; the whole picture, which counts among the rows, was known.
            assert line["forwarded"] == line["rows"] - 1 > 0
    for photo in {line["image"] for line in lines}:
        starts = [line["deletion"][0] for line in lines if line["image"] == photo]
        assert starts == pytest.approx([starts[0]] * len(starts), abs=1e-5)
    report = tmp_path / "report"
    done = run(app, ["report", str(tmp_path / "tiny.jsonl"), "--out", str(report)])
    assert done.exit_code == 0, done.output
    assert "Guided backprop" in (report / "report.md").read_text()


def test_more_methods_and_photos_can_be_added(common: list[str], tmp_path: Path) -> None:
    def added(*options: str) -> str:
        done = run(app, ["run", *common, *SMALL, "--out", str(tmp_path), *options])
        assert done.exit_code == 0, done.output
        return done.stdout.split(" results")[0]

    assert added("--methods", "occlusion,random", "--images", "2") == "4"
    assert added("--methods", "occlusion,random", "--limit", "2", "--batch", "3") == "0"
    assert added("--methods", "saliency", "--limit", "3") == "3"
    refused = run(app, ["run", *common, *SMALL, "--score", "probability", "--out", str(tmp_path)])
    assert "score: 'output' there, 'probability' here" in str(refused.exception) + refused.output
    refused = run(app, ["run", *common, "--grid", "4", "--out", str(tmp_path)])
    assert "'4' is no grid" in refused.output
    refused = run(app, ["run", *common, "--methods", "limes", "--out", str(tmp_path)])
    assert "unknown method 'limes'; known: saliency" in str(refused.exception) + refused.output


def test_killed_twice_and_resumed_it_equals_an_uninterrupted_run(
    common: list[str], tmp_path: Path
) -> None:
    def benchmark(out: Path) -> list[str]:
        methods = ["--methods", "saliency,random,occlusion,rise,flip", "--limit", "5"]
        return ["benchmarks.imagenet", "run", *common, *SMALL, *methods, "--out", str(out)]

    wanted, found = whole_and_killed(benchmark, tmp_path, "tiny.jsonl")
    by_key = {(line["variant"], line["image"]): line for line in found}
    assert len(by_key) == len(found) == len(wanted), "nothing is done twice"
    for line in wanted:
        again = by_key[line["variant"], line["image"]]
        for name in ("rows", "label", "points_at"):
            assert again[name] == line[name]
        # What was known before the kill was forwarded in other batches, which rounds differently.
        for curve in ("deletion", "insertion"):
            np.testing.assert_allclose(again[curve], line[curve], atol=1e-4)


def test_a_long_design_serves_its_shorter_prefixes(setup: Setup, data: Path) -> None:
    (photo, *_) = photos(data, seed=0)
    shared = Picture(setup.explainer(), photo)
    for way in ways(["jansen", "flip", "rise", "occlusion"], N_CELLS, [20, 40]):
        maps = shared.maps(way, seed=3)
        alone = Picture(setup.explainer(), photo).maps(way, seed=3)
        assert maps.rows == alone.rows, "passes are counted as if it were alone"
        np.testing.assert_allclose(maps.values, alone.values, atol=1e-5)
        if way.names[0] in ("jansen-32-total", "flip-32-total", "rise-40"):
            # The whole picture was known before; at random, a mask can come twice.
            assert maps.rows - 5 <= maps.forwarded + 1 <= maps.rows
        elif way.names[0] == "jansen-32-signed":
            assert maps.forwarded == N_CELLS, "the occlusions that tell the sign"
        else:
            assert maps.forwarded == 0


@pytest.mark.parametrize("method", ["saliency", "integrated_gradients", "occlusion", "gradcam"])
def test_what_was_forwarded_is_what_the_model_has_seen(
    method: str, setup: Setup, data: Path
) -> None:
    picture = Picture(setup.explainer(), photos(data, seed=0)[0])
    (way,) = ways([method], N_CELLS, [])
    with counting(setup) as seen:
        maps = picture.maps(way, seed=0)
    assert maps.forwarded == sum(seen)


def test_few_scores_are_measured_between_the_fewest_and_the_most_rows() -> None:
    every = [name for way in ways(["jansen", "flip"], 121, []) for name in way.names]
    by_score = {
        score: [name for name in every if name.endswith(score)]
        for score in ("total", "first", "signed")
    }
    rows = range(32, 3, -4)
    assert by_score == {
        "total": [*(f"jansen-{n}-total" for n in rows), *(f"flip-{n}-total" for n in FLIP_ROWS)],
        "first": [f"{name}-{n}-first" for name in ("jansen", "flip") for n in (32, 4)],
        "signed": [
            *(f"jansen-{n}-signed" for n in (32, 4)),
            *(f"flip-{n}-signed" for n in FLIP_ROWS),
        ],
    }


def test_the_plan_of_passes_is_kept(setup: Setup, data: Path) -> None:
    (photo, *_) = photos(data, seed=0)
    asked = ways(["occlusion", "rise", "jansen", "flip"], N_CELLS, [20, 40])
    picture = Picture(setup.explainer(), photo)
    start = [picture.game_for(way).cost.passes for way in asked[:2]]
    for way in asked:
        for found in picture.maps(way, seed=0).values:
            pixel_faithfulness(picture.pixels, found, picture.pixels.prediction, steps=8)
    made = sum(picture.game_for(way).cost.passes for way in asked[:2]) - sum(start)
    most = sum(planned(asked, 8))  # what several ways ask for is forwarded once
    assert 0.9 * most < made <= most


def test_passes_are_those_of_the_paper(setup: Setup, data: Path) -> None:
    totals = [way.passes for way in ways(["jansen"], 121, []) if "total" in way.scores]
    assert totals == [3936, 3444, 2952, 2460, 1968, 1476, 984, 492]
    assert [way.budget(50_176) for way in ways(["rise"], 121, [4000, 8000])] == [8001, 4001]
    game = setup.explainer().masked(photos(data, seed=0)[0].opened())
    _, n_rows = explained(game, flip(4, N_CELLS), 0)
    assert n_rows == 4 * (N_CELLS + 1) + 1


@pytest.mark.parametrize("command", ["convergence", "sanity"])
def test_consistency_is_measured(command: str, common: list[str], tmp_path: Path) -> None:
    asked = [command, *common, "--images", "2", "--grid", "3x3", "--out", str(tmp_path)]
    if command == "convergence":
        asked += ["--passes", "60,240", "--converged", "480"]
    first = run(app, asked)
    assert first.exit_code == 0, first.output
    again = run(app, asked)
    assert again.stdout == first.stdout, "nothing is done twice"
    rows = [line.split("|")[1:-1] for line in first.stdout.splitlines()[2:]]
    if command == "sanity":
        # From the classifier to the layer that sees the pixels.
        assert rows[0][0].strip().startswith("classifier")
        assert "embedder" in rows[-1][0]
        assert all(abs(float(cell)) <= 1 for row in rows for cell in row[1:3])
        assert all(row[3].strip() == "2" for row in rows)
    else:
        assert [row[0].strip() for row in rows] == ["60", "240"]
        for method in (1, 2, 3):
            few, many = (float(row[method].split()[0]) for row in rows)
            assert many >= few - 0.05
            assert "n = 2" in rows[0][method]


def test_only_methods_that_are_known_converge(common: list[str], tmp_path: Path) -> None:
    refused = run(app, ["convergence", *common, "--methods", "lime", "--out", str(tmp_path)])
    assert refused.exit_code != 0
    assert "unknown: lime" in str(refused.exception)


def test_both_engines_see_the_same(setup: Setup, data: Path) -> None:
    photo = photos(data, seed=0)[0]
    quick = replace(setup, engine="onnx")
    for name in ("flip", "guided_backprop", "gradcam", "saliency"):
        way = ways([name], N_CELLS, [])[-1]
        expected, found = (Picture(each.explainer(), photo).maps(way, 0) for each in (setup, quick))
        np.testing.assert_allclose(found.values[0], expected.values[0], rtol=1e-3, atol=1e-5)


def test_a_copy_of_what_was_exported_follows_its_own_weights(setup: Setup) -> None:
    wrapped = OnnxForward(setup.model.module, torch.zeros(1, 3, 40, 40))
    changed = deepcopy(wrapped)
    for weights in changed.parameters():
        torch.nn.init.zeros_(weights)
    with torch.inference_mode():
        pictures = torch.ones(3, 3, 40, 40)
        assert wrapped(pictures).abs().max() > 0
        assert changed(pictures).logits.abs().max() == 0


def test_rows_can_be_shared_with_the_converged_map(common: list[str], tmp_path: Path) -> None:
    asked = ["convergence", *common, "--images", "1", "--grid", "3x3", "--out", str(tmp_path)]
    done = run(app, [*asked, "--passes", "480", "--converged", "480", "--share-rows"])
    assert done.exit_code == 0, done.output
    cells = done.stdout.splitlines()[-1].split("|")[2:-1]
    assert [float(cell.split()[0]) for cell in cells] == [1.0] * 3, "the same rows, the same map"


def test_speed_is_measured(common: list[str]) -> None:
    options = ["--grid", "3x3", "--rows", "2", "--batches", "1,4", "--repeats", "1"]
    done = run(app, ["speed", *common, *options])
    assert done.exit_code == 0, done.output
    rows = [line.split("|")[1:-1] for line in done.stdout.splitlines() if line.startswith("| ")]
    assert [row[0].strip() for row in rows] == ["batch", "---", "1", "4", "passes", "---", "23"]
    for row in rows[2:4]:
        _, plain, ordered, ratio = map(float, row)
        assert ratio == pytest.approx(ordered / plain, rel=0.02, abs=0.01)
    _, whole, bare, ratio, megabytes = map(float, rows[-1])
    assert min(whole, bare, ratio) >= 0
    assert 0 <= megabytes < 500
    time, memory = done.stdout.splitlines()[-2:]
    said = "kept" if ratio <= 1.15 else "MISSED"
    assert time == f"time: {ratio:.3f} x that of the bare passes, at most 1.15 x allowed: {said}"
    assert memory == f"memory: {megabytes:.0f} MB above the model, less than 500 MB allowed: kept"


def test_overhead_is_that_over_as_many_pictures(
    setup: Setup, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([3.0, 2.0, 8.0, 4.0, 5.0, 5.0])  # explained and bare, in turns

    def seconds(work: Callable[[], object]) -> float:
        work()
        return next(times)

    monkeypatch.setattr(speed, "seconds", seconds)
    with counting(setup) as seen:
        found = speed.overhead(setup, photos(data, seed=0)[0], 2, repeats=3)
    # 2 x (16 + 2) masks and the whole picture; in batches of 8 these are five.
    assert found.passes == 37
    assert (found.seconds, found.bare_seconds, found.ratio) == (5.0, 4.0, 1.5)
    assert sum(seen) == 8 + 37 + 3 * (37 + 5 * 8)


@pytest.mark.parametrize(
    ("ratio", "megabytes", "said"),
    [
        (1.15, 499.0, ["kept", "kept"]),
        (1.151, 0.0, ["MISSED", "kept"]),
        (1.0, 500.0, ["kept", "MISSED"]),
    ],
)
def test_limits_are_told(ratio: float, megabytes: float, said: list[str]) -> None:
    verdicts = speed.Overhead(37, ratio, 1.0, ratio, megabytes).verdicts()
    assert [verdict.split(": ")[-1] for verdict in verdicts] == said


@contextmanager
def counting(setup: Setup) -> Iterator[list[int]]:
    """Sizes of the batches that the model sees."""
    seen: list[int] = []
    hook = setup.model.module.register_forward_pre_hook(
        lambda module, args, kwargs: seen.append(len(args[0] if args else kwargs["pixel_values"])),
        with_kwargs=True,
    )
    try:
        yield seen
    finally:
        hook.remove()
