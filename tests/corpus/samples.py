"""Texts and classifiers of corpora whose answers are known."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.text.tiny import counting_bert, tokenizer
from textsobol import TextExplainer

WORDS = ["the", "plot", "is", "good", "but", "ending", "bad", "and", "long", "film", "not"]


def reviews(number: int, seed: int = 0) -> list[str]:
    """Texts of very different lengths, in words that the tiny tokenizer knows."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, 30, size=number)
    return [" ".join(["good", *rng.choice(WORDS, size=n), "bad."]) for n in lengths.tolist()]


def count(texts: list[str]) -> list[list[float]]:
    """Scores that are exact, whatever texts come together."""
    return [[text.count("bad"), text.count("good")] for text in texts]


def counting() -> TextExplainer:
    return TextExplainer(count, label_names=["bad", "good"], progress=False)


def tiny_model() -> TextExplainer:
    return TextExplainer(counting_bert(tokenizer()), tokenizer(), progress=False)


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    import pandas

    pandas.DataFrame(rows).to_csv(path, index=False)
    return path


def content(directory: Path) -> dict[str, bytes]:
    """What a job has left behind, but for the lock."""
    return {p.name: p.read_bytes() for p in directory.iterdir() if p.name != ".lock"}
