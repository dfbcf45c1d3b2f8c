"""Every code block of the README and the documentation runs, and prints what the page shows."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import Block, is_same, read_blocks, run_page
from tests.endpoints.language import serving, vllm
from tests.endpoints.server import running

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
BLOCKS = {page.relative_to(ROOT).as_posix(): read_blocks(page) for page in PAGES}
LEFT_OUT = [block for blocks in BLOCKS.values() for block in blocks if block.reason is not None]
RAY = "docs/how-to/ray.md"
PARAMETERS = [
    pytest.param(page, marks=pytest.mark.ray) if page == RAY else page
    for page, blocks in BLOCKS.items()
    if blocks
]

# The model of the material is random: to it, a comma may be worth more than all words.
pytestmark = [
    pytest.mark.filterwarnings("ignore::textsobol.PunctuationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.data.context"),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that pages name without making them: texts, a picture, and small models."""
    from tests.docs.material import write_material

    return write_material(tmp_path_factory.mktemp("material"))


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, str]]:
    """By the address that pages name: an endpoint, and a server of a language model."""
    with running() as endpoint, serving(vllm) as language_model:
        yield {"https://HOST/": endpoint.url, "http://localhost:8000/v1": language_model.url}


@pytest.mark.parametrize("page", PARAMETERS)
def test_page(
    page: str,
    files: Path,
    servers: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    if page == RAY:
        request.getfixturevalue("cluster")
    for path in files.iterdir():
        if path.is_dir():
            (tmp_path / path.name).symlink_to(path)
        else:
            shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    run_page(ROOT / page, servers)


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
