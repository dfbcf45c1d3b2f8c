"""interpreto's own Sobol, LIME and KernelSHAP on the deletion game of all others.

    pip install -c constraints.txt ".[bench]" interpreto
    python -m benchmarks.imdb interpreto --model DIRECTORY --data reviews.jsonl.gz

It explains models of transformers only, so it is not one of the methods of the registry: its
words are those of the tokenizer, punctuation among them, and its masks put the mask token in
their place; to models that know no such token, as the bundled one, it adds one with a random
vector. What it says of its words is given to ours by their place in the text. What is measured is
the same for all: our words are deleted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.imdb.data import Review
from benchmarks.imdb.run import headers, line_of
from benchmarks.imdb.ways import WordWay
from benchmarks.runner import fill, seed_of
from benchmarks.store import Store
from textsobol import TextExplainer
from textsobol.sobol.arrays import Floats
from textsobol.text.loading import load_model
from textsobol.text.masked_model import MaskedTextModel

Span = tuple[int, int]
METHODS = {
    "interpreto_sobol": "Sobol total, interpreto (mask token)",
    "interpreto_lime": "LIME, interpreto (mask token)",
    "interpreto_kernel_shap": "KernelSHAP, interpreto (mask token)",
}
_BATCH = 32


@dataclass(frozen=True, kw_only=True)
class InterpretoWay(WordWay):
    """One of its methods with a number of rows for each word."""

    @property
    def kind(self) -> str:
        """How the report groups it."""
        return "black box"

    def planned(self, n_words: int) -> int:
        """About how many forward passes it takes, for the progress bar."""
        return (self.rows_per_word or 1) * (n_words + 2)


def ways(names: Sequence[str], rows_per_word: Sequence[int]) -> list[InterpretoWay]:
    """The ways of its methods: base masks of Sobol, and as many samples for each of our words.

    Example:
        >>> [way.names for way in ways(["interpreto_lime"], [2, 4])]
        [('interpreto_lime-2',), ('interpreto_lime-4',)]
    """
    if unknown := [name for name in names if name not in METHODS]:
        raise SystemExit(f"unknown method {unknown[0]!r}; known: {', '.join(METHODS)}")
    return [
        InterpretoWay(
            method=name, names=(f"{name}-{rows}",), titles=(METHODS[name],), rows_per_word=rows
        )
        for name in names
        for rows in rows_per_word
    ]


def run(
    explainer: TextExplainer,
    path: str | None,
    reviews: Sequence[Review],
    asked: Sequence[InterpretoWay],
    store: Store,
    *,
    model: str,
    seed: int,
) -> int:
    """Fill the store with what is not there yet; returns how many results were added.

    Args:
        explainer: of the model, which deletes the words.
        path: of the model, of which interpreto gets a copy: it may add a token to it.
        reviews: to explain.
        asked: what is wanted.
        store: of the results.
        model: its name.
        seed: of all methods.
    """
    rival = Interpreto(path)

    def explain(review: Review, missing: Sequence[InterpretoWay]) -> Iterator[list[dict[str, Any]]]:
        game = explainer.masked(review.text)
        for way in missing:
            scores, n_rows = rival.scores(game, review.text, way, seed_of(review, seed))
            (header,) = headers(way, model)
            yield [line_of(game, review, scores, n_rows, header)]

    def planned(review: Review, missing: Sequence[InterpretoWay]) -> list[int]:
        return [way.planned(review.n_words) for way in missing]

    return fill(store, reviews, asked, explain, planned, model=model, of="review")


class Interpreto:
    """A model of its own, and what interpreto says of it."""

    def __init__(self, path: str | None) -> None:
        try:
            import interpreto
        except ImportError as error:
            raise SystemExit(
                "interpreto is not installed: pip install -c constraints.txt interpreto"
            ) from error
        import torch

        self._interpreto = interpreto
        self._model, self._tokenizer = load_model(path)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            # Adds a mask token where there is none, with a random vector: the same in every run.
            interpreto.Lime(self._model, self._tokenizer, device=self._model.device)

    def scores(
        self, game: MaskedTextModel, text: str, way: InterpretoWay, seed: int
    ) -> tuple[Floats, int]:
        """Scores of our words for the predicted label, and the distinct texts it forwards."""
        import torch

        method = self._method(way, game.n_features, seed)
        label = list(game.probabilities).index(game.prediction)
        seen: set[bytes] = set()

        def count(module: Any, args: Any, kwargs: Any) -> None:
            seen.update(row.numpy().astype(np.int64).tobytes() for row in kwargs["input_ids"].cpu())

        hook = self._model.register_forward_pre_hook(count, with_kwargs=True)
        try:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                found = method(text, label)[0].attributions.float().numpy().astype(float).ravel()
        finally:
            hook.remove()
        encoded = self._encoded(text)
        seen.add(encoded["input_ids"][0].numpy().astype(np.int64).tobytes())
        words = [game.words[k] for k in game.scored]
        spans = self._spans(encoded)
        return summed_over(spans, found, [(word.start, word.end) for word in words]), len(seen)

    def _method(self, way: InterpretoWay, n_words: int, seed: int) -> Any:
        from scipy.stats import qmc

        interpreto, rows = self._interpreto, way.rows_per_word or 1
        arguments: dict[str, Any] = {
            "batch_size": _BATCH,
            "granularity": interpreto.Granularity.WORD,
            "device": self._model.device,
        }
        if way.method == "interpreto_sobol":
            sobol = interpreto.Sobol(
                self._model,
                self._tokenizer,
                n_token_perturbations=rows,
                sobol_indices_order=interpreto.Sobol.sobol_indices_orders.TOTAL_ORDER,
                sampler=interpreto.Sobol.samplers.SOBOL,
                **arguments,
            )
            # Its own sampler draws another design each time.
            sobol.perturbator.sampler_class = lambda d: qmc.Sobol(d, rng=seed)
            return sobol
        kind = interpreto.Lime if way.method == "interpreto_lime" else interpreto.KernelShap
        # With the whole text as many as all others have.
        samples = rows * (n_words + 1)
        return kind(self._model, self._tokenizer, n_perturbations=samples, **arguments)

    def _encoded(self, text: str) -> Any:
        """As interpreto does it."""
        return self._tokenizer(
            text.rstrip(), return_tensors="pt", return_offsets_mapping=True, truncation=True
        )

    def _spans(self, encoded: Any) -> list[Span]:
        """Where its words begin and end in the text."""
        places = encoded["offset_mapping"][0].tolist()
        words = self._interpreto.Granularity.WORD.get_indices(encoded, self._tokenizer)[0]
        return [(places[tokens[0]][0], places[tokens[-1]][1]) for tokens in words]


def summed_over(theirs: Sequence[Span], scores: Floats, ours: Sequence[Span]) -> Floats:
    """Scores of our words: the sums of those of their words that share a letter with them.

    Example:
        >>> theirs = [(0, 3), (3, 4), (4, 5), (6, 10)]  # don ' t stop
        >>> summed_over(theirs, np.array([1.0, 2.0, 4.0, 8.0]), [(0, 5), (6, 10)])
        array([7., 8.])
    """
    if len(theirs) != len(scores):
        raise ValueError(f"{len(scores)} scores of {len(theirs)} words")
    starts, ends = np.array(theirs).T
    return np.array([scores[(starts < end) & (ends > start)].sum() for start, end in ours])
