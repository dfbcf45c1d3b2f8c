"""What the benchmark runs: methods, each with its settings and the scores that come of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from textsobol.methods import METHODS, TEXT_METHODS

ROWS_PER_WORD = (4,)
KEEP = (0.5,)
PAPER_ROWS = 32  # base rows N of the paper
ESTIMATORS = ("flip", "jansen")
_SCORES = ("signed", "total", "first")


@dataclass(frozen=True)
class Variant:
    """One way to explain, which gives one or several orders of the words.

    Attributes:
        method: name in the registry.
        names: of the results, one for each kind of score.
        titles: how tables call them.
        scores: the kinds of score.
        keep: keep rate, of ours only.
        rows_per_word: forward passes for each word, or ``None`` for the method's own number.
        options: of the method.
    """

    method: str
    names: Sequence[str]
    titles: Sequence[str]
    scores: Sequence[str | None] = (None,)
    keep: float | None = None
    rows_per_word: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """How the report groups it."""
        return METHODS[self.method].kind

    def budget(self, n_words: int) -> int | None:
        """Masks that may be scored; ``None`` where ``rows`` say so."""
        if self.method == "sobol":
            return None
        method = METHODS[self.method]
        if self.rows_per_word is None:
            return method.natural(n_words) if method.natural else None
        # As many as `flip` has: base rows, their flips, and the whole text.
        return max(method.least(n_words), 1 + self.rows_per_word * (n_words + 1))

    def planned(self, n_words: int) -> int:
        """About how many forward passes it takes, for the progress bar."""
        budget = self.budget(n_words)
        if budget:
            return budget
        return int(self.options.get("rows", 1)) * (n_words + 1) if self.method == "sobol" else 50


def variants(
    names: Iterable[str],
    *,
    keep: Sequence[float] = KEEP,
    rows_per_word: Sequence[int] = ROWS_PER_WORD,
) -> list[Variant]:
    """The variants of methods.

    Args:
        names: of methods in the registry; for ours ``flip`` and ``jansen``.
        keep: keep rates of ours.
        rows_per_word: forward passes for each word, for methods that can choose.

    Example:
        >>> [v.names for v in variants(["occlusion", "lime"], rows_per_word=[2, 4])]
        [('occlusion',), ('lime-2',), ('lime-4',)]
        >>> [v.names[0] for v in variants(["flip", "jansen"], keep=[0.5, 0.9])]
        ['flip-4-signed', 'flip-4-signed-0.9', 'jansen-signed', 'jansen-signed-0.9']
    """
    found: list[Variant] = []
    for name in names:
        if name == "flip":
            found += [_flip(rate, rows) for rate in keep for rows in rows_per_word]
        elif name == "jansen":
            found += [_jansen(rate) for rate in keep]
        elif name not in all_names():
            raise SystemExit(f"unknown method {name!r}; known: {', '.join(all_names())}")
        elif METHODS[name].natural is None:
            found += [
                Variant(name, (f"{name}-{rows}",), (METHODS[name].title,), rows_per_word=rows)
                for rows in rows_per_word
            ]
        else:
            found.append(Variant(name, (name,), (METHODS[name].title,)))
    return found


def all_names() -> list[str]:
    """Names of everything that can be run."""
    return [*ESTIMATORS, *(name for name in TEXT_METHODS if name != "sobol")]


def _flip(keep: float, rows: int) -> Variant:
    return _sobol(f"flip-{rows}", "flip", keep, rows, {"estimator": "flip", "rows": rows})


def _jansen(keep: float) -> Variant:
    # As in the paper: a thresholded Sobol' sequence, and the sign from occlusion.
    options = {"estimator": "jansen", "rows": PAPER_ROWS, "design": "sobol", "sign": "occlusion"}
    return _sobol("jansen", "the paper's", keep, None, options)


def _sobol(
    name: str, title: str, keep: float, rows: int | None, options: Mapping[str, Any]
) -> Variant:
    after = "" if keep == 0.5 else f"-{keep}"
    return Variant(
        "sobol",
        tuple(f"{name}-{score}{after}" for score in _SCORES),
        tuple(f"Sobol {score}, {title}" for score in _SCORES),
        _SCORES,
        keep,
        rows,
        {**options, "keep": keep},
    )
