"""Long texts and what they cost, from the command line."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.corpus.samples import reviews, write_csv
from tests.text.tiny import counting_bert, tokenizer
from textsobol import TextExplainer, read_explanations
from textsobol.cli import app
from textsobol.corpus import estimate_corpus, explain_corpus
from textsobol.corpus.shard import derive_seed

LONG = "the plot is long and good but " * 20 + "bad"
run = CliRunner().invoke


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("model")
    counting_bert(tokenizer()).save_pretrained(path)
    tokenizer().save_pretrained(path)
    return str(path)


def test_a_window_slides_over_a_long_text(model: str) -> None:
    asked = ["explain", LONG, "-m", model, "--method", "occlusion"]
    outside = run(app, asked)
    assert "With long='window' (--long window) a window slides" in " ".join(outside.output.split())
    options = ["--long", "window", "--aggregate", "max", "--stride", "5"]
    found = json.loads(run(app, [*asked, *options, "--json"]).stdout)
    assert {word["status"] for word in found["words"]} == {"scored"}
    made = {name: found["settings"][name] for name in ("long", "aggregate", "stride", "windows")}
    assert made == {"long": "window", "aggregate": "max", "stride": 5, "windows": 3}
    told = run(app, [*asked, *options]).output.splitlines()[-1]
    assert f"142 forward passes, {found['cost']['windows']} windows" in told
    refused = run(app, [*asked, "--stride", "5"])
    assert refused.exit_code == 2
    assert "--aggregate and --stride need --long window" in refused.output


def test_a_dry_run_says_what_a_text_costs(model: str) -> None:
    asked = ["explain", LONG, "-m", model, "--method", "occlusion", "--long", "window", "--dry-run"]
    told = run(app, asked)
    assert told.exit_code == 0, told.output
    assert told.stdout.startswith("142 forward passes (about ")
    assert json.loads(run(app, [*asked, "--json"]).stdout)["passes"] == 142


def test_a_dry_run_says_what_many_texts_cost(model: str, tmp_path: Path) -> None:
    texts = [*reviews(39), LONG]
    table = write_csv(tmp_path / "reviews.csv", [{"text": text} for text in texts])
    out = tmp_path / "explained"
    asked = ["corpus", str(table), "-m", model, "--out", str(out), "--method", "occlusion"]
    told = run(app, [*asked, "--long", "window", "--limit", "20", "--dry-run"])
    assert told.exit_code == 0, told.output
    assert not out.exists()
    passes = sum(len(text.split()) + 1 for text in texts[:20])
    assert told.stdout.startswith("20 texts: ")
    assert abs(int(told.stdout.split()[2].replace(",", "")) - passes) < 0.1 * passes
    told = run(app, [*asked, "--dry-run"])
    assert told.stdout.startswith("40 texts: about ")
    assert told.stdout.endswith("; estimated from 32 of them\n")


def test_many_texts_are_estimated_and_explained_as_one_by_one(tmp_path: Path) -> None:
    tok = tokenizer()
    explainer = TextExplainer(counting_bert(tok), tok, long="window", progress=False)
    texts = [*reviews(5), LONG]
    table = write_csv(tmp_path / "reviews.csv", [{"text": text} for text in texts])
    estimate = estimate_corpus(explainer, str(table), method="occlusion")
    job = explain_corpus(explainer, str(table), out=tmp_path / "out", method="occlusion")
    found = dict(read_explanations(job.directory).items())
    assert estimate.passes == sum(each.cost["forwarded"] for each in found.values())
    assert estimate.texts == 6
    alone = explainer(LONG, method="occlusion", seed=derive_seed(0, "5"))
    assert found["5"].cost["windows"] == alone.cost["windows"] > 142
    assert found["5"].settings == alone.settings
    assert [each.word for each in found["5"].top(9)] == [each.word for each in alone.top(9)]
