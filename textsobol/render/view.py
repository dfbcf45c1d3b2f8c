"""The data of a page: the text in pieces, sentences, and packed numbers."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from textsobol.methods import Sobol
from textsobol.render.printable import replace_controls
from textsobol.render.summary import MEASURES, describe_flip_set, describe_screening, summarise
from textsobol.sobol.arrays import Floats
from textsobol.text import records

if TYPE_CHECKING:
    from textsobol.image.explanation import ImageExplanation
    from textsobol.text.explanation import TextExplanation
    from textsobol.text.records import Measures, Path, Word

# What the measures mean; "own score" is for scores that are not shares of the variation.
MEASURE_NOTES = {**MEASURES, "own score": "the method's own score, on its own scale"}
_UNITS = {
    "logit": "log-odds", "probability": "probability", "log-probability": "log-probability",
}  # fmt: skip
_WORD = "\u2068{}\u2069"  # `replace_controls` removes these two from every text

# The order that numbers.js expects.
_FIELDS = (
    "score", "low", "high", "total", "total_low", "total_high", "first", "first_low", "first_high",
    "effect", "effect_low", "effect_high", "stability",
)  # fmt: skip
# For the other of two labels, scores and effects are negated, and their ends swapped.
_OPPOSITE = [0, 2, 1, 3, 4, 5, 6, 7, 8, 9, 11, 10, 12]
_SIGNS = np.array([-1, -1, -1, 1, 1, 1, 1, 1, 1, -1, -1, -1, 1])
_FULL = 32767  # the integer for the scale of a field
_UNKNOWN = -32768


@dataclass(frozen=True)
class Piece:
    """A piece of the displayed text: a word, or the text between two words.

    Attributes:
        text: without control characters.
        status: of the word, or ``None`` between words.
        kind: ``for`` or ``against`` the label, ``share`` if scores have no direction, or empty if
            the word hardly matters.
        opacity: of its colour, 0 to 1.
        name: of a part of a prompt; else empty.
    """

    text: str
    status: str | None = None
    kind: str = ""
    opacity: float = 0.0
    name: str = ""


def cut_texts(explanation: TextExplanation, highest: float | None = None) -> list[list[Piece]]:
    """Cut the one or two texts of an explanation into pieces.

    Args:
        explanation: what to display.
        highest: the score that gets the full colour; by default the explanation's highest.
    """
    highest = find_highest(explanation) if highest is None else highest
    return [list(_cut(explanation, part, highest)) for part in range(len(explanation.texts))]


def _cut(explanation: TextExplanation, part: int, highest: float) -> Iterator[Piece]:
    characters = _clean_characters(explanation.texts[part])
    # Shares are squares: their root makes the colour proportional to the effect.
    # numbers.js has the same rule, for other labels and measures.
    power = 0.5 if is_share(explanation) else 1.0
    done = 0
    for word in explanation.words:
        if word.part != part:
            continue
        if word.start > done:
            yield Piece("".join(characters[done : word.start]))
        score = explanation.score_of(word).score
        opacity = (abs(score) / highest) ** power if highest > 0 else 0.0
        direction = ("for" if score > 0 else "against") if is_signed(explanation) else "share"
        kind = direction if opacity >= 0.1 else ""
        shown = "".join(characters[word.start : word.end])
        yield Piece(shown, word.status, kind, opacity, clean(word.name))
        done = word.end
    if done < len(characters):
        yield Piece("".join(characters[done:]))


def find_highest(explanation: TextExplanation) -> float:
    """The highest absolute score for the target."""
    return max((abs(explanation.score_of(word).score) for word in explanation.words), default=0.0)


def shows_probabilities(explanation: TextExplanation) -> bool:
    """Whether labels have probabilities; a function may return any scores."""
    if explanation.settings.get("score") != "output":
        return True
    values = list(explanation.probabilities.values())
    return len(values) > 1 and min(values) >= 0 and math.isclose(sum(values), 1, abs_tol=1e-3)


def name_method(settings: Mapping[str, Any]) -> str | None:
    """The method and, unless scores are shares of the variance, what they are.

    Example:
        >>> name_method({"method": "occlusion", "quantity": "loss when left out"})
        'occlusion (loss when left out)'
    """
    method, quantity = settings.get("method"), settings.get("quantity")
    if quantity in (None, Sobol.quantity):  # old files have none
        return method
    return f"{method} ({quantity})"


def is_signed(explanation: TextExplanation) -> bool:
    """Whether scores have a direction, for or against."""
    return bool(explanation.settings.get("signed", True))


def is_share(explanation: TextExplanation) -> bool:
    """Whether scores are shares of the variance: the total index of every word is known."""
    scored = (word for word in explanation.words if word.status == "scored")
    return not any(math.isnan(explanation.score_of(word).total) for word in scored)


def rank_labels(explanation: TextExplanation | ImageExplanation) -> list[tuple[str, float]]:
    """Labels with their probabilities, the likeliest first; an answer, then its parts in order."""
    ranked = list(explanation.probabilities.items())
    is_answer = "answer" in explanation.settings
    return ranked if is_answer else sorted(ranked, key=lambda item: -item[1])


def is_contrast(explanation: TextExplanation) -> bool:
    """Whether the target is a contrast of two labels, which has no probability."""
    return explanation.target not in explanation.probabilities


def format_signed(value: float, digits: int = 3) -> str:
    """The number with its sign; ``0`` if it rounds to 0.

    Example:
        >>> format_signed(0.25), format_signed(-0.25), format_signed(-0.0001)
        ('+0.250', '\u22120.250', '0')
    """
    return records.format_signed(value, digits).replace("-", "\u2212")


def format_interval(explanation: TextExplanation, own: Measures) -> str:
    """The interval of a score; empty if unknown or without width."""
    doubt = f", {own.doubt}" if own.doubt else ""  # numbers.js has the same rule
    if explanation.is_exact:
        return f"exact{doubt}"
    if not own.high > own.low:
        return ""
    return f"{format_signed(own.low)} to {format_signed(own.high)}{doubt}"


def name_unit(explanation: TextExplanation) -> str:
    """The unit of effects and sums."""
    unit = _UNITS.get(explanation.settings.get("score", ""), "score")
    return f"{unit} difference" if is_contrast(explanation) else unit


def _describe_sums(explanation: TextExplanation) -> str | None:
    """How the target's log-odds add up, in a sentence."""
    sums = explanation.sums.get(explanation.target)
    if sums is None:
        return None
    value, baseline, additive = (round(n, 2) for n in (sums.value, sums.baseline, sums.additive))
    # Of rounded numbers, so that the sum on the page is right.
    remainder = value - baseline - additive
    average, whole = (format_signed(n, 2).removeprefix("+") for n in (baseline, value))
    share = ""
    # Far outside of 0 to 1 it is noise, as estimators other than flip give.
    if explanation.settings.get("base_masks") != 1 and -0.05 < sums.additive_share < 1.05:
        alone = f"{100 * min(1.0, max(0.0, sums.additive_share)):.0f} %"
        share = f" Words on their own cause {alone} of the variation."
    return (
        f"How it adds up: {average} on average over all masks, {format_signed(additive, 2)} from "
        f"the words' own effects, {format_signed(remainder, 2)} from interactions: {whole} "
        f"({name_unit(explanation)}).{share}"
    )


def make_sentences(explanation: TextExplanation) -> dict[str, list[str]]:
    """The sentences about the target, by CSS class; cut so that every second piece is a word."""
    sentences = {
        "summary": summarise(explanation, _WORD.format),
        "flip": describe_flip_set(explanation, _WORD.format),
        "screening": describe_screening(explanation),
        "advice": explanation.advice,
        "sums": _describe_sums(explanation),
    }
    return {
        name: re.split("[\u2068\u2069]", text) if text else [] for name, text in sentences.items()
    }


def count_grouped(explanation: TextExplanation) -> int:
    """Number of words that were masked as groups of neighbours."""
    return sum(word.shared_by > 1 for word in explanation.words)


def clean(text: str) -> str:
    r"""The text without control characters, with line ends as in HTML.

    Example:
        >>> clean("two\r\nlines")
        'two\nlines'
    """
    return "".join(_clean_characters(text))


def _clean_characters(text: str) -> list[str]:
    """What is displayed for every character; empty if removed, so that places stay the same."""
    characters = list(replace_controls(text))
    for place, character in enumerate(text):
        if character == "\r":
            characters[place] = "" if text[place + 1 : place + 2] == "\n" else "\n"
    return characters


def make_page_data(explanation: TextExplanation, most_labels: int | None = None) -> dict[str, Any]:
    """The data for the page's script; words are identified by their number.

    Values by label are lists of pairs: a label called ``constructor`` must not become the key of a
    JavaScript object.

    Args:
        explanation: what to display.
        most_labels: how many of the likeliest labels get numbers; by default all.
    """
    ranked = rank_labels(explanation)
    likeliest = [label for label, _ in ranked if label in explanation.targets][:most_labels]
    if explanation.target not in likeliest:
        likeliest.append(explanation.target)
    labels = [(explanation.target, None)] if is_contrast(explanation) else ranked
    scored = [word for word in explanation.words if word.status == "scored"]
    path = explanation.path
    return {
        "labels": [[clean(name), value] for name, value in labels],
        "label": clean(explanation.target),
        "prediction": clean(explanation.prediction),
        "unit": name_unit(explanation),
        "method": explanation.settings.get("method", ""),
        "isShare": is_share(explanation),
        "isExact": explanation.is_exact,
        "isSigned": is_signed(explanation),
        "isOutput": not shows_probabilities(explanation),
        "status": "".join(word.status[0] for word in explanation.words),
        "screened": "".join(str(int(word.screened_out)) for word in scored)
        if explanation.n_screened
        else "",
        "sharedBy": [word.shared_by for word in scored] if count_grouped(explanation) else [],
        "numbers": _pack_labels(scored, likeliest),
        "sentences": [
            [clean(label), make_sentences(replace(explanation, target=label))]
            for label in likeliest
        ],
        "pairs": [
            [
                *pair.words,
                [
                    [clean(label), [own.effect, *map(finite_or_none, (own.low, own.high))]]
                    for label, own in pair.scores.items()
                ],
            ]
            for pair in explanation.pairs
        ],
        "path": None if path is None else _pack_path(explanation, path, likeliest),
    }


def _pack_path(explanation: TextExplanation, path: Path, labels: Sequence[str]) -> dict[str, Any]:
    """The steps of the path, with the probabilities of the labels that can be selected."""
    known = explanation.probabilities
    labels = [label for label in dict.fromkeys([path.label, *labels]) if label in known]
    digits = 3 if shows_probabilities(explanation) else 15

    def values(probabilities: Mapping[str, float]) -> list[float]:
        return [round(probabilities[label], digits) for label in labels]

    return {
        "labels": [clean(label) for label in labels],
        "start": values(known),
        "steps": [
            [step.words, values(step.probabilities), clean(step.prediction)] for step in path.steps
        ],
    }


def _pack_labels(words: Sequence[Word], labels: Sequence[str]) -> list[list[Any]]:
    """Packed numbers by label, or the name of the label whose numbers are the opposite."""
    values = [
        np.array([[getattr(word.scores[label], name) for word in words] for name in _FIELDS])
        for label in labels
    ]
    names = [clean(label) for label in labels]
    if len(labels) == 2:
        opposite = values[0][_OPPOSITE] * _SIGNS[:, None]
        if np.allclose(opposite, values[1], rtol=1e-4, equal_nan=True):
            return [[names[0], _pack(values[0])], [names[1], names[0]]]
    return [[name, _pack(own)] for name, own in zip(names, values, strict=True)]


def _pack(values: Floats) -> dict[str, Any]:
    """Pack the numbers of a label into 16-bit integers: a report of 500 texts has a million.

    Every field has its own scale, so that small numbers keep their order. A field without values
    has the scale ``None`` and takes no space.
    """
    known = np.isfinite(values)
    scales = np.abs(np.where(known, values, 0.0)).max(axis=1, initial=0.0)
    scales[scales == 0] = 1.0
    integers = np.where(known, np.round(values / scales[:, None] * _FULL), _UNKNOWN)
    is_known = np.any(known, axis=1).tolist()
    return {
        "integers": base64.b64encode(integers[is_known].astype("<i2").tobytes()).decode("ascii"),
        "scales": [n if own else None for n, own in zip(scales.tolist(), is_known, strict=True)],
    }


def finite_or_none(value: float) -> float | None:
    """The number, or ``None`` for NaN and infinities, which JSON does not have."""
    return value if math.isfinite(value) else None
