"""Explain reviews in every way, delete the words, and write down what the model says."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.imdb.data import Review, digest
from benchmarks.imdb.ways import PAPER_ROWS, WordWay
from benchmarks.passes import explained, scores_of
from benchmarks.provenance import command_of, versions_of, weights_of, without_place
from benchmarks.runner import fill, seed_of
from benchmarks.store import Store
from textsobol import TextExplainer
from textsobol.methods import Greedy
from textsobol.metrics.faithfulness import STEPS, Faithfulness, faithfulness
from textsobol.sobol.arrays import Floats
from textsobol.text.masked_model import MaskedTextModel

KEY = ("model", "variant", "review")
_DIGITS = 6
_PACKAGES = ("textsobol", "torch", "transformers", "captum", "lime", "lightgbm", "shap", "shapiq")


def run(
    explainer: TextExplainer,
    reviews: Sequence[Review],
    asked: Sequence[WordWay],
    store: Store,
    *,
    model: str,
    seed: int,
) -> int:
    """Fill the store with what is not there yet; returns how many results were added."""

    def explain(review: Review, missing: Sequence[WordWay]) -> Iterator[list[dict[str, Any]]]:
        game = explainer.masked(review.text)
        for way in missing:
            yield list(_lines(game, way, review, model, seed))

    def planned(review: Review, missing: Sequence[WordWay]) -> list[int]:
        return [way.planned(review.n_words) for way in missing]

    return fill(store, reviews, asked, explain, planned, model=model, of="review")


def settings_of(
    explainer: TextExplainer,
    data: str,
    everything: Sequence[Review],
    seed: int,
    max_words: int,
    packages: Sequence[str] = (),
) -> dict[str, Any]:
    """What results must have in common to stand in one file; the rest may differ.

    Args:
        explainer: of the model.
        data: what was asked for.
        everything: all reviews that could be chosen, in their order.
        seed: of the choice and of all methods.
        max_words: of a review.
        packages: that matter beside the usual ones.
    """
    return {
        "model": explainer.name,
        "weights": weights_of(explainer.model),
        "data": without_place(data),
        "reviews": digest(everything),
        "seed": seed,
        "max_words": max_words,
        "deletions": STEPS,
        "paper_rows": PAPER_ROWS,
        "greedy_deletions": Greedy.deletions,
        "versions": versions_of([*_PACKAGES, *packages]),
        "_command": command_of("benchmarks.imdb"),
        "_started": time.strftime("%Y-%m-%d"),
    }


def _lines(
    game: MaskedTextModel, way: WordWay, review: Review, model: str, seed: int
) -> Iterator[dict[str, Any]]:
    """One result for every kind of score that the way gives."""
    found, n_rows = explained(game, way, seed_of(review, seed))
    for header in headers(way, model):
        yield line_of(game, review, scores_of(found, header["score"]), n_rows, header)


def headers(way: WordWay, model: str) -> Iterator[dict[str, Any]]:
    """What the results of a way say of it, for every kind of score."""
    for name, title, kind in zip(way.names, way.titles, way.scores, strict=True):
        yield {
            "model": model,
            "method": way.shown_as or way.method,
            "variant": name,
            "title": title,
            "kind": way.kind,
            "keep": way.keep,
            "rows_per_word": way.rows_per_word,
            "score": kind,
        }


def line_of(
    game: MaskedTextModel, review: Review, scores: Floats, n_rows: int, header: Mapping[str, Any]
) -> dict[str, Any]:
    """The result of scores for the predicted label.

    Args:
        game: of the review.
        review: what was explained.
        scores: of the words ``(features,)``.
        n_rows: distinct texts that were forwarded for them, the whole one included.
        header: whose scores these are; see `headers`.
    """
    label = game.prediction
    names = _negative_and_positive(game)
    measured = faithfulness(game, scores, label)
    return {
        **header,
        "review": review.id,
        "words": game.n_features,
        "rows": n_rows,
        "label": label,
        "true": names[review.label],
        **_measured(measured, list(game.probabilities).index(names[review.label])),
    }


def _negative_and_positive(game: MaskedTextModel) -> list[str]:
    """The two labels in the order of the data: 0 negative, 1 positive."""
    names = list(game.probabilities)
    if len(names) != 2:
        raise SystemExit(f"IMDB has two labels, the model has {len(names)}: {', '.join(names)}")
    return names[::-1] if names[0].lower().startswith("pos") else names


def _measured(measured: Faithfulness, true: int) -> dict[str, Any]:
    return {
        "deletion": measured.deletion_curve.round(_DIGITS).tolist(),
        "correct": measured.correct(true).tolist(),
        "insertion": measured.insertion_curve.round(_DIGITS).tolist(),
        "comprehensiveness": round(measured.comprehensiveness, _DIGITS),
        "sufficiency": round(measured.sufficiency, _DIGITS),
    }
