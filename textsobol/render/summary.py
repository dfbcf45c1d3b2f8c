"""Explanations in sentences, for the terminal and the page."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from textsobol.render.printable import one_line
from textsobol.text.records import format_probability, join_words

if TYPE_CHECKING:
    from textsobol.text.explanation import TextExplanation
    from textsobol.text.records import WordScore

_NAMED = 3  # most words named on each side, for and against
_WORTH_NAMING = 0.25  # of the highest score on that side
_LEAST = 0.05  # of the highest score
_CONSIDERED = 20  # top words

# Measures of a word, and what each means.
MEASURES = {
    "score": "share of the variation, with the direction of the effect",
    "share": "share of the variation of the model's answer that involves the word",
    "alone": "share of the variation that the word causes without other words",
    "effect": "mean change of the label's log-odds when the word is present",
}
Mark = Callable[[str], str]  # wraps the name of a word in a sentence


def summarise(explanation: TextExplanation, mark: Mark = str) -> str:
    """One sentence: the prediction, and the words that caused it.

    Args:
        explanation: what to summarise.
        mark: wraps each word of the text, so that a page can highlight it.

    Example:
        >>> from textsobol import TextExplainer
        >>> def mood(texts):
        ...     return [[t.count("dull"), t.count("fine")] for t in texts]
        >>> explainer = TextExplainer(mood, label_names=["bad", "good"])
        >>> print(summarise(explainer("a dull, dull film with fine music")))
        bad, mostly because of dull (1) (50 % of the variation) and dull (2)
    """
    label = one_line(explanation.target)
    scored = [word for word in explanation.words if word.status == "scored"]
    if len(scored) > 1 and scored[0].shared_by == len(scored):  # all words are one group
        return f"{label}: the budget is too small to tell the words apart"
    words_for, words_against = (_pick_words(explanation, sign) for sign in (1, -1))
    named_for, named_against = (_join_names(words, mark) for words in (words_for, words_against))
    if not (words_for or words_against):
        return f"{label}: {_describe_undirected(explanation, mark)}"
    if explanation.settings.get("contrast", [explanation.target])[0] != explanation.prediction:
        sides = (f"for {label}", named_for), ("against it", named_against)
        return "; ".join(f"{name}: {named}" for name, named in sides if named)
    if not words_for:
        return f"{label}, despite {named_against}"
    is_most = sum(word.total for word in words_for) >= 0.5
    sentence = f"{label}, {'mostly' if is_most else 'above all'} because of {named_for}"
    if words_against and words_against[0].score < _WORTH_NAMING * -words_for[0].score:
        sentence += f", despite {named_against}"
    if math.isnan(words_for[0].low) and not math.isnan(words_for[0].total):
        sentence += "; too few forward passes for intervals"
    return sentence


def _describe_undirected(explanation: TextExplanation, mark: Mark) -> str:
    """The words that matter, if their direction is unclear or zero on average."""
    top = [word for word in explanation.top(_CONSIDERED) if word.doubt and word.total_low > 0]
    if not top:
        return "no word clearly matters more than the others"
    words = [word for word in top if word.total >= _WORTH_NAMING * top[0].total][:_NAMED]
    verb = "matters" if len(words) == 1 else "matter"
    return f"{_join_names(words, mark)} {verb} most, {top[0].doubt}"


def _pick_words(explanation: TextExplanation, sign: int) -> list[WordScore]:
    """The top words for (1) or against (-1) the label, except uncertain ones."""
    top = explanation.top(_CONSIDERED)
    if not explanation.settings.get("signed", True) and sign < 0:
        return []  # the method has no direction
    own = [
        word for word in top if word.score * sign > 0 and (math.isnan(word.low) or word.is_clear)
    ]
    if not own:
        return []
    least = max(_WORTH_NAMING * abs(own[0].score), _LEAST * abs(top[0].score))
    return [word for word in own if abs(word.score) >= least][:_NAMED]


def _join_names(words: list[WordScore], mark: Mark) -> str:
    if not words:
        return ""
    # Quotes separate the words of a group from the sentence.
    forms = ["{}" if word.shared_by == 1 else "\u201c{}\u201d" for word in words]
    names = [mark(f.format(one_line(word.name))) for f, word in zip(forms, words, strict=True)]
    if round(words[0].total, 3) <= 1:  # neither NaN nor an estimate above 1
        names[0] += f" ({words[0].total:.0%} of the variation)".replace("%", " %")
    return join_words(names)


def describe_screening(explanation: TextExplanation) -> str | None:
    """Which scores are predictions, and how much of the variation can involve these words.

    No set of words is involved in more of the variation than its total indices add up to, and no
    set of groups.
    """
    n_screened = explanation.n_screened
    if not n_screened:
        return _describe_groups(explanation)
    n_scored = sum(word.status == "scored" for word in explanation.words)
    if n_screened == n_scored:
        return "all scores are approximate: predicted by gate gradients, not measured"
    sums = explanation.sums[explanation.target]
    least = sums.screened**2 / sums.screened_high if sums.screened_high > 0 else 0.0
    low, high = (f"{100 * min(1.0, value):.0f}" for value in (least, sums.screened_high))
    return (
        f"{n_screened} of {n_scored} words were screened out: their scores are predictions; "
        f"together they are involved in {low} to {high} % of the variation"
    )


def _describe_groups(explanation: TextExplanation) -> str | None:
    """How much of the variation can involve groups, if intervals say anything."""
    sums = explanation.sums.get(explanation.target)
    if not explanation.is_grouped or sums is None or not sums.screened_high < 1:
        return None
    high = f"{100 * sums.screened_high:.0f}"
    return f"groups of words are involved in at most {high} % of the variation, each as one"


def describe_flip_set(explanation: TextExplanation, mark: Mark = str) -> str | None:
    """The flip set in a sentence: "without dull and ruined: POSITIVE 0.61"."""
    path = explanation.path
    if path is None or not path.steps:
        return None
    if path.flip is not None:
        words = join_words([mark(one_line(text)) for text in path.flip.texts])
        now = path.flip.prediction
        left = format_probability(path.flip.probabilities[now])
        unchecked = "" if path.flip.is_irreducible else " (fewer words may be enough)"
        return f"without {words}: {one_line(now)} {left}{unchecked}"
    lowest = path.lowest
    assert lowest is not None
    label = path.label
    steps = path.steps[: path.steps.index(lowest) + 1]
    if len(steps) <= _NAMED and all(len(step.words) == 1 for step in steps):
        gone = join_words([mark(one_line(step.text)) for step in steps])
    else:
        gone = f"{sum(len(step.words) for step in steps)} words"
    left = f"{one_line(label)} {format_probability(lowest.probabilities[label])}"
    if len(explanation.probabilities) == 1 or explanation.answer is not None:
        return f"without {gone}: {left}"
    if explanation.is_exact:
        return f"no deletion changes the prediction; without {gone} still {left}"
    return f"no deletions found that change the prediction; without {gone} still {left}"
