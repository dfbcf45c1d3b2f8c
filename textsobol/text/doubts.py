"""What makes an explanation say little: words that the model does not know, and punctuation.

Both are warned of, and recorded in the settings.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np

from textsobol.errors import PunctuationWarning, UnknownWordsWarning, warn
from textsobol.methods import Attribution
from textsobol.steps import Ask, Steps
from textsobol.text.masked_model import MaskedTextModel
from textsobol.text.tokens import keep_settings
from textsobol.text.unspaced import name_cutters
from textsobol.text.words import Segmenter, find_words

# Of each of 5,000 film reviews the bundled model knows more than 80 % of the words; of texts in 21
# other languages, fewer than 60 %.
_MOST_UNKNOWN = 0.25
_LEAST_UNKNOWN = 3  # words: in a short text, a name or two are no sign of another language
_NO_CHANGE = 1e-6  # relative to the score: what rounding can do


def note_doubts(
    model: MaskedTextModel, classifier: Any, segment: Segmenter, *, is_bundled: bool
) -> dict[str, Any]:
    """What the settings of an explanation say of its text; runs no method."""
    texts = [model.text] if isinstance(model.text, str) else list(model.text)
    cutters, difference = name_cutters(segment, texts), model.measure_precision()
    return {
        **({"segmenters": cutters} if cutters else {}),
        **({} if difference is None else {"precision_difference": difference}),
        **warn_of_unknown_words(
            texts, classifier.tokenizer, classifier.name, is_bundled=is_bundled
        ),
    }


def warn_of_unknown_words(
    texts: Sequence[str], tokenizer: Any, name: str, *, is_bundled: bool
) -> dict[str, float]:
    """Warn if a large fraction of the words are unknown to the tokenizer; return it, to record."""
    counts = [_count_unknown(text, tokenizer) for text in texts]
    n_unknown, n_words = (sum(column) for column in zip(*counts, strict=True))
    if n_unknown < min(_LEAST_UNKNOWN, n_words) or n_unknown <= _MOST_UNKNOWN * n_words:
        return {}
    percent = f"{100 * n_unknown / n_words:.0f} %"
    knows = ", which knows English film reviews" if is_bundled else ""
    warn(
        f"{percent} of the words are unknown to the {name} model{knows}, so its prediction and "
        f"this explanation mean little. Give a model for texts of this language and kind "
        f"(--model)",
        UnknownWordsWarning,
    )
    return {"unknown_words": round(n_unknown / n_words, 3)}


def _count_unknown(text: str, tokenizer: Any) -> tuple[int, int]:
    """Numbers of unknown words and of all words; a word with an unknown token is unknown."""
    unknown = getattr(tokenizer, "unk_token_id", None)
    if unknown is None or not getattr(tokenizer, "is_fast", False):
        return 0, 0
    with keep_settings(tokenizer):
        found = tokenizer(
            text, add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )
    words = find_words(text)
    ends = [end for _, end in words]
    hit = set()
    for token, (start, end) in zip(found["input_ids"], found["offset_mapping"], strict=True):
        number = bisect_right(ends, start)
        if token == unknown and number < len(words) and words[number][0] < end:
            hit.add(number)
    return len(hit), len(words)


def weigh_punctuation(
    model: MaskedTextModel, found: Attribution, target: str
) -> Steps[dict[str, float]]:
    """Warn if punctuation, which is no feature, moves the score further than all words together.

    How far words move the score is the sum of their absolute effects; punctuation, the change when
    all of it is left out of the whole text: one more forward pass, if the budget has one left.
    """
    marks = model.find_punctuation()
    if found.indices is None or not any(marks) or not model.ledger.has_room:
        return {}
    column = model.labels.index(target)
    effects = found.indices.effect.reshape(len(found.indices.effect), -1)[:, column]
    by_words = float(np.abs(effects).sum())
    score = float(model.score_masks(model.problem().whole)[0, column])
    bare = model.with_features(marks)
    outputs = yield Ask(bare, np.zeros((1, bare.n_features), dtype=bool))
    rest = float(model.to_scores(outputs)[0, column])
    moved = score - rest
    if abs(moved) <= by_words + _NO_CHANGE * max(1.0, abs(score), abs(rest)):
        return {}
    warn(
        f"punctuation moves the score of {target} by {moved:+.2f}, but all words together only by "
        f"{by_words:.2f}: to score punctuation too, give unit='word+punctuation' (--unit)",
        PunctuationWarning,
    )
    return {"punctuation_effect": moved}
