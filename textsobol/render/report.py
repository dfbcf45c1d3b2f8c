"""Many explanations on one page: a list to filter and sort, and the words of all texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from textsobol.corpus.words import CorpusWord, corpus_phrases, corpus_words
from textsobol.render.page import SCRIPTS, footer_of, format_prediction, render
from textsobol.render.view import (
    MEASURE_NOTES,
    Piece,
    clean,
    finite_or_none,
    page_data,
    parts_of,
)

if TYPE_CHECKING:
    from textsobol.corpus.view import CorpusView
    from textsobol.text.explanation import TextExplanation

_LISTED = 100  # words for and against each label, in each order
_LABELS = 5  # per text, the likeliest: this keeps the page small


def report_html(
    explanations: Iterable[TextExplanation],
    *,
    truth: Iterable[str | int | None] | None = None,
    title: str = "Explained texts",
    view: CorpusView | None = None,
) -> str:
    """A page of many explanations; see `textsobol.save_report`.

    Args:
        explanations: the texts on the page.
        truth: their true labels.
        title: heading of the page.
        view: words of a whole corpus, of which these texts are a sample.
    """
    from textsobol.text.explanation import TextExplanation

    if isinstance(explanations, TextExplanation):
        explanations = [explanations]
    explanations = list(explanations)
    if not explanations:
        raise ValueError("a report needs at least one explanation")
    strange = next((e for e in explanations if not isinstance(e, TextExplanation)), None)
    if strange is not None:
        raise ValueError(
            f"a report is of explanations, not of {type(strange).__name__}: "
            f"save_report(explainer.many(texts), path)"
        )
    true_labels = _true_labels(explanations, None if truth is None else list(truth))
    items = [_item(e, true) for e, true in zip(explanations, true_labels, strict=True)]
    known = [item["is_right"] for item in items if item["is_right"] is not None]
    return render(
        "report.html.j2",
        styles=("style.css", "report.css"),
        scripts=(*SCRIPTS, "report.js"),
        title=title,
        data={
            "measures": MEASURE_NOTES,
            "items": [_item_data(explanation) for explanation in explanations],
            "corpus": _corpus(explanations, view),
        },
        n_texts=len(explanations) if view is None else view.texts,
        n_failed=0 if view is None else view.failed,
        items=items,
        labels=sorted({item["prediction"] for item in items}),
        n_right=sum(known) if known else None,
        n_known=len(known),
        models=sorted({str(e.settings.get("model", "")) for e in explanations}),
    )


def _true_labels(
    explanations: Sequence[TextExplanation], truth: Sequence[str | int | None] | None
) -> list[str | None]:
    if truth is None:
        return [None] * len(explanations)
    if len(truth) != len(explanations):
        raise ValueError(
            f"truth has {len(truth)} labels for {len(explanations)} explanations; give one for "
            f"each, None where it is not known"
        )
    return [_true_label(e, label) for e, label in zip(explanations, truth, strict=True)]


def _true_label(explanation: TextExplanation, label: str | int | None) -> str | None:
    """The label's name; data sets often have its number in the model's order instead."""
    names = list(explanation.probabilities)
    if label is None or label != label:  # NaN: missing in a table
        return None
    if str(label) in names:
        return str(label)
    if isinstance(label, str) or label != int(label) or not 0 <= label < len(names):
        raise ValueError(f"unknown true label {label!r}; known: {', '.join(names)}")
    return names[int(label)]


def _item(explanation: TextExplanation, true: str | None) -> dict[str, Any]:
    return {
        "prediction": explanation.prediction,
        "value": format_prediction(explanation),
        "confidence": explanation.probabilities[explanation.prediction],
        "true": true,
        "is_right": None if true is None else true == explanation.prediction,
        "texts": [clean(text) for text in explanation.texts],
    }


def _item_data(explanation: TextExplanation) -> dict[str, Any]:
    """The page's data, and where its words are in the page's text."""
    cuts = [[_signed_length(piece) for piece in pieces] for pieces in parts_of(explanation)]
    facts = " · ".join(f"{name} {value}" for name, value in footer_of(explanation))
    return {**page_data(explanation, _LABELS), "cuts": cuts, "facts": clean(facts)}


def _signed_length(piece: Piece) -> int:
    """Length in UTF-16 units, as in a browser; negative between words."""
    length = len(piece.text.encode("utf-16-le")) // 2
    return length if piece.status is not None else -length


def _corpus(
    explanations: Sequence[TextExplanation], view: CorpusView | None
) -> list[tuple[str, list[list[Any]], list[list[Any]]]]:
    """The top words and phrases of every label; labels that are predicted often come first."""
    if view is None:
        words, phrases = corpus_words(explanations), corpus_phrases(explanations)
        predicted = Counter(explanation.prediction for explanation in explanations)
    else:
        words, phrases, predicted = list(view.words), list(view.phrases), Counter(view.predicted)
    labels = sorted({word.label for word in words}, key=lambda label: (-predicted[label], label))
    return [
        (clean(label), _list_words(words, label), _list_words(phrases, label))  # the page's order
        for label in labels
    ]


def _list_words(words: Sequence[CorpusWord], label: str) -> list[list[Any]]:
    return [
        [clean(word.word), word.texts, word.occurrences, word.score,
         *map(finite_or_none, (word.effect, word.low, word.high)), word.weight]
        for word in _pick_words([word for word in words if word.label == label])
    ]  # fmt: skip


def _pick_words(words: Sequence[CorpusWord]) -> list[CorpusWord]:
    orders: list[Callable[[CorpusWord], float]] = [
        lambda word: abs(word.weight),
        lambda word: abs(word.score),
        lambda word: word.texts,
    ]
    chosen: dict[CorpusWord, None] = {}
    for sign in (1, -1):
        own = [word for word in words if word.weight * sign > 0]
        for size in orders:
            chosen.update(dict.fromkeys(sorted(own, key=size, reverse=True)[:_LISTED]))
    return list(chosen)
