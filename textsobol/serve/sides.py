"""The sides of a comparison, or the only one, as the page shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from textsobol.render import view
from textsobol.render.page import format_prediction, list_facts
from textsobol.serve.messages import Choice
from textsobol.text.explanation import TextExplanation
from textsobol.text.records import Measures

if TYPE_CHECKING:
    from textsobol.sobol.arrays import Array
    from textsobol.text.masked_model import MaskedTextModel


@dataclass
class Side:
    """One explanation of a text, and the model that makes it.

    Attributes:
        name: the model, the method, or both.
        masked: the model applied to the text; ``None`` for a text of the corpus.
        score: what is analysed; see `TextExplainer`.
        explanation: the best so far.
    """

    name: str
    choice: Choice | None
    masked: MaskedTextModel | None = None
    score: str = ""
    explanation: TextExplanation | None = None


def mask_without(masked: MaskedTextModel, first: Side, removed: Sequence[int]) -> Array:
    """The mask without the words of those numbers, which are numbers of the first side's words."""
    assert first.masked is not None
    words = first.masked.words
    if any(number >= len(words) for number in removed):
        raise ValueError("there is no such word")
    spans = [(words[number].start, words[number].end) for number in removed]
    own = (masked.words[number] for number in masked.scored)
    return np.array([not any(a < w.end and w.start < b for a, b in spans) for w in own])


def contrast_labels(found: TextExplanation, pair: tuple[str, str]) -> TextExplanation:
    """Why the first label and not the second."""
    names = {view.clean(label): label for label in found.targets}
    unknown = [label for label in pair if label not in names]
    if unknown:
        raise ValueError(f"{found.settings['model']} has no label {', '.join(unknown)}")
    return found.contrast(names[pair[0]], names[pair[1]])


def make_bare(side: Side) -> TextExplanation:
    """The text and the prediction, before anything is explained: all words are 0."""
    if side.masked is None:
        assert side.explanation is not None
        return side.explanation
    masked = side.masked
    nothing = dict.fromkeys(masked.labels, Measures.of_score(0.0))
    words = tuple(
        replace(word, scores=nothing) if word.status == "scored" else word for word in masked.words
    )
    settings = {"score": side.score, "method": side.choice and side.choice.method}
    return TextExplanation(
        masked.text, words, masked.probabilities, masked.prediction, {}, settings
    )


def describe_text(side: Side) -> dict[str, Any]:
    """The text in words, and what the model says of it."""
    bare = make_bare(side)
    labels = sorted(bare.probabilities.items(), key=lambda item: -item[1])
    return {
        "name": side.name,
        "model": -1 if side.choice is None else side.choice.model,
        "parts": [
            [[piece.text, (piece.status or " ")[0]] for piece in pieces]
            for pieces in view.cut_texts(bare)
        ],
        "labels": [[view.clean(label), value] for label, value in labels],
        "prediction": view.clean(bare.prediction),
        "value": format_prediction(bare),
        "isOutput": not view.shows_probabilities(bare),
        "isLive": side.masked is not None,
        "blank": {**view.make_page_data(bare), "sentences": []},
    }


def describe(explanation: TextExplanation) -> dict[str, Any]:
    """An explanation as the page's script takes it."""
    facts = (f"{name} {value}" for name, value in list_facts(explanation))
    return {
        "data": view.make_page_data(explanation),
        "facts": view.clean(" · ".join(facts)),
        "flip": _order_flip(explanation),
        "hasPath": explanation.path is not None,
        "contrast": [view.clean(label) for label in explanation.settings.get("contrast", ())],
        "canContrast": _can_contrast(explanation),
    }


def _can_contrast(explanation: TextExplanation) -> bool:
    found = explanation.evidence
    has_masks = found is not None and found.indices is not None
    return has_masks or "contrast" in explanation.settings


def _order_flip(explanation: TextExplanation) -> list[int]:
    """The words of the flip set, those first that the path deletes first."""
    if explanation.path is None or explanation.path.flip is None:
        return []
    steps: Mapping[int, int] = {
        word: place for place, step in enumerate(explanation.path.steps) for word in step.words
    }
    return sorted(explanation.path.flip.words, key=lambda word: steps.get(word, len(steps)))
