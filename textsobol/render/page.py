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
from textsobol.render.answer_table import make_answer_table

if TYPE_CHECKING:
    from textsobol.text.explanation import TextExplanation

SCRIPTS = ("numbers.js", "details.js", "curve.js", "explanation.js")
_TABLE = 15  # words listed without scripts
_SHORT = 12  # lines; beside a longer text, the path is in the other column


def render_explanation(explanation: TextExplanation) -> str:
    """A page with one explanation."""
    title = view.clean(f"{explanation.prediction}: which words made it so")
    return _render_cards(title, [_make_card(explanation, "", view.find_highest(explanation))])


def render_comparison(explanations: Mapping[str, TextExplanation]) -> str:
    """A page with several explanations of one text; one colour scale per method."""
    names, compared = [*map(view.clean, explanations)], list(explanations.values())
    if len(compared) < 2:
        raise ValueError("a comparison needs at least two explanations")
    first = compared[0]
    if any(other.text != first.text for other in compared):
        raise ValueError(
            "a comparison needs explanations of one text; save_report takes many texts"
        )
    common = [label for label in first.targets if all(label in e.targets for e in compared)]
    if not common:
        raise ValueError("the explanations have no label in common")
    target = first.target if first.target in common else common[0]
    compared = [explanation.for_target(target) for explanation in compared]
    # Scores are only comparable within a method.
    highest: dict[Any, float] = {}
    for each in compared:
        method, own = each.settings.get("method"), view.find_highest(each)
        highest[method] = max(highest.get(method, 0.0), own)
    cards = [
        _make_card(each, name, highest[each.settings.get("method")])
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


def render_notebook(explanation: TextExplanation) -> str:
    """The page of an explanation for a notebook cell, about as high as its content.

    In an iframe, so that it shares no styles with the notebook.
    """
    n_bars = min(15, len(explanation.top(15)))
    n_lines = _count_lines(explanation)
    path = 300 if explanation.path is not None else 0
    left = n_lines * 33 + (path if n_lines <= _SHORT else 0)
    right = n_bars * 26 + 190 + (path if n_lines > _SHORT else 0)
    return (
        f'<iframe srcdoc="{escape(render_explanation(explanation), quote=True)}" '
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
    items = [view.make_page_data(card["explanation"]) for card in cards]
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

    The content security policy allows only the page's own script, by its hash, and no requests:
    even markup that escaped the escaping could do nothing.
    """
    script = "".join(map(_read_source, scripts))
    return (
        load_environment("textsobol.render")
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
def load_environment(package: str) -> Environment:
    """Load the templates of a package; values are escaped, and a missing one is an error."""
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


def _make_card(explanation: TextExplanation, name: str, highest: float) -> dict[str, Any]:
    return {
        "name": name,
        "explanation": explanation,
        "parts": view.cut_texts(explanation, highest),
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
        "answer": make_answer_table(explanation),
        "footer": list_facts(explanation),
    }


def format_prediction(explanation: TextExplanation) -> str:
    """The probability of the prediction, or the score of a function."""
    value = explanation.probabilities[explanation.prediction]
    return f"{100 * value:.1f}\u00a0%" if view.shows_probabilities(explanation) else f"{value:.3f}"


def list_facts(explanation: TextExplanation) -> list[tuple[str, Any]]:
    """Names and values of settings and cost."""
    settings, cost = explanation.settings, explanation.cost
    versions = settings.get("versions") or {}
    bounded = settings.get("bounded") or None
    facts = [
        ("model", settings.get("model")),
        ("method", view.name_method(settings)),
        ("estimator", settings.get("estimator")),
        ("keep rate", settings.get("keep")),
        ("budget", settings.get("budget")),
        ("forward passes", cost.get("forwarded")),
        ("windows run", cost.get("windows")),
        ("calls", cost.get("calls")),
        ("from the cache", cost.get("cached")),
        ("tokens", cost.get("tokens")),
        ("tokens not run twice", f"{100 * cost['shared']:.0f} %" if "shared" in cost else None),
        ("base masks", settings.get("base_masks") or None),
        ("base masks for leading words", settings.get("leader_masks") or None),
        ("seconds", None if "seconds" not in cost else f"{cost['seconds']:.2f}"),
        ("seed", settings.get("seed")),
        ("dtype", settings.get("dtype")),
        ("log-odds off by up to", settings.get("precision_difference")),
        ("log-probabilities that are only bounds", bounded and f"{bounded:.0%}"),
        ("hint", settings.get("hint")),
        ("textsobol", versions.get("textsobol")),
    ]
    return [(name, value) for name, value in facts if value is not None]
