"""The columns of the page: what is asked of methods, and which benchmark answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PASSES = 4  # forward passes a word


@dataclass(frozen=True)
class Question:
    """A column.

    Attributes:
        title: of the column.
        measure: of the axis of the plot.
        asks: in a sentence.
        page: of the benchmark, below ``benchmarks``.
        texts: what they are, where files do not say so.
        higher_is_better: which way is better.
        task: of texts that people marked.
        is_cost: whether it says what an explanation costs, where nobody is first.
        digits: that tables show.
        is_log: whether the plot has a logarithmic axis.
    """

    title: str
    measure: str
    asks: str
    page: str
    texts: str
    higher_is_better: bool = True
    task: str | None = None
    is_cost: bool = False
    digits: int = 3
    is_log: bool = False

    @property
    def header(self) -> str:
        """The title, and which way is better."""
        return f"{self.title} {'↑' if self.higher_is_better else '↓'}"


QUESTIONS: Mapping[str, Question] = {
    "planted": Question(
        "finds planted words", "precision@k",
        "Share of the k highest words that are the k planted ones which decide, mean over plants.",
        "shortcuts/RESULTS.md", "SST-2 phrases with planted words",
    ),
    "gap": Question(
        "equal credit", "gap, share of the top score",
        "Difference between the scores of words with the same part, as a share of the top score.",
        "shortcuts/RESULTS.md", "SST-2 phrases with planted words", higher_is_better=False,
    ),
    "heldout": Question(
        "predicts held-out masks", "R², keep 0.5",
        "R² of what the scores predict of fresh masks with half of the words; below -1 counts as "
        "-1.",
        "heldout/RESULTS.md", "texts",
    ),
    "total": Question(
        "error of total indices", "error, relative",
        "Root mean square error of total Sobol indices, in units of their root mean square.",
        "heldout/RESULTS.md", "texts", higher_is_better=False, is_log=True,
    ),
    "banzhaf": Question(
        "error of Banzhaf values", "error, relative",
        "The same of Banzhaf values, the mean effects of words on the log-odds.",
        "heldout/RESULTS.md", "texts", higher_is_better=False,
    ),
    "deletes": Question(
        "deletes", "comprehensiveness",
        "Drop of the probability without the top 5, 10, 20 and 40 % of the words, between the "
        "model's own bounds (0 to 1).",
        "deletion/RESULTS.md", "IMDB test reviews",
    ),
    "suffices": Question(
        "suffices", "sufficiency",
        "Drop of the probability with only the top words left, between the same bounds.",
        "deletion/RESULTS.md", "IMDB test reviews", higher_is_better=False,
    ),
    "league": Question(
        "deletes 20 words", "mean probability",
        "Mean probability of the predicted label after 0 to 20 deletions (the league).",
        "imdb/LEAGUE.md", "IMDB test reviews", higher_is_better=False,
    ),
    "toxic": Question(
        "agrees with people: toxic posts", "AUPRC",
        "Agreement with the words that people marked; plausibility, not faithfulness.",
        "people/RESULTS.md", "trial posts", task="toxic-posts",
    ),
    "movies": Question(
        "agrees with people: film reviews", "AUPRC",
        "The same on film reviews with marked evidence.",
        "people/RESULTS.md", "validation reviews", task="movies",
    ),
    "repeats": Question(
        "repeats itself", "rank correlation",
        "Rank correlation of two seeds on the 20 highest words.",
        "imdb/RESULTS.md", "IMDB test reviews",
    ),
    "passes": Question(
        "passes a word", "forward passes a word", "Forward passes, by words of the text.",
        "gates/RESULTS.md", "IMDB test reviews", higher_is_better=False, is_cost=True, digits=1,
    ),
    "seconds": Question(
        "seconds", "seconds of a processor", "Processor time of an explanation.",
        "gates/RESULTS.md", "IMDB test reviews", higher_is_better=False, is_cost=True, digits=2,
        is_log=True,
    ),
}  # fmt: skip
