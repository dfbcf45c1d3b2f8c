"""Are planted words found in long texts through a plain function? No model, no data, no gates.

The function counts what the planted words do, and what all other words do together. These have
normal weights; ``others`` is how much of the variation they cause (all words present half of the
time). Half of the texts have sentences and paragraphs, the others are runs of words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from re import findall

import numpy as np

from benchmarks.gates.planted import KINDS, LONG, measure
from benchmarks.reporting import Line, decimal
from benchmarks.runner import progress_bar
from benchmarks.store import Store
from textsobol import TextExplainer

KEY = ("words", "kind", "others", "text")
OTHERS = (0.0, 0.2, 0.5)
N_TEXTS = 20
_VOCABULARY = 5000
_PLANTED = 2.0  # what the planted words add to the score
HEADER = (
    "words", "deciding words", "variation due to other words", "texts", "by themselves",
    "are the top", "sum of words left in groups (median; largest)", "its bound", "passes",
    "seconds",
)  # fmt: skip


def write(n_words: int, planted: Sequence[str], rng: np.random.Generator, *, marks: bool) -> str:
    """A text of random words, some of which are replaced by the planted ones."""
    words = [f"w{k}" for k in rng.integers(_VOCABULARY, size=n_words)]
    for place, word in zip(rng.permutation(n_words), planted, strict=False):
        words[place] = word
    end = int(rng.integers(8, 25))
    while marks and end < n_words:
        words[end] += ".\n\n" if rng.random() < 0.2 else "."
        end += int(rng.integers(8, 25))
    return " ".join(words)


def make_function(
    n_words: int, planted: Sequence[str], others: float, rng: np.random.Generator
) -> Callable[[list[str]], list[float]]:
    """Scores of texts, to which all other words together add a part of the variation."""
    chance = 0.5 ** len(planted)
    variance = _PLANTED**2 * chance * (1 - chance) * others / (1 - others)
    sizes = rng.normal(size=_VOCABULARY) * np.sqrt(4 * variance / n_words)
    weights = {f"w{k}": size for k, size in enumerate(sizes.tolist())}

    def score(texts: list[str]) -> list[float]:
        found = []
        for text in texts:
            words = findall(r"\w+", text)
            decides = set(planted) <= set(words)
            found.append(sum(weights.get(word, 0.0) for word in words) + _PLANTED * decides)
        return found

    return score


def run(store: Store, *, seed: int, limit: int | None) -> None:
    """Fill the store."""
    cases = [
        (n_words, kind, others, k)
        for n_words in LONG for others in OTHERS for kind in KINDS for k in range(limit or N_TEXTS)
    ]  # fmt: skip
    with progress_bar(len(cases), "explanations", "planted") as bar:
        for n_words, kind, others, k in cases:
            names = {"words": n_words, "kind": kind, "others": others, "text": k}
            if store.key_of(names) not in store.done:
                rng = np.random.default_rng((seed, list(KINDS).index(kind), n_words, k))
                text = write(n_words, KINDS[kind], rng, marks=k % 2 == 0)
                function = make_function(n_words, KINDS[kind], others, rng)
                found = TextExplainer(function, label_names=["POSITIVE"], progress=False)(
                    text, seed=seed + k
                )
                store.add({**names, **measure(found, KINDS[kind])})
            bar.update()


def rows(lines: Sequence[Line]) -> Iterator[list[str]]:
    """Rows of the table."""
    for n_words in LONG:
        for others in OTHERS:
            for kind in KINDS:
                names = (n_words, others, kind)
                own = [x for x in lines if (x["words"], x["others"], x["kind"]) == names]
                if not own:
                    continue
                sums, highs = ([x[of] for x in own] for of in ("screened", "screened_high"))
                yield [
                    f"{n_words:,}", kind, f"{100 * others:.0f} %", str(len(own)),
                    f"{sum(x['is_flipped'] for x in own)} of {len(own)}",
                    f"{sum(x['is_found'] for x in own)} of {len(own)}",
                    *(f"{decimal(float(np.median(x)))}; {decimal(max(x))}" for x in (sums, highs)),
                    f"{np.mean([x['passes'] for x in own]):,.0f}",
                    f"{np.mean([x['seconds'] for x in own]):.1f}",
                ]  # fmt: skip
