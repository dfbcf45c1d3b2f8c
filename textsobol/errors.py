"""Every error and warning of the package.

A wrong argument raises the built-in ``ValueError`` or ``TypeError``, with what would be right.
These errors show while a model runs:

    TextsobolError
    ├── BlackBoxError             the model raised, or returned something that is not a score
    │   └── GatesError            its gradients did; forward passes are tried instead
    ├── RemoteError               a remote model did not answer
    │   └── CacheError            its cache cannot be read or written
    └── WrongAnswerError          a remote model's answer has no scores
        ├── LabelMismatchError    its labels differ from earlier answers
        └── NoLogprobsError       a server shows no log-probabilities of tokens

    TextsobolWarning
    ├── AliasedDesignWarning      some features share a column of the design
    ├── BoundedScoreWarning       a server showed only upper bounds of some log-probabilities
    ├── ConstantScoreWarning      the score is the same for every mask
    ├── DamagedFileWarning        a file of a job is damaged, and is made again
    ├── PunctuationWarning        punctuation, which is no feature, does more than all words
    ├── SegmenterWarning          no segmenter for the text's language is installed
    ├── SlowDtypeWarning          the CPU has no instructions for the dtype chosen
    ├── UnknownWordsWarning       the model's tokenizer does not know many words of a text
    ├── UnstableTopWarning        the budget ran out before the top was stable
    └── WindowWarning             a text is longer than the model's window
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textsobol.sobol.arrays import Array

__all__ = [
    "AliasedDesignWarning",
    "BlackBoxError",
    "BoundedScoreWarning",
    "CacheError",
    "ConstantScoreWarning",
    "DamagedFileWarning",
    "GatesError",
    "LabelMismatchError",
    "NoLogprobsError",
    "PunctuationWarning",
    "RemoteError",
    "SegmenterWarning",
    "SlowDtypeWarning",
    "TextsobolError",
    "TextsobolWarning",
    "UnknownWordsWarning",
    "UnstableTopWarning",
    "WindowWarning",
    "WrongAnswerError",
]

_PACKAGE = str(Path(__file__).parent)


class TextsobolError(Exception):
    """Any error of this package that is not a wrong argument."""


class BlackBoxError(TextsobolError, RuntimeError):
    """The model raised, or returned something that is not a score.

    Attributes:
        mask: the mask ``(features,)`` that failed; the first of the batch if no single one did.
    """

    def __init__(self, message: str, mask: Array) -> None:
        super().__init__(message)
        self.mask = mask


class WrongScoresError(ValueError):
    """What a classifier did wrong, in full. The driver makes a `BlackBoxError` of it."""


class GatesError(BlackBoxError):
    """The gradients of the model failed, or are not finite."""


class RemoteError(TextsobolError, RuntimeError):
    """A remote model did not answer with scores; the message names the text."""


class CacheError(RemoteError):
    """The cache cannot be read or written; the message says what to do."""


class WrongAnswerError(TextsobolError, ValueError):
    """An answer that does not hold the scores of a text."""


class LabelMismatchError(WrongAnswerError):
    """An answer whose labels differ from those of an earlier one; either may be wrong."""


class NoLogprobsError(WrongAnswerError):
    """A server's answer has no log-probabilities of tokens; the message says what to do."""


class TextsobolWarning(UserWarning):
    """Any warning of this package."""


class AliasedDesignWarning(TextsobolWarning):
    """Some features have the same column in a design, so their effects cannot be separated."""


class BoundedScoreWarning(TextsobolWarning):
    """A server did not show some log-probabilities; the largest values they can have were used."""


class ConstantScoreWarning(TextsobolWarning):
    """A score is the same for every mask: there is no variance to explain."""


class DamagedFileWarning(TextsobolWarning):
    """A file of a job is not the one that was written, and is made again."""


class PunctuationWarning(TextsobolWarning):
    """Punctuation, which is no feature, changes a score more than all words together."""


class SegmenterWarning(TextsobolWarning):
    """No segmenter for the language of a text is installed, so that features are not words."""


class SlowDtypeWarning(TextsobolWarning):
    """The CPU has no instructions for the dtype chosen, which makes it slower than float32."""


class UnknownWordsWarning(TextsobolWarning):
    """The model's tokenizer does not know many words of a text."""


class UnstableTopWarning(TextsobolWarning):
    """The budget ran out before the top features were stable."""


class WindowWarning(TextsobolWarning):
    """A text is longer than the model's window."""


def warn(message: str, category: type[TextsobolWarning]) -> None:
    """Warn, and point at the user's own line: the first one outside this package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def name_error(error: Exception) -> str:
    """The message of an error or warning; before it, the name to look it up by if it is ours."""
    is_ours = isinstance(error, TextsobolError | TextsobolWarning)
    return f"{type(error).__name__}: {error}" if is_ours else str(error)


def name_warnings(caught: Iterable[warnings.WarningMessage]) -> list[str]:
    """The messages of our warnings among those recorded, each once."""
    ours = [each.message for each in caught if isinstance(each.message, TextsobolWarning)]
    return list(dict.fromkeys(map(name_error, ours)))
