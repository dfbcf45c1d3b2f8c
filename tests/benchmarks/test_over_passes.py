"""What was run with several numbers of rows, on fewer reviews than the rest."""

import gzip
from pathlib import Path

import pytest

pytest.importorskip("pandas")
pytest.importorskip("matplotlib")

from benchmarks.imdb.report import write_report
from benchmarks.reporting import read_results
from benchmarks.summary import most_seen, over_passes
from benchmarks.tables import passes_table
from tests.benchmarks.samples import flip, line, rows_of, run_of, written

LINES = [
    *(flip(4, 0.4, review=review) for review in "abc"),
    flip(2, 0.6, review="a"),
    flip(8, 0.3, review="a"),
    *(
        line(review, [0.5], "lime", variant="lime-4", title="LIME", rows_per_word=4)
        for review in "abc"
    ),
    line("a", [0.2], "lime", variant="lime-8", title="LIME", rows_per_word=8),
    *(line(review, [value]) for review, value in zip("abc", (0.7, 0.1, 0.1), strict=True)),
]


def test_the_table_has_what_has_seen_the_most_reviews(tmp_path: Path) -> None:
    names = [v.name for v in most_seen(run_of(tmp_path, LINES)).variants]
    assert names == ["flip-4-signed", "lime-4", "occlusion"]


def test_numbers_of_rows_are_compared_on_the_same_reviews(tmp_path: Path) -> None:
    varied = over_passes(run_of(tmp_path, LINES))
    assert varied is not None
    assert varied.n_inputs == 1
    table = passes_table(varied)
    cells = rows_of(table)
    assert table.header == ["method", "its own number", "2", "4", "8"]
    told = {name: [cell.text for cell in list(row.values())[1:]] for name, row in cells.items()}
    assert told == {
        "Sobol signed, flip": ["", "0.600", "0.400", "0.300"],
        "LIME": ["", "", "0.500", "0.200"],
        "Occlusion": ["0.700", "", "", ""],
    }
    assert cells["LIME"]["8"].place == 1
    assert "1 reviews that all have seen" in table.caption


def test_one_number_of_rows_has_no_table(tmp_path: Path) -> None:
    few = [found for found in LINES if found["rows_per_word"] in (None, 4)]
    assert over_passes(run_of(tmp_path, few)) is None


@pytest.mark.parametrize("draw", [(), ("flip-8-signed",)])
def test_the_report_has_both_tables(tmp_path: Path, draw: tuple[str, ...]) -> None:
    write_report([written(tmp_path / "x.jsonl", LINES)], tmp_path / "report", draw)
    told = (tmp_path / "report" / "report.md").read_text()
    assert "## tiny\n" in told
    assert "## tiny: rows per word" in told


def test_files_of_other_results_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = written(tmp_path / "x.jsonl", LINES)
    other = written(tmp_path / "x.convergence.jsonl", [{"method": "flip", "review": "a"}])
    pictures = written(tmp_path / "y.jsonl", [{"variant": "flip", "image": "a"}])
    write_report([other, own, pictures], tmp_path / "report")
    assert "## tiny\n" in (tmp_path / "report" / "report.md").read_text()
    told = capsys.readouterr().err
    assert "x.convergence.jsonl holds other results: left out" in told
    assert "y.jsonl holds other results" in told
    with pytest.raises(ValueError, match="no results of reviews"):
        write_report([other], tmp_path / "report")


def test_packed_results_are_read(tmp_path: Path) -> None:
    plain = written(tmp_path / "x.jsonl", LINES)
    packed = tmp_path / "x.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert read_results(packed) == read_results(plain)
