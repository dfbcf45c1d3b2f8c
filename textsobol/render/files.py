"""Pages of several explanations, written to a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textsobol.files import write_text

if TYPE_CHECKING:
    from textsobol.text.explanation import TextExplanation

# Settings in which explanations of a text can differ, the most important first, and the words
# before their values: a model, method or estimator is a name in itself; 0.9 alone is not.
_SETTINGS = {
    "model": "", "method": "", "estimator": "", "keep": "keep rate ", "unit": "unit ",
    "perturbation": "perturbation ", "score": "score ", "seed": "seed ",
}  # fmt: skip


def save_report(
    explanations: Iterable[TextExplanation],
    path: str | Path,
    *,
    truth: Iterable[str | int | None] | None = None,
    title: str = "Explained texts",
) -> None:
    """Write many explanations to one page: texts to filter and sort, and their words in total.

    Args:
        explanations: explanations of different texts, as from `TextExplainer.many`.
        path: the page, an ``.html`` file.
        truth: the true label of every text, by name or by number in the order of the model's
            labels, ``None`` where it is not known. The page then marks wrong predictions.
            If there are many labels, the page has the five likeliest of each text.
        title: heading of the page.

    Example:
        >>> from textsobol import TextExplainer, save_report
        >>> explainer = TextExplainer(lambda texts: [t.count("good") for t in texts])
        >>> save_report(explainer.many(["good film", "so good"]), "report.html")  # doctest: +SKIP
    """
    from textsobol.render.report import render_report

    _write_page(path, render_report(explanations, truth=truth, title=title))


def save_comparison(
    explanations: Mapping[str, TextExplanation] | Iterable[TextExplanation], path: str | Path
) -> None:
    """Write several explanations of one text to a page, with their rank correlation.

    Explanations by the same method share one colour scale; every other method has its own.

    Args:
        explanations: by name, or in a list; names are then made from the settings that differ.
        path: the page, an ``.html`` file.
    """
    from textsobol.render.page import render_comparison

    if not isinstance(explanations, Mapping):
        explanations = list(explanations)
        explanations = dict(zip(name_explanations(explanations), explanations, strict=True))
    _write_page(path, render_comparison(explanations))


def name_explanations(explanations: Sequence[TextExplanation]) -> list[str]:
    """Name explanations by the settings in which they differ.

    Example:
        >>> from textsobol import TextExplainer
        >>> from textsobol import Sobol
        >>> explainer = TextExplainer(lambda texts: [t.count("good") for t in texts])
        >>> name_explanations([explainer("so good"), explainer("so good", method=Sobol(keep=0.9))])
        ['keep rate 0.5', 'keep rate 0.9']
    """
    values = {name: [str(e.settings.get(name)) for e in explanations] for name in _SETTINGS}
    # A setting that only some methods have follows from the method.
    differing = [name for name, own in values.items() if len(set(own)) > 1 and str(None) not in own]
    names: list[str] = []
    for number in range(len(explanations)):
        parts = [_SETTINGS[name] + values[name][number] for name in differing]
        name = ", ".join(parts) or f"explanation {number + 1}"
        while name in names:
            name += f" ({number + 1})"
        names.append(name)
    return names


def _write_page(path: str | Path, page: str) -> None:
    path = Path(path)
    if path.suffix.lower() != ".html":
        raise ValueError(f"cannot save as {path.suffix or 'a file without suffix'}; known: .html")
    write_text(path, page)
