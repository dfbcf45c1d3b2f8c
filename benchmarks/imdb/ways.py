"""What the benchmark runs: methods, each with its settings and the scores that come of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.rivals.apart import APART
from benchmarks.ways import METHODS, Way

ROWS_PER_WORD = (4,)
KEEP = (0.5,)
PAPER_ROWS = 32  # base masks N of the paper
ESTIMATORS = ("flip", "jansen")
PATH, SHARED = "path", "shared"
_SCORES = ("signed", "total", "first")


@dataclass(frozen=True, kw_only=True)
class WordWay(Way):
    """One way to explain a text.

    Attributes:
        rows_per_word: forward passes for each word, or ``None`` for the method's own number.
    """

    rows_per_word: int | None = None

    @property
    def kind(self) -> str:
        """How the report groups it: a path is found by a search, whatever stands beside it."""
        return "search" if PATH in self.scores else METHODS[self.method].kind

    def budget(self, n_features: int) -> int | None:
        """Masks that may be scored; ``None`` where ``base_masks`` say so."""
        if "base_masks" in self.options or self.rows_per_word is None:
            return super().budget(n_features)
        # As many as `flip` has: base masks, their flips, and the whole text.
        least = METHODS[self.method].least_masks(n_features)
        return max(least, 1 + self.rows_per_word * (n_features + 1))

    def planned(self, n_words: int) -> int:
        """About how many forward passes it takes, for the progress bar."""
        budget = self.budget(n_words)
        if budget:
            return budget
        return (
            int(self.options.get("base_masks", 1)) * (n_words + 1) if self.method == "sobol" else 50
        )


def ways(
    names: Iterable[str],
    *,
    keep: Sequence[float] = KEEP,
    rows_per_word: Sequence[int] = ROWS_PER_WORD,
) -> list[WordWay]:
    """The ways of methods.

    Args:
        names: of methods in the registry; for ours ``flip``, ``jansen``, ``path`` and ``shared``.
        keep: keep rates of ours.
        rows_per_word: forward passes for each word, for methods that can choose.

    Example:
        >>> [way.names for way in ways(["occlusion", "lime"], rows_per_word=[2, 4])]
        [('occlusion',), ('lime-2',), ('lime-4',)]
        >>> [way.names[0] for way in ways(["flip", "jansen"], keep=[0.5, 0.9])]
        ['flip-4-signed', 'flip-4-signed-0.9', 'jansen-signed', 'jansen-signed-0.9']
    """
    found: list[WordWay] = []
    for name in names:
        if name == PATH:
            found += [_path(rows) for rows in rows_per_word]
        elif name == SHARED:
            found += [_shared(rows) for rows in rows_per_word]
        elif name == "flip":
            found += [_flip(rate, rows) for rate in keep for rows in rows_per_word]
        elif name == "jansen":
            found += [_jansen(rate) for rate in keep]
        elif name not in all_names():
            raise SystemExit(f"unknown method {name!r}; known: {', '.join(all_names())}")
        elif METHODS[name].natural_masks(1) is None:
            found += [_other(name, f"{name}-{rows}", rows) for rows in rows_per_word]
        else:
            found.append(_other(name, name, None))
    return found


def all_names() -> list[str]:
    """Names of everything that can be run."""
    others = [
        name for name, method in METHODS.items() if not method.is_for_pictures and name not in APART
    ]
    return [*ESTIMATORS, PATH, SHARED, *(name for name in others if name != "sobol")]


def _other(method: str, name: str, rows: int | None) -> WordWay:
    title = METHODS[method].title
    return WordWay(method=method, names=(name,), titles=(title,), rows_per_word=rows)


def _flip(keep: float, rows: int) -> WordWay:
    return _sobol(
        f"flip-{rows}", "flip", keep, rows, {"estimator": "flip", "base_masks": rows, "path": False}
    )


def _path(rows: int) -> WordWay:
    """The path of an explanation, whose budget it shares with the indices: a search."""
    return _explanation(PATH, "Path, a search", PATH, rows)


def _shared(rows: int) -> WordWay:
    """The scores of the same explanation, whose path takes about 30 % of the budget."""
    return _explanation(SHARED, "Sobol signed, flip, beside the path", "signed", rows)


def _explanation(name: str, title: str, score: str, rows: int) -> WordWay:
    return WordWay(
        method="sobol", names=(f"{name}-{rows}",), titles=(title,), scores=(score,),
        rows_per_word=rows, options={"path": True}, shown_as=name,
    )  # fmt: skip


def _jansen(keep: float) -> WordWay:
    # The paper's: a thresholded Sobol' sequence (scrambled here, not in the authors' code), and the
    # sign from occlusion.
    options = {
        "estimator": "jansen",
        "base_masks": PAPER_ROWS,
        "design": "sobol",
        "sign": "occlusion",
        "path": False,
    }
    return _sobol("jansen", "the paper's", keep, None, options)


def _sobol(
    name: str, title: str, keep: float, rows: int | None, options: Mapping[str, Any]
) -> WordWay:
    after = "" if keep == 0.5 else f"-{keep}"
    return WordWay(
        method="sobol",
        names=tuple(f"{name}-{score}{after}" for score in _SCORES),
        titles=tuple(f"Sobol {score}, {title}" for score in _SCORES),
        scores=_SCORES,
        keep=keep,
        rows_per_word=rows,
        options={**options, "keep": keep},
    )
