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
from textsobol.render.summary import describe_flip_set, describe_screening, summarise
from textsobol.render.view import find_highest, is_signed, name_method, name_unit, rank_labels
from textsobol.sobol.arrays import Floats
from textsobol.text.records import format_signed

if TYPE_CHECKING:
    from textsobol.image.explanation import ImageExplanation
    from textsobol.text.explanation import TextExplanation
    from textsobol.text.records import PairScore, WordScore

_BAR = 16
_PAIRS = 5  # listed
_SMALLEST = 0.0005  # score that is listed; less would print as 0.000
_CELLS = 16  # most rows and columns of a map


def show(explanation: TextExplanation, console: Console, *, top: int = 10) -> None:
    """Print the text with its words highlighted, and the top words."""
    console.print(_make_headline(explanation))
    console.print()
    console.print(_highlight(explanation), soft_wrap=True)
    if console.is_terminal and is_signed(explanation):
        target = (f" {one_line(explanation.target)}, ", "dim")
        sides = ((" for ", _style(1.0)), target, (" against ", _style(-1.0)), (" it", "dim"))
        console.print(Text.assemble(" ", *sides))
    console.print()
    console.print(Text(summarise(explanation)), soft_wrap=True)
    console.print()
    ranked = explanation.top(len(explanation.words))
    listed = [each for each in ranked[: max(0, top)] if abs(each.score) >= _SMALLEST]
    if listed:
        console.print(_make_ranking(explanation, listed))
    if len(ranked) > len(listed):
        note = f" ... and {len(ranked) - len(listed)} more"
        console.print(note, style="dim", highlight=False)
    for line in filter(None, [describe_flip_set(explanation), *_describe_pairs(explanation)]):
        console.print(Text(f" {line}"), soft_wrap=True)
    if explanation.is_grouped:
        scored = (word for word in explanation.words if word.status == "scored")
        which = "all" if all(word.shared_by > 1 for word in scored) else "some"
        note = f" {which} words were masked as groups; a larger budget would mask each by itself"
        console.print(note, style="dim", highlight=False)
    screening = describe_screening(explanation)
    if screening:
        console.print(Text(f" {screening}", style="dim"), soft_wrap=True)
    if explanation.advice:
        console.print(Text(f" {explanation.advice}", style="dim"), soft_wrap=True)
    console.print(Text(_make_footer(explanation), style="dim"), soft_wrap=True)


def as_text(explanation: TextExplanation) -> str:
    """What `show` prints, without colours."""
    buffer = io.StringIO()
    # In a notebook, rich would display the text and leave the buffer empty.
    console = Console(
        file=buffer, width=100, no_color=True, force_terminal=False, force_jupyter=False
    )
    show(explanation, console)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines())


def show_picture(explanation: ImageExplanation, console: Console) -> None:
    """Print the map as a table, in tenths of its highest absolute score."""
    values = _shrink(explanation.map())
    highest = float(abs(values).max())
    console.print(_make_headline(explanation, "regions"))
    console.print()
    for row in values:
        line = Text(" ")
        for value in row.tolist():
            part = value / highest if highest > 0 else 0.0
            tenths = round(10 * part)
            number = f"{tenths:+3d}" if explanation.settings["signed"] else f"{tenths:3d}"
            line.append(f"{number} " if tenths else "  . ", style=_style(part))
        console.print(line)
    note = f" tenths of the highest score, {highest:.3f}"
    if explanation.settings["signed"]:
        note += f"; + for {one_line(explanation.target)}, - against it"
    for text in (note, _make_footer(explanation)):
        console.print(text, style="dim", highlight=False, markup=False, emoji=False)


def _shrink(values: Floats) -> Floats:
    """Average blocks, so that a map of pixels fits the terminal."""
    for axis in (0, 1):
        places = np.linspace(0, values.shape[axis], min(_CELLS, values.shape[axis]) + 1).astype(int)
        blocks = np.split(values, places[1:-1], axis)
        values = np.stack([block.mean(axis) for block in blocks], axis)
    return values


def show_comparison(
    explanations: Mapping[str, TextExplanation], console: Console, *, top: int = 10
) -> None:
    """Print the top words of every method, and the rank correlation of the methods."""
    from textsobol.metrics.agreement import rank_correlation

    compared = list(explanations.values())
    words, agreement = (Table(box=None, padding=(0, 1), show_edge=False) for _ in range(2))
    for table, title in ((words, "word"), (agreement, "rank correlation")):
        table.add_column(title)
        for name in explanations:
            table.add_column(Text(name), justify="right")
    for number in _pick_words(compared, top):
        scores = [each.score_of(each.words[number]).score for each in compared]
        # The colour shows only the sign, since every method has its own scale.
        styles = [_style(math.copysign(0.2, score) if score else 0.0) for score in scores]
        cells = [Text(f"{n:+.3f}", style=style) for n, style in zip(scores, styles, strict=True)]
        words.add_row(Text(one_line(compared[0].names[number])), *cells)
    words.add_section()
    passes = (f"{each.cost['forwarded']:.0f}" for each in compared)
    words.add_row(Text("forward passes", style="dim"), *passes)
    for name, one in explanations.items():
        values = [rank_correlation(one, other) for other in compared]
        agreement.add_row(Text(name), *(f"{value:.2f}" for value in values))
    console.print(_make_headline(compared[0]))
    meanings = (
        f"{name}: {one_line(each.settings['quantity'])}"
        for name, each in explanations.items()
        if "quantity" in each.settings
    )
    for shown in (words, Text("; ".join(meanings), style="dim"), agreement):
        console.print()
        console.print(shown)


def _pick_words(explanations: Iterable[TextExplanation], top: int) -> list[int]:
    """Words with the best rank in any of the explanations, by number, best first."""
    best: dict[int, int] = {}
    for explanation in explanations:
        for place, number in enumerate(explanation.ranking):
            best[number] = min(place, best.get(number, place))
    return sorted(best, key=lambda number: (best[number], number))[:top]


def _make_footer(explanation: TextExplanation | ImageExplanation) -> str:
    settings, cost = explanation.settings, explanation.cost
    facts = [str(name_method(settings))]
    if "base_masks" in settings:
        n_base = settings["base_masks"]
        # All masks of groups do not make the scores of single words exact.
        is_grouped = getattr(explanation, "is_grouped", False)
        exact = "all masks of the groups" if is_grouped else "exact"
        facts.append(f"{n_base} base mask{'s' if n_base > 1 else ''}" if n_base else exact)
    if settings.get("leader_masks"):
        facts.append(f"{settings['leader_masks']} more for the leading words")
    facts.append(f"{cost['forwarded']:.0f} forward passes")
    if cost.get("windows"):
        facts.append(f"{cost['windows']:.0f} windows")
    if cost.get("gates"):
        facts.append(f"{cost['gates']:.0f} with gate gradients")
    if "calls" in cost:  # of a remote model
        again = f" ({cost['retried']:.0f} retries, {cost['waited']:.1f} s of waiting)"
        facts.append(f"{cost['calls']:.0f} calls" + (again if cost["retried"] else ""))
        facts += [f"{cost['cached']:.0f} from the cache"] if cost["cached"] else []
    if settings.get("precision_difference") is not None:
        off = f"{settings['precision_difference']:.2g}"
        facts.append(f"log-odds in {settings['dtype']} off by up to {off}")
    if settings.get("bounded"):
        facts.append(f"{settings['bounded']:.0%} of log-probabilities only bounded")
    if "seconds" in cost:  # not of a corpus, whose texts are explained together
        facts.append(f"{cost['seconds']:.1f} s")
    return f"{settings['model']}: {', '.join(facts)}"


def _describe_pairs(explanation: TextExplanation) -> list[str]:
    """The largest interactions of two words whose interval excludes 0."""
    label, names, unit = explanation.target, explanation.names, name_unit(explanation)
    scores = [(pair, pair.scores[label]) for pair in explanation.pairs if label in pair.scores]
    clear = [(pair, score) for pair, score in scores if score.low > 0 or score.high < 0]
    if scores and not clear:
        return [f"none of {len(scores)} pairs of words clearly interacts"]
    return [
        f"{' and '.join(one_line(names[k]) for k in pair.words)}  "
        f"{format_signed(score.effect)} {unit} together ({_join_ends(score)})"
        for pair, score in sorted(clear, key=lambda item: -abs(item[1].effect))[:_PAIRS]
    ]


def _make_headline(explanation: TextExplanation | ImageExplanation, noun: str = "words") -> Text:
    ranked = rank_labels(explanation)
    values = ", ".join(f"{one_line(label)} {value:.3f}" for label, value in ranked[:5])
    values += ", ..." if len(ranked) > 5 else ""
    line = Text(one_line(explanation.prediction), style="bold")
    line.append(f"  ({values})", style="not bold")
    if explanation.target != explanation.prediction:
        line.append(f"  {noun} for and against {one_line(explanation.target)}", style="not bold")
    return line


def _highlight(explanation: TextExplanation) -> Text:
    highest = find_highest(explanation)
    lines = [Text(replace_controls(text)) for text in explanation.texts]
    for word in explanation.words:
        if word.status == "outside":
            lines[word.part].stylize("dim", word.start, word.end)
        elif highest > 0:
            style = _style(explanation.score_of(word).score / highest)
            lines[word.part].stylize(style, word.start, word.end)
    return Text("\n").join(lines)


def _style(level: float) -> str:
    """Colour for a score between -1 and 1."""
    if abs(level) < 0.05:
        return ""
    # Towards grey, which is faint on dark and on light backgrounds.
    fade = 0.35 + 0.65 * abs(level)
    colour = FOR if level > 0 else AGAINST
    mixed = ",".join(str(round(128 + (part - 128) * fade)) for part in colour)
    weight = "bold " if abs(level) > 0.5 else ""
    return f"{weight}rgb({mixed})" + (" reverse" if abs(level) > 0.25 else "")


def _make_ranking(explanation: TextExplanation, listed: Sequence[WordScore]) -> Table:
    """One line per word: its score, its interval if known, and a bar."""
    table = Table(box=None, padding=(0, 1), show_edge=False)
    unit = explanation.settings.get("unit", "word")
    if all(word.name for word in explanation.words):
        unit = "part"  # of a prompt, such as a document
    table.add_column(unit if unit in ("sentence", "paragraph", "part") else "word")
    table.add_column("score", justify="right")
    intervals = [_format_interval(each, is_exact=explanation.is_exact) for each in listed]
    if any(intervals):
        table.add_column("" if explanation.is_exact else "95 % interval")
    table.add_column("")
    for each, interval in zip(listed, intervals, strict=True):
        sign = ("+" if each.score > 0 else "-") if is_signed(explanation) else "*"
        bar = sign * math.ceil(abs(each.score / listed[0].score) * _BAR)
        style = _style(math.copysign(1.0, each.score)).removesuffix(" reverse")
        cells = [interval] if any(intervals) else []
        table.add_row(
            Text(one_line(each.name)), format_signed(each.score), *cells, Text(bar, style=style)
        )
    return table


def _format_interval(each: WordScore, *, is_exact: bool) -> str:
    """The interval of the score; empty if unknown."""
    if is_exact:
        return f"exact  {each.doubt}".rstrip()
    if math.isnan(each.low) or each.low == each.high:
        return ""
    return f"{_join_ends(each)}  {each.doubt}".rstrip()


def _join_ends(each: WordScore | PairScore) -> str:
    return f"{format_signed(each.low)} to {format_signed(each.high)}"
