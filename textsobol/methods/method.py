"""An attribution method: its options, what it costs, and the generator that does the work."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from textsobol.methods.contract import Attribution, Problem
from textsobol.sobol.checks import check_least, check_whole
from textsobol.steps import Steps


@dataclass(frozen=True)
class Scale:
    """How large a problem is, and what it costs to mask it.

    Attributes:
        n_features: number of features d.
        noun: what they are called.
        usual: masks that are scored when no budget is given.
        passes: forward passes that every mask takes.
        has_groups: whether features can come and go in groups, for budgets below one pass each.
    """

    n_features: int
    noun: str
    usual: int
    passes: int = 1
    has_groups: bool = False


class Method:
    """An attribution method. Subclasses are frozen dataclasses, whose fields are the options.

    Attributes:
        name: how callers and the command line call it.
        title: how tables call it.
        quantity: what its scores are, in a few words.
        kind: ``black box``, ``white box`` (needs gradients), ``search`` (no attribution, but what
            can be reached; it explains one label) or ``baseline``.
        has_shares: whether it also gives total and first-order shares of the variance.
        scores_pixels: whether it scores the pixels of a picture one by one, not larger regions.
        is_for_pictures: whether it makes no sense for texts.
    """

    name: str
    title: str
    quantity: str
    kind: str = "black box"
    has_shares: bool = False
    scores_pixels: bool = False
    is_for_pictures: bool = False

    def attribute(self, problem: Problem, *, budget: int | None, seed: int) -> Steps[Attribution]:
        """The generator; what it yields beside asks are attributions that are known so far.

        Args:
            problem: what is to be explained.
            budget: masks that may be scored, the whole input included; see `choose_budget`.
            seed: the same seed gives the same scores.
        """
        raise NotImplementedError

    def least_masks(self, n_features: int) -> int:
        """Masks that it needs at least, the whole input included."""
        return 2

    def natural_masks(self, n_features: int) -> int | None:
        """Masks that it takes when no budget is given, or ``None`` if it can use any number."""
        return None

    def expected_masks(self, n_features: int) -> int:
        """About how many masks it takes where there is no budget, for the progress bar."""
        return self.least_masks(n_features)

    def for_texts(self) -> Method:
        """The same for texts; refuses options that make no sense there."""
        if self.is_for_pictures:
            raise ValueError(f"method={self.name!r} explains pictures only")
        return self

    def for_pictures(self, *, has_budget: bool) -> Method:
        """The same for pictures, with their defaults."""
        return self

    def choose_budget(self, budget: int | None, scale: Scale) -> int | None:
        """Forward passes that may be made; refuses a budget that is too small.

        ``None`` stands for as many as the options ask for.
        """
        d, passes = scale.n_features, scale.passes
        natural, least = self.natural_masks(d), passes * self.least_masks(d)
        if budget is None:
            return max(least, passes * (scale.usual if natural is None else natural))
        if natural == 0:
            raise ValueError(f"budget={budget}: {self.title} has its own number of passes")
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


def record(method: Method, found: Attribution, *, budget: int | None, seed: int) -> dict[str, Any]:
    """How scores were made and what they are, for an explanation's settings, in plain numbers."""
    usual = type(method)().options()
    chosen = {name: own for name, own in method.options().items() if own != usual[name]}
    settings = {
        "method": method.name,
        "quantity": method.quantity,
        "budget": budget,
        "seed": seed,
        "signed": found.is_signed,
        **chosen,
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
    """Refuse a keep rate that is no probability."""
    is_number = isinstance(keep, int | float | np.number) and not isinstance(keep, bool)
    if not is_number or not 0 < keep < 1:
        raise ValueError(
            f"keep={keep!r}: the probability that a word stays must be a number between 0 and 1, "
            f"both excluded, for example 0.5"
        )
