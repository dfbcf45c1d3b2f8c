import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.text.tiny import counting_bert, tokenizer
from textsobol.cli import app

TEXT = "The plot is good but the ending is bad."
run = CliRunner().invoke


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("model")
    counting_bert(tokenizer()).save_pretrained(path)
    tokenizer().save_pretrained(path)
    return str(path)


def test_a_text_is_explained(model: str) -> None:
    result = run(app, ["explain", TEXT, "--model", model, "--target", "LABEL_1"])
    assert result.exit_code == 0, result.output
    assert TEXT in result.output
    lines = [line.split() for line in result.output.splitlines()]
    ranked = [line[0] for line in lines if len(line) > 2 and line[1][0] in "+-"]
    assert set(ranked[:2]) == {"good", "bad"}
    assert "\x1b" not in result.output, "no colours in a pipe"


def test_a_method_can_be_chosen(model: str) -> None:
    asked = ["explain", TEXT, "--model", model, "--target", "LABEL_1"]
    grouped = run(app, [*asked, "--method", "sobol", "--budget", "8"])
    assert grouped.exit_code == 0, grouped.output
    assert "sobol, " in grouped.output.splitlines()[-1]
    assert "masked as groups" in grouped.output
    chosen = run(app, [*asked, "--method", "occlusion"])
    assert "occlusion (loss when left out), 10 forward passes" in chosen.output.splitlines()[-1]
    refused = run(app, [*asked, "--method", "anchors"])
    assert refused.exit_code != 0
    assert "unknown method 'anchors'; known: sobol, gates, random" in refused.output


@pytest.mark.parametrize("way", ["file", "dash", "pipe"])
def test_texts_come_from_anywhere(model: str, tmp_path: Path, way: str) -> None:
    (tmp_path / "review.txt").write_text(TEXT)
    first = {"file": [str(tmp_path / "review.txt")], "dash": ["-"], "pipe": []}[way]
    given: dict[str, Any] = {} if way == "file" else {"input": TEXT}
    result = run(app, ["explain", *first, "--model", model, "--json"], **given)
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert data["text"] == TEXT
    assert data["settings"]["seed"] == 0
    assert result.stdout.count("\n") == 1


def test_options_reach_the_explainer(model: str) -> None:
    result = run(
        app,
        ["explain", TEXT, "-m", model, "--json", "--budget", "30", "--keep", "0.7", "--seed", "3",
         "--unit", "token", "--perturbation", "mask", "--score", "probability", "--quiet",
         "--dtype", "bfloat16"],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    settings = json.loads(result.stdout)["settings"]
    asked = {
        "keep": 0.7,
        "seed": 3,
        "unit": "token",
        "perturbation": "mask",
        "score": "probability",
        "dtype": "bfloat16",
    }
    assert {name: settings[name] for name in asked} == asked
    assert json.loads(result.stdout)["cost"]["forwarded"] <= 30


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["explain", "  "], 1, "nothing to explain"),
        (["explain", TEXT, "-m", "./nowhere/at-all"], 1, "there is no such directory"),
        (["explain", "."], 2, "is a directory"),
        (["explain", TEXT, "-m", "MODEL", "--target", "GOOD"], 1, "analysed: LABEL_0, LABEL_1"),
        (["explain", TEXT, "-m", "MODEL", "--keep", "2"], 1, "between 0 and 1"),
        (["explain", TEXT, "-m", "MODEL", "--budget", "1"], 1, "at least 2 forward passes"),
        (
            ["explain", TEXT, "-m", "MODEL", "--budget", "3", "--interactions", "2"],
            1,
            "at least 12 forward passes",
        ),
        (["explain", TEXT, "-m", "MODEL", "--budget", "many"], 2, "--budget"),
        (["explain", TEXT, "-m", "MODEL", "--dtype", "int8"], 2, "--dtype"),
        (
            ["explain", TEXT, "--endpoint", "http://localhost:1/", "--dtype", "float16"],
            1,
            "dtype= goes with a transformers model",
        ),
        (["explain", "missing-file.txt", "-m", "MODEL"], 2, "there is no file"),
        (["explain", TEXT, "--bogus"], 2, "--bogus"),
        (["nonsense"], 2, "nonsense"),
    ],
)
def test_exit_codes(model: str, arguments: list[str], code: int, message: str) -> None:
    result = run(app, [model if a == "MODEL" else a for a in arguments])
    assert result.exit_code == code, result.output
    assert message in " ".join(result.output.split())


def test_warnings_go_to_stderr_and_can_be_silenced(model: str) -> None:
    long = " ".join(["film"] * 90)
    loud = run(app, ["explain", long, "-m", model, "--json", "--budget", "70"])
    assert loud.stderr.startswith("WindowWarning: ")
    assert "lie outside" in loud.stderr
    json.loads(loud.stdout)
    assert run(app, ["explain", long, "-m", model, "--json", "--budget", "70", "-q"]).stderr == ""


def test_errors_say_the_name_to_look_them_up_by(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = run(app, ["explain", TEXT, "--budget", "1"])
    assert (wrong.exit_code, wrong.stderr.count("\n")) == (1, 1)
    assert wrong.stderr.startswith("error: ")

    def fail(*_: Any, **__: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr("textsobol.models.bilstm.BiLstmForSequenceClassification.forward", fail)
    failed = run(app, ["explain", TEXT])
    assert (failed.exit_code, failed.stderr.count("\n")) == (1, 1)
    assert failed.stderr.startswith("BlackBoxError: ")


def test_help_is_quick_and_loads_no_model_library() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from textsobol.cli import app;"
        "print(CliRunner().invoke(app, ['explain', '--help']).output);"
        "print('loaded', [m for m in ('torch', 'transformers') if m in sys.modules])"
    )
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "loaded []" in done.stdout
    assert "--budget" in done.stdout
    assert time.perf_counter() - start < 5, "far from 0.5 s even on a busy machine"


def test_control_characters_do_not_reach_the_terminal(model: str) -> None:
    result = run(app, ["explain", "good \x1b]0;title\x07 film", "-m", model])
    assert result.exit_code == 0
    assert "\x1b" not in result.output
    assert "\x07" not in result.output


def test_the_bundled_model_needs_no_options() -> None:
    result = run(app, ["explain", "A gripping film, ruined by its dull ending.", "--top", "2"])
    assert result.exit_code == 0, result.output
    assert "imdb-bilstm" in result.output
    assert "... and 6 more" in result.output


def test_words_can_be_ignored(model: str) -> None:
    for ignore, left in (("stopwords", 4), ("plot,ending", 7)):
        result = run(app, ["explain", TEXT, "-m", model, "--json", "--ignore", ignore])
        statuses = [word["status"] for word in json.loads(result.stdout)["words"]]
        assert statuses.count("scored") == left


def test_joined_emoji_reach_the_terminal_whole(model: str) -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    assert family in run(app, ["explain", f"good {family} film", "-m", model]).output


def test_version() -> None:
    assert run(app, ["--version"]).output.startswith("textsobol 0.")


def test_pages_and_plots_are_written(model: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    html, png = tmp_path / "review.html", tmp_path / "review.svg"
    command = ["explain", TEXT, "-m", model, "--html", str(html), "--png", str(png), "--json"]
    result = run(app, [*command, "--interactions", "3", "--budget", "40"])
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert len(data["pairs"]) == 3
    assert data["path"]["steps"], "the slider of a page needs them"
    assert "<!doctype html>" in html.read_text()
    assert "<svg" in png.read_text()
    without = run(app, [*command, "--no-path"])
    assert json.loads(without.stdout)["path"] is None


def test_one_label_is_explained_against_another(model: str) -> None:
    asked = ["explain", TEXT, "-m", model, "--target", "LABEL_1", "--against", "LABEL_0"]
    result = run(app, asked)
    assert result.exit_code == 0, result.output
    assert "LABEL_1 rather than LABEL_0" in result.output
    refused = run(app, [*asked[:-1], "LABEL_7"])
    assert refused.exit_code == 1
    assert "'LABEL_7' is not known" in refused.output


def test_the_page_is_opened(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    page = tmp_path / "a review.html"
    result = run(app, ["explain", TEXT, "-m", model, "--html", str(page), "--open"])
    assert result.exit_code == 0, result.output
    assert opened == [page.as_uri()]
    assert "without" in result.output, "what the deletions do is told in the terminal, too"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--open"], "--open needs --html"),
        (["--html", "review.pdf"], "ends in .html"),
        (["--png", "review"], "ends in .png or .svg"),
        (["--html", "nowhere/review.html"], "no directory"),
    ],
)
def test_files_are_checked_before_the_model_is_asked(options: list[str], message: str) -> None:
    result = run(app, ["explain", TEXT, "--model", "nowhere", *options])
    assert result.exit_code == 2
    told = " ".join(result.output.replace("\u2502", " ").split())
    assert message in told


@pytest.mark.parametrize("given", [["occlusion", "greedy"], ["occlusion,greedy"]])
def test_methods_are_compared(model: str, tmp_path: Path, given: list[str]) -> None:
    page = tmp_path / "compared.html"
    command = ["compare", TEXT, "-m", model, "--target", "LABEL_1", "--html", str(page)]
    result = run(app, [*command, "--dtype", "float32", "--methods", "sobol", *given])
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.output.splitlines()]
    assert ["word", "sobol", "occlusion", "greedy"] in lines
    assert {line[0] for line in lines[3:5]} == {"good", "bad"}
    passes = next(line for line in lines if line[:2] == ["forward", "passes"])
    assert int(passes[3]) < int(passes[2]), "occlusion takes the fewest"
    assert "greedy: rank of deletion" in " ".join(result.output.split()), "what numbers are"
    agreement = next(line for line in lines if line[:1] == ["sobol"])
    assert float(agreement[1]) == 1
    assert all(name in page.read_text() for name in ("sobol", "occlusion", "greedy"))


def test_unknown_methods_are_named_before_the_model_is_asked() -> None:
    result = run(app, ["compare", TEXT, "--methods", "limes", "--model", "nowhere"])
    assert result.exit_code == 1
    assert "unknown method 'limes'; known: sobol, gates, random, " in " ".join(
        result.output.split()
    )
