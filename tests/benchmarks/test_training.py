"""The training scripts on small data, from the command line to a model that can be explained."""

import contextlib
import gzip
import importlib
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.text.tiny import counting_bert, tokenizer
from textsobol import Sobol, TextExplainer

pytest.importorskip("datasets", reason="the dev extra is not installed")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty reviews of each kind, and vectors of three numbers."""
    path = tmp_path_factory.mktemp("data")
    rows = [
        {"text": f"The film number {k} is {word}<br />, really {word}!", "label": label}
        for k in range(40)
        for label, word in enumerate(("bad", "good"))
    ]
    with gzip.open(path / "reviews.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    (path / "reviews.csv").write_text(
        "text,label\n" + "".join(f'"{row["text"]}",{row["label"]}\n' for row in rows)
    )
    (path / "glove.txt").write_text("good 1 0 0\nbad 0 1 0\nfilm 0 0 1\n")
    return path


def run(module: str, *arguments: str) -> str:
    """What a command prints; in this process, since imports take longer than training."""
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.setattr(sys, "argv", ["", *arguments])
        importlib.import_module(f"benchmarks.imdb.{module}").main()
    return out.getvalue()


def sentiment_of(path: Path) -> Any:
    explanation = TextExplainer(path)("this film is good not bad", method=Sobol(base_masks=4))
    return explanation.for_target("POSITIVE").top(2)


def test_the_bilstm_learns_and_is_written_down(data: Path, tmp_path: Path) -> None:
    common = [
        "--train", str(data / "reviews.jsonl.gz"), "--test", str(data / "reviews.csv"),
        "--glove", str(data / "glove.txt"), "--epochs", "12", "--batch", "8",
        "--learning-rate", "0.02", "--patience", "12",
    ]  # fmt: skip
    outputs = [run("train_bilstm", *common, f"--out={tmp_path / name}") for name in ("one", "two")]
    results = [
        json.loads((tmp_path / name / "results.json").read_text()) for name in ("one", "two")
    ]
    assert results[0] == results[1], "the same seed gives the same model"
    assert results[0]["test_accuracy"] == 1.0
    assert "test accuracy 1.0000 on 80 reviews" in outputs[0]
    card = (tmp_path / "one" / "README.md").read_text()
    assert "accuracy on 80 test texts | 100.00%" in card
    assert "--glove glove.txt" in card
    assert str(tmp_path) not in card
    top = sentiment_of(tmp_path / "one")
    assert {each.word for each in top} == {"good", "bad"}


def test_a_transformer_is_fine_tuned(data: Path, tmp_path: Path) -> None:
    counting_bert(tokenizer()).save_pretrained(tmp_path / "base")
    tokenizer().save_pretrained(tmp_path / "base")
    printed = run(
        "train_transformer", "--base", str(tmp_path / "base"),
        "--train", str(data / "reviews.csv"), "--test", str(data / "reviews.jsonl.gz"),
        "--out", str(tmp_path / "tuned"), "--epochs", "1", "--batch", "16", "--limit", "40",
    )  # fmt: skip
    assert "test accuracy" in printed
    results = json.loads((tmp_path / "tuned" / "results.json").read_text())
    assert results["train_reviews"] == 36
    assert results["test_accuracy"] == 1.0, "the base model knows good from bad already"
    assert {each.word for each in sentiment_of(tmp_path / "tuned")} == {"good", "bad"}


def test_frozen_layers_stay_as_they_are(data: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForSequenceClassification

    base = counting_bert(tokenizer())
    base.save_pretrained(tmp_path / "base")
    tokenizer().save_pretrained(tmp_path / "base")
    common = [
        "--base", str(tmp_path / "base"), "--train", str(data / "reviews.csv"),
        "--test", str(data / "reviews.csv"), "--epochs", "1", "--limit", "40", "--bfloat16",
        "--learning-rate", "0.1",
    ]  # fmt: skip
    n_layers = base.config.num_hidden_layers
    printed = run(
        "train_transformer", *common, "--frozen", str(n_layers), "--test-limit", "10",
        "--out", str(tmp_path / "tuned"),
    )  # fmt: skip
    assert "on 10 reviews" in printed
    tuned = AutoModelForSequenceClassification.from_pretrained(tmp_path / "tuned").state_dict()
    before = base.half().float().state_dict()
    kept = {name for name in before if before[name].equal(tuned[name])}
    assert {name for name in before if ".layer." in name or "embeddings" in name} <= kept
    assert any(name not in kept for name in before if "classifier" in name)


def test_data_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    from benchmarks.imdb.data import load

    (tmp_path / "reviews.txt").write_text("nothing")
    with pytest.raises(SystemExit, match="known files of many texts are"):
        load(str(tmp_path / "reviews.txt"), "train")
    (tmp_path / "reviews.csv").write_text("words,label\nx,1\n")
    with pytest.raises(SystemExit, match="no column text"):
        load(str(tmp_path / "reviews.csv"), "train")


def test_glove_files_with_headers_and_spaces_are_read(tmp_path: Path) -> None:
    from benchmarks.imdb.train_bilstm import read_glove

    (tmp_path / "v.txt").write_text(
        "3 2\n. . . 0.3 0.4\ncaf\u00e9 1 2\ngood 3 4\n", encoding="utf-8"
    )
    vectors = read_glove(tmp_path / "v.txt")
    assert set(vectors) == {". . .", "caf\u00e9", "good"}
    assert vectors["good"].tolist() == [3, 4]


def test_any_labels_can_be_learned_and_the_last_texts_held_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks.imdb import train_transformer

    counting_bert(tokenizer()).bert.save_pretrained(tmp_path / "base")  # without a head
    tokenizer().save_pretrained(tmp_path / "base")
    kinds = ("World", "Sports", "Sci/Tech")
    rows = [{"text": f"good film {k}", "label": kinds[k % 3]} for k in range(30)]
    (tmp_path / "news.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = [
        "", "--base", str(tmp_path / "base"), "--train", str(tmp_path / "news.jsonl"),
        "--held-out", "12", "--labels", "Sci/Tech,Sports,World", "--epochs", "1",
        "--random-masking", "--out", str(tmp_path / "tuned"),
    ]  # fmt: skip
    monkeypatch.setattr(sys, "argv", arguments)
    train_transformer.main()
    results = json.loads((tmp_path / "tuned" / "results.json").read_text())
    assert (results["train_reviews"], results["test_reviews"]) == (16, 12)
    saved = json.loads((tmp_path / "tuned" / "config.json").read_text())
    assert saved["id2label"] == {"0": "Sci/Tech", "1": "Sports", "2": "World"}
    assert "| random masking | every second text" in (tmp_path / "tuned" / "README.md").read_text()


def test_every_second_text_misses_any_share_of_its_words() -> None:
    datasets = pytest.importorskip("datasets")
    from benchmarks.imdb.training import RandomlyMaskedTexts

    own = tokenizer()
    data = datasets.Dataset.from_dict({"text": ["good bad " * 50], "label": [0]})
    texts = RandomlyMaskedTexts(data, own, 256)
    whole = texts.ids[0]
    rows = [[whole[place] for place in texts.kept(0)] for _ in range(400)]
    assert 150 < sum(row == whole for row in rows) < 250
    shares = [(len(row) - 2) / (len(whole) - 2) for row in rows if row != whole]
    assert min(shares) < 0.1
    assert abs(sum(shares) / len(shares) - 0.5) < 0.06
    assert all((row[0], row[-1]) == (whole[0], whole[-1]) for row in rows), "special tokens stay"


def test_pairs_are_made_learned_and_explained(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from benchmarks.heldout.__main__ import app
    from benchmarks.imdb.data import PAIR

    counting_bert(tokenizer()).save_pretrained(tmp_path / "base")
    tokenizer().save_pretrained(tmp_path / "base")
    rows = [
        {"text": f"The film {k} was good indeed. The plot {k} was bad indeed.", "label": k % 2}
        for k in range(24)
    ]
    items, pairs = tmp_path / "items.jsonl", tmp_path / "pairs.jsonl"
    items.write_text("".join(json.dumps(row) + "\n" for row in rows))
    made = CliRunner().invoke(
        app,
        ["pairs", "--data", str(items), "--out", str(pairs), "--held-out", "8", "--seed", "1"],
    )
    assert made.exit_code == 0, made.output
    found = [json.loads(line) for line in pairs.read_text().splitlines()]
    assert len(found) == 2 * 16 + 8
    numbers = [[int(re.findall(r"\d+", row[name])[0]) for name in PAIR] for row in found]
    for (first, second), row in zip(numbers, found, strict=True):
        assert (first == second) == (row["label"] == "same")
        assert (first - second) % 2 == 0, "both halves have the same label"
    train, test = ({k for pair in part for k in pair} for part in (numbers[:-8], numbers[-8:]))
    assert train.isdisjoint(test)
    assert [row["label"] for row in found[-8:]].count("same") == 4
    run(
        "train_transformer", "--base", str(tmp_path / "base"), "--train", str(pairs),
        "--held-out", "8", "--labels", "other,same", "--epochs", "1", "--random-masking",
        "--out", str(tmp_path / "tuned"),
    )  # fmt: skip
    asked = ["run", "--data", str(pairs), "--name", "pairs", "--model", str(tmp_path / "tuned"),
             "--last", "8", "--limit", "2", "--methods", "scores,lime", "--passes", "2",
             "--masks", "20", "--base-masks", "4", "--out", str(tmp_path)]  # fmt: skip
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    lines = (tmp_path / "tuned.pairs.jsonl").read_text().splitlines()[1:]
    assert {json.loads(line)["words"] for line in lines} == {12}


def test_words_of_pairs_go_on_in_the_second_text() -> None:
    datasets = pytest.importorskip("datasets")
    from benchmarks.imdb.training import Texts

    data = datasets.Dataset.from_dict(
        {"first": ["good film"], "second": ["bad film"], "label": [0]}
    )
    texts = Texts(data, tokenizer(), 64)
    assert texts.words == [[None, 0, 1, None, 2, 3, None]]
    assert texts.batch([0])["token_type_ids"].tolist() == [[0, 0, 0, 0, 1, 1, 1]]
