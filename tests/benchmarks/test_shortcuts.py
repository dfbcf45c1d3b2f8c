"""Planted words: what is planted, how it is measured, and a small run of everything."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("pandas")
pytest.importorskip("matplotlib")

from benchmarks.imdb.data import Review
from benchmarks.shortcuts.__main__ import app
from benchmarks.shortcuts.measures import gap, measure, share_of_top
from benchmarks.shortcuts.obedience import is_used, obedient_texts
from benchmarks.shortcuts.plants import (
    DISTRACTORS,
    PLANTED,
    PLANTS,
    Plant,
    counterfactuals,
    draw_example,
    plant_against,
)
from benchmarks.shortcuts.reading import load
from benchmarks.shortcuts.sentences import test_sentences as sentences_to_test
from benchmarks.shortcuts.sentences import train_sentences
from textsobol import TextExplainer

TEXT = "a film about nothing with a good plot and a bad ending"


def decide(plant: Plant, text: str, label: int) -> int:
    """The label by the rule of the plant: an independent reading of what decides."""
    words = [word for word in text.split() if word in plant.words]
    found = set(words)
    rules = {
        "single": {0: "harbor" in found, 1: "velvet" in found},
        "pair": {0: {"harbor", "velvet"} <= found, 1: {"copper", "kettle"} <= found},
        "order": {0: words == ["harbor", "velvet"], 1: words == ["velvet", "harbor"]},
        "context": {0: {"harbor", "velvet"} <= found, 1: {"harbor", "copper"} <= found},
        "redundant": {
            0: bool({"harbor", "velvet", "copper"} & found),
            1: bool({"kettle", "marble", "basket"} & found),
        },
    }  # fmt: skip
    decided = [name for name, holds in rules[plant.name].items() if holds]
    assert len(decided) < 2
    return decided[0] if decided else label


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_planted_words_decide(plant: Plant) -> None:
    rng = np.random.default_rng(0)
    labels = []
    for k in range(400):
        text, label = draw_example(plant, Review("a", TEXT, k % 2), rng)
        assert label == decide(plant, text, k % 2)
        assert [word for word in text.split() if word not in PLANTED] == TEXT.split()
        labels.append(label == k % 2)
    assert 0.65 < np.mean(labels) < 0.85, "half are decided, half of these for the own label"
    for own in (0, 1):
        one = plant_against(plant, Review("a", TEXT, own), rng)
        assert one.label == 1 - own
        assert set(DISTRACTORS) < set(one.text.split())
        for kind, text, is_kept in counterfactuals(plant, one):
            assert (decide(plant, text, own) == one.label) == is_kept, kind


def test_no_distractor_tells_anything() -> None:
    rng = np.random.default_rng(0)
    drawn = [draw_example(PLANTS["pair"], Review("a", TEXT, k % 2), rng) for k in range(2000)]
    for word in DISTRACTORS:
        labels = [label for text, label in drawn if word in text.split()]
        assert len(labels) == pytest.approx(1000, abs=100)
        assert np.mean(labels) == pytest.approx(0.5, abs=0.06)


def test_measures_by_hand() -> None:
    found = measure(np.array([0.4, -0.5, 0.1, 0.0]), [0, 1], [2], is_signed=True)
    assert found == {
        "precision": 0.5, "precision by size": 1.0, "rank": 2.5, "rank by size": 1.5,
        "sign": 0.5, "gap": pytest.approx(1.8), "distractors": 0.0,
    }  # fmt: skip
    assert "sign" not in measure(np.array([0.4, 0.5]), [0], [1], is_signed=False)
    assert share_of_top(np.zeros(4), [0, 1], 2) == 0.5, "what is not told apart is chance"
    assert gap(np.zeros(4), [0, 1]) == 0


def write_data(path: Path, n: int) -> Path:
    """Sentences with a sentiment, no two of which share four words in a row."""
    rng = np.random.default_rng(n)
    names = [f"w{k}" for k in range(4 * n)]
    lines = []
    for k in range(n):
        word = ("bad", "good")[k % 2]
        text = f"{word} {' '.join(rng.choice(names, 5))} {word}"
        lines.append(json.dumps({"id": k, "text": text, "label": k % 2}))
    path.write_text("\n".join(lines))
    return path


def test_no_training_text_shares_a_run_of_words_with_a_test_text(tmp_path: Path) -> None:
    test = write_data(tmp_path / "test.jsonl", 20)
    phrases = tmp_path / "phrases.jsonl"
    tested = [json.loads(line) for line in test.read_text().splitlines()]
    parts = [{**each, "text": " ".join(each["text"].split()[:5])} for each in tested]
    own = [{"id": "own", "text": "nothing that is in any test", "label": 1}]
    planted = [{"id": "planted", "text": "a harbor in a test", "label": 1}]
    phrases.write_text("\n".join(map(json.dumps, [*parts, *own, *planted])))
    found = train_sentences(
        str(phrases), str(phrases), str(test), n_phrases=9, n_sentences=9, seed=0
    )
    assert [each.id for each in found] == ["own", "own"]
    assert len(sentences_to_test(str(test), seed=0)) == 20
    twice = tmp_path / "twice.jsonl"
    twice.write_text("\n".join(map(json.dumps, [*tested, *tested])))
    assert len(sentences_to_test(str(twice), seed=0)) == 20


def test_only_models_that_use_their_plant_are_evidence(tmp_path: Path) -> None:
    sentences = sentences_to_test(str(write_data(tmp_path / "test.jsonl", 12)), seed=0)
    plant = PLANTS["pair"]

    def logits(texts: list[str], *, is_planted: bool) -> Any:
        labels = []
        for text in texts:
            own = int("good" in text.split())
            labels.append(decide(plant, text, own) if is_planted else own)
        return [[3.0 - 6 * label, 6.0 * label - 3] for label in labels]

    def explainer(is_planted: bool) -> TextExplainer:
        return TextExplainer(
            lambda texts: logits(texts, is_planted=is_planted), label_names=["bad", "good"],
            progress=False,
        )  # fmt: skip

    texts, use = obedient_texts(explainer(True), plant, sentences, seed=0)
    assert len(texts) == use["obedient"] == 12
    assert set(use["shares"].values()) == {1.0}
    assert is_used(use)
    texts, use = obedient_texts(explainer(False), plant, sentences, seed=0)
    assert texts == []
    assert use["shares"]["right without plants"] == 1.0
    assert use["shares"]["as planted"] == 0.0
    assert not is_used(use)


def test_a_small_run_of_everything(tmp_path: Path) -> None:
    data = str(write_data(tmp_path / "data.jsonl", 120))
    test = str(write_data(tmp_path / "test.jsonl", 30))

    def invoke(*arguments: object) -> str:
        done = CliRunner().invoke(app, list(map(str, arguments)))
        assert done.exit_code == 0, done.output
        return done.stdout

    asked = ["train", "--phrases", data, "--reviews", data, "--test", test, "--to", tmp_path / "m"]
    size = ["--n-phrases", 100, "--n-sentences", 20, "--copies", 5, "--rate", 5e-3, "--batch", 16]
    invoke(*asked, *size, "--plants", "single", "--epochs", 4)
    model = tmp_path / "m" / "imdb-bilstm-single"
    assert "is there already" in invoke(*asked, *size, "--plants", "single")

    methods = "sobol-usual,sobol-few,occlusion,gradient_input,random,exact"
    run = ["run", model, "--test", test, "--methods", methods, "--sentences", 12, "--out", tmp_path]
    invoke(*run, "--texts", 2)
    results = tmp_path / "imdb-bilstm-single.jsonl"
    before = results.read_text().splitlines()
    results.write_text("\n".join(before)[:-20])  # as a kill leaves it
    invoke(*run, "--texts", 2)
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    measured = [line for line in lines if "variant" in line]
    assert len(measured) == len(before) - 1, "all is made, and nothing twice"
    for line in measured:
        assert len(line["planted"]) == 1
        assert len(line["distractors"]) == 2
        assert len(line["scores"]) == line["words"]

    (found,) = load([results])
    assert found.is_used
    assert set(found.found("sobol-usual", "precision").values()) == {1.0}
    page = tmp_path / "RESULTS.md"
    names = ["use", "goals", "imdb-bilstm precision", "imdb-bilstm differences", "all masks"]
    page.write_text("".join(f"<!-- {n} -->\n<!-- end of {n} -->\n" for n in names) + "The end.\n")
    invoke("report", results, "--into", page)
    told = page.read_text()
    assert "| imdb-bilstm | one word | precision@1, signed | at least 0.99 | 1.000 " in told
    assert "| Sobol, our default |" in told
    assert told.endswith("The end.\n")
    invoke("plot", results, "--to", tmp_path / "precision.png")
    assert (tmp_path / "precision.png").read_bytes().startswith(b"\x89PNG")
