"""Explanations as a self-contained HTML page, or in the frame of a notebook."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps

from textsobol.metrics.agreement import rank_correlation
from textsobol.render import view

if TYPE_CHECKING:
    from textsobol.text.explanation import TextExplanation

SCRIPTS = ("numbers.js", "details.js", "curve.js", "explanation.js")
_TABLE = 15  # words listed if scripts do not run
_SHORT = 12  # lines; a longer text gets the path beside it


def explanation_html(explanation: TextExplanation) -> str:
    """A page of one explanation."""
    title = view.clean(f"{explanation.prediction}: which words made it so")
    return _render_cards(title, [_make_card(explanation, "", view.strongest_score(explanation))])


def comparison_html(explanations: Mapping[str, TextExplanation]) -> str:
    """A page of several explanations of one text, with one colour scale per method."""
    names, compared = [*map(view.clean, explanations)], list(explanations.values())
    if len(compared) < 2:
        raise ValueError("a comparison needs at least two explanations")
    first = compared[0]
    if any(other.text != first.text for other in compared):
        raise ValueError("a comparison is of one text; save_report shows many")
    common = [label for label in first.targets if all(label in e.targets for e in compared)]
    if not common:
        raise ValueError("the explanations have no label in common")
    target = first.target if first.target in common else common[0]
    compared = [explanation.for_target(target) for explanation in compared]
    # Scores are only comparable within a method.
    strongest: dict[Any, float] = {}
    for each in compared:
        method, own = each.settings.get("method"), view.strongest_score(each)
        strongest[method] = max(strongest.get(method, 0.0), own)
    cards = [
        _make_card(each, name, strongest[each.settings.get("method")])
        for name, each in zip(names, compared, strict=True)
    ]
    tables = [
        {
            "label": label,
            "names": names,
            "rows": [
                (name, [rank_correlation(one, other, label=label) for other in compared])
                for name, one in zip(names, compared, strict=True)
            ],
            "hidden": label != target,  # until the script runs
        }
        for label in common
    ]
    return _render_cards(f"{len(compared)} explanations of one text", cards, tables)


def notebook_html(explanation: TextExplanation) -> str:
    """The page of an explanation for a notebook's cell, about as high as its content.

    It is in an iframe, so that it shares no styles with the notebook.
    """
    n_bars = min(15, len(explanation.top(15)))
    n_lines = _count_lines(explanation)
    path = 300 if explanation.path is not None else 0
    left = n_lines * 33 + (path if n_lines <= _SHORT else 0)
    right = n_bars * 26 + 190 + (path if n_lines > _SHORT else 0)
    return (
        f'<iframe srcdoc="{escape(explanation_html(explanation), quote=True)}" '
        f'sandbox="allow-scripts" title="textsobol explanation" style="width: 100%; '
        f'height: {min(900, 360 + max(left, right))}px; border: 0; resize: vertical"></iframe>'
    )


def _count_lines(explanation: TextExplanation) -> int:
    """Approximate number of lines of the text beside the bars."""
    lines = [line for text in explanation.texts for line in text.splitlines()]
    return sum(len(line) // 60 + 1 for line in lines)


def _render_cards(
    title: str, cards: Sequence[Mapping[str, Any]], correlations: Sequence[Any] = ()
) -> str:
    items = [view.page_data(card["explanation"]) for card in cards]
    return render(
        "page.html.j2",
        styles=("style.css",),
        scripts=(*SCRIPTS, "page.js"),
        title=title,
        data={"measures": view.MEASURE_NOTES, "items": items},
        cards=cards,
        correlations=correlations,
    )


def render(
    template: str, *, styles: Sequence[str], scripts: Sequence[str], data: Any, **values: Any
) -> str:
    """Fill in a template, with all styles, scripts and data inline.

    The page's content security policy allows only its own script, by its hash, and no requests:
    markup that got past the escaping could do nothing.
    """
    script = "".join(map(_read_source, scripts))
    return (
        environment_of("textsobol.render")
        .get_template(template)
        .render(
            style="".join(map(_read_source, styles)),
            script=script,
            digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii"),
            # In a string of JSON, <, > and & become \u escapes: no text can end the block.
            data=htmlsafe_json_dumps(data, separators=(",", ":"), allow_nan=False),
            **values,
        )
    )


@cache
def environment_of(package: str) -> Environment:
    """The templates of a package: values are escaped, and a missing one is an error."""
    environment = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters["clean"] = view.clean
    return environment


@cache
def _read_source(name: str) -> str:
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


def _make_card(explanation: TextExplanation, name: str, strongest: float) -> dict[str, Any]:
    return {
        "name": name,
        "explanation": explanation,
        "parts": view.cut_texts(explanation, strongest),
        "is_signed": view.is_signed(explanation),
        "n_outside": sum(word.status == "outside" for word in explanation.words),
        "n_shared": view.count_grouped(explanation),
        "is_short": _count_lines(explanation) <= _SHORT,
        "value": format_prediction(explanation),
        "top": [
            (own.name, view.format_signed(own.score), view.format_interval(explanation, own))
            for own in explanation.top(_TABLE)
        ],
        "sentences": view.make_sentences(explanation),
        "footer": list_facts(explanation),
    }


def format_prediction(explanation: TextExplanation) -> str:
    """The prediction's probability, or the score of a function."""
    value = explanation.probabilities[explanation.prediction]
    return f"{100 * value:.1f}\u00a0%" if view.shows_probabilities(explanation) else f"{value:.3f}"


def list_facts(explanation: TextExplanation) -> list[tuple[str, Any]]:
    """Settings and cost of the explanation, as names and values."""
    settings, cost = explanation.settings, explanation.cost
    versions = settings.get("versions") or {}
    facts = [
        ("model", settings.get("model")),
        ("method", settings.get("method")),
        ("estimator", settings.get("estimator")),
        ("keep rate", settings.get("keep")),
        ("budget", settings.get("budget")),
        ("forward passes", cost.get("forwarded")),
        ("calls", cost.get("calls")),
        ("from the cache", cost.get("cached")),
        ("base masks", settings.get("base_masks") or None),
        ("base masks of the leading words", settings.get("leader_masks") or None),
        ("seconds", None if "seconds" not in cost else f"{cost['seconds']:.2f}"),
        ("seed", settings.get("seed")),
        ("textsobol", versions.get("textsobol")),
    ]
    return [(name, value) for name, value in facts if value is not None]
