"""Explain reviews in every way, delete the words, and write down what the model says."""

from __future__ import annotations

import hashlib
import sys
import time
import warnings
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks.imdb.data import Review, digest
from benchmarks.imdb.variants import PAPER_ROWS, Variant
from benchmarks.store import Store
from textsobol import TextExplainer
from textsobol.methods import METHODS, Attribution, Game
from textsobol.methods.perturbing import GREEDY_DELETIONS
from textsobol.metrics.faithfulness import STEPS, Faithfulness, faithfulness
from textsobol.sobol.arrays import Array, Floats
from textsobol.text.game import TextGame

KEY = ("model", "variant", "review")
_DIGITS = 6
_PACKAGES = ("textsobol", "torch", "transformers", "captum", "lime", "shap")


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


def settings_of(
    explainer: TextExplainer, data: str, everything: Sequence[Review], seed: int, max_words: int
) -> dict[str, Any]:
    """What results must have in common to stand in one file; the rest may differ.

    Args:
        explainer: of the model.
        data: what was asked for.
        everything: all reviews that could be chosen, in their order.
        seed: of the choice and of all methods.
        max_words: of a review.
    """
    return {
        "model": explainer.name,
        "weights": _digest_of(explainer),
        # The name, not the place, of a local file.
        "data": Path(data).name if Path(data).exists() else data,
        "reviews": digest(everything),
        "seed": seed,
        "max_words": max_words,
        "deletions": STEPS,
        "paper_rows": PAPER_ROWS,
        "greedy_deletions": GREEDY_DELETIONS,
        "versions": {name: _version(name) for name in _PACKAGES},
        "_command": "python -m benchmarks.imdb " + " ".join(map(_without_place, sys.argv[1:])),
        "_started": time.strftime("%Y-%m-%d"),
    }


def _digest_of(explainer: TextExplainer) -> str:
    """A short name for the model's weights."""
    told = hashlib.blake2b(digest_size=8)
    for name, values in explainer.model.state_dict().items():
        told.update(name.encode())
        told.update(values.cpu().contiguous().numpy().tobytes())
    return told.hexdigest()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


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
    names = _negative_and_positive(game)
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
            **_measured(measured, list(game.probabilities).index(names[review.label])),
        }


def _negative_and_positive(game: TextGame) -> list[str]:
    """The two labels in the order of the data: 0 negative, 1 positive."""
    names = list(game.probabilities)
    if len(names) != 2:
        raise SystemExit(f"IMDB has two labels, the model has {len(names)}: {', '.join(names)}")
    return names[::-1] if names[0].lower().startswith("pos") else names


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
