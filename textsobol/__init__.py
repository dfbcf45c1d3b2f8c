"""Which words made a text classifier decide as it did, and how sure that answer is.

The names below are loaded on first use, so that importing the package stays cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = [
    "AliasedDesignWarning",
    "BlackBoxError",
    "ConstantScoreWarning",
    "SobolIndices",
    "__version__",
    "sobol_indices",
]

if TYPE_CHECKING:
    from textsobol.sobol import (
        AliasedDesignWarning,
        BlackBoxError,
        ConstantScoreWarning,
        SobolIndices,
        sobol_indices,
    )

_HOME_OF = dict.fromkeys(
    (
        "AliasedDesignWarning",
        "BlackBoxError",
        "ConstantScoreWarning",
        "SobolIndices",
        "sobol_indices",
    ),
    "textsobol.sobol",
)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'textsobol' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
