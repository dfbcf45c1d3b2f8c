"""Explain texts of every length and delete shares of their words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.deletion.measures import (
    Curves,
    Probability,
    measure_hard,
    measure_soft,
    search_bounds,
)
from benchmarks.gates.data import interleave
from benchmarks.heldout.data import Item, read_texts
from benchmarks.heldout.ways import PassesWay
from benchmarks.heldout.ways import ways as ways_of
from benchmarks.passes import explained, scores_of
from benchmarks.runner import fill, seed_of
from benchmarks.store import Store
from benchmarks.ways import METHODS
from textsobol import TextExplainer
from textsobol.metrics.faithfulness import rank
from textsobol.sobol.arrays import Array, Floats
from textsobol.text.masked_model import MaskedTextModel

KEY = ("model", "variant", "text")
LENGTHS = ((20, 60), (60, 150), (150, 300), (300, None))  # words; the second number is too many
USUAL = (
    "default", "scores", "gates", "occlusion", "rise", "lime", "ridge", "kernel_shap",
    "permutation_shap", "partition_shap", "integrated_gradients", "random",
)  # fmt: skip
BOUNDS = "bounds"
_DIGITS = 5


@dataclass(frozen=True, kw_only=True)
class DeletionWay(PassesWay):
    """A way to explain, or the search for bounds."""

    @property
    def is_bounds(self) -> bool:
        """Whether it is the search for bounds."""
        return self.method == BOUNDS

    def kind_of(self, place: int) -> str:
        """How the report groups one of its orders: a path is a search, whatever is beside it."""
        is_search = self.is_bounds or self.scores[place] == "path"
        return "search" if is_search else METHODS[self.method].kind


def ways(names: Sequence[str], passes: int) -> list[DeletionWay]:
    """Ways to explain with so many passes a word; the default also gives its path.

    Example:
        >>> [way.names for way in ways(["default", "occlusion"], 4)]
        [('bounds',), ('default-4', 'path-4'), ('occlusion',)]
    """
    found = [DeletionWay(method=BOUNDS, names=(BOUNDS,), titles=("Bounds",))]
    for way in ways_of(names, [passes]):
        own = DeletionWay(
            method=way.method, names=way.names, titles=way.titles, options=way.options,
            passes=way.passes,
        )  # fmt: skip
        if own.names[0].startswith("default"):
            own = replace(
                own,
                names=(*own.names, f"path-{passes}"),
                titles=(*own.titles, "Path of the default"),
                scores=("signed", "path"),
            )
        found.append(own)
    return found


def choose_texts(source: str, *, seed: int, n_each: Sequence[int]) -> list[Item]:
    """So many texts of each length, mixed so that every beginning has all lengths."""
    groups = [
        read_texts(source, seed=seed, min_words=low, max_words=None if high is None else high - 1)
        for low, high in LENGTHS
    ]
    return interleave([group[:n] for group, n in zip(groups, n_each, strict=True)])


def length_of(n_words: int) -> str:
    """The length that a text of so many words has.

    Example:
        >>> [length_of(n) for n in (20, 59, 60, 5000)]
        ['20-60', '20-60', '60-150', '300-']
    """
    low, high = next(each for each in reversed(LENGTHS) if n_words >= each[0])
    return f"{low}-{high or ''}"


def run(
    explainer: TextExplainer,
    items: Sequence[Item],
    asked: Sequence[DeletionWay],
    store: Store,
    *,
    model: str,
    seed: int,
) -> int:
    """Fill the store with what is not there yet; returns how many results were added."""

    def explain(item: Item, missing: Sequence[DeletionWay]) -> Iterator[list[dict[str, Any]]]:
        game = explainer.masked(item.text)
        for way in missing:
            is_possible = way.is_bounds or way.fits(game.n_features)
            yield list(_lines(game, way, item, model, seed)) if is_possible else []

    def planned(item: Item, missing: Sequence[DeletionWay]) -> list[int]:
        return [20 * item.n_words if w.is_bounds else w.planned(item.n_words) for w in missing]

    return fill(store, items, asked, explain, planned, model=model, of="text")


def _lines(
    game: MaskedTextModel, way: DeletionWay, item: Item, model: str, seed: int
) -> Iterator[dict[str, Any]]:
    column = list(game.probabilities).index(game.prediction)

    def probability(masks: Array) -> Floats:
        return game.predict_masks(masks)[:, column]

    common = {
        "model": model,
        "text": item.id,
        "length": length_of(item.n_words),
        "words": game.n_features,
        "is_right": game.prediction.lower() == item.label,
        "whole": round(game.probabilities[game.prediction], _DIGITS),
    }
    if way.is_bounds:
        bounds = search_bounds(probability, game.n_features)
        curves = {name: _rounded(found) for name, found in bounds.items()}
        yield {**common, **_header(way, 0), "passes": None, **curves}
        return
    found, n_passes = explained(game, way, seed_of(item, seed))
    for place, kind in enumerate(way.scores):
        scores = np.asarray(scores_of(found, kind), dtype=float)
        measured = _measured(probability, scores, seed_of(item, seed + 1))
        yield {**common, **_header(way, place), "passes": n_passes, **measured}


def _header(way: DeletionWay, place: int) -> dict[str, Any]:
    return {
        "method": way.names[place].removesuffix(f"-{way.passes}"),
        "variant": way.names[place],
        "title": way.titles[place],
        "kind": way.kind_of(place),
        "asked": way.passes,
    }


def _measured(probability: Probability, scores: Floats, seed: int) -> dict[str, Any]:
    return {
        "hard": _rounded(measure_hard(probability, rank(scores))),
        "soft": _rounded(measure_soft(probability, scores, seed)),
    }


def _rounded(curves: Curves) -> dict[str, list[float]]:
    return {
        "without": curves.without.round(_DIGITS).tolist(),
        "only": curves.only.round(_DIGITS).tolist(),
    }
