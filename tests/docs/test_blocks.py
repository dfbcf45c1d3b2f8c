"""Every code block of the README and the documentation runs, and prints what the page shows."""

import shutil
from pathlib import Path

import pytest

from tests.docs.blocks import Block, is_same, read_blocks, run_page

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
BLOCKS = {page.relative_to(ROOT).as_posix(): read_blocks(page) for page in PAGES}
LEFT_OUT = [block for blocks in BLOCKS.values() for block in blocks if block.reason is not None]

# The model of the material is random: to it, a comma may be worth more than all words.
pytestmark = pytest.mark.filterwarnings("ignore::textsobol.PunctuationWarning")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that pages name without making them: texts, a picture, and small models."""
    from tests.docs.material import write_material

    return write_material(tmp_path_factory.mktemp("material"))


@pytest.mark.parametrize("page", [page for page, blocks in BLOCKS.items() if blocks])
def test_page(page: str, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in files.iterdir():
        if path.is_dir():
            (tmp_path / path.name).symlink_to(path)
        else:
            shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    run_page(ROOT / page)


@pytest.mark.parametrize("block", LEFT_OUT, ids=lambda block: block.name)
def test_block_is_not_run(block: Block) -> None:
    pytest.skip(f"{block.name}: {block.reason}")


def test_output_is_compared() -> None:
    shown = "dull  +0.640  ++++++\n... and 26 more\n319 forward passes, 0.1 s"
    assert is_same(
        shown, "dull +0.641   +++++\nruined -0.1\n and 26 more\n320 forward passes, 7.2 s"
    )
    assert not is_same(shown, "dull +0.740 +++\n... and 26 more\n319 forward passes, 0.1 s")
    assert not is_same(shown, "Dull +0.640 +++\n... and 26 more\n319 forward passes, 0.1 s")
    assert not is_same(shown, "dull +0.640 +++\n... and 26 more\n380 forward passes, 0.1 s")
