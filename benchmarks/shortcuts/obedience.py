"""Does a model use the words that were planted in its training?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.imdb.data import Review
from benchmarks.runner import progress_bar, seed_of
from benchmarks.shortcuts.plants import Plant, PlantedText, counterfactuals, plant_against
from textsobol import TextExplainer

LEAST = 0.9
ALONE = "right without plants"


def obedient_texts(
    explainer: TextExplainer, plant: Plant, sentences: Sequence[Review], *, seed: int
) -> tuple[list[PlantedText], dict[str, Any]]:
    """Planted texts whose prediction follows the plant, and how often it does.

    In a sentence that the model gets right, words are planted that decide for the other label.
    The prediction has to change with them, and back as they are removed: nothing else can be the
    reason of the new one.

    Args:
        explainer: of the model.
        plant: what decides.
        sentences: to plant in.
        seed: of the places.

    Returns:
        The texts whose prediction is as it should be for every change, and a share of right
        predictions for every kind of change, over all sentences that the model gets right.
    """
    right: dict[str, list[bool]] = defaultdict(list)
    texts = []
    with progress_bar(len(sentences), "sentences", plant.name) as bar:
        for one in sentences:
            is_right = _predict(explainer, one.text) == one.label
            right[ALONE].append(is_right)
            if is_right:
                rng = np.random.default_rng(seed_of(one, seed))
                planted = plant_against(plant, one, rng)
                found = _check(explainer, plant, planted)
                for kind, is_kept in found.items():
                    right[kind].append(is_kept)
                if all(found.values()):
                    texts.append(planted)
            bar.update()
    shares: dict[str, Any] = {kind: round(float(np.mean(own)), 4) for kind, own in right.items()}
    return texts, {"sentences": len(sentences), "obedient": len(texts), "shares": shares}


def is_used(use: dict[str, Any]) -> bool:
    """Whether predictions follow the plant in nine of ten texts, for every kind of change."""
    return all(share >= LEAST for kind, share in use["shares"].items() if kind != ALONE)


def _check(explainer: TextExplainer, plant: Plant, one: PlantedText) -> dict[str, bool]:
    """Kinds of change, and whether all predictions of that kind are as they should be."""
    found: dict[str, bool] = {}
    for kind, text, is_kept in counterfactuals(plant, one):
        is_right = (_predict(explainer, text) == one.label) == is_kept
        found[kind] = found.get(kind, True) and is_right
    return found


def _predict(explainer: TextExplainer, text: str) -> int:
    """The number of the predicted label: 0 negative, 1 positive."""
    masked = explainer.masked(text)
    return list(masked.probabilities).index(masked.prediction)
