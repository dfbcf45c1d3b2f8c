"""What a page needs of an explanation: the pieces of its text, and its numbers packed small."""

from __future__ import annotations

import base64
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from textsobol.render.printable import printable

if TYPE_CHECKING:
    from textsobol.text.explanation import TextExplanation, Word, WordScore

_ENOUGH_ROWS = 8  # base rows; from fewer, intervals hold the truth less often than they say

# The order that the page's script knows, in numbers.js.
_FIELDS = (
    "score",
    "low",
    "high",
    "total",
    "total_low",
    "total_high",
    "first",
    "first_low",
    "first_high",
    "stability",
    "effect",
)
_FULL = 32767  # the integer that stands for the scale of a field
_UNKNOWN = -32768


@dataclass(frozen=True)
class Piece:
    """A stretch of the text as it is shown: a word, or what stands between two.

    Attributes:
        text: without control characters and turns of direction.
        status: of the word, or ``None`` between words.
        kind: ``for`` or ``against`` the label, ``share`` where the method does not tell, or
            empty where the word hardly matters.
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
    return [list(_pieces(explanation, part, strongest)) for part in range(len(explanation.texts))]


def strongest_of(explanation: TextExplanation) -> float:
    """The highest absolute score for the label that is looked at."""
    return max((abs(explanation.score_of(word).score) for word in explanation.words), default=0.0)


def shows_probabilities(explanation: TextExplanation) -> bool:
    """Whether the labels' values are probabilities; a function may return any score."""
    if explanation.settings.get("score") != "output":
        return True
    values = list(explanation.probabilities.values())
    return len(values) > 1 and min(values) >= 0 and math.isclose(sum(values), 1, abs_tol=1e-3)


def _pieces(explanation: TextExplanation, part: int, strongest: float) -> Iterator[Piece]:
    characters = _shown_characters(explanation.texts[part])
    done = 0
    for word in explanation.words:
        if word.part != part:
            continue
        if word.start > done:
            yield Piece("".join(characters[done : word.start]))
        score = explanation.score_of(word).score
        # Shares are squares: their root makes the colour follow the size of the effect.
        # numbers.js has the same rule, for when another label or measure is chosen.
        part_of = abs(score) / strongest if strongest > 0 else 0.0
        strength = math.sqrt(part_of) if is_share(explanation) else part_of
        kind = "" if strength < 0.1 else _kind(explanation, score)
        yield Piece("".join(characters[word.start : word.end]), word.status, kind, strength)
        done = word.end
    if done < len(characters):
        yield Piece("".join(characters[done:]))


def is_signed(explanation: TextExplanation) -> bool:
    """Whether scores tell for from against."""
    return bool(explanation.settings.get("signed", True))


def interval_title(explanation: TextExplanation) -> str:
    """What the intervals beside scores are of: those of focus are of the words' shares."""
    level = "rough" if has_few_rows(explanation) else "95 %"
    is_focused = explanation.settings.get("method") == "focus"
    return f"share of the variation ({level})" if is_focused else f"{level} interval"


def has_few_rows(explanation: TextExplanation) -> bool:
    """Whether intervals are rough: few base rows may have missed what others would show.

    Measured in benchmarks/estimators/RESULTS.md.
    """
    n_base = explanation.settings.get("base_rows") or 0
    return 1 < n_base < _ENOUGH_ROWS


def beside_score(explanation: TextExplanation, score: WordScore) -> str:
    """What `interval_title` announces; nothing where it is not known.

    From one base row no interval can be told. Words that were only looked at together with others
    have neither share nor interval.
    """
    n_base = explanation.settings.get("base_rows")
    if explanation.settings.get("method") != "focus":
        is_told = not math.isnan(score.low) and n_base != 1
        return f"{score.low:+.3f} to {score.high:+.3f}" if is_told else ""
    if math.isnan(score.total):
        return ""
    told = "" if n_base == 1 else f"  ({score.total_low:.2f} to {score.total_high:.2f})"
    return f"{score.total:.2f}{told}"


def n_shared(explanation: TextExplanation) -> int:
    """Number of words that were only looked at together with others."""
    return sum(word.shared_by > 1 for word in explanation.words)


def _kind(explanation: TextExplanation, score: float) -> str:
    if not is_signed(explanation):
        return "share"
    return "for" if score > 0 else "against"


def is_share(explanation: TextExplanation) -> bool:
    """Whether scores are shares of a variance."""
    return bool(explanation.settings.get("method", "sobol") == "sobol")


def shown(text: str) -> str:
    r"""The text without what would steer a page; lines end as HTML knows them.

    Example:
        >>> shown("two\r\nlines")
        'two\nlines'
    """
    return "".join(_shown_characters(text))


def _shown_characters(text: str) -> list[str]:
    """What is shown of every character: words keep their places, whatever is left out."""
    clean = list(printable(text))
    for place, character in enumerate(text):
        if character == "\r":
            clean[place] = "" if text[place + 1 : place + 2] == "\n" else "\n"
    return clean


def page_data(explanation: TextExplanation, most_labels: int | None = None) -> dict[str, Any]:
    """What the page's script works on. Words are known by their place in the text.

    What belongs to labels comes as pairs: a label may be called ``constructor``, which no
    JavaScript object should have for a key.

    Args:
        explanation: what is shown.
        most_labels: labels with numbers, the likeliest; by default all.
    """
    ranked = sorted(explanation.probabilities.items(), key=lambda item: -item[1])
    likeliest = [label for label, _ in ranked if label in explanation.labels][:most_labels]
    if explanation.label not in likeliest:
        likeliest.append(explanation.label)
    scored = [word for word in explanation.words if word.status == "scored"]
    untold = set()
    if explanation.settings.get("base_rows") == 1:  # from one row no interval can be told
        untold = {name for name in _FIELDS if name.endswith(("low", "high"))}
    elif is_share(explanation):  # the interval of the score is that of the share
        untold = {"total_low", "total_high"}
    return {
        "labels": [[shown(name), value] for name, value in ranked],
        "label": shown(explanation.label),
        "prediction": shown(explanation.prediction),
        "unit": explanation.settings.get("score", ""),
        "method": explanation.settings.get("method", ""),
        "isShare": is_share(explanation),
        "isRough": has_few_rows(explanation),
        "isSigned": is_signed(explanation),
        "isOutput": not shows_probabilities(explanation),
        "status": "".join(word.status[0] for word in explanation.words),
        "sharedBy": [word.shared_by for word in scored] if n_shared(explanation) else [],
        "numbers": [[shown(label), _packed(scored, label, untold)] for label in likeliest],
        "pairs": [
            [
                *pair.words,
                [
                    [shown(label), [score.effect, *map(finite, (score.low, score.high))]]
                    for label, score in pair.scores.items()
                ],
            ]
            for pair in explanation.pairs
        ],
        "whatif": [
            [
                shown(label),
                [[step.word, step.probability, shown(step.prediction)] for step in steps],
            ]
            for label, steps in explanation.whatif.items()
        ],
    }


def _packed(words: list[Word], label: str, untold: Collection[str]) -> Mapping[str, Any]:
    """All numbers of a label as 16-bit integers: a report of 500 texts holds a million.

    Every kind of number has a scale of its own, so that small ones keep their order; it is
    ``None`` for a kind of which nothing is known, which takes no room.
    """
    values = np.array([[getattr(word.scores[label], name) for word in words] for name in _FIELDS])
    known = np.isfinite(values)
    known[[k for k, name in enumerate(_FIELDS) if name in untold]] = False
    scales = np.abs(np.where(known, values, 0.0)).max(axis=1, initial=0.0)
    scales[scales == 0] = 1.0
    integers = np.where(known, np.round(values / scales[:, None] * _FULL), _UNKNOWN)
    told = known.any(axis=1)
    return {
        "integers": base64.b64encode(integers[told].astype("<i2").tobytes()).decode("ascii"),
        "scales": [
            s if is_told else None
            for s, is_told in zip(scales.tolist(), told.tolist(), strict=True)
        ],
    }


def finite(value: float) -> float | None:
    """The number, or ``None`` for one that JSON does not have."""
    return value if math.isfinite(value) else None
