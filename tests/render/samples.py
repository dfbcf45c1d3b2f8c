"""Explanations for the pages: a small sentiment model whose answers are known."""

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
from playwright.sync_api import Locator, Page

from textsobol import TextExplainer, TextExplanation

LABELS = ["NEGATIVE", "POSITIVE"]
TEXT = "The film is not good.\n\nThe music is fine, but the ending is awful and far too long."
_WEIGHTS = {"good": 2.0, "fine": 1.0, "awful": -1.5, "long": -0.5}


def sentiment(texts: list[str]) -> np.ndarray:
    odds = []
    for text in texts:
        words = [word.strip(".,") for word in text.split()]
        value = sum(_WEIGHTS.get(word, 0.0) for word in words)
        odds.append(value - 3.0 * ("not" in words and "good" in words))
    positive = 1 / (1 + np.exp(-np.array(odds)))
    return np.stack([1 - positive, positive], axis=1)


def explained(text: str = TEXT, method: str = "sobol", **settings: object) -> TextExplanation:
    explainer = TextExplainer(sentiment, labels=LABELS)
    return explainer(text, method=method, **settings)  # type: ignore[arg-type]


def length(texts: list[str]) -> list[float]:
    """A score that every text has, whatever is in it."""
    return [math.log1p(len(text)) for text in texts]


def word(page: Page, text: str) -> Locator:
    return page.locator(".w", has_text=re.compile(f"^{re.escape(text)}$")).first


def contrasted(explanation: TextExplanation, one: str, other: str) -> TextExplanation:
    """As `contrast` makes it, with the numbers of one label."""
    name = f"{one} rather than {other}"
    words = [replace(w, scores={name: w.scores[one]} if w.scores else {}) for w in explanation.words]
    return replace(
        explanation,
        words=tuple(words),
        label=name,
        sums={name: explanation.sums[one]},
        advised={},
        settings={**explanation.settings, "contrast": [one, other]},
    )


def with_measures(explanation: TextExplanation, text: str, **numbers: Any) -> TextExplanation:
    """With other numbers for a word, the same for all labels."""
    words = [
        replace(w, scores={label: replace(own, **numbers) for label, own in w.scores.items()})
        if w.text == text
        else w
        for w in explanation.words
    ]
    return replace(explanation, words=tuple(words))
