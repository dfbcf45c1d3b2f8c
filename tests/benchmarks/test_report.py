"""The report of the word-deletion benchmark: its figures, its page, its files."""

import doctest
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("pandas")
pytest.importorskip("matplotlib", reason="the dev extra is not installed")

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks import curves
from benchmarks.curves import deletion_figure, passes_figure, png_of, spread
from benchmarks.imdb.__main__ import app
from benchmarks.imdb.reading import load
from benchmarks.imdb.report import report_of, write_report
from tests.benchmarks.samples import flip, line, paper, run_of, written

HOSTILE = '<script>alert(1)</script> | **"x"** $\\frac{$ {{7*7}}'
PNG = b"\x89PNG\r\n\x1a\n"


def labels_of(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def curves_of(figure: Figure) -> list[tuple[list[float], list[float]]]:
    """What is drawn in the first panel, without the thin lines to the labels."""
    drawn = [found for found in figure.axes[0].lines if found.get_label() != "_leader"]
    return [
        (np.asarray(found.get_xdata()).tolist(), np.asarray(found.get_ydata()).tolist())
        for found in drawn
    ]


def test_the_examples_of_the_docstrings_hold() -> None:
    assert doctest.testmod(curves, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


def test_deletion_curves_are_means_and_those_of_the_best_variants(tmp_path: Path) -> None:
    lines = [
        line("a", [1.0, 0.5, 0.25]),
        line("b", [0.5, 0.25]),
        flip(2, 0.4),
        flip(4, 0.3),
        flip(4, 0.1, keep=0.9, variant="flip-4-signed-0.9"),
        flip(4, 0.2, score="total", variant="flip-4-total"),
        paper("a", [0.6]),
        paper("a", [0.15], keep=0.9, variant="jansen-signed-0.9"),
        line("a", [0.35], "lime", variant="lime-8", rows_per_word=8),
        line("a", [0.45], "lime", variant="lime-2", rows_per_word=2),
    ]
    run = run_of(tmp_path, lines)
    figure = deletion_figure([run])
    assert curves_of(figure) == [
        ([0, 1, 2], [0.75, 0.375, 0.25]),
        ([0], [0.3]),
        ([0], [0.6]),
        ([0], [0.35]),
    ]
    assert labels_of(figure.axes[0]) == [
        "Occlusion",
        "Sobol signed, flip, keep 0.5, 4 rows a word",
        "Sobol signed, the paper's, keep 0.5",
        "Lime, 8 rows a word",
    ]
    chosen = deletion_figure([run], draw=["flip-4-total", "flip-2-signed"])
    assert curves_of(chosen) == [([0], [0.4]), ([0], [0.2])]
    with pytest.raises(ValueError, match="no results of flop"):
        deletion_figure([run], draw=["flop", "occlusion"])


def test_rows_are_joined_by_a_line_and_references_are_levels(tmp_path: Path) -> None:
    lines = [
        flip(4, 0.3),
        flip(2, 0.4),
        *(flip(k, 0.1, keep=0.9, variant=f"flip-{k}-signed-0.9") for k in (2, 4)),
        *(flip(k, 0.1, score="total", variant=f"flip-{k}-total") for k in (2, 4)),
        *(line("a", [0.2], "rise", variant=name, rows_per_word=4) for name in ("one", "same")),
        line("a", [0.5]),
        line("a", [0.1], "greedy", kind="search", rows=200),
        line("a", [0.2], "lime", rows_per_word=4),  # one number of rows makes no line
    ]
    figure = passes_figure([run_of(tmp_path, lines)])
    (rows, deletions), *levels = curves_of(figure)
    assert rows == pytest.approx([2.2, 4.4])
    assert deletions == [0.4, 0.3]
    assert levels == [([0, 1], [0.5, 0.5]), ([0, 1], [0.1, 0.1])]
    assert labels_of(figure.axes[0]) == [
        "Sobol signed, flip, keep 0.5",
        "Occlusion (1 row a word)",
        "Greedy (20 rows a word)",
    ]
    assert figure.axes[0].get_xscale() == "log"


def test_labels_neither_touch_nor_leave_the_plot() -> None:
    found = np.sort(spread([0.01, 0.0, 0.02, 0.5, 1.0, 0.99], 0.1))
    assert np.diff(found).min() >= 0.1 - 1e-9
    assert found.min() >= 0
    assert found.max() <= 1
    assert spread([0.7, 0.2], 0.1) == pytest.approx([0.7, 0.2]), "none is moved without need"


def test_labels_do_not_overlap_in_the_drawn_figure(tmp_path: Path) -> None:
    lines = [line("a", [0.9, 0.5], f"method {k}" + "W" * k) for k in range(30)]
    figure = deletion_figure([run_of(tmp_path, lines)])
    png_of(figure)
    boxes = sorted(
        (text.get_window_extent() for text in figure.axes[0].texts), key=lambda box: box.y0
    )
    assert len(boxes) == 30
    assert all(low.y1 <= high.y0 + 1 for low, high in pairwise(boxes))


def test_hostile_titles_are_text_in_the_page_and_one_cell_in_markdown(tmp_path: Path) -> None:
    lines = [line("a", [0.5, 0.25], title=HOSTILE)]
    run = run_of(tmp_path, lines, model=HOSTILE, _command=HOSTILE, data=HOSTILE)
    figures = png_of(deletion_figure([run])), png_of(passes_figure([run]))
    report = report_of([run], *figures)
    page = report.html()
    assert "<script" not in page
    assert "{{7*7}}" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; | **&#34;x&#34;** $\\frac{$" in page
    assert 'aria-label="&lt;script&gt;' in page
    tables = [row for row in report.markdown().splitlines() if row.startswith("| \\<script>")]
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in tables] == [13]


def test_the_page_fetches_nothing(tmp_path: Path) -> None:
    run = run_of(tmp_path, [line("a", [0.5, 0.25])])
    page = report_of([run], PNG, PNG).html()
    assert "default-src 'none'" in page
    assert re.findall(r"(?:src|href)=\"(?!data:)", page) == []
    assert "http://" not in page.replace("http-equiv", "")
    assert "https://" not in page
    assert page.count("data:image/png;base64,iVBORw0KGgo") == 2


def test_a_report_of_two_models_is_written_with_real_pictures(tmp_path: Path) -> None:
    lines = [line("a", [0.9, 0.5]), line("b", [0.8, 0.6]), flip(2, 0.4), flip(4, 0.3)]
    paths = [
        written(tmp_path / "tiny.jsonl", lines),
        written(tmp_path / "large.jsonl", lines, model="large"),
    ]
    out = tmp_path / "new" / "report"
    write_report(paths, out)
    assert sorted(path.name for path in out.iterdir()) == [
        "deletion.png", "passes.png", "report.csv", "report.html", "report.md",
    ]  # fmt: skip
    from matplotlib.image import imread

    for name in ("deletion.png", "passes.png"):
        assert (out / name).read_bytes().startswith(PNG)
        picture = imread(out / name)
        assert picture.shape[1] > 600
        assert picture[..., :3].min() < 0.2, "something dark is drawn"
        assert picture[..., :3].mean() > 0.8, "on white"
    text = (out / "report.md").read_text(encoding="utf-8")
    assert text.index("## tiny") < text.index("## large") < text.index("## The paper's table 3")
    assert "| Occlusion |  | 1.1 | **0.700** [0.700, 0.700] |  |  |" in text
    assert "    python -m benchmarks.imdb run --seed 7\n" in text
    assert "![Deletion curves](deletion.png)" in text
    page = (out / "report.html").read_text(encoding="utf-8")
    assert '<b>0.700</b> <span class="after">[0.700, 0.700]</span>' in page
    assert len((out / "report.csv").read_text(encoding="utf-8").splitlines()) == 1 + 2 * 3


def test_the_command_draws_the_named_variants(tmp_path: Path) -> None:
    path = written(tmp_path / "tiny.jsonl", [line("a", [0.9, 0.5]), flip(2, 0.4), flip(4, 0.3)])
    pictures = {}
    for asked in ("", "flip-2-signed", "occlusion,flip-2-signed"):
        out = tmp_path / f"report {asked}"
        done = CliRunner().invoke(app, ["report", str(path), "--out", str(out), "--draw", asked])
        assert done.exit_code == 0, done.output
        assert "deletion.png, passes.png, report.csv, report.html, report.md" in done.output
        pictures[asked] = (out / "deletion.png").read_bytes()
        expected = png_of(deletion_figure(load([path]), asked.split(",") if asked else ()))
        assert pictures[asked] == expected
    assert len(set(pictures.values())) == 3
    refused = CliRunner().invoke(
        app, ["report", str(path), "--out", str(tmp_path), "--draw", "flop"]
    )
    assert "no results of flop" in str(refused.exception)
