"""An attribution method: its options, its cost, and the generator that does the work."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from textsobol.methods.contract import Attribution, Problem
from textsobol.sobol.checks import check_least, check_whole
from textsobol.steps import Steps


@dataclass(frozen=True)
class Scale:
    """The size of a problem and the cost of its masks.

    Attributes:
        n_features: number of features d.
        noun: what features are called in messages.
        usual: masks that are scored without a budget.
        passes: forward passes per mask.
        has_groups: whether features may be masked in groups if the budget is small.
        passes_per_gates: what a row of gates costs, in forward passes; ``None`` without gates.
    """

    n_features: int
    noun: str
    usual: int
    passes: int = 1
    has_groups: bool = False
    passes_per_gates: int | None = None


class Method:
    """An attribution method. Subclasses are frozen dataclasses, whose fields are the options.

    Attributes:
        name: its name in code and on the command line.
        title: its name in tables.
        quantity: what its scores are, in a few words.
        kind: ``black box``, ``white box`` (needs gradients), ``search`` (for the best
            deletions; explains one label) or ``baseline``.
        has_shares: whether it also gives total and first-order shares of the variance.
        scores_pixels: whether it scores the pixels of a picture one by one, not larger regions.
        is_for_pictures: whether it explains pictures only.
    """

    name: str
    title: str
    quantity: str
    kind: str = "black box"
    has_shares: bool = False
    scores_pixels: bool = False
    is_for_pictures: bool = False

    @property
    def may_use_gates(self) -> bool:
        """Whether it asks for gate gradients where the model has them."""
        return False

    def attribute(self, problem: Problem, *, budget: int | None, seed: int) -> Steps[Attribution]:
        """Compute the scores, as a generator; it may also yield intermediate attributions.

        Args:
            problem: what to explain.
            budget: masks that may be scored, the whole input included; see `choose_budget`.
            seed: the same seed gives the same scores.
        """
        raise NotImplementedError

    def least_masks(self, n_features: int) -> int:
        """Fewest masks it needs, the whole input included."""
        return 2

    def natural_masks(self, n_features: int) -> int | None:
        """Masks it scores without a budget, or ``None`` if it can use any number."""
        return None

    def expected_masks(self, n_features: int, *, has_path: bool = False) -> int:
        """Most masks it scores without a budget, the whole input included."""
        return max(1, self.least_masks(n_features))

    def count_more_passes(self, n_labels: int) -> int:
        """Forward passes of gradients, which no mask counts."""
        return 0

    def for_texts(self) -> Method:
        """The method for texts; refuses options that texts do not support."""
        if self.is_for_pictures:
            raise ValueError(f"method={self.name!r} explains pictures only")
        return self

    def for_pictures(self, *, has_budget: bool) -> Method:
        """The method for pictures, with their defaults."""
        return self

    def choose_budget(self, budget: int | None, scale: Scale) -> int | None:
        """Check the budget or choose one; ``None``: as many forward passes as the options need."""
        d, passes = scale.n_features, scale.passes
        natural, least = self.natural_masks(d), passes * self.least_masks(d)
        if budget is None:
            return max(least, passes * (scale.usual if natural is None else natural))
        if natural == 0:
            raise ValueError(f"budget={budget}: {self.title} takes no budget")
        if budget < least:
            raise ValueError(
                f"budget={budget}: {self.title} needs at least {least} forward passes for "
                f"{d} {scale.noun}"
            )
        return budget

    def options(self) -> dict[str, Any]:
        """The options by name.

        Example:
            >>> from textsobol.methods import Lime
            >>> Lime().options()
            {'kernel_width': 25.0}
        """
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]

    def chosen_options(self) -> dict[str, Any]:
        """The options that differ from their defaults.

        Example:
            >>> from textsobol.methods import SmoothGrad
            >>> SmoothGrad(noise=0.1).chosen_options()
            {'noise': 0.1}
        """
        usual = {each.name: each.default for each in fields(self)}  # type: ignore[arg-type]
        return {name: own for name, own in self.options().items() if own != usual[name]}


class MasklessMethod(Method):
    """A method that scores no masks, and so takes no budget."""

    scores_pixels = True

    def least_masks(self, n_features: int) -> int:
        """No masks."""
        return 0

    def natural_masks(self, n_features: int) -> int:
        """No masks."""
        return 0


def record(method: Method, found: Attribution, *, budget: int | None, seed: int) -> dict[str, Any]:
    """How scores were made and what they are, for an explanation's settings, in plain numbers."""
    settings = {
        "method": method.name,
        "quantity": method.quantity,
        "budget": budget,
        "seed": seed,
        "signed": found.is_signed,
        **method.chosen_options(),
        **found.settings,
    }
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in settings.items()
    }


def check_call(budget: Any, seed: Any) -> int | None:
    """The budget as a plain number; refuses what is no budget or no seed."""
    check_least("seed", seed, 0)
    return None if budget is None else check_whole("budget", budget)


def check_keep(keep: Any) -> None:
    """Refuse a keep rate that is not a probability."""
    is_number = isinstance(keep, int | float | np.number) and not isinstance(keep, bool)
    if not is_number or not 0 < keep < 1:
        raise ValueError(
            f"keep={keep!r}: the probability that a word stays must be a number between 0 and 1, "
            f"both excluded, for example 0.5"
        )
