"""Do 95 % intervals hold the truth 95 times in 100? And how wide are they?

    python -m benchmarks.estimators.coverage
    python -m benchmarks.estimators.coverage --sentences DATA --model MODEL

The truth is exact, from all masks: of synthetic word models and games with 12 words, or of
sentences of 8 to 12 words.
"""

import argparse
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.estimators.word_models import logic_games, word_models
from textsobol.sobol import sobol_indices
from textsobol.sobol.arrays import Array, Floats
from textsobol.sobol.masks import all_masks

N_WORDS = 12
INDICES = ("signed", "total", "first", "effect")
ROUNDING = 1e-9


@dataclass(frozen=True)
class Coverage:
    """How often intervals hold the truth, and how wide they are for the strongest words."""

    held: float
    width: float


def score_table(name: str, n_words: int = N_WORDS) -> Floats:
    """Scores of all masks of a word model or game, mask by number."""
    model = (word_models(n_words) | logic_games())[name]
    return np.concatenate([model(masks) for masks in all_masks(n_words)])


def coverage(
    table: Floats,
    keep: float,
    *,
    n_base: int,
    leader_masks: int = 0,
    n_seeds: int,
    level: float = 0.95,
    top: int = 3,
) -> dict[str, Coverage]:
    """Coverage of the intervals of each index, from the scores of all masks."""
    n_words = len(table).bit_length() - 1
    bits = 1 << np.arange(n_words)

    def look_up(masks: Array) -> Floats:
        return np.asarray(table[masks @ bits])

    truth = sobol_indices(look_up, n_words, estimator="exact", keep=keep)
    held: dict[str, list[Array]] = {index: [] for index in INDICES}
    widths: dict[str, list[float]] = {index: [] for index in INDICES}
    for seed in range(n_seeds):
        found = sobol_indices(
            look_up, n_words, keep=keep, base_masks=n_base, leader_masks=leader_masks, seed=seed
        )
        strongest = np.argsort(-found.total)[:top]
        for index in INDICES:
            low, high = found.interval(level, of=index)
            true = getattr(truth, index)
            held[index].append((low - ROUNDING <= true) & (true <= high + ROUNDING))
            widths[index].append(float(np.median((high - low)[strongest])))
    return {
        index: Coverage(float(np.mean(held[index])), float(np.median(widths[index])))
        for index in INDICES
    }


def sentence_tables(data: str, model: str | None, n_sentences: int) -> Iterator[Floats]:
    """Log-odds of the predicted label for all masks of sentences of 8 to 12 words."""
    from benchmarks.imdb.data import load
    from textsobol import TextExplainer

    explainer = TextExplainer(model)
    texts = load(data, "train")["text"]
    order = np.random.default_rng(0).permutation(len(texts))
    short = (texts[k] for k in order if 8 <= len(texts[k].split()) <= 12)
    for _, text in zip(range(n_sentences), short, strict=False):
        game = explainer.masked(text)
        column = game.labels.index(game.prediction)
        yield np.concatenate([game.score_masks(m)[:, column] for m in all_masks(game.n_features)])
        print(text, file=sys.stderr)


def _line(title: str, tables: list[Floats], arguments: argparse.Namespace) -> list[str]:
    """For each number of base masks: signed, first, effect; the width of the total index."""
    cells = []
    for n_base in arguments.base_masks:
        found = [
            coverage(t, arguments.keep, n_base=n_base, n_seeds=arguments.seeds) for t in tables
        ]
        shares = [
            f"{100 * np.mean([f[index].held for f in found]):.0f}"
            for index in ("signed", "first", "effect")
        ]
        width = np.median([f["total"].width for f in found])
        cells.append(f"{' '.join(shares)} ({width:.2f})")
    return [title, *cells]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--base-masks",
        type=lambda text: [int(number) for number in text.split(",")],
        default=[5, 6, 8, 12, 20],
        help="numbers of base masks (default 5,6,8,12,20)",
    )
    parser.add_argument("--keep", type=float, default=0.5, help="keep rate (default 0.5)")
    parser.add_argument("--seeds", type=int, default=100, help="designs (default 100)")
    parser.add_argument("--sentences", help="a data set with the columns text and label")
    parser.add_argument("--limit", type=int, default=20, help="sentences (default 20)")
    parser.add_argument("--model", help="directory or hub id; the bundled one by default")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.sentences:
        tables = list(sentence_tables(arguments.sentences, arguments.model, arguments.limit))
        lines = [_line(f"{len(tables)} sentences", tables, arguments)]
    else:
        names = [*logic_games(), *word_models(N_WORDS)]
        lines = [_line(name, [score_table(name)], arguments) for name in names]
    from benchmarks.tables import markdown  # needs pandas, which nothing above does

    print(markdown(["model", *(f"{n} base masks" for n in arguments.base_masks)], lines))


if __name__ == "__main__":
    main()
