"""Explain what a prompt says of sentences in every way, and see what deletions change."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

from benchmarks.imdb.data import Review, digest
from benchmarks.imdb.run import headers, line_of
from benchmarks.imdb.ways import WordWay, ways
from benchmarks.passes import explained, scores_of
from benchmarks.provenance import command_of, digest_of, versions_of, weights_of, without_place
from benchmarks.runner import fill, seed_of
from benchmarks.store import Store
from textsobol import Prompt, TextExplainer
from textsobol.metrics.faithfulness import STEPS

KEY = ("model", "variant", "review")
ACCURACY_KEY = ("prompt", "review")
_PACKAGES = ("textsobol", "torch", "transformers", "captum")


def all_ways(rows_per_word: Sequence[int]) -> list[WordWay]:
    """Ours, captum's for language models, and what all can be compared with."""
    ours = [
        WordWay(
            method="sobol", names=(f"flip-{rows}-signed",), titles=("Sobol signed, flip",),
            scores=("signed",), keep=0.5, rows_per_word=rows,
            options={"estimator": "flip", "base_masks": rows, "path": False, "keep": 0.5},
        )
        for rows in (1, *rows_per_word)
    ]  # fmt: skip
    others = ["path", "captum_llm_kernel_shap", "captum_llm_ablation", "occlusion", "random"]
    return [*ours, *ways(others, rows_per_word=rows_per_word)]


def run(
    explainer: TextExplainer,
    sentences: Sequence[Review],
    asked: Sequence[WordWay],
    store: Store,
    *,
    seed: int,
) -> int:
    """Fill the store with what is not there yet; returns how many results were added."""

    def explain(one: Review, missing: Sequence[WordWay]) -> Iterator[list[dict[str, Any]]]:
        game = explainer.masked(one.text)
        log_probability = copy(game)
        log_probability._score = "output"  # what captum explains: the answer, not the odds
        for way in missing:
            own = log_probability if way.method.startswith("captum_llm") else game
            found, n_rows = explained(own, way, seed_of(one, seed))
            yield [
                line_of(game, one, scores_of(found, header["score"]), n_rows, header)
                for header in headers(way, explainer.name)
            ]

    def planned(one: Review, missing: Sequence[WordWay]) -> list[int]:
        return [way.planned(one.n_words) for way in missing]

    return fill(store, sentences, asked, explain, planned, model=explainer.name, of="review")


def measure_accuracy(
    explainer: TextExplainer, name: str, sentences: Sequence[Review], store: Store
) -> None:
    """Classify sentences by a prompt; those that are there already are left out."""
    for one in sentences:
        if store.key_of({"prompt": name, "review": one.id}) in store.done:
            continue
        found = explainer.masked(one.text).probabilities
        true = list(found)[one.label]
        store.add({
            "prompt": name, "review": one.id, "true": true,
            "label": max(found, key=lambda label: found[label]),
            "probabilities": {label: round(value, 6) for label, value in found.items()},
        })  # fmt: skip


def settings_of(
    explainer: TextExplainer,
    data: str,
    everything: Sequence[Review],
    prompts: Sequence[Prompt],
    *,
    seed: int,
    words: tuple[int, int],
) -> dict[str, Any]:
    """What results must have in common to stand in one file; the rest may differ."""
    return {
        "model": explainer.name,
        "weights": weights_of(explainer.model),
        "dtype": explainer.settings.get("dtype", "as given"),
        "data": without_place(data),
        "sentences": digest(everything),
        "prompts": digest_of(str(prompt.to_dict()).encode() for prompt in prompts),
        "seed": seed,
        "min_words": words[0],
        "max_words": words[1],
        "deletions": STEPS,
        "versions": versions_of(_PACKAGES),
        "_command": command_of("benchmarks.prompts"),
        "_started": time.strftime("%Y-%m-%d"),
    }
