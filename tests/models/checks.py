"""What every kind of model is checked for."""

from typing import Any

import numpy as np

from textsobol import TextExplainer
from textsobol.text.masked_text import MaskedText
from textsobol.text.words import find_words

TEXT = "The plot is good but the ending is bad and long."


def check_scores(explainer: TextExplainer, expected: Any, *, atol: float = 1e-5) -> None:
    """Probabilities of 40 masked texts, the empty one among them, against the library's own."""
    spans = list(find_words(TEXT))
    masks = np.random.default_rng(0).random((40, len(spans))) < 0.5
    masks[0], masks[1] = True, False
    texts = MaskedText(TEXT, spans).render(masks)
    found = explainer.masked(TEXT).predict_masks(masks)
    np.testing.assert_allclose(found, expected(texts), atol=atol)


def get_given(explainer: TextExplainer) -> dict[str, str]:
    given = explainer.settings["given"]
    assert isinstance(given, dict)
    return given
