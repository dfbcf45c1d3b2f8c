"""Reviews by length, none of which was measured before."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.imdb.data import Review, digest, reviews
from benchmarks.provenance import command_of, versions_of, weights_of, without_place
from benchmarks.reporting import read_results
from textsobol import TextExplainer
from textsobol.metrics.faithfulness import STEPS

T = TypeVar("T")

RESULTS = Path(__file__).parent / "results"
_USED = Path(__file__).parent.parent / "imdb" / "results"
_PACKAGES = ("textsobol", "torch", "transformers", "lime", "shap")


@dataclass(frozen=True)
class Length:
    """Reviews of about one length.

    Attributes:
        least: words.
        below: words; this many are too many.
        truth_masks: base masks of the truth of a transformer.
        n_truth: reviews of a transformer with a truth.
        n_small: reviews of the bundled bi-LSTM.
        n_large: reviews of a transformer, those with a truth first.
    """

    least: int
    below: int
    truth_masks: int
    n_truth: int
    n_small: int
    n_large: int

    @property
    def name(self) -> str:
        """As tables have it."""
        return f"{self.least}-{self.below}"

    def holds(self, n_words: int) -> bool:
        """Whether a review of so many words belongs here."""
        return self.least <= n_words < self.below


LENGTHS = (
    Length(40, 100, 64, n_truth=34, n_small=34, n_large=34),
    Length(100, 200, 36, n_truth=33, n_small=33, n_large=33),
    Length(200, 400, 20, n_truth=33, n_small=33, n_large=33),
)
SMALL_TRUTH_MASKS = 100  # of the bundled bi-LSTM, for all its reviews


def length_of(n_words: int) -> Length:
    """The length that a review of so many words has.

    Example:
        >>> length_of(100).name
        '100-200'
    """
    (found,) = (length for length in LENGTHS if length.holds(n_words))
    return found


def find_used(folder: Path = _USED) -> set[str]:
    """Ids of the reviews of the IMDB benchmark: numbers of this project were chosen beside them."""
    return {
        line["review"]
        for path in sorted(folder.rglob("*.jsonl*"))
        for line in read_results(path).lines
        if "review" in line
    }


def choose_reviews(source: str, *, seed: int, used: set[str]) -> dict[Length, list[Review]]:
    """The reviews of every length in the order of the seed, without those that were used."""
    every = [one for one in reviews(source, seed=seed) if one.id not in used]
    return {
        length: [one for one in every if length.holds(one.n_words)][
            : max(length.n_small, length.n_large)
        ]
        for length in LENGTHS
    }


def interleave(groups: Sequence[Sequence[T]]) -> list[T]:
    """All of them, so that every beginning has about the same part of every group.

    Example:
        >>> "".join(interleave(["stuv", "xy"]))
        'sxtuyv'
    """
    placed = [
        ((place + 0.5) / len(group), number, one)
        for number, group in enumerate(groups)
        for place, one in enumerate(group)
    ]
    return [one for *_, one in sorted(placed, key=lambda found: found[:2])]


def settings_of(
    explainer: TextExplainer, source: str, chosen: Iterable[Review], seed: int
) -> Mapping[str, Any]:
    """What results must have in common to stand in one file."""
    import torch

    return {
        "model": explainer.name,
        "weights": weights_of(explainer.model),
        "precision": str(next(explainer.model.parameters()).dtype).removeprefix("torch."),
        "data": without_place(source),
        "reviews": digest(list(chosen)),
        "seed": seed,
        "deletions": STEPS,
        "threads": torch.get_num_threads(),
        "versions": versions_of(_PACKAGES),
        "_command": command_of("benchmarks.gates"),
        "_started": time.strftime("%Y-%m-%d"),
    }
