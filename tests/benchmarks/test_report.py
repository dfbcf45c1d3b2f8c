"""The report of the word-deletion benchmark: its numbers, its marks, its files."""

import csv
import doctest
import io
import json
import math
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the dev extra is not installed")

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks import reporting
from benchmarks.imdb import report
from benchmarks.imdb.report import (
    Run,
    csv_of,
    deletion_figure,
    html_of,
    load,
    markdown_of,
    paper_table,
    paper_threshold_table,
    passes_figure,
    png_of,
    spread,
    table_of,
    write_report,
)
from benchmarks.reporting import (
    Cell,
    Table,
    by_variant,
    mean_curve,
    mean_with_interval,
    paired_difference,
    places,
    read_results,
)

HOSTILE = '<script>alert(1)</script> | **"x"** $\\frac{$ {{7*7}}'
PNG = b"\x89PNG\r\n\x1a\n"
SETTINGS = {
    "model": "tiny",
    "data": "some reviews",
    "reviews": 2,
    "max_words": 200,
    "seed": 7,
    "versions": {"numpy": "2.0"},
    "command": "python -m benchmarks.imdb.run --seed 7",
}


def line(
    review: str, deletion: Sequence[float], method: str = "occlusion", **others: Any
) -> dict[str, Any]:
    return {
        "model": "tiny",
        "method": method,
        "variant": method,
        "title": method.capitalize(),
        "kind": "black box",
        "keep": None,
        "rows_per_word": None,
        "score": None,
        "review": review,
        "words": 10,
        "rows": 11,
        "label": "POSITIVE",
        "true": "POSITIVE",
        "deletion": deletion,
        "correct": [p > 0.5 for p in deletion],
        "insertion": [1 - p for p in deletion],
        "comprehensiveness": 0.25,
        "sufficiency": 0.125,
        **others,
    }


def written(path: Path, lines: Iterable[dict[str, Any]], **settings: Any) -> Path:
    header = {"benchmark": "imdb", "settings": {**SETTINGS, **settings}}
    path.write_text("".join(json.dumps(row) + "\n" for row in (header, *lines)))
    return path


def run_of(folder: Path, lines: Iterable[dict[str, Any]], **settings: Any) -> Run:
    [run] = load([written(folder / "results.jsonl", lines, **settings)])
    return run


def rows_of(table: Table) -> dict[str, dict[str, Cell]]:
    """Cells by what is in the first column, then by header."""
    return {
        row[0].text: dict(zip(table.header, row, strict=True))
        for _, rows in table.groups
        for row in rows
    }


def flip(rows: int, deletion: float, **others: Any) -> dict[str, Any]:
    return line(
        "a",
        [deletion],
        "sobol",
        title="Sobol",
        variant=f"flip-{rows}-signed",
        keep=0.5,
        score="signed",
        rows_per_word=rows,
        **{"rows": rows * 11, **others},
    )


def test_the_examples_of_the_docstrings_hold() -> None:
    for module in (reporting, report):
        assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


def test_the_interval_of_two_values_is_that_of_its_four_resamples() -> None:
    # Means 0, 1/2, 1/2, 1 with equal chances: both tails hold far more than 2.5 %.
    found = mean_with_interval([0.0, 1.0])
    assert (found.mean, found.low, found.high, found.n) == (0.5, 0.0, 1.0, 2)


def test_the_interval_of_normal_values_is_about_two_standard_errors_wide() -> None:
    values = np.random.default_rng(3).normal(5, 2, 1000)
    found = mean_with_interval(values)
    error = values.std() / math.sqrt(1000)
    assert found.mean == pytest.approx(values.mean())
    assert found.low == pytest.approx(values.mean() - 1.96 * error, abs=0.1 * error)
    assert found.high == pytest.approx(values.mean() + 1.96 * error, abs=0.1 * error)


def test_about_95_of_100_intervals_hold_the_true_mean() -> None:
    rng = np.random.default_rng(0)
    found = [mean_with_interval(rng.normal(0, 1, 40), seed=k) for k in range(400)]
    share = np.mean([estimate.low <= 0 <= estimate.high for estimate in found])
    # The percentile bootstrap of 40 values covers 94 %; 400 tries have a standard error of 1.2 %.
    assert 0.90 <= share <= 0.98


def test_the_same_seed_gives_the_same_interval_and_another_one_another() -> None:
    values = np.random.default_rng(1).random(30)
    assert mean_with_interval(values) == mean_with_interval(values, seed=0)
    assert mean_with_interval(values) != mean_with_interval(values, seed=1)


def test_many_values_are_drawn_in_parts_with_the_same_spread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = np.random.default_rng(1).random(50)
    at_once = mean_with_interval(values)
    monkeypatch.setattr(reporting, "_DRAWN_AT_ONCE", 10)  # less than one resample
    in_parts = mean_with_interval(values)
    assert (in_parts.low, in_parts.high) == pytest.approx((at_once.low, at_once.high), abs=0.005)


def test_one_value_has_a_mean_but_no_interval_and_none_has_neither() -> None:
    found = mean_with_interval([0.25])
    assert found.mean == 0.25
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    with pytest.raises(ValueError, match="at least one"):
        mean_with_interval([])


def test_a_difference_is_over_the_common_reviews_only() -> None:
    a = {"x": 0.5, "y": 0.75, "only a": 100.0}
    b = {"only b": -100.0, "y": 0.5, "x": 0.0}
    found = paired_difference(a, b)
    assert (found.mean, found.low, found.high, found.n) == (0.375, 0.25, 0.5, 2)
    with pytest.raises(ValueError, match="in common"):
        paired_difference({"x": 1.0}, {"y": 1.0})


def test_a_paired_difference_is_surer_than_the_means() -> None:
    rng = np.random.default_rng(0)
    difficulty = rng.normal(0, 1, 200)
    a = {str(k): value for k, value in enumerate(difficulty + rng.normal(0.1, 0.05, 200))}
    b = {str(k): value for k, value in enumerate(difficulty)}
    found, alone = paired_difference(a, b), mean_with_interval(list(a.values()))
    assert 0.08 < found.low < 0.1 < found.high < 0.12
    assert alone.high - alone.low > 10 * (found.high - found.low)


def test_a_curve_that_ends_early_stays_where_it_ended() -> None:
    assert mean_curve([[1.0, 0.5], [1.0, 0.75, 0.25]]).tolist() == [1.0, 0.625, 0.375]


@pytest.mark.parametrize(
    ("values", "higher", "eligible", "expected"),
    [
        ([0.3, 0.1, 0.2], False, None, [0, 1, 2]),
        ([0.3, 0.1, 0.2], True, None, [1, 0, 2]),
        ([0.1, 0.2, 0.1, 0.2, 0.3], False, None, [1, 2, 1, 2, 0]),
        ([0.10004, 0.09996, 0.2], False, None, [1, 1, 2]),  # both are shown as 0.100
        ([0.01, 0.3, 0.2], False, [False, True, True], [0, 2, 1]),
        ([0.2, 0.2], True, [False, True], [0, 1]),
        ([0.5, 0.5], True, None, [1, 1]),
        ([], True, None, []),
    ],
)
def test_the_best_and_second_best_are_found(
    values: list[float], higher: bool, eligible: list[bool] | None, expected: list[int]
) -> None:
    assert places(values, higher_is_better=higher, eligible=eligible) == expected


def test_marks_leave_the_interval_alone() -> None:
    assert Cell("0.1", 1, "[0.0, 0.2]").markdown() == "**0.1** [0.0, 0.2]"
    assert Cell("0.1", 2).markdown() == "<u>0.1</u>"
    assert Cell("0.1").markdown() == "0.1"


def test_an_incomplete_last_line_is_left_out_wherever_it_ends(tmp_path: Path) -> None:
    path = written(tmp_path / "results.jsonl", [line("a", [0.5]), line("é", [0.5])])
    path.write_text(path.read_text().replace("\\u00e9", "é"), encoding="utf-8")
    whole = path.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for end in range(last, len(whole) - 1):
        path.write_bytes(whole[:end])
        assert [found["review"] for found in read_results(path).lines] == ["a"]
    path.write_bytes(whole[:-1])  # complete but for the end of the line
    assert [found["review"] for found in read_results(path).lines] == ["a", "é"]


def test_another_broken_line_and_a_missing_header_are_told(tmp_path: Path) -> None:
    path = written(tmp_path / "results.jsonl", [line("a", [0.5])])
    path.write_text(path.read_text() + '{"method": "oc\n' + json.dumps(line("b", [0.5])) + "\n")
    with pytest.raises(ValueError, match=r"results\.jsonl, line 3 is not JSON"):
        read_results(path)
    path.write_text(json.dumps(line("a", [0.5])) + "\n")
    with pytest.raises(ValueError, match="does not begin with a header"):
        read_results(path)
    path.write_text("")
    with pytest.raises(ValueError, match="does not begin with a header"):
        read_results(path)
    with pytest.raises(ValueError, match="tiny: no results yet"):
        load([written(path, [])])


def test_a_review_that_comes_twice_counts_once_with_its_later_line() -> None:
    [variant] = by_variant(
        [line("a", [0.5]), line("b", [0.25]), line("a", [0.75])], of="review"
    )  # fmt: skip
    assert [found["deletion"] for found in variant.lines.values()] == [[0.75], [0.25]]


def test_the_numbers_of_a_table_are_those_computed_by_hand(tmp_path: Path) -> None:
    lines = [
        line("a", [1.0, 0.5, 0.0]),  # mean 0.5
        line("b", [1.0, 0.5]),  # 0.75
        line("a", [1.0, 0.0, 0.2], "sobol", variant="flip", keep=0.5, rows=40, words=10),  # 0.4
        line("b", [1.0, 0.2], "sobol", variant="flip", keep=0.5, rows=60, words=10),  # 0.6
    ]
    table = table_of(run_of(tmp_path, lines))
    found = {
        method: {name: (cell.text, cell.place, cell.after) for name, cell in row.items()}
        for method, row in rows_of(table).items()
    }
    assert found["Sobol"] == {
        "method": ("Sobol", 0, ""),
        "keep": ("0.5", 0, ""),
        "rows per word": ("5.0", 0, ""),
        "deletion ↓": ("0.500", 1, "[0.400, 0.600]"),
        "difference to occlusion": ("-0.125", 0, "[-0.150, -0.100]"),
        "accuracy ↓": ("0.417", 1, ""),  # of (1/3, 1/2), the same as occlusion
        "insertion ↑": ("0.500", 1, ""),
        "comprehensiveness ↑": ("0.250", 1, ""),
        "sufficiency ↓": ("0.125", 1, ""),
        "reviews": ("2", 0, ""),
    }
    assert found["Occlusion"]["deletion ↓"] == ("0.625", 2, "[0.500, 0.750]")
    assert found["Occlusion"]["difference to occlusion"] == ("", 0, "")
    assert found["Occlusion"]["insertion ↑"] == ("0.375", 2, "")
    assert found["Occlusion"]["rows per word"] == ("1.1", 0, "")
    assert table.caption == (
        "Model tiny, data some reviews, 2 reviews of at most 200 words, seed 7, numpy 2.0."
    )


def test_groups_come_in_order_and_searches_and_baselines_are_never_marked(tmp_path: Path) -> None:
    lines = [
        line("a", [0.01], "greedy", kind="search"),
        line("a", [0.5]),
        line("a", [0.02], "random", kind="baseline"),
        line("a", [0.7], "saliency", kind="white box"),
    ]
    table = table_of(run_of(tmp_path, lines))
    assert [(name, [row[0].text for row in rows]) for name, rows in table.groups] == [
        ("white box", ["Saliency"]),
        ("black box", ["Occlusion"]),
        ("search and baseline", ["Greedy", "Random"]),
    ]
    marks = {name: row["deletion ↓"].place for name, row in rows_of(table).items()}
    assert marks == {"Saliency": 2, "Occlusion": 1, "Greedy": 0, "Random": 0}


def test_variants_that_differ_in_rows_only_stand_together(tmp_path: Path) -> None:
    lines = [flip(8, 0.2), line("a", [0.5]), flip(2, 0.4), flip(4, 0.3)]
    [(_, rows)] = table_of(run_of(tmp_path, lines)).groups
    assert [row[3].text for row in rows] == ["0.400", "0.300", "0.200", "0.500"]


def test_what_has_not_seen_all_reviews_is_shown_but_not_marked(tmp_path: Path) -> None:
    lines = [
        *(line(review, [0.8], "random", kind="baseline") for review in "abc"),
        *(line("a", [0.9]), line("b", [0.5])),
        line("b", [0.4], "lime"),
    ]
    table = table_of(run_of(tmp_path, lines, reviews=1000))
    rows = rows_of(table)
    assert (rows["Lime"]["deletion ↓"].text, rows["Lime"]["deletion ↓"].place) == ("0.400", 0)
    assert (rows["Occlusion"]["deletion ↓"].text, rows["Occlusion"]["deletion ↓"].place) == (
        "0.700",
        1,
    )
    assert rows["Lime"]["difference to occlusion"].text == "-0.100"  # 0.4 - 0.5, on b alone
    assert "3 of 1,000 reviews" in table.caption
    assert "have not seen all reviews are not marked" in table.caption


def test_the_csv_holds_unrounded_numbers(tmp_path: Path) -> None:
    lines = [
        line("a", [1.0, 1 / 3]),
        line("a", [1.0, 0.1], "sobol", variant="flip-4", keep=0.9, rows_per_word=4, score="signed"),
    ]
    occlusion, sobol = csv.DictReader(io.StringIO(csv_of([run_of(tmp_path, lines)])))
    assert float(occlusion["deletion"]) == np.mean([1.0, 1 / 3])
    assert float(sobol["difference_to_occlusion"]) == 0.55 - np.mean([1.0, 1 / 3])
    assert occlusion["difference_to_occlusion"] == occlusion["keep"] == ""
    assert sobol["reviews"] == "1"
    assert [sobol[name] for name in ("model", "method", "variant", "keep", "score")] == [
        "tiny", "sobol", "flip-4", "0.9", "signed",
    ]  # fmt: skip
    assert (sobol["rows_per_word_asked"], sobol["rows_per_word"]) == ("4", "1.1")


def test_files_of_one_model_make_one_table_if_they_agree(tmp_path: Path) -> None:
    one = written(tmp_path / "one.jsonl", [line("a", [0.5])], command="first")
    two = written(tmp_path / "two.jsonl", [line("a", [0.25], "lime")], command="second")
    other = written(tmp_path / "other.jsonl", [line("a", [0.5])], model="large")
    tiny, large = load([one, other, two])
    assert (tiny.model, large.model) == ("tiny", "large")
    assert tiny.commands == ["first", "second"]
    assert rows_of(table_of(tiny))["Lime"]["difference to occlusion"].text == "-0.250"
    written(two, [line("a", [0.25], "lime")], seed=8)
    with pytest.raises(ValueError, match="tiny: files with different seed: 7, 8"):
        load([one, two])


def test_the_paper_stands_beside_what_corresponds(tmp_path: Path) -> None:
    lines = [
        line("a", [0.4]),
        line("a", [0.3], "sobol", title="S", variant="jansen-signed", keep=0.5),
        line("a", [0.2], "sobol", title="S", variant="jansen-signed-0.95", keep=0.95),
        line("a", [0.1], "sobol", title="F", variant="flip-4-signed", keep=0.5, rows_per_word=4),
    ]
    runs = [run_of(tmp_path, lines)]
    rows = {
        name: [(cell.text, cell.place) for cell in list(row.values())[1:]]
        for name, row in rows_of(paper_table(runs)).items()
    }
    assert rows == {
        "Saliency": [("0.684", 0), ("0.541", 0), ("", 0)],
        "Gradient-Input": [("0.682", 0), ("0.529", 0), ("", 0)],
        "SmoothGrad": [("0.682", 0), ("0.541", 0), ("", 0)],
        "Integrated gradients": [("0.689", 0), ("0.538", 0), ("", 0)],
        "Occlusion": [("0.531", 1), ("0.440", 1), ("0.400", 2)],
        "Sobol total": [("0.662", 0), ("0.523", 0), ("", 0)],
        "Sobol signed": [("0.598", 2), ("0.461", 2), ("0.300", 1)],
    }
    thresholds = rows_of(paper_threshold_table(runs))
    assert [(row["paper, BERT"].text, row["tiny"].text) for row in thresholds.values()] == [
        ("0.598", "0.300"),
        ("0.553", ""),
        ("0.527", "0.200"),
        ("0.531", "0.400"),
    ]


def labels_of(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def curves_of(figure: Figure) -> list[tuple[list[float], list[float]]]:
    """What is drawn in the first panel, without the thin lines to the labels."""
    drawn = [found for found in figure.axes[0].lines if found.get_label() != "_leader"]
    return [
        (np.asarray(found.get_xdata()).tolist(), np.asarray(found.get_ydata()).tolist())
        for found in drawn
    ]


def test_deletion_curves_are_means_and_those_of_the_best_variants(tmp_path: Path) -> None:
    lines = [
        line("a", [1.0, 0.5, 0.25]),
        line("b", [0.5, 0.25]),
        flip(2, 0.4),
        flip(4, 0.3),
    ]
    run = run_of(tmp_path, lines)
    figure = deletion_figure([run])
    assert curves_of(figure) == [([0, 1, 2], [0.75, 0.375, 0.25]), ([0], [0.3])]
    assert labels_of(figure.axes[0]) == ["Occlusion", "Sobol, keep 0.5, 4 rows a word"]
    chosen = deletion_figure([run], draw=["flip-2-signed"])
    assert curves_of(chosen) == [([0], [0.4])]
    with pytest.raises(ValueError, match="no results of flop"):
        deletion_figure([run], draw=["flop", "occlusion"])


def test_rows_are_joined_by_a_line_and_references_are_levels(tmp_path: Path) -> None:
    lines = [
        flip(4, 0.3),
        flip(2, 0.4),
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
        "Sobol, keep 0.5",
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
    run = run_of(tmp_path, lines, model=HOSTILE, command=HOSTILE, data=HOSTILE)
    figures = png_of(deletion_figure([run])), png_of(passes_figure([run]))
    page = html_of([run], *figures)
    assert "<script" not in page
    assert "{{7*7}}" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; | **&#34;x&#34;** $\\frac{$" in page
    assert 'aria-label="&lt;script&gt;' in page
    tables = [row for row in markdown_of([run]).splitlines() if row.startswith("| \\<script>")]
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in tables] == [11]


def test_the_page_fetches_nothing(tmp_path: Path) -> None:
    run = run_of(tmp_path, [line("a", [0.5, 0.25])])
    page = html_of([run], PNG, PNG)
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
    assert "| Occlusion |  | 1.1 | **0.700** [0.700, 0.700] |  |" in text
    assert "    python -m benchmarks.imdb.run --seed 7\n" in text
    assert "![Deletion curves](deletion.png)" in text
    page = (out / "report.html").read_text(encoding="utf-8")
    assert '<b>0.700</b> <span class="after">[0.700, 0.700]</span>' in page
    assert len((out / "report.csv").read_text(encoding="utf-8").splitlines()) == 1 + 2 * 3
