"""Explain planted texts by every method, and write down all scores."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gates.run import values
from benchmarks.imdb.interpreto import Interpreto, ways
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
from benchmarks.shortcuts.variants import EXACT, FEW_A_WORD, MOST_EXACT_WORDS, Variant
from benchmarks.store import Store
from textsobol import TextExplainer
from textsobol.sobol.arrays import Floats

KEY = ("model", "variant", "text")
_DIGITS = 4
_WARM_UP = "A gripping and funny film, seen three times"
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
        "versions": versions_of(_PACKAGES), "_others": versions_of(["interpreto"]),
        "_command": command_of("benchmarks.shortcuts"), "_started": time.strftime("%Y-%m-%d"),
    }  # fmt: skip
    path = out / f"{name}.jsonl"
    explain = _Explainer(explainer, directory, variants, seed)

    def explain_all(one: PlantedText, missing: Sequence[Variant]) -> Iterator[list[dict[str, Any]]]:
        for variant in missing:
            yield [{"model": name, **explain(one, variant)}]

    def planned(one: PlantedText, missing: Sequence[Variant]) -> list[int]:
        n_words = len(one.text.split())
        return [variant.budget(n_words) or n_words for variant in missing]

    all_masks = [variant for variant in variants if variant.name == EXACT]
    others = [variant for variant in variants if variant.name != EXACT]
    short = [one for one in texts if explainer.masked(one.text).n_features <= MOST_EXACT_WORDS]
    with Store(path, settings, KEY) as store:
        for some, asked in ((texts, others), (short, all_masks)):
            fill(store, some, asked, explain_all, planned, model=name, of="text")
    return path


class _Explainer:
    """Explains planted texts by any variant; what a method needs once is done at the start."""

    def __init__(
        self, explainer: TextExplainer, directory: Path, variants: Sequence[Variant], seed: int
    ) -> None:
        self._explainer, self._seed = explainer, seed
        if any(variant.is_interpreto for variant in variants):
            self._interpreto = Interpreto(str(directory))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for variant in variants:
                self._scores(PlantedText("", _WARM_UP, 0, ()), variant)

    def __call__(self, one: PlantedText, variant: Variant) -> dict[str, Any]:
        """The scores of all words for the predicted label, and where the planted ones are."""
        masked = self._explainer.masked(one.text)
        words = [masked.words[k].text for k in masked.scored]
        return {
            "variant": variant.name,
            "text": one.id,
            "words": len(words),
            **self._scores(one, variant),
            "planted": np.flatnonzero(np.isin(words, one.planted)).tolist(),
            "distractors": np.flatnonzero(np.isin(words, DISTRACTORS)).tolist(),
        }

    def _scores(self, one: PlantedText, variant: Variant) -> dict[str, Any]:
        """Scores, effects where the method has them, and what they cost."""
        seed, masked = seed_of(one, self._seed), self._explainer.masked(one.text)
        if variant.is_interpreto:
            (way,) = ways([variant.method], [FEW_A_WORD])
            scores, passes = self._interpreto.scores(masked, one.text, way, seed)
            is_signed = variant.method != "interpreto_sobol"
            return {"passes": passes, "is_signed": is_signed, "scores": _rounded(scores)}
        budget = variant.budget(masked.n_features)
        found = self._explainer(one.text, method=variant.configured, budget=budget, seed=seed)
        effects = values(found, "effect")
        return {
            "passes": found.cost["forwarded"],
            "is_signed": found.settings["signed"],
            "scores": _rounded(values(found, "score")),
            **({"effects": _rounded(effects)} if np.isfinite(effects).all() else {}),
        }


def _rounded(numbers: Floats) -> list[float]:
    return [float(f"{number:.{_DIGITS}g}") for number in numbers]
