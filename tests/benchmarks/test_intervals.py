"""Whether intervals hold the truth: on numbers by hand, and a small run."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")

import numpy as np
from typer.testing import CliRunner

from benchmarks.imdb.__main__ import app
from benchmarks.imdb.data import Review
from benchmarks.imdb.intervals import MEASURES, choose_reviews, intervals_rows

WORDS = ["gripping", "dull", "film", "long", "the", "plot", "and", "is"]


def test_lengths_spread_and_more_reviews_keep_the_first() -> None:
    reviews = [Review(str(k), "word " * (40 + k * 7 % 211), 0) for k in range(400)]
    few = choose_reviews(reviews, 8, 40, 250)
    many = choose_reviews(reviews, 20, 40, 250)
    assert many[:8] == few
    assert len({review.id for review in many}) == 20
    lengths = sorted(review.n_words for review in many)
    assert lengths[0] <= 45
    assert lengths[-1] >= 235
    assert max(np.diff(lengths)) <= 20


def measures(value: list[float], low: list[float | None], high: list[float | None]) -> Any:
    return {name: [value, low, high] for name in MEASURES}


def test_coverage_width_and_unknown_intervals() -> None:
    truths = [{"review": "a", **{name: [0.5, 0.2, 0.0] for name in MEASURES}}]
    line = {"review": "a", **measures([0.4, -0.3, 0.1], [0.3, 0.25, None], [0.6, 0.45, None])}
    other = {"review": "b", **measures([9.0], [9.0], [9.0])}
    rows = {row[0]: row[1:] for row in intervals_rows(truths, [line, other])}
    assert rows.keys() == MEASURES.keys()
    coverage, of_top, width, value, unknown, n_reviews = rows["score"]
    assert coverage.startswith("0.500")  # of the two that are known
    assert of_top.startswith("0.500")
    assert width == "0.300"  # 0.3, 0.2 and infinity
    assert value == "0.300"
    assert unknown == "33 %"
    assert n_reviews == "1"


def test_truth_is_kept_when_intervals_are_measured_again(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    data = tmp_path / "reviews.jsonl"
    texts = [" ".join(random.choice(WORDS, n)) for n in (12, 15, 18)]
    data.write_text(
        "\n".join(json.dumps({"id": k, "label": 0, "text": t}) for k, t in enumerate(texts))
    )
    short = ["--data", str(data), "--limit", "2", "--min-words", "10", "--max-words", "20"]
    asked = ["intervals", *short, "--base-masks", "40"]
    first = CliRunner().invoke(app, [*asked, "--out", str(tmp_path / "one")])
    assert first.exit_code == 0, first.output
    table = [row.split(" | ") for row in first.stdout.splitlines() if row.startswith("| ")]
    assert [row[0].strip("| ") for row in table[2:]] == list(MEASURES)
    assert all(row[-1].startswith("2 ") for row in table[2:])
    truth = tmp_path / "one" / "imdb-bilstm.truth.jsonl"
    made = truth.read_text().splitlines()
    again = CliRunner().invoke(app, [*asked, "--truth", str(truth), "--out", str(tmp_path / "two")])
    assert again.exit_code == 0, again.output
    assert again.stdout == first.stdout
    assert truth.read_text().splitlines()[: len(made)] == made
    assert len(truth.read_text().splitlines()) == len(made) + 1, "only another header"
    assert not (tmp_path / "two" / "imdb-bilstm.truth.jsonl").exists()
