"""Do explanations converge, repeat themselves, and hang on the model's weights?"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.imdb.data import Review
from benchmarks.imdb.ways import ways
from benchmarks.passes import explained, scores_of
from benchmarks.runner import seed_of
from benchmarks.store import Store
from textsobol import TextExplainer
from textsobol.metrics.agreement import spearman
from textsobol.metrics.consistency import randomised, stability
from textsobol.sobol.arrays import Floats
from textsobol.text.game import TextGame

CONVERGED = 256  # rows for each word
ROWS = (2, 4, 8, 16, 32, 64)
SEEDS = 5
_SANITY_ROWS = 8


def convergence(
    explainer: TextExplainer, reviews: Sequence[Review], store: Store, *, model: str, seed: int
) -> None:
    """Rank correlation with the method's own converged scores, against forward passes.

    As in the paper each method is compared with itself after many passes (of another seed, so
    that no row is shared). Stability is the mean rank correlation of five seeds.
    """
    for review in reviews:
        game = None
        for method in ("flip", "rise"):
            todo = [
                rows
                for rows in ROWS
                if store.key_of(_named(model, method, rows, review)) not in store.done
            ]
            if not todo:
                continue
            game = game or explainer.game(review.text)
            converged, _ = _scores(game, method, CONVERGED, seed_of(review, seed + 1))
            for rows in todo:
                found, n_rows = _scores(game, method, rows, seed_of(review, seed))
                seeds = [seed_of(review, seed + 10 + k) for k in range(SEEDS)]
                store.add(
                    {
                        **_named(model, method, rows, review),
                        "rows": n_rows,
                        "words": game.n_features,
                        "correlation": _told(spearman(found, converged)),
                        "stability": _told(stability(_explain(game, method, rows), seeds)),
                    }
                )


def sanity(
    explainer: TextExplainer,
    torch_model: Any,
    tokenizer: Any,
    reviews: Sequence[Review],
    store: Store,
    *,
    model: str,
    seed: int,
) -> None:
    """Rank correlation of an explanation with that of a model whose upper layers are random."""
    original = {review.id: _signed(explainer, review, seed) for review in reviews}
    for stage, random_model in randomised(torch_model, seed):
        other = TextExplainer(random_model, tokenizer, progress=False)
        for review in reviews:
            line = {"model": model, "stage": stage, "review": review.id}
            if store.key_of(line) in store.done:
                continue
            signed, label = original[review.id]
            found, _ = _signed(other, review, seed, label)
            store.add(
                {
                    **line,
                    "correlation": _told(spearman(found, signed)),
                    "absolute": _told(spearman(np.abs(found), np.abs(signed))),
                }
            )


def _signed(
    explainer: TextExplainer, review: Review, seed: int, label: str | None = None
) -> tuple[Floats, str]:
    """Signed scores for the label, by default the predicted one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        game = explainer.game(review.text)
        label = label or game.prediction
        (way,) = ways(["flip"], rows_per_word=[_SANITY_ROWS])
        found, _ = explained(game, way, seed_of(review, seed), label=label)
    return scores_of(found, "signed"), label


def _told(value: float) -> float | None:
    """JSON has no NaN."""
    return None if np.isnan(value) else value


def _mean(values: Sequence[float | None]) -> tuple[float, float]:
    known = [value for value in values if value is not None]
    return (float(np.mean(known)), float(np.std(known))) if known else (np.nan, np.nan)


def _explain(game: TextGame, method: str, rows: int) -> Any:
    return lambda seed: _scores(game, method, rows, seed)[0]


def _scores(game: TextGame, method: str, rows: int, seed: int) -> tuple[Floats, int]:
    (way,) = ways([method], rows_per_word=[rows])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, n_rows = explained(game, way, seed)
    return scores_of(found, way.scores[0]), n_rows


def _named(model: str, method: str, rows: int, review: Review) -> dict[str, Any]:
    return {"model": model, "method": method, "rows_per_word": rows, "review": review.id}


def convergence_rows(lines: Sequence[dict[str, Any]]) -> Iterator[list[str]]:
    """Rows of a table: rows for each word, correlation and stability of each method."""
    for rows in sorted({line["rows_per_word"] for line in lines}):
        cells = [str(rows)]
        for method in ("flip", "rise"):
            own = [x for x in lines if (x["method"], x["rows_per_word"]) == (method, rows)]
            for name in ("correlation", "stability"):
                mean, spread = _mean([line[name] for line in own])
                cells.append(f"{mean:.3f} ({spread:.3f})")
        yield cells


def sanity_rows(lines: Sequence[dict[str, Any]]) -> Iterator[list[str]]:
    """Rows of a table: what has become random last, and the correlation that is left."""
    for stage in dict.fromkeys(line["stage"] for line in lines):
        own = [line for line in lines if line["stage"] == stage]
        means = [_mean([line[name] for line in own])[0] for name in ("correlation", "absolute")]
        yield [stage, *(f"{mean:+.3f}" for mean in means)]
