"""Every example runs, and what it prints and writes is right: facts, not wordings."""

import ast
import csv
import html
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent.parent / "examples"
WRITTEN = {
    "corpus": ["explained", "report.html", "reviews.csv", "words.csv"],
    "prompt_documents": ["documents.html"],
    "highlight_html": ["review.html", "review.png"],
    "image": ["picture.png"],
    "ray_corpus": ["explained"],
    "report": ["comparison.html", "report.html"],
}
NEEDED = {
    "corpus": ["datasets", "pyarrow"],
    "highlight_html": ["matplotlib"],
    "image": ["matplotlib", "PIL"],
    "ray_corpus": ["datasets", "ray"],
}
# Labels of the bundled model, and the word that decides, of texts that several examples share.
DECIDED = {
    "A gripping, beautifully acted film with a wonderful score.": ("POSITIVE", "wonderful"),
    "Dull, clumsy and far too long. I want my two hours back.": ("NEGATIVE", "Dull"),
    "Not bad at all: the cast is fun and the story moves.": ("NEGATIVE", "bad"),
    "I expected a masterpiece and got a boring, predictable mess.": ("NEGATIVE", "mess"),
    "The worst thing about this great film is that it ends.": ("NEGATIVE", "worst"),
    "Great actors, wasted on an awful script.": ("NEGATIVE", "awful"),
    "A great film, and far too short.": ("POSITIVE", "great"),
}


def read_scores(printed: str) -> dict[str, float]:
    """Words and scores of lines such as ``dull  +0.436`` or ``dull: +0.436``, in their order."""
    found = re.findall(r"^ *(\S.*?):? +([+-]\d\.\d{3})\b", printed, re.MULTILINE)
    return {word: float(score) for word, score in found}


def read_constants(name: str) -> dict[str, Any]:
    """What an example assigns to names such as ``REVIEW``, without running it."""
    tree = ast.parse((HERE / f"{name}.py").read_text(encoding="utf-8"))
    return {
        target.id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id.isupper()
    }


def read_text(source: str) -> str:
    """What a page shows without scripts."""
    shown = re.sub(r"<(script|style)\b.*?</\1>", "", source, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", shown)).split())


def read_top_words(source: str) -> list[tuple[str, str]]:
    """The first row of each table of words: a word and the sign of its score."""
    tables = re.findall(r"<th scope=\"col\">word</th>.*?</tr>(.*?)</table>", source, re.DOTALL)
    cells = [re.findall(r"<th[^>]*>(.*?)</th>\s*<td>(.)", table, re.DOTALL) for table in tables]
    return [rows[0] for rows in cells]


def is_png(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 10_000


def check_decisions(lines: list[str], texts: list[str]) -> None:
    """One line for each text, with its label and the word that decides it."""
    for line, text in zip(lines, texts, strict=True):
        label, word = DECIDED[text]
        assert re.search(rf"\b{label}\b.*\b{word}\W+\+0\.[3-9]", line), line


def check_any_function(printed: str, _: Path) -> None:
    assert printed.startswith("urgency")
    scores = read_scores(printed)
    assert next(iter(scores)) == "not"
    assert scores["not"] < -0.4
    # One alarming word is worth one point: all three have the same score.
    assert scores["immediately"] == scores["!!"] == scores["urgent"] > 0.2
    # By itself "urgent" is +1, after "not" it is -1: no direction.
    assert re.search(r"^ *urgent .*unclear", printed, re.MULTILINE)
    assert not re.search(r"^ *immediately .*unclear", printed, re.MULTILINE)


def check_explain_review(printed: str, _: Path) -> None:
    whole, other, flip, parts, sentences = re.split(r"\n\n(?=[A-Z].*[:?]\n)", printed)
    assert re.match(r"NEGATIVE\b.*NEGATIVE 0\.697, POSITIVE 0\.303", whole)
    scores = read_scores(whole)
    assert list(scores)[:3] == ["dull", "wonderful", "predictable"]
    assert scores["dull"] > 0.4
    assert scores["wonderful"] < -0.2
    assert scores["predictable"] > 0.2
    # The same for the other label, with all signs turned over.
    assert read_scores(other) == {word: -scores[word] for word in list(scores)[:3]}
    assert re.search(r"\bdull\b.*\bPOSITIVE 0\.74", flip.splitlines()[-1])
    # Log-odds of 0.697 to 0.303, in three parts.
    assert sum(map(float, re.findall(r"[+-]\d+\.\d\d", parts))) == pytest.approx(0.833, abs=0.016)
    assert "NEGATIVE 0.966" in sentences
    by_sentence = read_scores(sentences)
    assert list(by_sentence) == ["Awful acting.", "Lovely music.", "I fell asleep twice."]
    assert by_sentence["Awful acting."] > 0.7
    assert by_sentence["Lovely music."] < -0.1
    assert by_sentence["I fell asleep twice."] > 0


def check_endpoint(printed: str, _: Path) -> None:
    assert printed.startswith("NEGATIVE")
    scores = read_scores(printed)
    assert list(scores)[:3] == ["dull", "ruined", "beautifully"]
    assert scores["dull"] > 0.5
    assert scores["ruined"] > 0.15
    assert scores["beautifully"] < 0
    lines = [line for line in printed.splitlines() if re.match(r"(first|second) run", line)]
    first, second = (
        {
            name: int(number)
            for name, pattern in (("calls", r"(\d+) call"), ("cached", r"(\d+) answers?\b"))
            for number in re.findall(pattern, line)
        }
        for line in lines
    )
    n_passes = int(re.findall(r"(\d+) forward passes", printed)[0])
    retried = int(re.findall(r"calls, (\d+)", lines[0])[0])
    assert 50 < n_passes <= 100
    # Every tenth call is turned away, and made again.
    assert first == {"calls": n_passes + retried, "cached": 0}
    assert retried == first["calls"] // 10 > 0
    assert second == {"calls": 0, "cached": n_passes}


def check_image(printed: str, directory: Path) -> None:
    assert printed.startswith("alarm")
    rows = [line.split() for line in printed.splitlines() if re.fullmatch(r"[\s.+\d-]+", line)]
    cells = [[0 if cell == "." else int(cell) for cell in row] for row in rows if row]
    assert [len(row) for row in cells] == [6] * 4
    # The red lamps, left and right, count for it; neither the green one nor any background does.
    assert [[cell > 0 for cell in row] for row in cells] == [
        [False] * 6,
        [True, True, False, False, True, True],
        [True, True, False, False, True, True],
        [False] * 6,
    ]
    assert min(min(row) for row in cells) == 0
    assert is_png(directory / "picture.png")


def check_highlight_html(printed: str, directory: Path) -> None:
    text = " ".join(read_constants("highlight_html")["REVIEW"].split())
    assert printed.startswith("NEGATIVE")
    scores = read_scores(printed)
    assert list(scores)[:3] == ["worse", "waste", "dull"]
    assert min(scores["worse"], scores["waste"], scores["dull"]) > 0.1
    assert max(scores["wonderful"], scores["beautifully"]) < -0.04
    assert re.search(r"waste and worse +-0\.\d", printed)
    page = (directory / "review.html").read_text(encoding="utf-8")
    assert text in read_text(page)
    assert read_top_words(page) == [("worse", "+")]
    assert is_png(directory / "review.png")


def check_report(printed: str, directory: Path) -> None:
    reviews = read_constants("report")["REVIEWS"]
    texts = [text for text, _ in reviews]
    check_decisions([line for line in printed.splitlines() if "mostly" in line], texts)
    report = read_text((directory / "report.html").read_text(encoding="utf-8"))
    assert all(text in report for text in texts)
    assert "4 of 6" in report  # two predictions are wrong
    comparison = (directory / "comparison.html").read_text(encoding="utf-8")
    assert read_text(comparison).count(texts[4]) == 3
    assert read_top_words(comparison) == [("worst", "+")] * 3


def check_corpus(printed: str, directory: Path) -> None:
    texts = [text for text in read_constants("corpus")["REVIEWS"] if text]
    lines = [line for line in printed.splitlines() if line.startswith("review-")]
    *explained, failed = lines
    assert [line.split()[0] for line in explained] == [f"review-{k}" for k in (0, 1, 2, 3, 5, 6, 7)]
    check_decisions(explained, texts)
    assert re.match(r"review-4\b.*\bno text", failed)
    words = re.findall(r"^'(.+)' in (\d+) .*?([+-]\d\.\d+) for (\w+)", printed, re.MULTILINE)
    found = {(word, label): (int(n), float(score)) for word, n, score, label in words}
    assert {key: n for key, (n, _) in found.items()} == {
        ("worst", "NEGATIVE"): 1,
        ("worst", "POSITIVE"): 1,
        ("bad", "NEGATIVE"): 1,
        ("great film", "NEGATIVE"): 2,
        ("great film", "POSITIVE"): 2,
    }
    assert found["worst", "NEGATIVE"][1] == -found["worst", "POSITIVE"][1] > 0.9
    assert found["great film", "POSITIVE"][1] == -found["great film", "NEGATIVE"][1] > 0.3
    with (directory / "words.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert (rows[0]["word"], rows[0]["label"], rows[0]["texts"]) == ("worst", "NEGATIVE", "1")
    assert float(rows[0]["score"]) == pytest.approx(found["worst", "NEGATIVE"][1], abs=0.001)
    report = read_text((directory / "report.html").read_text(encoding="utf-8"))
    assert all(text in report for text in texts)
    assert re.search(r"\b7 texts and 1\b", report)


def check_ray_corpus(printed: str, directory: Path) -> None:
    texts = read_constants("ray_corpus")["REVIEWS"]
    lines = [line for line in printed.splitlines() if "mostly" in line]
    assert [line.split()[0] for line in lines] == ["0", "1", "2", "3"]
    check_decisions(lines, texts)
    assert len(list((directory / "explained").glob("*.parquet"))) == 2


def check_tiny_language_model(printed: str, _: Path) -> None:
    assert printed.splitlines()[-1] == "Answer: It was shot in Lima"


def check_prompt_sentiment(printed: str, _: Path) -> None:
    assert re.match(r"positive\b.*\bpositive 0\.9", printed)
    scores = read_scores(printed)
    strongest = sorted(scores, key=lambda word: -abs(scores[word]))[:5]
    assert {"dull", "gripping", "wonderful"} <= set(strongest)
    assert scores["dull"] < -0.2
    assert min(scores["gripping"], scores["wonderful"]) > 0.15
    assert re.search(r"^Calibrated: positive 0\.9", printed, re.MULTILINE)


def check_prompt_examples(printed: str, _: Path) -> None:
    found = re.findall(r"^  example (\d) \((\w+)\) ([+-]\d\.\d{3})", printed, re.MULTILINE)
    assert [(number, label) for number, label, _ in found] == [
        ("1", "negative"), ("2", "positive"), ("3", "negative")
    ]  # fmt: skip
    # Each pushes to its own label.
    assert all((float(effect) > 0.5) == (label == "negative") for _, label, effect in found)
    assert all(abs(float(effect)) > 0.5 for _, _, effect in found)
    assert read_scores(printed)["wonderful"] < -0.1


def check_prompt_documents(printed: str, directory: Path) -> None:
    assert printed.startswith("Where was the film shot? It was shot in Rome\n")
    effects = [float(effect) for effect in re.findall(r"document \d: ([+-]\d+\.\d\d) ", printed)]
    assert effects[1] > 1.0
    assert effects[1] > 2 * max(abs(effects[0]), abs(effects[2]))
    page = read_text((directory / "documents.html").read_text(encoding="utf-8"))
    assert "The film was shot in Rome." in page
    assert "document 2" in page


CHECKS: dict[str, Callable[[str, Path], None]] = {
    "any_function": check_any_function,
    "corpus": check_corpus,
    "endpoint": check_endpoint,
    "explain_review": check_explain_review,
    "highlight_html": check_highlight_html,
    "image": check_image,
    "prompt_documents": check_prompt_documents,
    "prompt_examples": check_prompt_examples,
    "prompt_sentiment": check_prompt_sentiment,
    "ray_corpus": check_ray_corpus,
    "report": check_report,
    "tiny_language_model": check_tiny_language_model,
}


def test_every_example_is_checked() -> None:
    assert {path.stem for path in HERE.glob("*.py")} == CHECKS.keys()


def run_example(name: str, directory: Path, *given: str) -> str:
    command = [sys.executable, str(HERE / f"{name}.py"), *given]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=directory)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def language_model(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A directory with a language model, and what was printed while it was made."""
    directory = tmp_path_factory.mktemp("language-model")
    return str(directory), run_example("tiny_language_model", directory, str(directory))


@pytest.mark.parametrize("name", CHECKS)
def test_example(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    for needed in NEEDED.get(name, ()):
        pytest.importorskip(needed)
    if name == "tiny_language_model":
        _, printed = request.getfixturevalue("language_model")
    elif name.startswith("prompt_"):
        path, _ = request.getfixturevalue("language_model")
        printed = run_example(name, tmp_path, path)
    else:
        printed = run_example(name, tmp_path)
    CHECKS[name](printed, tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == WRITTEN.get(name, [])


# The kernel warns that it talks over loopback without encryption.
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
def test_the_tour(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    for needed in ("ipykernel", "matplotlib", "pandas"):
        pytest.importorskip(needed)
    notebook = nbformat.read(HERE / "tour.ipynb", as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    cells = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    shown = [output["data"] for outputs in cells for output in outputs if "data" in output]

    printed = ["".join(output.get("text", "") for output in outputs) for outputs in cells]
    whole, top = (read_scores(text) for text in printed if read_scores(text))
    assert list(whole)[:3] == list(top) == ["dull", "ruined", "beautifully"]
    assert whole["dull"] == top["dull"] == pytest.approx(0.64, abs=0.05)
    assert whole["ruined"] == top["ruined"] > 0.15
    assert whole["beautifully"] == top["beautifully"] < -0.05

    frames = [data["text/html"] for data in shown if "<iframe" in data.get("text/html", "")]
    review, shouting = (html.unescape(frame) for frame in frames)
    assert "A gripping, beautifully acted film, ruined by its dull ending." in read_text(review)
    assert read_top_words(review) == [("dull", "+")]
    assert "What a great, great film!!" in read_text(shouting)
    # V = 1 of "!!" + 3/4 of either "great"; the totals are 1 / V and 1/2 / V.
    assert read_top_words(shouting) == [("!!", "+")]
    assert re.search(r">!!</th>\s*<td>\+0\.571", shouting)
    assert re.search(r">great[^<]*</th>\s*<td>\+0\.286", shouting)

    (table,) = (
        data["text/plain"]
        for data in shown
        if "text/html" in data and "<iframe" not in data["text/html"]
    )
    in_table = {line.split()[1]: float(line.split()[2]) for line in table.splitlines()[1:]}
    assert list(in_table) == ["A", "gripping", "beautifully", "acted", "film"]
    assert in_table == pytest.approx({word: whole[word] for word in in_table}, abs=6e-4)
    assert sum("image/png" in data for data in shown) == 1

    told = "\n".join(printed)
    assert "without bad, dull, nothing and wasted: POSITIVE 0.59" in told
    whether = re.findall(r"^NEGATIVE (0\.\d\d)  (\w+)", told, re.MULTILINE)
    assert [word for _, word in whether] == ["This", "Nothing"]
    assert float(whether[0][0]) < float(whether[1][0])  # "nothing" makes it worse
    agreement = dict(re.findall(r"correlation with (\w+): (-?\d\.\d\d)", told))
    assert float(agreement["random"]) < 0.5 < float(agreement["occlusion"])
    assert told.count("predicted NEGATIVE, true POSITIVE") == 2
    assert (tmp_path / "report.html").exists()
