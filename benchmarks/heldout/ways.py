"""What is measured: methods with their options, at numbers of forward passes a word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.rivals.apart import APART, interpreter
from benchmarks.ways import METHODS, Way
from textsobol import Sobol

PASSES = (1, 2, 4, 8, 16, 32)  # a word
_OURS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "default": ("ours, the default", {}),
    "scores": ("ours, without a path", {"path": False}),
    "flip": ("ours, flip", {"estimator": "flip", "path": False, "gates": False}),
    "flip-0.9": ("ours, flip, keep 0.9",
                 {"estimator": "flip", "path": False, "gates": False, "keep": 0.9}),
    "jansen": ("Jansen, the paper's", {"estimator": "jansen", "path": False, "gates": False}),
    "pairs": ("ours, pairs of six words", {"interactions": 6, "path": False, "gates": False}),
}  # fmt: skip
OURS = tuple(_OURS)
RIVALS = (
    "gates", "occlusion", "rise", "lime", "ridge", "kernel_shap", "permutation_shap",
    "partition_shap", "shapiq_kernel", "shapiq_kadd", "shapiq_svarm", "proxyspex",
    "captum_kernel_shap", "captum_shapley", "oddshap", "regression_msr", "proxyshap",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PassesWay(Way):
    """A method at a number of passes a word.

    Attributes:
        passes: a word, or ``None`` for the method's own number.
    """

    passes: int | None = None

    def budget(self, n_features: int) -> int | None:
        """As many as `flip` has with so many base masks: those, their flips, and the whole text."""
        if self.passes is None:
            return super().budget(n_features)
        return 1 + self.passes * (n_features + 1)

    def fits(self, n_features: int) -> bool:
        """Whether the method can do with its budget."""
        budget = self.budget(n_features)
        return budget is None or budget >= self.least(n_features)

    def least(self, n_features: int) -> int:
        """Masks that the method needs."""
        if self.method != "sobol":
            return METHODS[self.method].least_masks(n_features)
        return Sobol(**self.options).wanted.least_masks(n_features)

    def planned(self, n_words: int) -> int:
        """About how many forward passes it takes, for the progress bar."""
        return self.budget(n_words) or n_words


def ways(names: Iterable[str], passes: Sequence[int]) -> list[PassesWay]:
    """The ways of methods.

    Args:
        names: of `OURS` and of methods in the registry.
        passes: a word, for methods that can choose.

    Example:
        >>> [way.names for way in ways(["occlusion", "flip"], [2, 4])]
        [('occlusion',), ('flip-2',), ('flip-4',)]
        >>> ways(["gates"], [1])[0].fits(20), ways(["gates"], [8])[0].fits(20)
        (False, True)
    """
    return [way for name in names for way in _ways(name, passes)]


def _ways(name: str, passes: Sequence[int]) -> list[PassesWay]:
    if name not in _OURS and name not in METHODS:
        raise SystemExit(f"unknown method {name!r}; known: {', '.join(all_names())}")
    title, options = _OURS.get(name, ("", {}))
    method = "sobol" if name in _OURS else name
    can_choose = METHODS[method].natural_masks(1) is None or method == "gates"
    return [
        PassesWay(
            method=method,
            names=(name if number is None else f"{name}-{number}",),
            titles=(title or METHODS[method].title,),
            options=options,
            passes=number,
        )
        for number in (passes if can_choose else (None,))
    ]


def all_names() -> list[str]:
    """Everything that can be run here; rivals in a Python of their own only if that is named."""
    return [name for name in (*OURS, *RIVALS) if name not in APART or interpreter()]
