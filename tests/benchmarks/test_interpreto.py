"""The rival that brings its own words and masks: what it says is given to ours."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")

import numpy as np
from typer.testing import CliRunner

from benchmarks.imdb.__main__ import app
from benchmarks.imdb.interpreto import METHODS, summed_over, ways
from benchmarks.imdb.reading import load
from tests.text.tiny import counting_bert, tokenizer

ALL = ",".join(METHODS)


def test_words_get_the_sum_of_what_overlaps_them() -> None:
    # "well-made, isn't it?" in the words of a BERT and in ours
    theirs = [(0, 4), (4, 5), (5, 9), (9, 10), (11, 14), (14, 15), (15, 16), (17, 19), (19, 20)]
    ours = [(0, 4), (5, 9), (11, 16), (17, 19)]
    scores = np.array([1.0, 10.0, 2.0, 20.0, 3.0, 4.0, 5.0, 6.0, 30.0])
    assert summed_over(theirs, scores, ours).tolist() == [1, 2, 12, 6]
    # A word that it cut off has nothing; one of theirs may count for two of ours.
    assert summed_over([(0, 9)], np.array([7.0]), [(0, 4), (5, 9), (11, 16)]).tolist() == [7, 7, 0]
    with pytest.raises(ValueError, match="2 scores of 1 words"):
        summed_over([(0, 1)], np.zeros(2), [(0, 1)])


def test_its_ways_are_black_boxes_with_rows_for_each_word() -> None:
    found = ways(list(METHODS), [2, 32])
    assert [way.names[0] for way in found[:2]] == ["interpreto_sobol-2", "interpreto_sobol-32"]
    assert {way.kind for way in found} == {"black box"}
    assert all("mask token" in way.titles[0] for way in found)
    with pytest.raises(SystemExit, match="unknown method 'sobol'; known: interpreto_sobol, "):
        ways(["sobol"], [4])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "reviews.jsonl"
    texts = ["the film is good, good and long.", "a bad plot; bad film and the plot is long"]
    lines = [{"id": f"r{k}", "label": 1 - k, "text": text} for k, text in enumerate(texts)]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "tiny-bert"
    counting_bert(tokenizer()).save_pretrained(path)
    tokenizer().save_pretrained(path)
    return path


def asked(command: str, model: Path, data: Path, out: Path, *options: str) -> Any:
    own = ["--model", str(model), "--data", str(data), "--out", str(out)]
    return CliRunner().invoke(app, [command, *own, *options])


def test_without_interpreto_one_is_told_how_to_get_it(
    model: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "interpreto", None)
    refused = asked("interpreto", model, data, tmp_path)
    assert refused.exit_code != 0
    said = refused.output + str(refused.exception)
    assert "pip install -c constraints.txt interpreto" in said


@pytest.mark.filterwarnings("ignore")  # its own, and those of what it needs
def test_its_results_stand_beside_those_of_others(model: Path, data: Path, tmp_path: Path) -> None:
    pytest.importorskip("interpreto", reason="interpreto is not installed")
    rows = ["--rows-per-word", "4,64"]
    assert asked("run", model, data, tmp_path, "--methods", "occlusion,random").exit_code == 0
    for name in ("one", "other"):
        done = asked("interpreto", model, data, tmp_path / name, "--methods", ALL, *rows)
        assert done.exit_code == 0, done.output
    files = [tmp_path / name / "tiny-bert.interpreto.jsonl" for name in ("one", "other")]
    one, other = ([json.loads(line) for line in file.read_text().splitlines()] for file in files)
    assert one[1:] == other[1:], "the seed fixes the answer"
    assert len(one) == 1 + 2 * 2 * len(METHODS)
    (both,) = load([tmp_path / "tiny-bert.jsonl", files[0]])
    deletion = {v.name: v.deletion.mean for v in both.variants}
    # The model counts good and bad words: a regression on enough masks finds them.
    for name in ("interpreto_lime-64", "interpreto_kernel_shap-64"):
        assert deletion[name] == pytest.approx(deletion["occlusion"], abs=0.02)
    for line in one[1:]:
        assert 1 < line["rows"] <= (line["rows_per_word"] or 0) * (line["words"] + 5) + 1
