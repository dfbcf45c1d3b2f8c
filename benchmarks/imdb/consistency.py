"""Do explanations of reviews converge, repeat themselves, and hang on the model's weights?"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from benchmarks.consistency import Explain, mean_and_spread, or_none
from benchmarks.consistency import convergence as measure_convergence
from benchmarks.consistency import sanity as measure_sanity
from benchmarks.imdb.data import Review
from benchmarks.imdb.ways import ways
from benchmarks.passes import explained, scores_of
from benchmarks.reporting import Line
from benchmarks.runner import seed_of
from benchmarks.store import Store
from textsobol import TextExplainer
from textsobol.metrics.agreement import spearman
from textsobol.metrics.consistency import randomise, stability
from textsobol.sobol.arrays import Floats
from textsobol.text.masked_model import MaskedTextModel

CONVERGED = 256  # rows for each word
CONVERGENCE_CAPTION = (
    f"Rank correlation with the method's own scores after {CONVERGED} rows a word of another seed, "
    "and the mean rank correlation of five seeds: mean over reviews (and its standard deviation).\n"
)
ROWS = (2, 4, 8, 16, 32, 64)
METHODS = ("flip", "rise")
SEEDS = 5
_SANITY_ROWS = 8


def convergence(
    explainer: TextExplainer, reviews: Sequence[Review], store: Store, *, model: str, seed: int
) -> None:
    """Rank correlation with the method's own converged scores, against forward passes.

    As in the paper each method is compared with itself after many passes (of another seed, so
    that no row is shared). Stability is the mean rank correlation of five seeds.
    """

    @lru_cache(maxsize=1)
    def game_of(review: Review) -> MaskedTextModel:
        return explainer.masked(review.text)

    def prepare(review: Review, method: str) -> Callable[[int], dict[str, Any]]:
        game = game_of(review)
        converged, _ = _scores(game, method, CONVERGED, seed_of(review, seed + 1))
        seeds = [seed_of(review, seed + 10 + k) for k in range(SEEDS)]

        def measured(rows: int) -> dict[str, Any]:
            found, n_rows = _scores(game, method, rows, seed_of(review, seed))
            stable = stability(lambda other: _scores(game, method, rows, other)[0], seeds)
            return {
                "rows": n_rows,
                "words": game.n_features,
                "correlation": or_none(spearman(found, converged)),
                "stability": or_none(stable),
            }

        return measured

    measure_convergence(
        reviews, METHODS, ROWS, prepare, store, model=model, of="review", asked="rows_per_word"
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
    (way,) = ways(["flip"], rows_per_word=[_SANITY_ROWS])

    def explain_by(explainer: TextExplainer) -> Explain[Review]:
        def explain(review: Review, label: str | None) -> tuple[Floats, str]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                game = explainer.masked(review.text)
                label = label or game.prediction
                found, _ = explained(game, way, seed_of(review, seed), label=label)
            return scores_of(found, "signed"), label

        return explain

    stages = (
        (stage, explain_by(TextExplainer(random_model, tokenizer, progress=False)))
        for stage, random_model in randomise(torch_model, seed)
    )
    measure_sanity(reviews, explain_by(explainer), stages, store, model=model, of="review")


def _scores(game: MaskedTextModel, method: str, rows: int, seed: int) -> tuple[Floats, int]:
    (way,) = ways([method], rows_per_word=[rows])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, n_rows = explained(game, way, seed)
    return scores_of(found, way.scores[0]), n_rows


def convergence_rows(lines: Sequence[Line]) -> Iterator[list[str]]:
    """Rows of a table: rows for each word, correlation and stability of each method."""
    for rows in sorted({line["rows_per_word"] for line in lines}):
        cells = [str(rows)]
        for method in METHODS:
            own = [x for x in lines if (x["method"], x["rows_per_word"]) == (method, rows)]
            for name in ("correlation", "stability"):
                mean, spread = mean_and_spread(own, name)
                cells.append(f"{mean:.3f} ({spread:.3f})")
        yield cells
