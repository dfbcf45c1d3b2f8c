"""What a page needs of an explanation: the pieces of its text, and its numbers packed small."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from textsobol.render.printable import printable
from textsobol.render.summary import MEASURES, flip_sentence, summary
from textsobol.sobol.arrays import Floats
from textsobol.text import records

if TYPE_CHECKING:
    from textsobol.text.explanation import TextExplanation
    from textsobol.text.records import Measures, Path, Word

# What the page calls the measures; the score of another method than Sobol's is its own.
MEASURE_NOTES = {**MEASURES, "own score": "the method's own score, on a scale of its own"}
_UNITS = {"logit": "log-odds", "probability": "probability"}
_WORD = "\u2068{}\u2069"  # no text has these two: `printable` takes them out

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
    "effect",
    "effect_low",
    "effect_high",
    "stability",
)
# Fields that change their sign, and their end, between the two labels of a model with two.
_OPPOSITE = {
    "score": "score",
    "low": "high",
    "high": "low",
    "effect": "effect",
    "effect_low": "effect_high",
    "effect_high": "effect_low",
}
MINUS = "\u2212"
_FULL = 32767  # the integer that stands for the scale of a field
_UNKNOWN = -32768


@dataclass(frozen=True)
class Piece:
    """A stretch of the text as it is shown: a word, or what stands between two.

    Attributes:
        text: without control characters and turns of direction.
        status: of the word, or ``None`` between words.
        kind: ``for`` or ``against`` the label, ``share`` where the score has no direction, or
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
    """The highest absolute score for the label that is explained."""
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


def signed(value: float, digits: int = 3) -> str:
    """The number with its sign; ``0`` where it rounds to that.

    Example:
        >>> signed(0.25), signed(-0.25), signed(-0.0001)
        ('+0.250', '\u22120.250', '0')
    """
    return records.signed(value, digits).replace("-", MINUS)


def interval_of(explanation: TextExplanation, own: Measures) -> str:
    """The interval of a score, as text: nothing where it is not known or has no width."""
    doubt = f", {own.doubt}" if own.doubt else ""  # numbers.js has the same rule
    if explanation.is_exact:
        return f"exact{doubt}"
    if not own.high > own.low:
        return ""
    return f"{signed(own.low)} to {signed(own.high)}{doubt}"


def unit_of(explanation: TextExplanation) -> str:
    """What effects and sums are counted in."""
    unit = _UNITS.get(explanation.settings.get("score", ""), "score")
    return f"{unit} difference" if is_contrast(explanation) else unit


def is_contrast(explanation: TextExplanation) -> bool:
    """Whether two labels are compared: their difference is no label, and has no probability."""
    return explanation.label not in explanation.probabilities


def sums_sentence(explanation: TextExplanation) -> str | None:
    """How the label's log-odds add up, in plain words."""
    sums = explanation.sums.get(explanation.label)
    if sums is None:
        return None
    value, baseline, additive = (round(n, 2) for n in (sums.value, sums.baseline, sums.additive))
    # The rest of the rounded numbers, so that they add up as they are read.
    remainder = value - baseline - additive
    share = ""
    # Far outside of 0 to 1 it is noise, which estimators other than flip can have much of.
    if explanation.settings.get("base_masks") != 1 and -0.05 < sums.additive_share < 1.05:
        alone = f"{100 * min(1.0, max(0.0, sums.additive_share)):.0f} %"
        share = f" Words on their own cause {alone} of the variation."
    return (
        f"How it adds up: {_plain(baseline)} on average over all masks, {signed(additive, 2)} "
        f"from each word's own effect, {signed(remainder, 2)} from words together, which makes "
        f"{_plain(value)} ({unit_of(explanation)}).{share}"
    )


def _plain(value: float) -> str:
    return signed(value, 2).removeprefix("+")


def sentences_of(explanation: TextExplanation) -> dict[str, list[str]]:
    """What is said of the label that is explained, by the class of the page's element.

    Every second piece of a sentence, from the second on, is a word of the text.
    """
    said = {
        "summary": summary(explanation, _WORD.format),
        "flip": flip_sentence(explanation, _WORD.format),
        "advice": explanation.advice,
        "sums": sums_sentence(explanation),
    }
    return {name: re.split("[\u2068\u2069]", text) if text else [] for name, text in said.items()}


def n_shared(explanation: TextExplanation) -> int:
    """Number of words that were masked in groups of neighbours."""
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
    labels = [(explanation.label, None)] if is_contrast(explanation) else ranked
    scored = [word for word in explanation.words if word.status == "scored"]
    return {
        "labels": [[shown(name), value] for name, value in labels],
        "label": shown(explanation.label),
        "prediction": shown(explanation.prediction),
        "unit": unit_of(explanation),
        "method": explanation.settings.get("method", ""),
        "isShare": is_share(explanation),
        "isExact": explanation.is_exact,
        "isSigned": is_signed(explanation),
        "isOutput": not shows_probabilities(explanation),
        "status": "".join(word.status[0] for word in explanation.words),
        "sharedBy": [word.shared_by for word in scored] if n_shared(explanation) else [],
        "numbers": _numbers(scored, likeliest),
        "sentences": [
            [shown(label), sentences_of(replace(explanation, label=label))] for label in likeliest
        ],
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
        "path": None
        if explanation.path is None
        else _path_data(explanation, explanation.path, likeliest),
    }


def _path_data(explanation: TextExplanation, path: Path, labels: Sequence[str]) -> dict[str, Any]:
    """The steps, each with the probabilities of the labels that can be chosen."""
    labels = [
        label
        for label in dict.fromkeys([path.label, *labels])
        if label in explanation.probabilities
    ]

    digits = 3 if shows_probabilities(explanation) else 15

    def values(probabilities: Mapping[str, float]) -> list[float]:
        return [round(probabilities[label], digits) for label in labels]

    return {
        "labels": [shown(label) for label in labels],
        "start": values(explanation.probabilities),
        "steps": [
            [step.words, values(step.probabilities), shown(step.prediction)] for step in path.steps
        ],
    }


def _numbers(words: Sequence[Word], labels: Sequence[str]) -> list[list[Any]]:
    """By label its packed numbers, or the name of the label whose opposite it is."""
    values = [
        np.array([[getattr(word.scores[label], name) for word in words] for name in _FIELDS])
        for label in labels
    ]
    names = [shown(label) for label in labels]
    if len(labels) == 2 and np.allclose(_opposite(values[0]), values[1], rtol=1e-4, equal_nan=True):
        return [[names[0], _packed(values[0])], [names[1], names[0]]]
    return [[name, _packed(own)] for name, own in zip(names, values, strict=True)]


def _opposite(values: Floats) -> Floats:
    """What speaks for one of two labels speaks against the other."""
    rows = dict(zip(_FIELDS, values, strict=True))
    return np.array([-rows[_OPPOSITE[n]] if n in _OPPOSITE else rows[n] for n in _FIELDS])


def _packed(values: Floats) -> Mapping[str, Any]:
    """All numbers of a label as 16-bit integers: a report of 500 texts holds a million.

    Every field has a scale of its own, so that small numbers keep their order; the scale is
    ``None`` for a field of which nothing is known, which takes no room.
    """
    known = np.isfinite(values)
    scales = np.abs(np.where(known, values, 0.0)).max(axis=1, initial=0.0)
    scales[scales == 0] = 1.0
    integers = np.where(known, np.round(values / scales[:, None] * _FULL), _UNKNOWN)
    is_known = np.any(known, axis=1)
    return {
        "integers": base64.b64encode(integers[is_known].astype("<i2").tobytes()).decode("ascii"),
        "scales": [
            scale if own_known else None
            for scale, own_known in zip(scales.tolist(), is_known.tolist(), strict=True)
        ],
    }


def finite(value: float) -> float | None:
    """The number, or ``None`` for one that JSON does not have."""
    return value if math.isfinite(value) else None
