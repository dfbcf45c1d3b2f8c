import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.store import Store

SETTINGS = {"model": "m", "seed": 0, "_command": "first"}


def store(path: Path, **settings: object) -> Store:
    return Store(path, {**SETTINGS, **settings}, ("name", "place"))


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


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
    commands = [line["settings"]["_command"] for line in lines(path) if "settings" in line]  # type: ignore[index]
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


def benchmark(out: Path, model: Path, data: Path) -> list[str]:
    return [
        sys.executable, "-m", "benchmarks.imdb", "run", "--model", str(model), "--data", str(data),
        "--methods", "flip,occlusion,rise,random,greedy", "--limit", "6", "--out", str(out),
    ]  # fmt: skip


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
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    subprocess.run(benchmark(tmp_path / "whole", model, data), check=True, **quiet)  # type: ignore[call-overload]
    wanted = lines(tmp_path / "whole" / "tiny.jsonl")
    path = tmp_path / "killed" / "tiny.jsonl"
    for kill in (1, 2):
        process = subprocess.Popen(
            benchmark(tmp_path / "killed", model, data),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 300
        # Killed in the middle: after some results, before all of them.
        while process.poll() is None and time.monotonic() < deadline:
            if path.exists() and path.read_bytes().count(b"\n") > kill * len(wanted) // 3:
                os.kill(process.pid, signal.SIGKILL)
                break
            time.sleep(0.002)
        process.wait()
        assert len(lines_if_whole(path)) < len(wanted), "it was killed too late"
    subprocess.run(benchmark(tmp_path / "killed", model, data), check=True, **quiet)  # type: ignore[call-overload]
    found = [line for line in lines(path) if "settings" not in line]
    assert len({(line["variant"], line["review"]) for line in found}) == len(found)
    assert sorted(map(json.dumps, found)) == sorted(map(json.dumps, wanted[1:]))


def lines_if_whole(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines()
