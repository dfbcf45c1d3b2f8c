"""Prompts on the command line, with a tiny language model in a directory."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.prompts.tiny import REVIEW, model, tokenizer
from textsobol import Prompt, TextExplainer
from textsobol.cli import app

TEXT = "A good film, a bad film."
ANSWERS = ["--answer", "positive= positive", "--answer", "positive= great",
           "--answer", "negative= negative"]  # fmt: skip
run = CliRunner().invoke


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("language-model")
    model("llama").save_pretrained(directory)
    tokenizer("llama").save_pretrained(directory)
    return str(directory)


def write(path: Path, content: Any) -> str:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def explain(*options: str) -> dict[str, Any]:
    result = run(app, ["explain", TEXT, "--json", "--budget", "20", *options])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def find_label(found: dict[str, Any]) -> Any:
    return {word["text"]: word["scores"]["positive"] for word in found["words"]}


def test_a_prompt_is_a_classifier(path: str, tmp_path: Path) -> None:
    """The line end at the end of a file is not a part of the prompt."""
    prompt = write(tmp_path / "prompt.txt", REVIEW + "\n")
    found = explain("--model", path, "--prompt", prompt, *ANSWERS)
    own = Prompt(REVIEW, answers={"positive": [" positive", " great"], "negative": " negative"})
    expected = TextExplainer(path, prompt=own)(TEXT, budget=20)
    assert find_label(found) == find_label(expected.to_dict())
    calibrated = explain(
        "--model", path, "--prompt", prompt, *ANSWERS, "--calibrate", "N/A", "--target", "negative"
    )
    assert calibrated["settings"]["prompt"]["calibrate"] == "N/A"
    assert calibrated["target"] == "negative"
    assert calibrated["prediction"]["probabilities"] != found["prediction"]["probabilities"]


def test_parts_of_a_prompt_are_features(path: str, tmp_path: Path) -> None:
    documents = [write(tmp_path / f"{k}.txt", f"The film is {word}.\n")
                 for k, word in enumerate(("good", "bad"))]  # fmt: skip
    prompt = write(tmp_path / "prompt.txt", "{instruction}\n{document}\n{text}\nSentiment:")
    found = explain(
        "--model", path, "--prompt", prompt, *ANSWERS, "--part", "instruction=a = b",
        "--part", f"document=@{documents[0]}", "--part", f"document=@{documents[1]}",
        "--features", "document,text",
    )  # fmt: skip
    assert found["settings"]["prompt"]["parts"] == {
        "instruction": "a = b", "document": ["The film is good.", "The film is bad."]
    }  # fmt: skip
    named = [word["name"] for word in found["words"] if word.get("name")]
    assert named == ["document 1", "document 2"]


def test_a_chat_and_an_answer(path: str, tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "Is it good? {text}"}]
    prompt = write(tmp_path / "chat.json", chat)
    found = explain("--model", path, "--prompt", prompt, "--target", "positive")
    assert found["settings"]["answer"] == found["target"] == "positive"
    assert found["settings"]["prompt"]["template"] == chat


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--answer", "a=b"], 2, "--answer needs --prompt FILE"),
        (["--calibrate", "N/A"], 2, "--calibrate needs --prompt FILE"),
        (["--server", "http://a"], 2, "needs --prompt"),
        (["--prompt", "{prompt}"], 2, "--prompt needs a language model: --model DIRECTORY"),
        (["--prompt", "{prompt}", "--server", "http://a"], 2, "--server-model NAME"),
        (["--prompt", "{prompt}", "--server", "http://a", "--server-model", "m", "--model", "m"], 2,
         "give --model or --server, not both"),
        (["--prompt", "{prompt}", "--model", "{model}", "--cache", "c"], 2, "or --server ADDRESS"),
        (["--prompt", "{prompt}", "--model", "{model}", "--answer", "b"], 1, "a name, =, and a"),
        (["--prompt", "{prompt}", "--model", "{model}", "--answer", "a= b"], 1, "two labels"),
        (["--prompt", "{plain}", "--model", "{model}", *ANSWERS], 1, "the prompt has no {text}"),
        (["--prompt", "{json}", "--model", "{model}", *ANSWERS], 1, "not a JSON file of chat"),
        (["--prompt", "{prompt}", "--model", "{model}", *ANSWERS, "--part", "a=@none"], 1,
         "No such file"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(
    path: str, tmp_path: Path, options: list[str], code: int, message: str
) -> None:
    files = {
        "{prompt}": write(tmp_path / "prompt.txt", REVIEW),
        "{plain}": write(tmp_path / "plain.txt", "Review:"),
        "{json}": write(tmp_path / "chat.json", REVIEW),
        "{model}": path,
    }
    result = run(app, ["explain", TEXT, *[files.get(option, option) for option in options]])
    assert result.exit_code == code, result.output
    # Without the frame around an error.
    assert message in " ".join(result.output.replace("│", " ").split())
    assert "Traceback" not in result.output


def test_a_corpus_is_explained_by_a_prompt(path: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    prompt = write(tmp_path / "prompt.txt", REVIEW)
    texts = write(tmp_path / "texts.csv", "text\nA good film\nThe plot is dull\n")
    out = str(tmp_path / "explained")
    asked = ["corpus", texts, "--out", out, "--model", path, "--prompt", prompt, *ANSWERS]
    result = run(app, [*asked, "--budget", "10", "-q"])
    assert result.exit_code == 0, result.output
    shown = run(app, ["report", out, "--html", str(tmp_path / "report.html")])
    assert shown.exit_code == 0, shown.output
    assert "positive" in shown.output
    assert "The plot is dull" in (tmp_path / "report.html").read_text()


def test_a_prompt_in_another_encoding_is_named(path: str, tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.txt"
    prompt.write_bytes("Cr\u00edtica: {text}".encode("utf-16"))
    result = run(app, ["explain", TEXT, "--model", path, "--prompt", str(prompt), *ANSWERS])
    assert result.exit_code == 1
    assert "prompt.txt is not a text file in UTF-8" in " ".join(result.output.split())
