"""What reports share: means and their intervals, marks, and how results are read."""

import doctest
import json
import math
from pathlib import Path

import pytest

pytest.importorskip("pandas")

import numpy as np

from benchmarks import reporting
from benchmarks.imdb.reading import READING
from benchmarks.reporting import (
    Cell,
    mean_curve,
    mean_with_interval,
    paired_difference,
    places,
    read_results,
)
from benchmarks.summary import by_variant
from tests.benchmarks.samples import line, written


def test_the_examples_of_the_docstrings_hold() -> None:
    assert doctest.testmod(reporting, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


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


def test_a_review_that_comes_twice_is_refused() -> None:
    lines = [line("a", [0.5]), line("b", [0.25]), line("a", [0.75])]
    with pytest.raises(ValueError, match="two results for a"):
        by_variant(lines, READING)


def test_every_start_of_a_run_leaves_its_command(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    parts = [
        {"settings": {"model": "m", "_command": "first"}},
        line("a", [0.5]),
        {"settings": {"model": "m", "_command": "second"}},
        line("b", [0.5]),
    ]
    path.write_text("".join(json.dumps(part) + "\n" for part in parts))
    found = read_results(path)
    assert found.commands == ["first", "second"]
    assert [one["review"] for one in found.lines] == ["a", "b"]
