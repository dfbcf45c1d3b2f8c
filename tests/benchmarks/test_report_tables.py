"""The tables of the word-deletion benchmark: their numbers, their marks, their captions."""

import csv
import io
from pathlib import Path

import pytest

pytest.importorskip("pandas")

import numpy as np

from benchmarks.imdb.paper import paper_table, paper_threshold_table
from benchmarks.imdb.reading import load
from benchmarks.tables import csv_of, table_of
from tests.benchmarks.samples import flip, line, paper, rows_of, run_of, written


def test_the_numbers_of_a_table_are_those_computed_by_hand(tmp_path: Path) -> None:
    lines = [
        line("a", [1.0, 0.5, 0.0]),  # mean 0.5
        line("b", [1.0, 0.5]),  # 0.75
        line("a", [1.0, 0.0, 0.2], "sobol", variant="flip", keep=0.5, rows=40, words=10),  # 0.4
        line("b", [1.0, 0.2], "sobol", variant="flip", keep=0.5, rows=60, words=10),  # 0.6
        paper("a", [1.0, 0.8]),  # 0.9
        paper("b", [1.0, 0.4]),  # 0.7
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
        "difference to the paper's Sobol": ("-0.300", 0, "[-0.500, -0.100]"),
        "difference to the best": ("", 0, ""),  # it is the best
        "accuracy ↓": ("0.417", 1, ""),  # of (1/3, 1/2), the same as occlusion
        "insertion ↑": ("0.500", 1, ""),
        "comprehensiveness ↑": ("0.250", 1, ""),
        "sufficiency ↓": ("0.125", 1, ""),
        "reviews": ("2", 0, ""),
    }
    assert found["Occlusion"]["deletion ↓"] == ("0.625", 2, "[0.500, 0.750]")
    assert found["Occlusion"]["difference to occlusion"] == ("", 0, "")
    assert found["Occlusion"]["difference to the best"] == ("+0.125", 0, "[+0.100, +0.150]")
    to_paper = "difference to the paper's Sobol"
    by_paper = found["Sobol signed, the paper's"]
    # 0.5 - 0.9 and 0.75 - 0.7.
    assert found["Occlusion"][to_paper] == ("-0.175", 0, "[-0.400, +0.050]")
    assert by_paper["difference to occlusion"] == ("+0.175", 0, "[-0.050, +0.400]")
    assert by_paper[to_paper] == ("", 0, "")
    assert found["Occlusion"]["insertion ↑"] == ("0.375", 2, "")
    assert found["Occlusion"]["rows per word"] == ("1.1", 0, "")
    assert table.caption == (
        "Model tiny, data some reviews, 2 reviews of at most 200 words, "
        "accuracy 100.0 % on these reviews, seed 7, numpy 2.0."
    )


def test_the_accuracy_is_that_before_any_deletion_on_every_review_once(tmp_path: Path) -> None:
    lines = [
        line("a", [0.9, 0.1], correct=[True, False]),
        line("b", [0.9, 0.1], correct=[False, True]),
        line("a", [0.9, 0.2], "lime", correct=[True, True]),
        line("c", [0.9, 0.2], "random", kind="baseline", correct=[True, True]),
    ]
    run = run_of(tmp_path, lines)
    assert run.accuracy == pytest.approx(2 / 3)
    assert "3 reviews of at most 200 words, accuracy 66.7 % on these reviews, seed" in (
        table_of(run).caption
    )


def test_differences_are_on_common_reviews_and_to_the_usual_keep_rate(tmp_path: Path) -> None:
    lines = [
        line("a", [0.5]),
        line("b", [0.9]),
        paper("b", [0.6]),
        paper("b", [0.1], variant="jansen-signed-0.9", title="Other", keep=0.9),
        line("a", [0.3], "lime"),
    ]
    rows = {
        name: (row["difference to occlusion"].text, row["difference to the paper's Sobol"].text)
        for name, row in rows_of(table_of(run_of(tmp_path, lines))).items()
    }
    assert rows == {
        "Occlusion": ("", "+0.300"),  # b: 0.9 - 0.6
        "Sobol signed, the paper's": ("-0.300", ""),
        "Other": ("-0.800", "-0.500"),
        "Lime": ("-0.200", ""),  # nothing in common
    }


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
    table = table_of(run_of(tmp_path, lines))
    rows = rows_of(table)
    assert (rows["Lime"]["deletion ↓"].text, rows["Lime"]["deletion ↓"].place) == ("0.400", 0)
    assert (rows["Occlusion"]["deletion ↓"].text, rows["Occlusion"]["deletion ↓"].place) == (
        "0.700",
        1,
    )
    assert rows["Lime"]["difference to occlusion"].text == "-0.100"  # 0.4 - 0.5, on b alone
    assert "3 reviews of at most 200 words, accuracy" in table.caption
    assert "have not seen all reviews are not marked" in table.caption


def test_the_csv_holds_unrounded_numbers(tmp_path: Path) -> None:
    lines = [
        line("a", [1.0, 1 / 3]),
        line("a", [1.0, 0.1], "sobol", variant="flip-4", keep=0.9, rows_per_word=4, score="signed"),
        paper("a", [0.5, 0.2]),
    ]
    occlusion, sobol, by_paper = csv.DictReader(io.StringIO(csv_of([run_of(tmp_path, lines)])))
    assert float(occlusion["deletion"]) == np.mean([1.0, 1 / 3])
    assert float(sobol["difference_to_occlusion"]) == 0.55 - np.mean([1.0, 1 / 3])
    assert occlusion["difference_to_occlusion"] == occlusion["keep"] == ""
    assert float(sobol["difference_to_paper_sobol"]) == 0.55 - 0.35
    assert float(by_paper["difference_to_occlusion"]) == 0.35 - np.mean([1.0, 1 / 3])
    assert by_paper["difference_to_paper_sobol"] == ""
    assert sobol["reviews"] == "1"
    assert [sobol[name] for name in ("model", "method", "variant", "keep", "score")] == [
        "tiny", "sobol", "flip-4", "0.9", "signed",
    ]  # fmt: skip
    assert (sobol["rows_per_word_asked"], sobol["rows_per_word"]) == ("4", "1.1")


def test_files_of_one_model_make_one_table_if_they_agree(tmp_path: Path) -> None:
    one = written(tmp_path / "one.jsonl", [line("a", [0.5])], _command="first")
    two = written(tmp_path / "two.jsonl", [line("a", [0.25], "lime")], _command="second")
    other = written(tmp_path / "other.jsonl", [line("a", [0.5])], model="large")
    tiny, large = load([one, other, two])
    assert (tiny.model, large.model) == ("tiny", "large")
    assert tiny.commands == ["first", "second"]
    assert rows_of(table_of(tiny))["Lime"]["difference to occlusion"].text == "-0.250"
    written(two, [line("a", [0.25], "lime")], seed=8)
    with pytest.raises(ValueError, match="tiny: files with different seed: 7, 8"):
        load([one, two])
    with pytest.raises(ValueError, match="tiny: no results yet"):
        load([written(two, [])])


def test_the_paper_stands_beside_what_corresponds(tmp_path: Path) -> None:
    lines = [
        line("a", [0.4]),
        paper("a", [0.3]),
        paper("a", [0.2], variant="jansen-signed-0.95", keep=0.95),
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
