"""``textsobol corpus`` and ``textsobol report``."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from tests.corpus.samples import reviews, write_csv
from tests.text.tiny import counting_bert, tokenizer
from textsobol import progress, read_explanations
from textsobol.cli import app
from textsobol.progress import JobProgress

run = CliRunner().invoke


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("model")
    counting_bert(tokenizer()).save_pretrained(path)
    tokenizer().save_pretrained(path)
    return str(path)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    texts = [*reviews(9), " ", " ".join(["good"] * 90)]
    rows = [{"name": f"n{k}", "review": text} for k, text in enumerate(texts)]
    return write_csv(tmp_path / "reviews.csv", rows)


def said(result: object) -> str:
    return " ".join(getattr(result, "output", "").split())


def test_many_texts_are_explained_and_reported(model: str, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "explained"
    command = ["corpus", str(table), "-m", model, "--out", str(out), "--column", "review"]
    command += ["--id-column", "name", "--shard-size", "4", "--budget", "70", "--seed", "3"]
    done = run(app, command)
    assert done.exit_code == 3, done.output
    assert "explained 10 of 11 texts" in said(done)
    assert "1 are longer than the model's window" in said(done)
    assert "1 failed, see their column 'error'; 'n9': nothing to explain" in said(done)
    found = read_explanations(out)
    assert [name for name, _ in found.items()] == [f"n{k}" for k in (*range(9), 10)]
    assert found.manifest["settings"]["seed"] == 3
    assert "11 of 11 texts are done" in said(run(app, command)), "nothing is done twice"
    assert run(app, [*command, "--limit", "9"]).exit_code == 1
    files = [str(tmp_path / name) for name in ("page.html", "words.csv", "words.parquet")]
    report = ["report", str(out), "--html", files[0], "--csv", files[1], "--parquet", files[2]]
    reported = run(app, [*report, "--texts", "4", "--top", "2"])
    assert reported.exit_code == 0, reported.output
    assert "10 texts: " in reported.output
    lines = [line.split() for line in reported.output.splitlines()]
    assert [
        "push",
        "to",
        "LABEL_1",
        "texts",
        "times",
        "mean",
        "score",
        "95",
        "%",
        "interval",
    ] in lines
    place = next(k for k, line in enumerate(lines) if line[:3] == ["push", "to", "LABEL_1"])
    assert lines[place + 1][0] == "good"
    page = Path(files[0]).read_text()
    assert page.count('<article class="item"') == 4
    assert "4 of 10 texts are listed, sampled at random" in page
    assert "10 texts and 1 that could not be explained" in page


def test_all_fine_is_0_and_quiet_says_only_the_end(model: str, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "two.csv", [{"text": text} for text in reviews(2)])
    done = run(app, ["corpus", str(table), "-m", model, "--out", str(tmp_path / "out"), "-q"])
    assert done.exit_code == 0
    assert said(done).startswith("explained 2 of 2 texts in")
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["TABLE"], 2, "Missing option '--out'"),
        (["TABLE", "--out", "OUT", "--html", "a.html"], 2, "No such option: --html"),
        (["TABLE", "--out", "OUT", "--keep", "2"], 1, "keep=2.0: the probability that a word"),
        (["TABLE", "--out", "OUT", "--method", "gradcam"], 1, "explains pictures only"),
        (["TABLE", "--out", "OUT", "-m", "MODEL"], 1, "no column 'text'; it has name, review"),
        (["nothing.csv", "--out", "OUT", "-m", "nowhere"], 1, "there is no file 'nothing.csv'"),
        (
            ["some/where", "--out", "OUT", "-m", "MODEL"],
            1,
            "if it is a hub data set, give its split",
        ),
        (["--out", "OUT"], 2, "Missing argument"),
        (["TABLE", "--out", "TABLE", "--column", "review", "-m", "MODEL"], 1, "is a file"),
    ],
)
def test_what_is_wrong_is_told(
    model: str, table: Path, tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    names = {"TABLE": str(table), "OUT": str(tmp_path / "out"), "MODEL": model}
    result = run(app, ["corpus", *(names.get(a, a) for a in arguments)])
    assert result.exit_code == code, result.output
    assert message in " ".join(result.output.replace("\u2502", " ").split())


def test_one_text_and_many_are_told_apart(model: str, table: Path) -> None:
    result = run(app, ["explain", str(table), "-m", model])
    assert result.exit_code == 2
    assert "holds many texts: textsobol corpus" in " ".join(result.output.split())


def test_a_report_needs_a_job(tmp_path: Path) -> None:
    result = run(app, ["report", str(tmp_path)])
    assert result.exit_code == 1
    assert "holds no explained texts" in said(result)


def test_a_job_that_is_not_finished_can_be_reported(
    model: str, table: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run(app, ["corpus", str(table), "-m", model, "--out", str(out), "--column", "review",
              "--shard-size", "6", "--budget", "70"])  # fmt: skip
    record = out / "_shards.record"
    record.write_text(record.read_text().splitlines()[0] + "\n")
    manifest = json.loads((out / "_manifest.json").read_text())
    del manifest["result"]
    (out / "_manifest.json").write_text(json.dumps(manifest))
    result = run(app, ["report", str(out)])
    assert "6 texts: " in result.output
    assert "the job is not finished" in result.output
    few = run(app, ["report", str(out), "--min-texts", "99"])
    assert "no word that pushes to a label is in 99 texts or more" in few.output
    assert "mean score" not in few.output


def test_the_end_is_told_from_the_work_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the texts, but a tenth of the work, in 10 s: a minute and a half is left."""
    clock = [0.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    job = JobProgress(enabled=False)
    job.expect(12, n_left=4, work=100.0)
    clock[0] = 10.0
    job.count_texts(2, work=10.0)
    # At this rate the four texts that were left would take 100 s.
    assert job.describe() == "10 of 12 texts, 0.04 texts per second, about 2 min left"
    clock[0] = 20.0
    job.count_part(10, work=30.0, fraction=0.5)
    assert job.describe() == "10 of 12 texts, 0.05 texts per second, about 1 min left"
    job.count_part(10, work=30.0, fraction=2.0)
    job.count_text(10, work=30.0)
    assert job.describe() == "11 of 12 texts, 0.08 texts per second, about 30 s left"
