"""The league and the seeds, on numbers by hand."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")
pytest.importorskip("matplotlib")

import numpy as np
from typer.testing import CliRunner

from benchmarks.imdb.__main__ import app
from benchmarks.imdb.league import (
    ATTRIBUTIONS,
    OTHERS,
    columns_of,
    differences_table,
    way,
    write_league,
)
from benchmarks.imdb.seeds import TOP, agreement, seeds_rows
from tests.benchmarks.samples import line, rows_of, run_of, written


def own(method: str, title: str, rows: int, review: str, deletion: float) -> dict[str, Any]:
    name = f"{method}-{rows}"
    return line(review, [deletion], method, variant=name, title=title, rows_per_word=rows)


LINES = [
    *(own("sobol", "Sobol signed, flip", 4, review, 0.3) for review in "abc"),
    *(own("lime", "LIME", 4, r, d) for r, d in zip("abc", (0.4, 0.5, 0.6), strict=True)),
    own("proxyspex", "ProxySPEX", 4, "b", 0.1),
    *(line(review, [0.6]) for review in "abc"),
    *(line(r, [0.2], "greedy", kind="search", title="Greedy search") for r in "abc"),
]
PATH = [
    line(
        r,
        [0.25],
        "path",
        kind="search",
        title="Path",
        score="path",
        variant="path-4",
        rows_per_word=4,
    )
    for r in "abc"
]


def test_a_column_has_what_has_seen_the_most_reviews(tmp_path: Path) -> None:
    [(asked, column)] = columns_of(run_of(tmp_path, LINES)).items()
    assert asked == 4
    assert column.n_inputs == 3
    assert {v.method for v in column.variants} == {"sobol", "lime", "occlusion", "greedy"}
    ways = {v.method: way(v, column) for v in column.variants}
    assert ways == pytest.approx({"sobol": 0.75, "lime": 0.25, "occlusion": 0.0, "greedy": 1.0})


def test_differences_are_of_the_reviews_that_both_have_seen(tmp_path: Path) -> None:
    cells = rows_of(differences_table(run_of(tmp_path, LINES)))
    assert cells["LIME"]["4"].text == "+0.200"
    assert cells["LIME"]["4"].after.endswith("n = 3")
    assert cells["ProxySPEX"]["4"].text == "-0.200"
    assert cells["ProxySPEX"]["4"].after.endswith("n = 1")
    assert cells["Occlusion"]["4"].text == "+0.300"
    assert "Sobol signed, flip" not in cells


def test_the_league_is_written(tmp_path: Path) -> None:
    write_league([written(tmp_path / "x.jsonl", LINES)], tmp_path / "league")
    told = (tmp_path / "league" / "report.md").read_text()
    assert "| Sobol signed, flip | **0.300**" in told
    assert "75 % |" in told
    assert "## tiny: Insertion" in told
    assert "## tiny: AOPC" in told
    assert told.count("| ProxySPEX |") == 1, "only among the differences: too few reviews for more"
    assert (tmp_path / "league" / "league.png").read_bytes().startswith(b"\x89PNG")


def test_searches_are_listed_apart_and_not_marked(tmp_path: Path) -> None:
    write_league([written(tmp_path / "x.jsonl", [*LINES, *PATH])], tmp_path / "league")
    told = (tmp_path / "league" / "report.md").read_text().split("## tiny: difference")[0]
    attributions, searches = told.split(f"| *{OTHERS}* |")
    assert f"| *{ATTRIBUTIONS}* |" in attributions
    assert "| Sobol signed, flip | **0.300**" in attributions
    assert "| Path | 0.250" in searches
    assert "88 % |" in searches
    assert "| Greedy search | 0.200" in searches


def test_agreement_is_that_of_the_highest_words() -> None:
    one = np.arange(30.0)
    other = one.copy()
    other[:10] = one[:10][::-1]  # far below the top
    assert agreement(one, other) == {"correlation": 1.0, "common": 1.0}
    assert len(one) > TOP
    other[[29, 28]] = other[[28, 29]]
    # Two neighbours of twenty change places: 1 - 6 * 2 / (20 * 399).
    assert agreement(one, other)["correlation"] == pytest.approx(1 - 12 / 7980)


def test_seeds_are_compared_and_not_made_twice(tmp_path: Path) -> None:
    data = tmp_path / "reviews.csv"
    data.write_text("text,label\na truly gripping film,1\na dull film with a bad end,0\n")
    arguments = ["seeds", "--data", str(data), "--out", str(tmp_path), "--reviews", "2"]
    first = CliRunner().invoke(app, arguments)
    assert first.exit_code == 0, first.output
    assert "| 2 |" in first.output
    lines = (tmp_path / "imdb-bilstm.seeds.jsonl").read_text().splitlines()
    again = CliRunner().invoke(app, arguments)
    assert again.exit_code == 0, again.output
    assert len((tmp_path / "imdb-bilstm.seeds.jsonl").read_text().splitlines()) == len(lines) + 1


def test_the_row_of_seeds_is_a_mean() -> None:
    lines: list[dict[str, Any]] = [
        {"correlation": 1.0, "common": 1.0, "rows": 60, "words": 10},
        {"correlation": 0.5, "common": 0.5, "rows": 40, "words": 10},
        {"correlation": None, "common": 0.75, "rows": 50, "words": 10},
    ]
    [[rows, correlation, common, n]] = seeds_rows(lines)
    assert (rows, common, n) == ("5.0", "0.75", "3")
    assert correlation.startswith("0.750 [")
