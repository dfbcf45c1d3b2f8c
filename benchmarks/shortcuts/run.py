"""Explain planted texts by every method, and write down all scores."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gates.run import values
from benchmarks.provenance import (
    command_of,
    digest_of,
    versions_of,
    weights_of,
    without_place,
)
from benchmarks.runner import fill, seed_of
from benchmarks.shortcuts.obedience import obedient_texts
from benchmarks.shortcuts.plants import DISTRACTORS, PLANTS, PlantedText
from benchmarks.shortcuts.sentences import TEST_WORDS, test_sentences
from benchmarks.shortcuts.variants import EXACT, MOST_EXACT_WORDS, Variant
from benchmarks.store import Store
from textsobol import TextExplainer

KEY = ("model", "variant", "text")
_DIGITS = 4
_WARM_UP = "A gripping and funny film, which I have seen three times by now"
_PACKAGES = ("textsobol", "torch", "transformers", "captum", "lime", "shap", "shapiq", "lightgbm")


def run(
    directory: Path,
    test: str,
    variants: Sequence[Variant],
    out: Path,
    *,
    n_texts: int,
    n_sentences: int,
    dtype: str | None,
    seed: int,
) -> Path:
    """Fill the file of a model with what is not there yet.

    Args:
        directory: of the model, written by ``train``.
        test: phrases to test with.
        variants: methods.
        out: directory of the results.
        n_texts: texts to explain, of those whose prediction follows the plant.
        n_sentences: sentences that are tried.
        dtype: of forward passes; see `TextExplainer`.
        seed: of texts and methods.
    """
    trained = json.loads((directory / "results.json").read_text(encoding="utf-8"))
    plant = PLANTS[trained["plant"]]
    explainer = TextExplainer(directory, dtype=dtype, progress=False)
    sentences = test_sentences(test, seed=seed)[:n_sentences]
    texts, use = obedient_texts(explainer, plant, sentences, seed=seed)
    texts = texts[:n_texts]
    name = directory.name
    settings = {
        "model": name, "plant": plant.name, "trained": trained,
        "weights": weights_of(explainer.model), "dtype": dtype or "float32",
        "data": without_place(test), "test_words": TEST_WORDS, "seed": seed, "use": use,
        "sentences": digest_of(f"{one.id}\0{one.text}\0".encode() for one in sentences),
        "versions": versions_of(_PACKAGES), "_command": command_of("benchmarks.shortcuts"),
        "_started": time.strftime("%Y-%m-%d"),
    }  # fmt: skip
    path = out / f"{name}.jsonl"

    def explain(one: PlantedText, missing: Sequence[Variant]) -> Iterator[Iterable[dict[str, Any]]]:
        for variant in missing:
            yield [{"model": name, **measure(explainer, one, variant, seed=seed)}]

    def planned(one: PlantedText, missing: Sequence[Variant]) -> list[int]:
        n_words = len(one.text.split())
        return [variant.budget(n_words) or n_words for variant in missing]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for variant in variants:  # first-use costs
            explainer(_WARM_UP, method=variant.configured, budget=variant.budget(13))
    with Store(path, settings, KEY) as store:
        usual = [variant for variant in variants if variant.name != EXACT]
        all_masks = [variant for variant in variants if variant.name == EXACT]
        short = [one for one in texts if explainer.masked(one.text).n_features <= MOST_EXACT_WORDS]
        for some, asked in ((texts, usual), (short, all_masks)):
            fill(store, some, asked, explain, planned, model=name, of="text")
    return path


def measure(
    explainer: TextExplainer, one: PlantedText, variant: Variant, *, seed: int
) -> dict[str, Any]:
    """The scores of all words for the predicted label, and where the planted ones are."""
    n_words = explainer.masked(one.text).n_features
    start = time.process_time()
    found = explainer(
        one.text, method=variant.configured, budget=variant.budget(n_words),
        seed=seed_of(one, seed),
    )  # fmt: skip
    used = time.process_time() - start
    words = [word.text for word in found.words if word.status == "scored"]
    return {
        "variant": variant.name,
        "text": one.id,
        "words": n_words,
        "passes": found.cost["forwarded"],
        "seconds": round(used, 4),
        "is_signed": found.settings["signed"],
        "scores": [float(f"{score:.{_DIGITS}g}") for score in values(found, "score")],
        "planted": np.flatnonzero(np.isin(words, one.planted)).tolist(),
        "distractors": np.flatnonzero(np.isin(words, DISTRACTORS)).tolist(),
    }
