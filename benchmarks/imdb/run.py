"""Explain reviews in every way, delete the words, and write down what the model says."""

from __future__ import annotations

import sys
import time
import warnings
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks.imdb.data import Review
from benchmarks.imdb.variants import Variant
from benchmarks.store import Store
from textsobol import TextExplainer
from textsobol.methods import METHODS, Attribution, Game
from textsobol.metrics.faithfulness import Faithfulness, faithfulness
from textsobol.sobol.arrays import Array, Floats
from textsobol.text.game import TextGame

KEY = ("model", "variant", "review")
_DIGITS = 6


def run(
    explainer: TextExplainer,
    reviews: Sequence[Review],
    asked: Sequence[Variant],
    store: Store,
    *,
    model: str,
    seed: int,
) -> int:
    """Fill the store with what is not there yet; returns how many results were added."""
    todo = [(review, _missing(asked, review, store, model)) for review in reviews]
    todo = [(review, missing) for review, missing in todo if missing]
    planned = sum(v.planned(r.n_words) for r, missing in todo for v in missing)
    n_added = 0
    with _bar(planned) as bar:
        task = bar.add_task(model, total=planned)
        for review, missing in todo:
            with warnings.catch_warnings():
                # The paper's design is aliased, and some reviews are longer than the window.
                warnings.simplefilter("ignore")
                game = explainer.game(review.text)
            for variant in missing:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    lines = list(_lines(game, variant, review, model, seed))
                for line in lines:
                    if store.key_of(line) not in store.done:
                        store.add(line)
                        n_added += 1
                bar.advance(task, variant.planned(review.n_words))
    return n_added


def settings_of(model: str, data: str, seed: int, limits: dict[str, int]) -> dict[str, Any]:
    """What results must have in common to stand in one file; the rest may differ."""
    packages = ("textsobol", "torch", "transformers", "numpy", "captum", "lime", "shap")
    return {
        "model": model,
        # The name, not the place, of a local file.
        "data": Path(data).name if Path(data).exists() else data,
        "seed": seed,
        **limits,
        "_versions": {name: version(name) for name in packages},
        "_command": "python -m benchmarks.imdb " + " ".join(map(_without_place, sys.argv[1:])),
        "_started": time.strftime("%Y-%m-%d"),
    }


def _without_place(argument: str) -> str:
    return Path(argument).name if "/" in argument and Path(argument).exists() else argument


def _missing(asked: Sequence[Variant], review: Review, store: Store, model: str) -> list[Variant]:
    def is_missing(variant: Variant) -> bool:
        keys = [{"model": model, "variant": n, "review": review.id} for n in variant.names]
        return any(store.key_of(key) not in store.done for key in keys)

    return [variant for variant in asked if is_missing(variant)]


def _lines(
    game: TextGame, variant: Variant, review: Review, model: str, seed: int
) -> Iterator[dict[str, Any]]:
    """One result for every kind of score that the variant gives."""
    label = game.prediction
    names = list(game.probabilities)
    found, n_rows = explained(game, variant, seed_of(review, seed))
    for name, title, kind in zip(variant.names, variant.titles, variant.scores, strict=True):
        measured = faithfulness(game, scores_of(found, kind), label)
        yield {
            "model": model,
            "method": variant.method,
            "variant": name,
            "title": title,
            "kind": variant.kind,
            "keep": variant.keep,
            "rows_per_word": variant.rows_per_word,
            "score": kind,
            "review": review.id,
            "words": game.n_features,
            "rows": n_rows,
            "label": label,
            "true": names[review.label],
            **_measured(measured, review.label),
        }


def explained(
    game: TextGame, variant: Variant, seed: int, *, label: str | None = None
) -> tuple[Attribution, int]:
    """What the variant finds for a label, and the forward passes that took.

    Passes are those that the method would make by itself: what other methods have asked for
    before is known to the game, but counted all the same. The label is the predicted one, unless
    another is given.
    """
    seen: set[bytes] = {np.packbits(np.ones(game.n_features, dtype=bool)).tobytes()}
    looked_at = game.looked_at(label or game.prediction)
    plain = looked_at.for_methods()

    def counted(masks: Array) -> Floats:
        seen.update(row.tobytes() for row in np.packbits(np.asarray(masks, dtype=bool), axis=1))
        return looked_at.scores(masks)

    counting: Game = replace(plain, black_box=counted)
    found = METHODS[variant.method].attribute(
        counting, budget=variant.budget(game.n_features), seed=seed, **variant.options
    )
    return found, len(seen) + found.passes


def scores_of(found: Attribution, kind: str | None) -> Floats:
    """Scores ``(features,)`` of one kind for the one label."""
    if kind in (None, "signed"):
        return found.scores[:, 0]
    assert found.indices is not None
    return np.asarray(getattr(found.indices, str(kind))[:, 0])


def seed_of(review: Review, seed: int) -> int:
    """A seed of its own for every review, whatever the order."""
    return zlib.crc32(f"{seed} {review.id}".encode())


def _measured(measured: Faithfulness, true: int) -> dict[str, Any]:
    return {
        "deletion": measured.deletion_curve.round(_DIGITS).tolist(),
        "correct": measured.correct(true).tolist(),
        "insertion": measured.insertion_curve.round(_DIGITS).tolist(),
        "comprehensiveness": round(measured.comprehensiveness, _DIGITS),
        "sufficiency": round(measured.sufficiency, _DIGITS),
    }


def _bar(planned: int) -> Progress:
    """Progress in forward passes, which take about the same time each."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn(f"{{task.percentage:>3.0f}} % of {planned:,} passes"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
