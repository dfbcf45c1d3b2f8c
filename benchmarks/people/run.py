"""Explain marked texts by every method and write down how far each agrees with people."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.gates.run import Variant, explain, four_a_word, values
from benchmarks.people.agreement import (
    average_precision,
    choose_top,
    intersection_over_union,
    token_f1,
)
from benchmarks.people.texts import MarkedText, mark_words
from benchmarks.runner import progress_bar, seed_of
from benchmarks.store import Store
from textsobol import Sobol, TextExplainer

KEY = ("task", "model", "variant", "text")
VARIANTS = (
    Variant("sobol", "sobol, the default", "sobol"),
    Variant("gates", "gates", "gates"),
    Variant("flip-4", "flip, 4 base masks", Sobol(estimator="flip", base_masks=4, path=False)),
    Variant("occlusion", "occlusion", "occlusion"),
    Variant("lime-4", "LIME, 4 passes a word", "lime", four_a_word),
    Variant("kernel_shap-4", "KernelSHAP, 4 passes a word", "kernel_shap", four_a_word),
    Variant("integrated_gradients", "integrated gradients", "integrated_gradients"),
    Variant("gradient_input", "gradient x input", "gradient_input"),
    Variant("random", "a random order", "random"),
)


def annotators_rate(texts: Sequence[MarkedText]) -> float:
    """The share of words that people mark, mean over texts."""
    from textsobol.text.words import find_words

    return float(np.mean([mark_words(find_words(t.text), t.marked).mean() for t in texts]))


def run(
    explainer: TextExplainer,
    texts: Sequence[MarkedText],
    variants: Sequence[Variant],
    store: Store,
    *,
    task: str,
    rate: float,
    seed: int,
) -> None:
    """Fill the store with what is not there yet, text by text.

    Only texts that the model gets right count: where it thinks otherwise, its reasons should not be
    those of people. Every text is explained for its label.
    """
    model = explainer.name
    with progress_bar(len(texts), "texts", model) as bar:
        for text in texts:
            game = explainer.masked(text.text)
            label = list(game.probabilities)[text.label]
            for variant in variants if game.prediction == label else ():
                key = {"task": task, "model": model, "variant": variant.name, "text": text.id}
                if store.key_of(key) not in store.done:
                    store.add(key | measure(explainer, text, variant, label, rate, seed))
            bar.update()


def measure(
    explainer: TextExplainer,
    text: MarkedText,
    variant: Variant,
    label: str,
    rate: float,
    seed: int,
) -> dict[str, Any]:
    """The agreement of one explanation with people."""
    started = time.process_time()
    found = explain(explainer, text.text, variant, seed=seed_of(text, seed), target=label)
    seconds = time.process_time() - started
    scored = [word for word in found.words if word.status == "scored"]
    scores = values(found, "score")
    marked = mark_words([(word.start, word.end) for word in scored], text.marked)
    if not marked.any():  # the evidence is outside of the model's window
        return {"n_words": len(scored), "seconds": seconds, "auprc": None, "f1": None, "iou": None}
    chosen = choose_top(scores, rate)
    return {
        "n_words": len(scored),
        "n_marked": int(marked.sum()),
        "passes": found.cost["forwarded"],
        "seconds": round(seconds, 4),
        "auprc": round(average_precision(scores, marked), 5),
        "f1": round(token_f1(chosen, marked), 5),
        "iou": round(intersection_over_union(chosen, marked), 5),
    }
