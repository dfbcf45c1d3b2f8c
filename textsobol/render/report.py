"""Many explanations in one page: a list to filter and sort, and the words of all texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from textsobol.render.page import SCRIPTS, footer_of, render, shown_value
from textsobol.render.view import page_data, parts_of, shown
from textsobol.text.corpus import CorpusWord, corpus_words

if TYPE_CHECKING:
    from textsobol.text.explanation import TextExplanation

_LISTED = 100  # words of the corpus for and against each label


def report_html(
    explanations: Iterable[TextExplanation],
    *,
    truth: Sequence[str | int | None] | None = None,
    title: str = "Explained texts",
) -> str:
    """A page of many explanations; see `textsobol.save_report`."""
    explanations = list(explanations)
    if not explanations:
        raise ValueError("a report needs at least one explanation")
    true_labels = _true_labels(explanations, truth)
    items = [_item(e, true) for e, true in zip(explanations, true_labels, strict=True)]
    known = [item["is_right"] for item in items if item["is_right"] is not None]
    return render(
        "report.html.j2",
        styles=("style.css", "report.css"),
        scripts=(*SCRIPTS, "report.js"),
        title=title,
        data={
            "items": [_item_data(explanation) for explanation in explanations],
            "corpus": _corpus(explanations),
        },
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
    """The label's name; data sets often have numbers, in the order of the model's labels."""
    names = list(explanation.probabilities)
    if label is None or label in names:
        return label
    if isinstance(label, str) or not 0 <= label < len(names):
        raise ValueError(f"unknown true label {label!r}; known: {', '.join(names)}")
    return names[label]


def _item(explanation: TextExplanation, true: str | None) -> dict[str, Any]:
    texts = [explanation.text] if isinstance(explanation.text, str) else list(explanation.text)
    return {
        "prediction": explanation.prediction,
        "value": shown_value(explanation),
        "confidence": explanation.probabilities[explanation.prediction],
        "true": true,
        "is_right": None if true is None else true == explanation.prediction,
        "texts": [shown(text) for text in texts],
    }


def _item_data(explanation: TextExplanation) -> dict[str, Any]:
    """The page's data, and where its words stand in the plain text of the page."""
    cuts = []
    for pieces in parts_of(explanation):
        lengths = []
        for piece in pieces:
            # A browser counts in UTF-16.
            length = len(piece.text.encode("utf-16-le")) // 2
            lengths.append(length if piece.status is not None else -length)
        cuts.append(lengths)
    facts = " · ".join(f"{name} {value}" for name, value in footer_of(explanation))
    return {**page_data(explanation), "cuts": cuts, "facts": facts}


def _corpus(explanations: Sequence[TextExplanation]) -> dict[str, list[list[Any]]]:
    """For every label the words with the most weight for it and against it."""
    by_label: dict[str, list[CorpusWord]] = {}
    for word in corpus_words(explanations):
        by_label.setdefault(word.label, []).append(word)
    chosen = {}
    for label, words in sorted(by_label.items()):
        speaking = [word for word in words if word.weight > 0][:_LISTED]
        against = [word for word in words if word.weight < 0][:_LISTED]
        chosen[label] = [
            [shown(word.word), word.texts, word.occurrences, word.score, word.effect]
            for word in (*speaking, *against)
        ]
    return chosen
