"""What is uploaded: the package with its bundled model, and nothing else."""

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import textsobol

ROOT = Path(__file__).parent.parent
NAME = f"textsobol-{textsobol.__version__}"
MODEL = "textsobol/models/imdb-bilstm/model.safetensors"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, and the wheel that is made of it."""
    for needed in ("build", "hatchling", "hatch_fancy_pypi_readme"):
        pytest.importorskip(needed)
    directory = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(directory), cwd=ROOT)
    return directory


def run(*command: str, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=cwd,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def list_package() -> set[str]:
    """The files of the package that git knows."""
    return set(run("git", "ls-files", "textsobol", cwd=ROOT).splitlines())


@pytest.mark.slow
def test_the_wheel_holds_the_package_only(built: Path) -> None:
    with zipfile.ZipFile(built / f"{NAME}-py3-none-any.whl") as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        metadata = wheel.read(f"{NAME}.dist-info/METADATA").decode()
    assert MODEL in names
    assert names == list_package()
    assert f"\nVersion: {textsobol.__version__}\n" in metadata
    description = metadata.split("\n\n", 1)[1]
    links = re.findall(r"\]\(([^)]+)\)", description)
    assert len(links) > 20
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


@pytest.mark.slow
def test_the_sdist_holds_what_a_wheel_is_made_of(built: Path) -> None:
    with tarfile.open(built / f"{NAME}.tar.gz") as archive:
        names = {name.removeprefix(f"{NAME}/") for name in archive.getnames()}
    assert names - list_package() == {
        ".gitignore", "CHANGELOG.md", "CITATION.cff", "LICENSE", "PKG-INFO", "README.md",
        "SECURITY.md", "constraints.txt", "pyproject.toml",
    }  # fmt: skip
    assert list_package() <= names


@pytest.mark.slow
def test_twine_has_no_objection(built: Path) -> None:
    pytest.importorskip("twine")
    files = map(str, built.iterdir())
    run(sys.executable, "-m", "twine", "check", "--strict", *files, cwd=built)


@pytest.mark.slow
def test_the_wheel_explains_a_text_away_from_the_checkout(built: Path, tmp_path: Path) -> None:
    """Unpacked where nothing else of the project is, as pip does it."""
    with zipfile.ZipFile(built / f"{NAME}-py3-none-any.whl") as wheel:
        wheel.extractall(tmp_path)
    text = "A gripping, beautifully acted film, ruined by its dull ending."
    command = (sys.executable, "-m", "textsobol", "explain", text, "--json", "--html", "x.html")
    printed = run(*command, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    explanation = textsobol.TextExplanation.from_dict(json.loads(printed))
    assert explanation.top(1)[0].word == "dull"
    assert explanation.settings["versions"]["textsobol"] == textsobol.__version__
    assert "dull" in (tmp_path / "x.html").read_text(encoding="utf-8")


def test_the_release_is_in_the_changelog_and_in_no_other_place() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## \[(\d[^]]*)\] - \d{4}-\d\d-\d\d$", changelog, re.MULTILINE)
    assert released[0] == textsobol.__version__
    for name in ("pyproject.toml", "CITATION.cff", ".zenodo.json"):
        assert textsobol.__version__ not in (ROOT / name).read_text(encoding="utf-8")
    assert json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))["license"] == "MIT"
