"""Explanations in a terminal: coloured with rich, plain text in a pipe."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from textsobol.render.colours import AGAINST, FOR
from textsobol.render.printable import one_line, replace_controls
from textsobol.render.summary import flip_sentence, summary
from textsobol.render.view import unit_of
from textsobol.sobol.arrays import Floats
from textsobol.text.records import signed

if TYPE_CHECKING:
    from textsobol.image.explanation import ImageExplanation
    from textsobol.text.explanation import TextExplanation
    from textsobol.text.records import WordScore

_BAR = 16
_PAIRS = 5  # listed
_SMALLEST = 0.0005  # score that is listed: less would be printed as 0.000
_CELLS = 16  # of a map down and across, at most


def show(explanation: TextExplanation, console: Console, *, top: int = 10) -> None:
    """Print the text with its words highlighted, and the words that matter most."""
    console.print(_headline(explanation))
    console.print()
    console.print(_highlight(explanation), soft_wrap=True)
    if console.is_terminal and explanation.settings.get("signed", True):
        console.print(_legend(explanation))
    console.print()
    console.print(Text(summary(explanation)), soft_wrap=True)
    console.print()
    listed = [each for each in explanation.top(top) if abs(each.score) >= _SMALLEST]
    if listed:
        console.print(_ranking(explanation, listed))
    n_more = sum(1 for _ in explanation.top(len(explanation.words))) - len(listed)
    if n_more > 0:
        console.print(f" ... and {n_more} more", style="dim", highlight=False)
    notes = [flip_sentence(explanation), *_describe_pairs(explanation)]
    for line in filter(None, notes):
        console.print(Text(f" {line}"), soft_wrap=True)
    grouped = [word.shared_by > 1 for word in explanation.words if word.status == "scored"]
    if any(grouped):
        which = "all" if all(grouped) else "some"
        note = f" {which} words were masked as groups; a larger budget masks each by itself"
        console.print(note, style="dim", highlight=False)
    if explanation.advice:
        console.print(Text(f" {explanation.advice}", style="dim"), soft_wrap=True)
    console.print(Text(_footer(explanation), style="dim"), soft_wrap=True)


def _footer(explanation: TextExplanation | ImageExplanation) -> str:
    settings, cost = explanation.settings, explanation.cost
    facts = [str(settings.get("method"))]
    if "base_masks" in settings:
        facts.append(_design(explanation))
        if settings.get("leader_masks"):
            facts.append(f"{settings['leader_masks']} more for the words that lead")
    facts.append(f"{cost['forwarded']:.0f} forward passes")
    facts += _describe_calls(cost)
    if "seconds" in cost:  # not of a corpus, whose texts are explained together
        facts.append(f"{cost['seconds']:.1f} s")
    return f"{settings['model']}: {', '.join(facts)}"


def _design(explanation: TextExplanation | ImageExplanation) -> str:
    """How many masks there were; of all masks of groups, nothing is known exactly."""
    from textsobol.text.explanation import TextExplanation

    n_base = explanation.settings["base_masks"]
    if n_base:
        return f"{n_base} base masks" if n_base > 1 else "1 base mask"
    is_grouped = isinstance(explanation, TextExplanation) and explanation.is_grouped
    return "all masks of the groups" if is_grouped else "exact"


def _describe_calls(cost: Mapping[str, float]) -> list[str]:
    """Calls of a remote model."""
    if "calls" not in cost:
        return []
    again = f" ({cost['retried']:.0f} again, after {cost['waited']:.1f} s of waiting)"
    made = f"{cost['calls']:.0f} calls" + (again if cost["retried"] else "")
    return [made, *([f"{cost['cached']:.0f} from the cache"] if cost["cached"] else [])]


def show_picture(explanation: ImageExplanation, console: Console) -> None:
    """Print the map as a table of tenths of its strongest score."""
    values = _shrink(explanation.map())
    strongest = float(abs(values).max())
    console.print(_headline(explanation, "regions"))
    console.print()
    for row in values:
        line = Text(" ")
        for value in row.tolist():
            share = value / strongest if strongest > 0 else 0.0
            tenths = round(10 * share)
            number = f"{tenths:+3d}" if explanation.settings["signed"] else f"{tenths:3d}"
            line.append(f"{number} " if tenths else "  . ", style=_style(share))
        console.print(line)
    note = f" tenths of the strongest score, {strongest:.3f}"
    if explanation.settings["signed"]:
        note += f"; + for {one_line(explanation.label)}, - against it"
    console.print(note, style="dim", highlight=False, markup=False, emoji=False)
    console.print(_footer(explanation), style="dim", highlight=False, markup=False, emoji=False)


def _shrink(values: Floats) -> Floats:
    """Average over blocks, so that a map of pixels fits a terminal."""
    for axis in (0, 1):
        places = np.linspace(0, values.shape[axis], min(_CELLS, values.shape[axis]) + 1)
        starts, ends = places[:-1].astype(int), places[1:].astype(int)
        values = np.stack(
            [values.take(range(a, b), axis).mean(axis) for a, b in zip(starts, ends, strict=True)],
            axis,
        )
    return values


def show_comparison(
    explanations: Mapping[str, TextExplanation], console: Console, *, top: int = 10
) -> None:
    """Print the strongest words of every method, and the rank correlation of the methods."""
    from textsobol.metrics.agreement import rank_correlation

    first = next(iter(explanations.values()))
    console.print(_headline(first))
    table = Table(box=None, padding=(0, 1), show_edge=False)
    table.add_column("word")
    for name in explanations:
        table.add_column(Text(name), justify="right")
    for number in _pick_words(explanations.values(), top):
        scores = [e.score_of(e.words[number]).score for e in explanations.values()]
        cells = [Text(f"{score:+.3f}", style=_style(_sign_strength(score))) for score in scores]
        table.add_row(Text(one_line(first.names[number])), *cells)
    table.add_section()
    table.add_row(
        Text("forward passes", style="dim"),
        *(f"{e.cost['forwarded']:.0f}" for e in explanations.values()),
    )
    console.print()
    console.print(table)
    agreement = Table(box=None, padding=(0, 1), show_edge=False)
    agreement.add_column("rank correlation")
    for name in explanations:
        agreement.add_column(Text(name), justify="right")
    for name, one in explanations.items():
        values = [rank_correlation(one, other) for other in explanations.values()]
        agreement.add_row(Text(name), *(f"{value:.2f}" for value in values))
    console.print()
    console.print(agreement)


def _pick_words(explanations: Iterable[TextExplanation], top: int) -> list[int]:
    """Numbers of the words with the best rank in any of the explanations, best first."""
    best: dict[int, int] = {}
    for explanation in explanations:
        for place, number in enumerate(explanation.ranking):
            best[number] = min(place, best.get(number, place))
    return sorted(best, key=lambda number: (best[number], number))[:top]


def _sign_strength(score: float) -> float:
    """The sign as a strength of colour, since every method has its own scale."""
    return math.copysign(0.2, score) if score else 0.0


def _describe_pairs(explanation: TextExplanation) -> list[str]:
    """The strongest interactions of two words whose interval excludes 0."""
    scores = [
        (pair, pair.scores[explanation.label])
        for pair in explanation.pairs
        if explanation.label in pair.scores
    ]
    if not scores:
        return []
    sure = [(pair, score) for pair, score in scores if score.low > 0 or score.high < 0]
    if not sure:
        return [f"of {len(scores)} pairs of words none clearly works together"]
    strongest = sorted(sure, key=lambda item: -abs(item[1].effect))[:_PAIRS]
    names, unit = explanation.names, unit_of(explanation)
    return [
        f"{' and '.join(one_line(names[k]) for k in pair.words)}  "
        f"{signed(score.effect)} {unit} together ({signed(score.low)} to {signed(score.high)})"
        for pair, score in strongest
    ]


def as_text(explanation: TextExplanation) -> str:
    """What `show` prints, without colours."""
    buffer = io.StringIO()
    # In a notebook rich would display it, and leave the buffer empty.
    console = Console(
        file=buffer, width=100, no_color=True, force_terminal=False, force_jupyter=False
    )
    show(explanation, console)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines())


def _headline(explanation: TextExplanation | ImageExplanation, of: str = "words") -> Text:
    shares = sorted(explanation.probabilities.items(), key=lambda item: -item[1])
    values = ", ".join(f"{one_line(label)} {share:.3f}" for label, share in shares[:5])
    values += ", ..." if len(shares) > 5 else ""
    line = Text(one_line(explanation.prediction), style="bold")
    line.append(f"  ({values})", style="not bold")
    if explanation.label != explanation.prediction:
        line.append(f"  {of} for and against {one_line(explanation.label)}", style="not bold")
    return line


def _highlight(explanation: TextExplanation) -> Text:
    texts = explanation.texts
    strongest = max(
        (abs(explanation.score_of(word).score) for word in explanation.words), default=0
    )
    highlighted = Text()
    for part, text in enumerate(texts):
        line = Text(replace_controls(text))
        for word in explanation.words:
            if word.part != part:
                continue
            if word.status == "outside":
                line.stylize("dim", word.start, word.end)
            elif strongest > 0:
                score = explanation.score_of(word).score
                line.stylize(_style(score / strongest), word.start, word.end)
        highlighted.append_text(line)
        if part < len(texts) - 1:
            highlighted.append("\n")
    return highlighted


def _legend(explanation: TextExplanation) -> Text:
    """What the colours mean."""
    legend = Text(" ")
    legend.append(" for ", style=_style(1.0))
    legend.append(f" {one_line(explanation.label)}, ", style="dim")
    legend.append(" against ", style=_style(-1.0))
    legend.append(" it", style="dim")
    return legend


def _style(strength: float) -> str:
    if abs(strength) < 0.05:
        return ""
    red, green, blue = FOR if strength > 0 else AGAINST
    weight = "bold " if abs(strength) > 0.5 else ""
    # Towards grey, which is faint on a dark and on a light background.
    fade = 0.35 + 0.65 * abs(strength)
    mixed = [round(128 + (colour - 128) * fade) for colour in (red, green, blue)]
    return f"{weight}rgb({mixed[0]},{mixed[1]},{mixed[2]})" + (
        " reverse" if abs(strength) > 0.25 else ""
    )


def _ranking(explanation: TextExplanation, listed: Sequence[WordScore]) -> Table:
    """One line per word: its score, its interval where it has one, and a bar."""
    table = Table(box=None, padding=(0, 1), show_edge=False)
    unit = explanation.settings.get("unit", "word")
    table.add_column(unit if unit in ("sentence", "paragraph") else "word")
    table.add_column("score", justify="right")
    intervals = [_interval(each, is_exact=explanation.is_exact) for each in listed]
    has_intervals = any(intervals)
    if has_intervals:
        table.add_column("" if explanation.is_exact else "95 % interval")
    table.add_column("")
    strongest = abs(listed[0].score)
    for each, interval in zip(listed, intervals, strict=True):
        sign = ("+" if each.score > 0 else "-") if explanation.settings["signed"] else "*"
        bar = sign * math.ceil(abs(each.score) / strongest * _BAR)
        table.add_row(
            Text(one_line(each.name)),
            signed(each.score),
            *([interval] if has_intervals else []),
            Text(bar, style=_style(math.copysign(1.0, each.score)).removesuffix(" reverse")),
        )
    return table


def _interval(each: WordScore, *, is_exact: bool) -> str:
    """The interval of the score as text; empty where it is not known."""
    if is_exact:
        return f"exact  {each.doubt}".rstrip()
    if math.isnan(each.low) or each.low == each.high:
        return ""
    return f"{signed(each.low)} to {signed(each.high)}  {each.doubt}".rstrip()
