"""Do explanations of photos change when the model's weights become random?"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from benchmarks.consistency import Explain
from benchmarks.consistency import sanity as measure_sanity
from benchmarks.imagenet.data import Photo
from benchmarks.imagenet.run import Setup
from benchmarks.imagenet.ways import flip
from benchmarks.passes import explained, scores_of
from benchmarks.runner import seed_of
from benchmarks.store import Store
from textsobol.metrics import randomise
from textsobol.sobol.arrays import Floats

KEY = ("model", "stage", "image")


def sanity(setup: Setup, photos: Sequence[Photo], store: Store, *, seed: int, rows: int) -> None:
    """Rank correlation of signed scores with those of a model whose upper layers are random.

    Args:
        setup: how photos are explained.
        photos: what to explain.
        store: of the results.
        seed: of the weights and of the method.
        rows: base masks of every explanation.
    """
    way = flip(rows, setup.n_cells)

    def explain_by(module: Any) -> Explain[Photo]:
        explainer = setup.explainer(module)

        def explain(photo: Photo, label: str | None) -> tuple[Floats, str]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                game = explainer.masked(photo.opened())
                label = label or game.prediction
                found, _ = explained(game, way, seed_of(photo, seed), label=label)
            return scores_of(found, "signed"), label

        return explain

    module = setup.model.module
    stages = ((stage, explain_by(then)) for stage, then in randomise(module, seed))
    measure_sanity(photos, explain_by(module), stages, store, model=setup.model.name, of="image")
