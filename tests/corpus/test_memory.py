"""Memory of jobs: bounded by the work under way, and given back when it is free."""

import os
import platform
import threading
from pathlib import Path

import datasets
import numpy as np
import pytest

from tests.corpus.samples import count
from textsobol import TextExplainer
from textsobol.corpus.memory import return_freed_memory


@pytest.mark.parametrize(("n_words", "at_once"), [(6, 40), (128, 40), (500, 8), (2000, 1)])
def test_fewer_long_texts_are_under_way_than_short_ones(
    tmp_path: Path, n_words: int, at_once: int
) -> None:
    """Rows grow with the words, and so does each row: 8 of 500 words are as 128 of 128."""
    n_before = threading.active_count()
    seen = set()

    def counting(texts: list[str]) -> list[list[float]]:
        seen.add(threading.active_count() - n_before)  # a thread for every text
        return count(texts)

    n_texts = 40 if at_once == 40 else at_once + 2
    data = datasets.Dataset.from_dict({"text": ["good " + "film " * (n_words - 1)] * n_texts})
    explainer = TextExplainer(counting, labels=["bad", "good"], progress=False)
    explainer.dataset(data, out=tmp_path, shard_size=128, method="occlusion")
    assert max(seen) == at_once


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries return it unasked")
def test_freed_memory_is_given_back() -> None:
    """Also where what is left stands between: one block of 64 is kept."""
    blocks = [np.ones(2_000, dtype=np.uint8) for _ in range(50_000)]
    kept = blocks[::64]
    before = _resident_megabytes()
    del blocks
    return_freed_memory()
    assert before - _resident_megabytes() > 60
    assert all(block.all() for block in kept)


def _resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
