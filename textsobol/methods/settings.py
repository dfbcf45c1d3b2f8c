"""What is asked of a method, checked: its settings and its budget, and the record of both."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from textsobol.methods import METHODS
from textsobol.methods.contract import Attribution, Method

# What a call may say beside budget and seed, and what it means not to say it.
DEFAULTS: dict[str, Any] = {
    "keep": 0.5,
    "estimator": "auto",
    "design": None,
    "rows": None,
    "sign": "mean",
    "interactions": 0,
    "precision": None,
    "stable_top": 5,
    "layer": None,
    "path": True,
}

# Those of texts.
SOBOL_DEFAULTS = {name: value for name, value in DEFAULTS.items() if name != "layer"}


def checked_options(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a method takes; those of others must not be set, or be ignored.

    Example:
        >>> checked_options("gradcam", {"layer": "conv", "keep": 0.5})
        {'layer': 'conv'}
        >>> checked_options("lime", {"layer": None, "keep": 0.9})
        Traceback (most recent call last):
        ValueError: keep: setting of method='sobol', not of 'lime'
    """
    if given.get("precision") is None and given.get("stable_top", 5) != DEFAULTS["stable_top"]:
        raise ValueError("stable_top is the top that precision= is about: give both")
    own = METHODS[name].options
    for setting, value in given.items():
        if setting not in own and value != DEFAULTS[setting]:
            owners = [repr(one) for one, method in METHODS.items() if setting in method.options]
            raise ValueError(f"{setting}: setting of method={' or '.join(owners)}, not of {name!r}")
    return {setting: value for setting, value in given.items() if setting in own}


def method_budget(
    method: Method,
    budget: int | None,
    n_features: int,
    *,
    noun: str,
    usual: Callable[[int], int],
    passes: int = 1,
) -> int:
    """The budget of a method other than ours, in forward passes.

    Args:
        method: the method.
        budget: as given.
        n_features: number of features.
        noun: what they are called.
        usual: budget for so many features, where none is given and the method can choose.
        passes: forward passes that a mask takes.
    """
    if budget is not None and method.natural is not None and not method.natural(n_features):
        raise ValueError(f"budget={budget}: {method.title} has its own number of passes")
    least = passes * method.least(n_features)
    if budget is None:
        natural = usual if method.natural is None else method.natural
        return max(least, passes * natural(n_features))
    if budget < least:
        raise ValueError(
            f"budget={budget}: {method.title} needs at least {least} forward passes for "
            f"{n_features} {noun}"
        )
    return budget


def record(
    name: str, found: Attribution, *, budget: int | None, seed: int, sign: str | None
) -> dict[str, Any]:
    """How scores were made, for an explanation's settings, in plain numbers."""
    settings = {
        "method": name,
        "budget": budget,
        "seed": seed,
        "signed": METHODS[name].is_signed and sign is not None,
        **found.settings,
    }
    return {setting: plain(value) for setting, value in settings.items()}


def plain(value: Any) -> Any:
    """The value as JSON knows it, where it is a number of numpy.

    Example:
        >>> plain(np.int64(3)), plain(np.float32(0.5)), plain("latin")
        (3, 0.5, 'latin')
    """
    return value.item() if isinstance(value, np.generic) else value
