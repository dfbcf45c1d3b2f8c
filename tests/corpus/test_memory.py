"""Memory of jobs: bounded by the work under way, and given back when it is free."""

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("datasets")

import datasets
import numpy as np

from tests.corpus.samples import count, counting, reviews
from textsobol import TextExplainer, explain_corpus
from textsobol.corpus import shard
from textsobol.corpus.memory import return_freed_memory

needs_glibc = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="speaks of glibc's heaps; others do nothing"
)


@pytest.mark.parametrize(("n_words", "at_once"), [(6, 128), (128, 96), (500, 15), (2000, 3)])
def test_fewer_long_texts_are_under_way_than_short_ones(
    tmp_path: Path, n_words: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Masks grow in number, up to 1,609, and in length: 15 of 500 words are as 96 of 128."""
    walk, live, seen = shard._walk, set(), set()

    def watched(explainer: TextExplainer, item: Any, settings: Any) -> Any:
        live.add(item.row)
        try:
            return (yield from walk(explainer, item, settings))
        finally:
            live.discard(item.row)

    def counted(texts: list[str]) -> list[list[float]]:
        seen.add(len(live))
        return count(texts)

    monkeypatch.setattr(shard, "_walk", watched)

    data = datasets.Dataset.from_dict({"text": ["good " + "film " * (n_words - 1)] * (at_once + 2)})
    explainer = TextExplainer(counted, label_names=["bad", "good"], progress=False)
    explain_corpus(explainer, data, out=tmp_path, shard_size=200, method="occlusion")
    assert max(seen) == at_once


def test_jobs_give_memory_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a shard is made, and when it is done."""
    returns: list[None] = []
    monkeypatch.setattr(shard, "return_freed_memory", lambda: returns.append(None))
    data = datasets.Dataset.from_dict({"text": reviews(40)})
    explain_corpus(counting(), data, out=tmp_path, shard_size=20, budget=40)
    assert len(returns) == 2 * 2


@needs_glibc
def test_freed_memory_is_given_back() -> None:
    """Also where what is left stands between: one block of 1,024 is kept."""
    blocks = [np.ones(2_000, dtype=np.uint8) for _ in range(50_000)]
    kept = blocks[::1024]
    before = _resident_megabytes()
    del blocks
    return_freed_memory()
    assert before - _resident_megabytes() > 60
    del kept


@needs_glibc
@pytest.mark.parametrize(("given", "is_one"), [({}, True), ({"MALLOC_ARENA_MAX": "8"}, False)])
def test_threads_share_a_heap_unless_told_otherwise(
    tmp_path: Path, given: dict[str, str], is_one: bool
) -> None:
    script = f"""
import ctypes, threading
from textsobol.corpus.memory import limit_allocator_caches
limit_allocator_caches()
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.fopen.restype = ctypes.c_void_p
meet = threading.Barrier(4)
def allocate():
    libc.malloc(5000)
    meet.wait()
threads = [threading.Thread(target=allocate) for _ in range(4)]
[one.start() for one in threads], [one.join() for one in threads]
file = ctypes.c_void_p(libc.fopen({str(tmp_path / "heaps")!r}.encode(), b"w"))
libc.malloc_info(0, file), libc.fclose(file)
"""
    subprocess.run([sys.executable, "-c", script], env={**os.environ, **given}, check=True)
    n_heaps = (tmp_path / "heaps").read_text().count("<heap nr=")
    assert (n_heaps == 1) is is_one


@needs_glibc
@pytest.mark.skipif(
    platform.machine() != "x86_64", reason="torch has no oneDNN for LSTMs elsewhere"
)
@pytest.mark.parametrize(
    ("given", "grows"), [({}, False), ({"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "1024"}, True)]
)
def test_little_is_kept_of_shapes_that_were_forwarded(given: dict[str, str], grows: bool) -> None:
    """Without a limit, 200 shapes of batches of an LSTM hold 60 MB."""
    script = """
from textsobol.corpus.memory import limit_allocator_caches
limit_allocator_caches()
import torch
from benchmarks.measuring import megabytes_added
torch.set_num_threads(1)
lstm = torch.nn.LSTM(100, 64, bidirectional=True, batch_first=True).eval()
def forward(lengths):
    with torch.inference_mode():
        for n_tokens in lengths:
            lstm(torch.zeros(4, n_tokens, 100))
forward(range(1, 41))
print(megabytes_added(lambda: forward(range(41, 201))))
"""
    environment = {**os.environ, **given}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, check=True, capture_output=True, text=True
    )
    assert (float(done.stdout) > 20) is grows


def _resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
