"""Explanations for the pages: a small sentiment model whose answers are known."""

import math
import re
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("playwright")

import numpy as np
from playwright.sync_api import Locator, Page

from tests.problems import arguments
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


def explained(text: str = TEXT, **settings: Any) -> TextExplanation:
    explainer = TextExplainer(sentiment, label_names=LABELS)
    return explainer(text, **arguments(settings))


def length(texts: list[str]) -> list[float]:
    """A score that every text has, whatever is in it."""
    return [math.log1p(len(text)) for text in texts]


def word(page: Page, text: str) -> Locator:
    return page.locator(".w", has_text=re.compile(f"^{re.escape(text)}$")).first


def bars_of(page: Page) -> list[tuple[str, str]]:
    """Names and numbers of the bars, as they are seen."""
    names = page.locator(".bar button").all_text_contents()
    values = page.locator(".bar .value").evaluate_all("all => all.map((v) => v.firstChild.data)")
    return [(name, plus_minus(value)) for name, value in zip(names, values, strict=True)]


def choose(page: Page | Locator, name: str) -> None:
    """A label or a measure."""
    page.locator(".choice").get_by_text(name, exact=True).click()


def plus_minus(text: str) -> str:
    """Numbers as Python writes them."""
    return text.replace("\u2212", "-")


def with_measures(explanation: TextExplanation, text: str, **numbers: Any) -> TextExplanation:
    """With other numbers for a word, the same for all labels."""
    words = [
        replace(w, scores={label: replace(own, **numbers) for label, own in w.scores.items()})
        if w.text == text
        else w
        for w in explanation.words
    ]
    return replace(explanation, words=tuple(words))


def topics(texts: list[str]) -> np.ndarray:
    """Three labels; a goal and a penalty help each other."""
    counts = np.array([[t.count("goal"), t.count("vote"), t.count("star")] for t in texts], float)
    counts[:, 0] += [2.0 * ("goal" in t and "penalty" in t) for t in texts]
    odds = np.exp(counts)
    return odds / odds.sum(axis=1, keepdims=True)


TOPICS = ["sports", "politics", "film"]
NEWS = "A star and a goal, a penalty and a vote"
