import json
import random
from pathlib import Path

import pytest

from benchmarks.store import Store
from tests.benchmarks.killing import lines, whole_and_killed

SETTINGS = {"model": "m", "seed": 0, "_command": "first"}


def store(path: Path, **settings: object) -> Store:
    return Store(path, {**SETTINGS, **settings}, ("name", "place"))


def test_results_are_found_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.jsonl"
    with store(path) as first:
        first.add({"name": "a", "place": 1, "value": 0.5})
    with store(path, _command="second") as second:
        assert second.done == {json.dumps(["a", 1])}
        second.add({"name": "a", "place": 2})
        with pytest.raises(ValueError, match="already"):
            second.add({"name": "a", "place": 1})
    assert [line["place"] for line in lines(path) if "settings" not in line] == [1, 2]
    commands = [line["settings"]["_command"] for line in lines(path) if "settings" in line]
    assert commands == ["first", "second"]


@pytest.mark.parametrize("cut", range(1, 30, 3))
def test_a_line_that_was_cut_off_is_made_again(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "results.jsonl"
    with store(path) as first:
        for place in (1, 2):
            first.add({"name": "\u00e9\u2028", "place": place})
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    with store(path) as again:
        for place in (1, 2):
            result = {"name": "\u00e9\u2028", "place": place}
            if again.key_of(result) not in again.done:
                again.add(result)
    results = [line for line in lines(path) if "settings" not in line]
    assert results == [{"name": "\u00e9\u2028", "place": place} for place in (1, 2)]


def test_a_header_that_was_cut_off_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text('{"settings": {"mod')
    with store(path) as again:
        again.add({"name": "a", "place": 1})
    assert lines(path)[0]["settings"] == SETTINGS


def test_other_settings_are_refused_and_named(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    store(path).__exit__()
    with pytest.raises(SystemExit, match="seed: 0 there, 1 here"):
        store(path, seed=1)
    store(path, _command="another").__exit__()


def test_two_runs_on_one_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with store(path), pytest.raises(SystemExit, match="by another run"):
        store(path)
    store(path).__exit__()


def test_settings_and_keys_may_be_of_any_kind(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with store(path, grid=(2, 2)) as first:
        first.add({"name": ["a"], "place": None})
    with store(path, grid=(2, 2)) as second, pytest.raises(ValueError, match="already"):
        second.add({"name": ["a"], "place": None})


def test_killed_twice_and_resumed_it_equals_an_uninterrupted_run(tmp_path: Path) -> None:
    from tests.text.tiny import counting_bert, tokenizer

    model = tmp_path / "tiny"
    counting_bert(tokenizer()).save_pretrained(model)
    tokenizer().save_pretrained(model)
    data = tmp_path / "reviews.jsonl"
    words = ["good", "bad", "film", "long", "the", "plot"]
    drawn = random.Random(0)
    reviews = [
        {"text": " ".join(drawn.choices(words, k=20)), "label": k % 2, "id": k} for k in range(8)
    ]
    data.write_text("\n".join(map(json.dumps, reviews)))

    def benchmark(out: Path) -> list[str]:
        return [
            "benchmarks.imdb", "run", "--model", str(model), "--data", str(data),
            "--methods", "flip,occlusion,rise,random,greedy", "--limit", "6", "--out", str(out),
        ]  # fmt: skip

    wanted, found = whole_and_killed(benchmark, tmp_path, "tiny.jsonl")
    assert len({(line["variant"], line["review"]) for line in found}) == len(found)
    assert sorted(map(json.dumps, found)) == sorted(map(json.dumps, wanted))
