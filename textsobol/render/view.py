"""What a page needs of an explanation: the pieces of its text, and its numbers packed small."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from textsobol.render.printable import printable

if TYPE_CHECKING:
    from textsobol.text.explanation import TextExplanation, Word

# The order that the page's script knows; the last one has a scale of its own.
_SHARES = ("score", "low", "high", "first", "first_low", "first_high", "stability")
_FULL = 32767  # the integer that stands for 1


@dataclass(frozen=True)
class Piece:
    """A stretch of the text as it is shown: a word, or what stands between two.

    Attributes:
        text: without control characters and turns of direction.
        status: of the word, or ``None`` between words.
        kind: ``for`` or ``against`` the label, or empty where the word hardly matters.
        strength: how strong its colour is, 0 to 1.
    """

    text: str
    status: str | None = None
    kind: str = ""
    strength: float = 0.0


def parts_of(explanation: TextExplanation, strongest: float | None = None) -> list[list[Piece]]:
    """The one or two texts of an explanation, cut into pieces.

    Args:
        explanation: what is shown.
        strongest: the score that gets the full colour; by default the explanation's own.
    """
    if strongest is None:
        strongest = strongest_of(explanation)
    texts = [explanation.text] if isinstance(explanation.text, str) else list(explanation.text)
    return [list(_pieces(explanation, text, part, strongest)) for part, text in enumerate(texts)]


def strongest_of(explanation: TextExplanation) -> float:
    """The highest absolute score for the label that is looked at."""
    return max((abs(explanation.score_of(word).score) for word in explanation.words), default=0.0)


def shows_probabilities(explanation: TextExplanation) -> bool:
    """Whether the labels' values are probabilities; a function may return any score."""
    if explanation.settings.get("score") != "output":
        return True
    values = list(explanation.probabilities.values())
    return len(values) > 1 and min(values) >= 0 and math.isclose(sum(values), 1, abs_tol=1e-3)


def _pieces(
    explanation: TextExplanation, text: str, part: int, strongest: float
) -> Iterator[Piece]:
    done = 0
    for word in explanation.words:
        if word.part != part:
            continue
        if word.start > done:
            yield Piece(shown(text[done : word.start]))
        score = explanation.score_of(word).score
        # The root makes the colour follow the size of the effect, since shares are squares.
        strength = math.sqrt(abs(score) / strongest) if strongest > 0 else 0.0
        kind = "" if strength < 0.1 else "for" if score > 0 else "against"
        yield Piece(shown(text[word.start : word.end]), word.status, kind, strength)
        done = word.end
    if done < len(text):
        yield Piece(shown(text[done:]))


def shown(text: str) -> str:
    """The text without what would steer a page; lines end as HTML knows them."""
    return printable(text.replace("\r\n", "\n").replace("\r", "\n"))


def page_data(explanation: TextExplanation) -> dict[str, Any]:
    """What the page's script works on. Words are known by their place in the text."""
    ranked = sorted(explanation.probabilities.items(), key=lambda item: -item[1])
    scored = [word for word in explanation.words if word.status == "scored"]
    return {
        "labels": [[name, value] for name, value in ranked],
        "label": explanation.label,
        "prediction": explanation.prediction,
        "unit": explanation.settings.get("score", ""),
        "isOutput": not shows_probabilities(explanation),
        "status": "".join(word.status[0] for word in explanation.words),
        "numbers": {label: _packed(scored, label) for label in explanation.labels},
        "pairs": [
            [
                *pair.words,
                {
                    label: [score.effect, *map(_finite, (score.low, score.high))]
                    for label, score in pair.scores.items()
                },
            ]
            for pair in explanation.pairs
        ],
        "whatif": {
            label: [[step.word, step.probability, step.prediction] for step in steps]
            for label, steps in explanation.whatif.items()
        },
    }


def _packed(words: list[Word], label: str) -> Mapping[str, Any]:
    """All numbers of a label as 16-bit integers: a report of 500 texts holds a million."""
    scores = [word.scores[label] for word in words]
    shares = np.array([[getattr(score, name) for score in scores] for name in _SHARES])
    effects = np.array([score.effect for score in scores])
    largest = float(np.abs(effects).max(initial=0.0)) or 1.0
    integers = np.round(np.vstack([shares.clip(-1, 1), effects / largest]) * _FULL)
    return {
        "shares": base64.b64encode(integers.astype("<i2").tobytes()).decode("ascii"),
        "effect": largest,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
