"""Explain reviews by every method, one after the other, and write down what each is worth."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.gates.data import length_of
from benchmarks.gates.gate_path import GatePath
from benchmarks.imdb.data import Review
from benchmarks.runner import progress_bar, seed_of
from benchmarks.store import Store
from textsobol import Sobol, TextExplainer, TextExplanation
from textsobol.methods import METHODS, Method
from textsobol.metrics.faithfulness import faithfulness
from textsobol.sobol.arrays import Floats
from textsobol.text.inputs import default_budget

KEY = ("model", "variant", "review")
COLUMNS = {
    "effect": ("effect", "effect_low", "effect_high"),
    "total": ("total", "total_low", "total_high"),
}
_DIGITS = 4
_WARM_UP = "A gripping and funny film, which I have seen three times by now; " * 4


@dataclass(frozen=True)
class Variant:
    """A method as it is measured.

    Attributes:
        name: of the results.
        title: in tables.
        method: with its options.
        budget: forward passes for so many words; ``None`` for its default.
        longest: words of the longest reviews that are measured, of about.
    """

    name: str
    title: str
    method: str | Method
    budget: Callable[[int], int] | None = None
    longest: int | None = None


def four_a_word(n_words: int) -> int:
    """As many as `flip` with four base masks."""
    return 1 + 4 * (n_words + 1)


VARIANTS = (
    Variant("gates", "gates", METHODS["gates"]),
    Variant("sobol", "sobol, the default", Sobol()),
    Variant("sobol-before", "sobol, the default before", Sobol(gates=False), default_budget),
    Variant("flip-4", "flip, 4 base masks", Sobol(estimator="flip", base_masks=4, path=False)),
    Variant("lime-4", "LIME, 4 passes a word", "lime", four_a_word),
    Variant("kernel_shap-4", "KernelSHAP, 4 passes a word", "kernel_shap", four_a_word),
    Variant("occlusion", "occlusion", "occlusion"),
    Variant("greedy", "greedy search", "greedy", longest=100),
    Variant("path-usual", "path by gates alone", GatePath(), longest=100),
    Variant("path-many", "path by gates alone, 8 deletions a step", GatePath(True), longest=100),
)


def run(
    explainer: TextExplainer,
    reviews: Sequence[Review],
    variants: Sequence[Variant],
    store: Store,
    *,
    model: str,
    seed: int,
) -> int:
    """Fill the store with what is not there yet; returns how many results were added."""
    n_before = len(store.done)
    todo = [(review, _missing(review, variants, store, model)) for review in reviews]
    todo = [(review, missing) for review, missing in todo if missing]
    if todo:
        for variant in variants:  # first-use costs: imports, trying gates
            explain(explainer, _WARM_UP, variant, seed=0)
    with progress_bar(len(todo), "reviews", model) as bar:
        for review, missing in todo:
            # In random order, so that a slow moment does not always hit the same.
            order = np.random.default_rng(seed_of(review, seed)).permutation(len(missing))
            for variant in (missing[k] for k in order):
                store.add(measure(explainer, review, variant, model=model, seed=seed))
            bar.update()
    return len(store.done) - n_before


def _missing(
    review: Review, variants: Sequence[Variant], store: Store, model: str
) -> list[Variant]:
    def is_missing(variant: Variant) -> bool:
        key = {"model": model, "variant": variant.name, "review": review.id}
        is_short = variant.longest is None or review.n_words < variant.longest
        return is_short and store.key_of(key) not in store.done

    return [variant for variant in variants if is_missing(variant)]


def explain(
    explainer: TextExplainer, text: str, variant: Variant, *, seed: int, target: str | None = None
) -> TextExplanation:
    """One explanation of all labels, as a user has it."""
    budget = budget_of(explainer, text, variant)
    return explainer(text, target=target, method=variant.method, budget=budget, seed=seed)


def budget_of(explainer: TextExplainer, text: str, variant: Variant) -> int | None:
    """The budget of a text; ``None`` for the method's default."""
    return variant.budget and variant.budget(explainer.masked(text).n_features)


def measure(
    explainer: TextExplainer, review: Review, variant: Variant, *, model: str, seed: int
) -> dict[str, Any]:
    """Explain a review, then delete and insert its words."""
    budget = budget_of(explainer, review.text, variant)
    started, start = time.process_time(), time.perf_counter()
    found = explainer(review.text, method=variant.method, budget=budget, seed=seed_of(review, seed))
    used, passed = time.process_time() - started, time.perf_counter() - start
    game = explainer.masked(review.text)
    line: dict[str, Any] = {
        "model": model,
        "variant": variant.name,
        "review": review.id,
        "length": length_of(review.n_words).name,
        "words": game.n_features,
        "is_right": game.prediction == list(game.probabilities)[review.label],
        "has_gates": bool(found.settings.get("gates")),
        "passes": found.cost["forwarded"],
        "gates": found.cost.get("gates", 0),
        "tokens": found.cost.get("tokens"),
        "seconds": round(used, 4),
        "wall": round(passed, 4),
        "score": _rounded(values(found, "score")),
        **_faithful(game, values(found, "score"), found.target),
    }
    if np.isfinite(values(found, "effect")).any():
        line |= {
            name: [_rounded(values(found, each)) for each in columns]
            for name, columns in COLUMNS.items()
        }
    if found.path is not None:
        faithful = _faithful(game, path_scores(found), found.target)
        line["path"] = {"deletions": len(found.path.steps), **faithful}
    return line


def values(explanation: TextExplanation, name: str) -> Floats:
    """A measure of all scored words for the target ``(words,)``."""
    words = [word for word in explanation.words if word.status == "scored"]
    return np.array([getattr(word.scores[explanation.target], name) for word in words], dtype=float)


def path_scores(explanation: TextExplanation) -> Floats:
    """Scores that rank words as the path deletes them, then the others by their score."""
    assert explanation.path is not None
    places = [k for k, word in enumerate(explanation.words) if word.status == "scored"]
    place_of = {number: place for place, number in enumerate(places)}
    scores = values(explanation, "score")
    scores = scores / max(1.0, 2 * np.abs(scores).max())
    steps = explanation.path.steps
    for number, step in enumerate(steps):
        for word in step.words:
            scores[place_of[word]] = 1.0 + len(steps) - number
    return scores


def _faithful(game: Any, scores: Floats, label: str) -> Mapping[str, float]:
    found = faithfulness(game, scores, label)
    return {"deletion": round(found.deletion, 5), "insertion": round(found.insertion, 5)}


def _rounded(numbers: Floats) -> list[float | None]:
    return [float(f"{v:.{_DIGITS}g}") if np.isfinite(v) else None for v in numbers]
