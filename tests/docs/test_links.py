"""Links of the Markdown files outside of the site lead somewhere; mkdocs checks those within."""

import re
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
MADE = ("figures", "gallery", "reference/command-line.md", "reference/changelog.md", "results/")
"""What the site makes while it is built."""
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


def is_made(target: Path) -> bool:
    docs = ROOT / "docs"
    return target.is_relative_to(docs) and str(target.relative_to(docs)).startswith(MADE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for link in _LINK.findall(read_prose(page)):
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists() or is_made(target), link
        if anchor and target.suffix == ".md":
            assert anchor in read_anchors(target), link


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 180
