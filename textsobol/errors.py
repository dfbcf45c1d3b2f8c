"""Every error and warning of the package.

A wrong argument raises the built-in ``ValueError`` or ``TypeError``, with what would be right. What
only shows while a model works is one of these:

    TextsobolError
    ├── BlackBoxError             the model raised, or returned what cannot be a score
    ├── RemoteError               a remote model did not answer
    │   └── CacheError            its cache cannot be read or written
    └── WrongAnswerError          a remote model answered with something else than scores
        └── LabelMismatchError    with other labels than before

    TextsobolWarning
    ├── AliasedDesignWarning      some features share a column of the design
    ├── ConstantScoreWarning      the score is the same for every mask
    ├── DamagedFileWarning        a file of a job is damaged, and is made again
    ├── UnstableTopWarning        the budget ended before the top was clear
    └── WindowWarning             a text is longer than what the model can see
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textsobol.sobol.arrays import Array

__all__ = [
    "AliasedDesignWarning",
    "BlackBoxError",
    "CacheError",
    "ConstantScoreWarning",
    "DamagedFileWarning",
    "LabelMismatchError",
    "RemoteError",
    "TextsobolError",
    "TextsobolWarning",
    "UnstableTopWarning",
    "WindowWarning",
    "WrongAnswerError",
]

_PACKAGE = str(Path(__file__).parent)


class TextsobolError(Exception):
    """Any error of this package that is not a wrong argument."""


class BlackBoxError(TextsobolError, RuntimeError):
    """The model raised, or returned something that cannot be a score.

    Attributes:
        mask: the offending mask ``(features,)``; the first one of the batch when the model raised
            or returned a wrong shape and no single mask is to blame.
    """

    def __init__(self, message: str, mask: Array) -> None:
        super().__init__(message)
        self.mask = mask


class RemoteError(TextsobolError, RuntimeError):
    """A remote model did not answer, or not with scores; the message names the text."""


class CacheError(RemoteError):
    """The cache cannot be read or written; the message says what to do."""


class WrongAnswerError(TextsobolError, ValueError):
    """An answer that cannot be the scores of a text."""


class LabelMismatchError(WrongAnswerError):
    """An answer whose labels differ from those of an earlier one; either may be wrong."""


class TextsobolWarning(UserWarning):
    """Any warning of this package."""


class AliasedDesignWarning(TextsobolWarning):
    """Some features have the same column in a design and cannot be told apart."""


class ConstantScoreWarning(TextsobolWarning):
    """A score does not vary, so that there is no variance to share out."""


class DamagedFileWarning(TextsobolWarning):
    """A file of a job is not the one that was written, and is made again."""


class UnstableTopWarning(TextsobolWarning):
    """The budget ended before it was clear which features are on top."""


class WindowWarning(TextsobolWarning):
    """A text is longer than what the model can see."""


def warn(message: str, category: type[TextsobolWarning]) -> None:
    """Warn at the first line outside of this package, so that users see their own line."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
