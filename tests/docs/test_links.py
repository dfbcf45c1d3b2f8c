"""Links of the Markdown files lead to files of the repository; mkdocs checks those of the site.

What is made while the site is built is linked by its published address: see `test_site.py`.
"""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "benchmarks").rglob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "textsobol").rglob("*.md"),
    *(ROOT / ".github").rglob("*.md"),
]
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"^ *```.*?^ *```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_SYMBOL = re.compile(r"[^\w\- ]")


def read_prose(page: Path) -> str:
    return _CODE.sub("", page.read_text(encoding="utf-8"))


def read_anchors(page: Path) -> set[str]:
    """The anchors that GitHub and the site make of headings."""
    content = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", content, re.MULTILINE)
    return {_SYMBOL.sub("", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.fixture(scope="module")
def tracked() -> set[Path]:
    """The files that git knows, and the directories they are in."""
    listed = subprocess.run(
        ["git", "ls-files"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    files = {ROOT / name for name in listed.stdout.splitlines()}
    return files | {parent for file in files for parent in file.parents}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files_of_the_repository(page: Path, tracked: set[Path]) -> None:
    for link in _LINK.findall(read_prose(page)):
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target in tracked, link
        if anchor and target.suffix == ".md":
            assert anchor in read_anchors(target), link


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 180
