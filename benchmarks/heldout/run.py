"""Explain texts in every way, and see how well that predicts masks that were not used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.heldout.additive import (
    Additive,
    additive_of,
    banzhaf_of,
    shapley_of,
    total_of,
)
from benchmarks.heldout.data import Item
from benchmarks.heldout.truth import Truth, find_truth, fresh_masks
from benchmarks.heldout.ways import PassesWay
from benchmarks.passes import explained
from benchmarks.runner import fill, seed_of
from benchmarks.store import Store
from benchmarks.ways import METHODS
from textsobol import TextExplainer
from textsobol.metrics.agreement import spearman
from textsobol.sobol.arrays import Array, Floats
from textsobol.text.masked_model import MaskedTextModel

KEY = ("model", "variant", "text")
_DIGITS = 5


@dataclass(frozen=True)
class Exam:
    """What the explanations of a text are measured by.

    Attributes:
        masks: fresh masks, by how they were drawn.
        scores: the model's log-odds of them.
        truth: converged values.
        empty: log-odds without any word.
    """

    masks: Mapping[str, Array]
    scores: Mapping[str, Floats]
    truth: Truth
    empty: float


def run(
    explainer: TextExplainer,
    items: Sequence[Item],
    asked: Sequence[PassesWay],
    store: Store,
    *,
    model: str,
    seed: int,
    n_masks: int,
    base_masks: int,
) -> int:
    """Fill the store with what is not there yet; returns how many results were added.

    Args:
        explainer: of the model.
        items: texts to explain.
        asked: what is wanted.
        store: of the results.
        model: its name.
        seed: of all methods; masks and truth have others.
        n_masks: fresh masks of every kind.
        base_masks: of the truth.
    """

    def explain(item: Item, missing: Sequence[PassesWay]) -> Iterator[list[dict[str, Any]]]:
        game = explainer.masked(item.text)
        own = seed_of(item, seed)
        exam = set_exam(game, n_masks=n_masks, base_masks=base_masks, seed=seed_of(item, seed + 1))
        for way in missing:
            fits = way.fits(game.n_features)
            yield [measure(game, way, item, exam, model=model, seed=own)] if fits else []

    def planned(item: Item, missing: Sequence[PassesWay]) -> list[int]:
        return [way.planned(item.n_words) for way in missing]

    return fill(store, items, asked, explain, planned, model=model, of="text")


def set_exam(game: MaskedTextModel, *, n_masks: int, base_masks: int, seed: int) -> Exam:
    """Score fresh masks and find the truth, for the predicted label."""
    model = game.with_target(game.prediction)

    def score(masks: Array) -> Floats:
        return model.score_masks(masks)[:, 0]

    masks = fresh_masks(game.n_features, n_masks, seed)
    return Exam(
        masks,
        {name: score(drawn) for name, drawn in masks.items()},
        find_truth(score, game.n_features, base_masks=base_masks, seed=seed),
        float(score(np.zeros((1, game.n_features), dtype=bool))[0]),
    )


def measure(
    game: MaskedTextModel, way: PassesWay, item: Item, exam: Exam, *, model: str, seed: int
) -> dict[str, Any]:
    """Explain a text in one way, and write down how near that comes."""
    method = METHODS[way.method]
    found, n_passes = explained(game, way, seed)
    additive = additive_of(method, found, exam.empty)
    line: dict[str, Any] = {
        "model": model,
        "method": way.names[0].removesuffix(f"-{way.passes}"),
        "variant": way.names[0],
        "title": way.titles[0],
        "asked": way.passes,
        "text": item.id,
        "words": game.n_features,
        "passes": n_passes,
        "is_right": game.prediction.lower() == item.label,
        "is_exact": exam.truth.is_exact,
        "has_baseline": additive.baseline is not None,
    }
    for name, masks in exam.masks.items():
        line |= _named(name, predicted(additive, masks, exam.scores[name]))
    truths = exam.truth
    line |= _named("total", near(total_of(found), np.abs(found.scores[:, 0]), truths.total))
    line |= _named("banzhaf", near(banzhaf_of(method, found), additive.weights, truths.banzhaf))
    line |= _named("shapley", near(shapley_of(method, found), additive.weights, truths.shapley))
    return line


def predicted(additive: Additive, masks: Array, scores: Floats) -> dict[str, float | None]:
    """How well an additive model predicts the scores of masks.

    ``r2``: of its own model. ``fitted``: with the intercept and the scale, 0 or above, that suit
    these scores best. ``lds``: rank correlation. ``pairs``: what pairs add to ``r2``.

    Example:
        >>> masks = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=bool)
        >>> predicted(Additive(np.array([1.0, 2.0]), 0.0), masks, np.array([0.0, 2.0, 1.0, 3.0]))
        {'r2': 1.0, 'fitted': 1.0, 'lds': 1.0, 'pairs': None}
    """
    values = additive.predict(masks)
    whole, pairs = None, None
    if additive.baseline is not None:
        whole = r2(values, scores)
        if additive.pairs is not None and whole is not None:
            together = r2(additive.predict_with_pairs(masks), scores)
            pairs = None if together is None else together - whole
    return {"r2": whole, "fitted": fitted_r2(values, scores), "lds": spearman(values, scores),
            "pairs": pairs}  # fmt: skip


def r2(values: Floats, scores: Floats) -> float | None:
    """Share of the scores' variance that values explain; ``None`` for constant scores."""
    spread = float(((scores - scores.mean()) ** 2).sum())
    return 1 - float(((scores - values) ** 2).sum()) / spread if spread > 1e-12 else None


def fitted_r2(values: Floats, scores: Floats) -> float | None:
    """The same after the best intercept and scale, 0 or above."""
    if np.ptp(scores) < 1e-9:
        return None
    if np.ptp(values) < 1e-12:
        return 0.0
    return float(max(0.0, np.corrcoef(values, scores)[0, 1]) ** 2)


def near(estimate: Floats | None, ranking: Floats, truth: Floats) -> dict[str, float | None]:
    """Distance to true values.

    ``rmse``: of a method that estimates them, in units of the truth's root mean square: values of
    0 for all words have 1. ``rho``: rank correlation of what ranks the words.

    Example:
        >>> near(np.array([3.0, 3.0]), np.array([1.0, 2.0]), np.array([3.0, 4.0]))["rmse"]
        0.2
    """
    size = float((truth**2).sum())
    rmse = None
    if estimate is not None and size > 0:
        rmse = float(np.sqrt(((estimate - truth) ** 2).sum() / size))
    return {"rmse": rmse, "rho": spearman(ranking, truth)}


def _named(of: str, found: Mapping[str, float | None]) -> dict[str, float | None]:
    return {
        f"{name} {of}": None if value is None or not np.isfinite(value) else round(value, _DIGITS)
        for name, value in found.items()
    }
