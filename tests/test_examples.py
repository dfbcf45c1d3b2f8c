"""Every example runs and shows something."""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

HERE = Path(__file__).parent.parent / "examples"
WRITTEN = {
    "corpus": ["explained", "report.html", "reviews.csv", "words.csv"],
    "highlight_html": ["review.html", "review.png"],
    "image": ["picture.png"],
    "ray_corpus": ["explained"],
    "report": ["comparison.html", "report.html"],
}


@pytest.mark.parametrize("path", sorted(HERE.glob("*.py")), ids=lambda path: path.stem)
def test_example(path: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"score|[+-]\d\.\d{3}", done.stdout)
    assert sorted(p.name for p in tmp_path.iterdir()) == WRITTEN.get(path.stem, [])


# The kernel warns that it talks over loopback without encryption.
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
def test_the_notebook_runs_and_shows_a_page(tmp_path: Path) -> None:
    notebook = nbformat.read(HERE / "notebook.ipynb", as_version=4)
    NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    shown = [
        output.get("data", {})
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    ]
    printed = [o for cell in notebook.cells for o in cell.get("outputs", ()) if "text" in o]
    assert any("95 % interval" in output["text"] for output in printed)
    assert sum("<iframe" in data.get("text/html", "") for data in shown) == 2
    assert sum("image/png" in data for data in shown) == 1
