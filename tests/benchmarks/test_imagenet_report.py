"""The report of the ImageNet benchmark: its numbers by hand, its captions, its files."""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

pytest.importorskip("pandas")
pytest.importorskip("matplotlib", reason="the dev extra is not installed")

from benchmarks.imagenet.__main__ import app
from benchmarks.imagenet.paper import paper_tables
from benchmarks.imagenet.reading import load
from benchmarks.imagenet.report import report_of
from benchmarks.reporting import read_results
from benchmarks.summary import Run, on_common_inputs
from benchmarks.tables import csv_of, table_of
from tests.benchmarks.samples import any_line, rows_of, written

SETTINGS = {
    "data": "photos",
    "grid": [11, 11],
    "score": "logit",
    "steps": 2,
    "_command": "python -m benchmarks.imagenet run --seed 7",
}


def line(
    image: str, deletion: Sequence[float], method: str = "occlusion", **others: Any
) -> dict[str, Any]:
    usual = {
        "passes_asked": None,
        "image": image,
        "rows": 122,
        "label": "cat",
        "true": "cat",
        "right": True,
        "points_at": True,
        "points_at_15": True,
        "forwarded": 122,
        "seconds": 1.5,
    }
    return any_line(method, deletion, **{**usual, **others})


def rise(image: str, deletion: Sequence[float], masks: int = 8000, **others: Any) -> dict[str, Any]:
    usual = {"variant": f"rise-{masks}", "passes_asked": masks, "rows": masks + 1}
    return line(image, deletion, "rise", **{**usual, **others})


def jansen(
    image: str, rows: int, deletion: Sequence[float], score: str = "total"
) -> dict[str, Any]:
    return line(
        image,
        deletion,
        "sobol",
        variant=f"jansen-{rows}-{score}",
        title=f"Sobol {score}, the paper's",
        score=score,
        passes_asked=rows * 123,
        rows=rows * 123 + 1,
    )


def run_of(folder: Path, lines: Iterable[dict[str, Any]], **settings: Any) -> Run:
    [run] = load([written(folder / "results.jsonl", lines, **{**SETTINGS, **settings})])
    return run


def test_the_numbers_of_a_table_are_those_computed_by_hand(tmp_path: Path) -> None:
    lines = [
        line("a", [1.0, 0.5, 0.0]),  # area 0.5
        line("b", [1.0, 0.5, 0.5], right=False, label="dog"),  # (0.75 + 0.5) / 2 = 0.625
        line("c", [1.0, 0.0, 0.5], points_at=False),  # (0.5 + 0.25) / 2 = 0.375
        rise("a", [1.0, 0.0, 0.0], points_at=False, points_at_15=False),  # 0.25
        rise("b", [1.0, 0.0, 0.5], right=False, label="dog", points_at=False),  # 0.375
        rise("c", [0.5, 0.0, 0.0], points_at=None, points_at_15=None),  # 0.125
        line("a", [1.0, 1.0, 0.0], "random", kind="baseline", rows=1),  # 0.75
    ]
    run = run_of(tmp_path, lines)
    table = table_of(run)
    found = {
        method: {name: (cell.text, cell.place, cell.after) for name, cell in row.items()}
        for method, row in rows_of(table).items()
    }
    assert found["Occlusion"] == {
        "method": ("Occlusion", 0, ""),
        "passes": ("122", 0, ""),
        "deletion ↓": ("0.500", 2, "[0.375, 0.625], n = 3"),
        # 0.25 on every image.
        "difference to RISE": ("+0.250", 0, "[+0.250, +0.250], n = 3"),
        "difference to occlusion": ("", 0, ""),
        "difference to random": ("-0.250", 0, "n = 1"),  # on a alone
        "insertion ↑": ("0.500", 2, "[0.375, 0.625], n = 3"),
        # The model was wrong on b; of a and c one was found.
        "pointing game ↑": ("0.500", 1, "[0.000, 1.000], n = 2"),
        "pointing game, 15 pixels ↑": ("1.000", 1, "[1.000, 1.000], n = 2"),
        "images": ("3", 0, ""),
    }
    assert found["Rise"]["passes"] == ("8,001", 0, "")
    assert found["Rise"]["deletion ↓"] == ("0.250", 1, "[0.125, 0.375], n = 3")
    assert found["Rise"]["difference to RISE"] == ("", 0, "")
    # No box of c is in sight: only a counts, which fewer images than occlusion's are.
    assert found["Rise"]["pointing game ↑"] == ("0.000", 0, "n = 1")
    assert found["Random"]["deletion ↓"] == ("0.750", 0, "n = 1")
    assert table.caption == (
        "Model tiny, data photos, 3 images, 11 x 11 cells, analysed the log-odds, 2 steps, "
        "accuracy 66.7 % on these images, seed 7, numpy 2.0. Variants that have not seen all "
        "images are not marked."
    )
    common = on_common_inputs(run)
    assert common.n_inputs == 1
    rows = rows_of(table_of(common))
    assert {name: row["deletion ↓"].text for name, row in rows.items()} == {
        "Occlusion": "0.500",
        "Rise": "0.250",
        "Random": "0.750",
    }


def test_nothing_in_common_is_told(tmp_path: Path) -> None:
    run = run_of(tmp_path, [line("a", [0.5, 0.5]), rise("b", [0.5, 0.5])])
    with pytest.raises(ValueError, match="tiny: no image was seen by all variants"):
        on_common_inputs(run)


def test_the_csv_tells_n_of_every_figure(tmp_path: Path) -> None:
    lines = [line("a", [1.0, 0.5]), line("b", [0.5, 0.0], right=False), rise("a", [1.0, 0.0])]
    occlusion, by_rise = csv.DictReader(io.StringIO(csv_of([run_of(tmp_path, lines)])))
    assert (occlusion["deletion"], occlusion["deletion_n"]) == ("0.5", "2")
    assert (occlusion["pointing"], occlusion["pointing_n"]) == ("1.0", "1")
    assert (occlusion["difference_to_rise"], occlusion["difference_to_rise_n"]) == ("0.25", "1")
    assert (by_rise["passes_asked"], by_rise["passes"], by_rise["images"]) == (
        "8000",
        "8001.0",
        "1",
    )


def test_the_paper_stands_beside_what_corresponds(tmp_path: Path) -> None:
    lines = [
        line("a", [0.4, 0.2]),
        rise("a", [0.2, 0.0]),
        rise("a", [0.1, 0.0], masks=4000),
        *(jansen("a", rows, [0.3, rows / 100]) for rows in (4, 32)),
        jansen("a", 32, [0.5, 0.5], "first"),
    ]
    deletion, insertion, orders, ablation = paper_tables([run_of(tmp_path, lines)])
    rows = rows_of(deletion)
    paper, ours = "paper, EfficientNet", "tiny"
    told = {name: (row[paper].text, row[ours].text) for name, row in rows.items()}
    assert told["Occlusion"] == ("0.252", "0.300")
    assert told["RISE, 8,000 masks"] == ("0.119", "0.100")
    assert told["Sobol total, 3,936 passes"] == ("0.104", "0.310")
    assert told["Grad-CAM"] == ("0.130", "")
    assert told["Sobol total, flip"] == ("", "")
    assert rows["Occlusion"][paper].after == "n = 2,000"
    assert rows["Occlusion"][ours].after == "n = 1"
    assert [name for name, row in rows.items() if row[paper].place == 1] == ["Integrated gradients"]
    assert rows["Random"][paper].place == 0
    assert rows_of(insertion)["RISE, 8,000 masks"][paper].text == "0.439"
    assert rows_of(insertion)["RISE, 8,000 masks"][paper].place == 1, "higher is better"
    assert rows_of(insertion)["Occlusion"][ours].text == "0.700"
    assert {name: (row[paper].text, row[ours].text) for name, row in rows_of(orders).items()} == {
        "Sobol first": ("0.129", "0.500"),
        "Sobol total": ("0.104", "0.310"),
        "Sobol first, flip": ("", ""),
        "Sobol total, flip": ("", ""),
    }
    assert {
        name: (row["paper, ResNet50V2"].text, row[ours].text)
        for name, row in rows_of(ablation).items()
    } == {
        "492 passes": ("0.151", "0.170"),
        "984 passes": ("0.140", ""),
        "1,476 passes": ("0.132", ""),
        "1,968 passes": ("0.123", ""),
        "2,460 passes": ("0.121", ""),
        "2,952 passes": ("0.120", ""),
        "3,444 passes": ("0.120", ""),
        "3,936 passes": ("0.121", "0.310"),
    }


def test_the_paper_stands_beside_what_all_have_seen(tmp_path: Path) -> None:
    # Occlusion is better on the image that both have seen, and worse on the mean of its three.
    lines = [
        *(line(image, [area, area]) for image, area in zip("abc", (0.2, 0.9, 0.9), strict=True)),
        rise("a", [0.3, 0.3]),
    ]
    report = report_of([run_of(tmp_path, lines)])
    deletion = rows_of(report.paper[0])
    shown = {name: deletion[name]["tiny"] for name in ("Occlusion", "RISE, 8,000 masks")}
    assert [(cell.text, cell.place, cell.after) for cell in shown.values()] == [
        ("0.200", 1, "n = 1"),
        ("0.300", 2, "n = 1"),
    ]
    for table in report.paper:
        assert "tiny: analysed the log-odds, on the 1 images that all have seen." in table.caption


def test_another_grid_is_not_the_papers(tmp_path: Path) -> None:
    other = run_of(tmp_path, [jansen("a", 32, [0.5, 0.5])], grid=[7, 7], model="other")
    assert paper_tables([other]) == []
    same = run_of(tmp_path, [jansen("a", 32, [0.5, 0.5])])
    assert {tuple(table.header[2:]) for table in paper_tables([other, same])} == {("tiny",)}
    assert "The paper's" not in report_of([other]).markdown()


@pytest.mark.parametrize(
    ("score", "said"),
    [
        ("output", "the output before softmax"),
        ("logit", "the log-odds"),
        ("probability", "the probability"),
    ],
)
def test_captions_tell_the_score(score: str, said: str, tmp_path: Path) -> None:
    run = run_of(tmp_path, [line("a", [0.5, 0.5])], score=score)
    assert f"analysed {said}, 2 steps" in table_of(run).caption
    assert f"analysed {said}, on" in paper_tables([run])[0].caption


def converged(folder: Path) -> Path:
    def told(method: str, passes: int, image: str, value: float | None) -> dict[str, Any]:
        named = {"model": "tiny", "method": method, "passes": passes, "image": image}
        return {**named, "rows": passes + 1, "correlation": value, "cells": value}

    lines = [
        told("jansen", 500, "a", 0.5),
        told("jansen", 500, "b", 1.0),
        told("jansen", 1000, "a", 1.0),
        told("rise", 500, "a", 0.25),
        told("rise", 500, "b", None),  # a map that is the same everywhere
    ]
    settings = {"grid": [7, 7], "shares_rows": False, "converged": 10_000}
    return written(folder / "converged.jsonl", lines, **{**SETTINGS, **settings})


def test_convergence_is_told_and_drawn(tmp_path: Path) -> None:
    run = run_of(tmp_path, [line("a", [0.4, 0.2]), rise("a", [0.2, 0.0])])
    report = report_of([run], [read_results(converged(tmp_path))])
    (_, _), (table, commands) = report.tables
    assert table.title == "Convergence of tiny at 7 x 7 cells"
    assert "after 10,000 passes (other rows)" in table.caption
    assert "Analysed: the log-odds." in table.caption
    assert commands == ["python -m benchmarks.imagenet run --seed 7"]
    cells = {passes: [cell.text for cell in row.values()] for passes, row in rows_of(table).items()}
    assert cells["500"][1] == "0.750 (0.250), 0.750, n = 2"
    assert cells["500"][2] == "0.250 (0.000), 0.250, n = 1"
    assert cells["1,000"][1:] == ["1.000 (0.000), 1.000, n = 1", ""]
    assert table.header == ["passes", "Sobol total, the paper's", "RISE"], "flip was not measured"
    assert [plot.name for plot in report.plots] == ["deletion.png", "passes.png", "convergence.png"]


def test_a_report_is_written_with_a_table_of_what_all_have_seen(tmp_path: Path) -> None:
    lines = [
        *(line(image, [0.9, 0.5, 0.0]) for image in "abc"),
        *(rise(image, [0.9, 0.1, 0.0]) for image in "ab"),
        *(rise(image, [0.9, 0.2, 0.0], masks=4000) for image in "ab"),
    ]
    path, out = written(tmp_path / "tiny.jsonl", lines, **SETTINGS), tmp_path / "report"
    asked = ["report", str(path), "--out", str(out), "--converged", str(converged(tmp_path))]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert sorted(file.name for file in out.iterdir()) == [
        "convergence.png", "deletion.png", "passes.png", "report.csv", "report.html", "report.md",
    ]  # fmt: skip
    text = (out / "report.md").read_text(encoding="utf-8")
    first, second = "## tiny\n", "## tiny, on the 2 images that all have seen\n"
    assert text.index(first) < text.index(second) < text.index("## Convergence of tiny")
    assert "| Occlusion | 122 | **0.475** [0.475, 0.475], n = 3 |" in text
    assert "| Rise | 8,001 | **0.275** [0.275, 0.275], n = 2 |" in text
    assert "<b>0.275</b>" in (out / "report.html").read_text(encoding="utf-8")
