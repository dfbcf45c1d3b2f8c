"""Ctrl-C at any point of a job: it ends at once, nothing is half-written, and it can be resumed."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import datasets
import numpy as np
import pytest

from tests.corpus.samples import content, counting, reviews
from textsobol import TextExplainer, explain_corpus, read_explanations
from textsobol.driver import run_together, stream

POINTS = 60
# Where files are written and generators served, more points are tried.
CRITICAL = ("files.py", "directory.py", "driver.py", "shard.py", "job.py", "_unix.py", "_api.py")


@cache
def texts() -> Any:
    return datasets.Dataset.from_dict({"text": [text[:40] for text in reviews(4)]})


def explain(out: Path) -> None:
    explain_corpus(counting(), texts(), out=out, shard_size=2, budget=20)


class Interruption:
    """Counts calls of functions, and raises at the entry of one of them, as a signal would."""

    def __init__(self, at: int | None = None) -> None:
        self.at = at
        self.calls: list[str] = []
        self.time = 0.0

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        self.calls.append(frame.f_code.co_filename)
        if len(self.calls) - 1 == self.at:
            sys.settrace(None)
            self.time = time.monotonic()
            raise KeyboardInterrupt

    def run(self, job: Callable[[], object]) -> bool:
        """Run the job; whether it was interrupted."""
        before = sys.gettrace()
        sys.settrace(self)
        try:
            job()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(before)
        return False


def choose_points(calls: list[str]) -> list[int]:
    critical = [k for k, name in enumerate(calls) if name.endswith(CRITICAL)]
    rng = random.Random(0)
    chosen = rng.sample(critical, min(len(critical), 2 * POINTS // 3))
    n_others = min(len(calls), POINTS - len(chosen))
    return sorted({*chosen, *rng.sample(range(len(calls)), n_others)})


# An interrupt that comes while an object is deleted is reported by Python, and does nothing else.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_job_can_be_interrupted_anywhere(tmp_path: Path) -> None:
    explain(tmp_path / "whole")
    wanted = content(tmp_path / "whole")
    counted = Interruption()
    assert not counted.run(lambda: explain(tmp_path / "counted"))
    n_interrupted = n_resumed = 0
    for point in choose_points(counted.calls):
        out = tmp_path / f"at-{point}"
        interruption = Interruption(point)
        was_interrupted = interruption.run(lambda out=out: explain(out))  # type: ignore[misc]
        where = f"call {point}, in {counted.calls[point]}"
        if was_interrupted:
            assert time.monotonic() - interruption.time < 1, where
            n_interrupted += 1
        if out.exists():
            assert not [path for path in out.iterdir() if path.suffix == ".unfinished"], where
        if (out / "_manifest.json").exists():
            found = read_explanations(out)
            assert len(list(found)) == found.texts, where
            n_resumed += 0 < found.texts < 4
        explain(out)
        assert content(out) == wanted, where
    assert n_interrupted > 0.8 * POINTS
    assert n_resumed > 3, "some of them in the middle"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", ["x.json", "x.html"])
def test_saving_can_be_interrupted_anywhere(tmp_path: Path, name: str) -> None:
    path, explanation = tmp_path / name, counting()("good film, bad ending")
    explanation.save(path)
    new, old = path.read_bytes(), b"the earlier file"
    counted = Interruption()
    counted.run(lambda: explanation.save(path))
    seen = set()
    for point in choose_points(counted.calls):
        path.write_bytes(old)
        Interruption(point).run(lambda: explanation.save(path))
        assert [each.name for each in tmp_path.iterdir()] == [name], counted.calls[point]
        seen.add(path.read_bytes())
    assert seen == {old, new}, "never anything else"


JOB = """
import signal, sys, time
import datasets
from textsobol import TextExplainer, explain_corpus

signal.signal(signal.SIGINT, signal.default_int_handler)

def slow(texts):
    time.sleep(0.05)
    return [[text.count("bad"), text.count("good")] for text in texts]

data = datasets.Dataset.from_dict({"text": [f"good film {k} bad" for k in range(300)]})
explainer = TextExplainer(slow, label_names=["bad", "good"], progress=False)
explain_corpus(explainer, data, out=sys.argv[1], shard_size=2)
"""


def test_a_signal_ends_a_job_within_a_second(tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-c", JOB, str(out)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not (out / "shard-00001.parquet").exists():
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.02)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    # Ending Python with torch loaded takes a while by itself on a busy machine.
    assert time.monotonic() - start < 5
    assert errors.strip().endswith("KeyboardInterrupt")
    found = read_explanations(out)
    assert not found.is_finished
    assert 2 <= found.texts == len(list(found)) < 300
    assert not list(out.glob(".*.unfinished"))


class Closing:
    """Generators that note when they are closed."""

    def __init__(self) -> None:
        self.closed: list[int] = []

    def steps(self, number: int, asked: Any) -> Generator[Any, Any, int]:
        try:
            yield asked()
            return number
        finally:
            self.closed.append(number)


def interrupt() -> None:
    raise KeyboardInterrupt


def test_an_interrupt_closes_all_generators_that_are_served() -> None:
    """The third is interrupted; two are waiting for an answer, and one has not begun."""
    from tests.test_driver import Shared
    from textsobol.steps import Ask

    notes, model = Closing(), Shared().model()
    asks = [lambda: Ask(model, np.ones((1, 3), dtype=bool))] * 2 + [interrupt] + [lambda: None]
    walks: Any = [(1, notes.steps(k, asked)) for k, asked in enumerate(asks)]
    with pytest.raises(KeyboardInterrupt):
        list(run_together(walks, max_live=9, max_size=9))
    assert sorted(notes.closed) == [0, 1, 2]
    assert all(steps.gi_frame is None for _, steps in walks)


@pytest.mark.parametrize("how", ["close", "interrupt"])
def test_whoever_stops_reading_closes_the_generator(how: str) -> None:
    notes = Closing()
    reading = stream(notes.steps(0, lambda: "on the way"))
    assert next(reading) == "on the way"
    if how == "close":
        reading.close()
    else:
        with pytest.raises(KeyboardInterrupt):
            reading.throw(KeyboardInterrupt())
    assert notes.closed == [0]


def test_a_stream_of_explanations_is_closed_with_what_it_reads() -> None:
    closed: list[str] = []

    class Noted(TextExplainer):
        def walk(self, *args: Any, **settings: Any) -> Any:
            try:
                return (yield from super().walk(*args, **settings))
            finally:
                closed.append("walk")

    explainer = Noted(lambda texts: [float(len(text)) for text in texts], progress=False)
    reading: Any = explainer.stream("some words of a text that take several steps to explain")
    next(reading)
    assert closed == []
    reading.close()
    assert closed == ["walk"]
