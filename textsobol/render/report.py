"""Many explanations on one page: a list to filter and sort, and the words over all texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from textsobol.corpus.words import CorpusWord, tally_words
from textsobol.render import view as data
from textsobol.render.page import SCRIPTS, format_prediction, list_facts, render
from textsobol.text.explanation import TextExplanation

if TYPE_CHECKING:
    from textsobol.corpus.view import CorpusView

_LISTED = 100  # words for and against each label, in each order
_LABELS = 5  # per text, the likeliest: this keeps the page small
_ORDERS: list[Callable[[CorpusWord], float]] = [
    lambda word: abs(word.weight),
    lambda word: abs(word.score),
    lambda word: word.texts,
]


def render_report(
    explanations: Iterable[TextExplanation],
    *,
    truth: Iterable[str | int | None] | None = None,
    title: str = "Explained texts",
    view: CorpusView | None = None,
) -> str:
    """A page with many explanations; see `textsobol.save_report`.

    Args:
        explanations: the texts on the page.
        truth: their true labels.
        title: heading of the page.
        view: words of the corpus, if these texts are a sample of it.
    """
    if isinstance(explanations, TextExplanation):
        explanations = [explanations]
    explanations = list(explanations)
    if not explanations:
        raise ValueError("a report needs at least one explanation")
    strange = next((e for e in explanations if not isinstance(e, TextExplanation)), None)
    if strange is not None:
        raise ValueError(
            f"a report needs explanations, not {type(strange).__name__}: "
            f"save_report(explainer.many(texts), path)"
        )
    labels = [None] * len(explanations) if truth is None else list(truth)
    if len(labels) != len(explanations):
        raise ValueError(
            f"truth has {len(labels)} labels for {len(explanations)} explanations; give one for "
            f"each, None if unknown"
        )
    items = [_make_item(e, label) for e, label in zip(explanations, labels, strict=True)]
    known = [item["is_right"] for item in items if item["is_right"] is not None]
    if view is None:
        tally, predicted = tally_words(explanations), Counter(e.prediction for e in explanations)
        corpus = _list_corpus(tally.words(), tally.phrases(), predicted)
    else:
        corpus = _list_corpus(view.words, view.phrases, view.predicted)
    return render(
        "report.html.j2",
        styles=("style.css", "report.css"),
        scripts=(*SCRIPTS, "report.js"),
        title=title,
        data={
            "measures": data.MEASURE_NOTES,
            "items": [_make_item_data(explanation) for explanation in explanations],
            "corpus": corpus,
        },
        n_texts=len(explanations) if view is None else view.texts,
        n_failed=0 if view is None else view.failed,
        items=items,
        labels=sorted({item["prediction"] for item in items}),
        n_right=sum(known) if known else None,
        n_known=len(known),
        models=sorted({str(e.settings.get("model", "")) for e in explanations}),
    )


def _find_true_label(explanation: TextExplanation, label: str | int | None) -> str | None:
    """The name of a true label; data sets often give its number instead."""
    names = list(explanation.probabilities)
    if label is None or label != label:  # NaN: missing in a table
        return None
    if str(label) in names:
        return str(label)
    if isinstance(label, str) or label != int(label) or not 0 <= label < len(names):
        raise ValueError(f"unknown true label {label!r}; known: {', '.join(names)}")
    return names[int(label)]


def _make_item(explanation: TextExplanation, label: str | int | None) -> dict[str, Any]:
    true = _find_true_label(explanation, label)
    return {
        "prediction": explanation.prediction,
        "value": format_prediction(explanation),
        "confidence": explanation.probabilities[explanation.prediction],
        "true": true,
        "is_right": None if true is None else true == explanation.prediction,
        "texts": [data.clean(text) for text in explanation.texts],
    }


def _make_item_data(explanation: TextExplanation) -> dict[str, Any]:
    """The data of one text, with the places of its words."""
    cuts = [[_measure_piece(piece) for piece in pieces] for pieces in data.cut_texts(explanation)]
    facts = " · ".join(f"{name} {value}" for name, value in list_facts(explanation))
    return {**data.make_page_data(explanation, _LABELS), "cuts": cuts, "facts": data.clean(facts)}


def _measure_piece(piece: data.Piece) -> int:
    """Length in UTF-16 units, as browsers count; negative between words."""
    length = len(piece.text.encode("utf-16-le")) // 2
    return length if piece.status is not None else -length


def _list_corpus(
    words: Sequence[CorpusWord], phrases: Sequence[CorpusWord], predicted: Mapping[str, int]
) -> list[tuple[str, list[list[Any]], list[list[Any]]]]:
    """The top words and phrases of every label; the most predicted labels come first."""
    labels = {word.label for word in words}
    ordered = sorted(labels, key=lambda label: (-predicted.get(label, 0), label))
    return [
        (data.clean(label), _list_words(words, label), _list_words(phrases, label))
        for label in ordered
    ]


def _list_words(words: Sequence[CorpusWord], label: str) -> list[list[Any]]:
    """The top words in each order, for the label and against it."""
    chosen: dict[CorpusWord, None] = {}
    for sign in (1, -1):
        own = [word for word in words if word.label == label and word.weight * sign > 0]
        for order in _ORDERS:
            chosen.update(dict.fromkeys(sorted(own, key=order, reverse=True)[:_LISTED]))
    return [
        [data.clean(word.word), word.texts, word.occurrences, word.score,
         *map(data.finite_or_none, (word.effect, word.low, word.high)), word.weight]
        for word in chosen
    ]  # fmt: skip
