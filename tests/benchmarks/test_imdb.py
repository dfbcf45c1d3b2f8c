"""The word-deletion benchmark on small models: everything runs, and counts what it should."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks.imdb.__main__ import app
from benchmarks.imdb.data import reviews
from benchmarks.imdb.ways import all_names, ways
from benchmarks.passes import explained, scores_of
from benchmarks.runner import seed_of
from tests.benchmarks.killing import cut_last_line
from tests.text.tiny import counting_bert, tokenizer
from textsobol import TextExplainer
from textsobol.metrics.faithfulness import faithfulness

run = CliRunner().invoke
WORDS = ["good", "bad", "film", "long", "the", "plot", "and", "is"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "reviews.jsonl"
    random = np.random.default_rng(0)
    lines = [
        {"id": f"r{k}", "label": k % 2, "text": " ".join(random.choice(WORDS, 12)) + "<br />good."}
        for k in range(9)
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "tiny-bert"
    counting_bert(tokenizer()).save_pretrained(path)
    tokenizer().save_pretrained(path)
    return path


def results(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()][1:]


def test_a_smoke_run_of_all_methods_on_both_models(data: Path, model: Path, tmp_path: Path) -> None:
    for own in ([], ["--model", str(model)]):
        asked = ["run", *own, "--data", str(data), "--limit", "2", "--out", str(tmp_path)]
        done = run(app, [*asked, "--keep", "0.5,0.9"])
        assert done.exit_code == 0, done.output
    files = sorted(tmp_path.glob("*.jsonl"))
    assert [path.stem for path in files] == ["imdb-bilstm", "tiny-bert"]
    expected = {n for way in ways(all_names(), keep=[0.5, 0.9]) for n in way.names}
    for path in files:
        lines = results(path)
        assert {line["variant"] for line in lines} == expected
        assert len(lines) == 2 * len(expected)
        assert all(len(line["deletion"]) == line["words"] + 1 for line in lines)
        assert all(0 <= p <= 1 for line in lines for p in line["deletion"])
        # Every order starts with the whole text and ends without any word.
        for review in {line["review"] for line in lines}:
            own_lines = [line for line in lines if line["review"] == review]
            assert len({line["deletion"][0] for line in own_lines}) == 1
            assert len({line["deletion"][-1] for line in own_lines}) == 1
    done = run(app, ["report", *map(str, files), "--out", str(tmp_path / "report")])
    assert done.exit_code == 0, done.output
    assert "Occlusion" in (tmp_path / "report" / "report.md").read_text()


def test_more_methods_and_reviews_can_be_added(data: Path, model: Path, tmp_path: Path) -> None:
    def added(*options: str) -> str:
        asked = ["run", "--model", str(model), "--data", str(data), "--out", str(tmp_path)]
        done = run(app, [*asked, *options])
        assert done.exit_code == 0, done.output
        return done.stdout.split(" results")[0]

    assert added("--methods", "occlusion,random", "--limit", "2") == "4"
    assert added("--methods", "occlusion,random", "--limit", "2") == "0"
    cut_last_line(tmp_path / "tiny-bert.jsonl")
    assert added("--methods", "occlusion,random", "--limit", "2") == "1"
    assert added("--methods", "occlusion,random", "--limit", "3") == "2"
    assert added("--methods", "flip", "--limit", "3") == "9"
    other = ["run", "--model", str(model), "--data", str(data), "--out", str(tmp_path)]
    refused = run(app, [*other, "--seed", "1", "--limit", "1"])
    assert refused.exit_code == 1
    assert "seed: 0 there, 1 here" in str(refused.exception) + refused.output


def test_reviews_come_in_the_order_of_the_seed(data: Path) -> None:
    found = reviews(str(data), seed=0)
    assert found == reviews(str(data), seed=0)
    assert len(found) == 9
    assert all("<br" not in review.text for review in found)
    assert found != reviews(str(data), seed=1)
    assert sorted(r.id for r in found) == sorted(r.id for r in reviews(str(data), seed=1))
    assert reviews(str(data), seed=0, max_words=2) == []


def test_passes_are_counted_for_each_method_by_itself(data: Path, model: Path) -> None:
    explainer = TextExplainer(str(model))
    review = reviews(str(data), seed=0)[0]
    shared = explainer.masked(review.text)
    for way in ways(["occlusion", "flip", "rise", "occlusion"]):
        alone = explainer.masked(review.text)
        first, n_alone = explained(alone, way, seed_of(review, 0))
        again, n_shared = explained(shared, way, seed_of(review, 0))
        assert n_alone == n_shared
        np.testing.assert_allclose(first.scores, again.scores)
    (occlusion,) = ways(["occlusion"])
    assert explained(shared, occlusion, 0)[1] == shared.n_features + 1
    (flip,) = ways(["flip"], rows_per_word=[4])
    assert explained(shared, flip, 0)[1] <= 4 * (shared.n_features + 1) + 1


def test_signed_scores_of_a_linear_model_delete_as_well_as_the_search(
    data: Path, model: Path
) -> None:
    explainer = TextExplainer(str(model))
    for review in reviews(str(data), seed=0)[:4]:
        game = explainer.masked(review.text)
        measured = {}
        for way in ways(["flip", "greedy", "random"]):
            found, _ = explained(game, way, seed_of(review, 0))
            scores = scores_of(found, way.scores[0])
            measured[way.method] = faithfulness(game, scores, game.prediction).deletion
        assert measured["sobol"] == pytest.approx(measured["greedy"], abs=0.02)
        assert measured["sobol"] <= measured["random"] + 1e-9


def test_unknown_methods_are_named() -> None:
    with pytest.raises(SystemExit, match="unknown method 'limes'; known: flip, jansen, path, "):
        ways(["limes"])


def test_another_model_of_the_same_name_and_other_data_are_refused(
    data: Path, model: Path, tmp_path: Path
) -> None:
    def asked(model: Path, data: Path) -> Any:
        options = ["--methods", "occlusion", "--limit", "1", "--out", str(tmp_path / "out")]
        return run(app, ["run", "--model", str(model), "--data", str(data), *options])

    assert asked(model, data).exit_code == 0
    other = tmp_path / model.name
    changed = counting_bert(tokenizer())
    changed.classifier.weight.data *= -1
    changed.save_pretrained(other)
    tokenizer().save_pretrained(other)
    refused = asked(other, data)
    assert "weights: " in str(refused.exception) + refused.output
    elsewhere = tmp_path / data.name
    elsewhere.write_text(data.read_text().replace("film", "plot"))
    refused = asked(model, elsewhere)
    assert "reviews: " in str(refused.exception) + refused.output


def test_a_review_without_words_is_left_out(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "reviews.jsonl"
    lines = [{"text": ". , .", "label": 0}, {"text": "a good film", "label": 1}]
    path.write_text("\n".join(map(json.dumps, lines)))
    assert [review.text for review in reviews(str(path), seed=0)] == ["a good film"]


def test_all_that_can_choose_get_the_same_number_of_rows() -> None:
    every = ways(["rise", "lime", "kernel_shap", "permutation_shap"], rows_per_word=[4])
    assert {way.budget(50) for way in every} == {1 + 4 * 51}


@pytest.mark.parametrize("command", ["convergence", "sanity"])
def test_consistency_is_measured(command: str, data: Path, tmp_path: Path) -> None:
    asked = [command, "--data", str(data), "--reviews", "2"]  # of the bundled model
    first = run(app, [*asked, "--out", str(tmp_path)])
    assert first.exit_code == 0, first.output
    again = run(app, [*asked, "--out", str(tmp_path)])
    assert again.stdout == first.stdout, "nothing is done twice"
    table = [line.split("|") for line in first.stdout.splitlines() if line.startswith("| ")]
    of_flip = [float(row[2].split()[0]) for row in table[2:]]
    if command == "sanity":
        # The whole model random: nothing of the explanation is left but chance.
        assert abs(of_flip[-1]) < 1
    else:
        assert of_flip[-1] >= of_flip[0] - 0.05
        assert of_flip[-1] > 0.9
