"""The methods that are compared, each with its forward passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from benchmarks.imdb.interpreto import METHODS as INTERPRETO
from benchmarks.ways import METHODS, Way
from textsobol.methods import Method
from textsobol.text.inputs import default_budget

Budget = Callable[[int], int]
"""Forward passes for so many words."""

MOST_EXACT_WORDS = 12
EXACT, OURS = "exact", "sobol"
FEW, USUAL = "few", "usual"
FEW_A_WORD = 4


def _few(n_words: int) -> int:
    return 1 + FEW_A_WORD * (n_words + 1)


BUDGETS: Mapping[str, Budget] = {FEW: _few, USUAL: default_budget}
"""What methods get that can choose: four passes a word, or what our default takes for itself."""

_ANY_BUDGET = (
    "sobol", "rise", "lime", "kernel_shap", "permutation_shap", "shapiq_kernel", "shapiq_svarm",
    "shapiq_banzhaf", "proxyspex", "captum_shapley",
)  # fmt: skip
_OWN_BUDGET = (
    "gates", "occlusion", "saliency", "gradient_input", "integrated_gradients", "random"
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Variant(Way):
    """A method as it is measured.

    Attributes:
        passes: which budget it gets; ``None`` for its own number of passes.
    """

    passes: str | None = None

    @property
    def name(self) -> str:
        """Of its results."""
        return self.names[0]

    @property
    def is_interpreto(self) -> bool:
        """Whether interpreto does it, which need not be installed."""
        return self.method in INTERPRETO

    @property
    def configured(self) -> Method:
        """The method with its options."""
        return replace(METHODS[self.method], **self.options)  # type: ignore[type-var]

    def budget(self, n_features: int) -> int | None:
        """Forward passes for a text, at least what the method needs."""
        if self.passes is None:
            return None
        least = 0 if self.is_interpreto else METHODS[self.method].least_masks(n_features)
        return max(least, BUDGETS[self.passes](n_features))


def _variant(method: str, passes: str | None = None) -> Variant:
    name = method if passes is None else f"{method}-{passes}"
    title = INTERPRETO.get(method) or METHODS[method].title
    return Variant(method=method, names=(name,), titles=(title,), passes=passes)


def _without_path(passes: str) -> Variant:
    name, title = f"sobol-scores-{passes}", "Sobol, without a path"
    return Variant(
        method=OURS, names=(name,), titles=(title,), passes=passes, options={"path": False}
    )


_ALL_MASKS = Variant(
    method=OURS, names=(EXACT,), titles=("Sobol, all masks",),
    options={"estimator": "exact", "path": False},
)  # fmt: skip
VARIANTS = {
    variant.name: variant
    for variant in (
        *(_variant(method, passes) for method in _ANY_BUDGET for passes in BUDGETS),
        *(_without_path(passes) for passes in BUDGETS),
        *(_variant(method) for method in _OWN_BUDGET),
        *(_variant(method, FEW) for method in INTERPRETO),
        _ALL_MASKS,
    )
}
INSTALLED = tuple(name for name, variant in VARIANTS.items() if not variant.is_interpreto)
