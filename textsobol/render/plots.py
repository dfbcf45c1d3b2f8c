"""Explanations as figures: bars of the words that matter, and the path of deletions.

Needs matplotlib, which is imported only when a plot is asked for.
"""

from __future__ import annotations

import textwrap
import unicodedata
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textsobol.render.colours import AGAINST, FOR
from textsobol.render.fonts import Lettering, lettering_for
from textsobol.render.printable import one_line
from textsobol.render.view import is_share, is_signed, shows_probabilities

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from textsobol.text.explanation import TextExplanation
    from textsobol.text.records import Path as DeletionPath
    from textsobol.text.records import WordScore

_SUFFIXES = (".png", ".svg")
_TITLE, _CURVE_TITLE, _NOTE = 54, 40, 18  # characters of a line
_SMALLEST = 0.0005  # score that is drawn
_PALE = 0.12  # how strong the grid is

# Inches.
_BARS, _CURVE = 4.3, 3.2
_ROW, _CHARACTER = 0.27, 0.085
_AROUND = 1.0  # title, axis labels and margins
_FEWEST_ROWS = 6  # fewer words do not make fatter bars
_TALLEST = 400  # at 150 dpi the PNG writer ends at 65,536 pixels


def plot(
    explanation: TextExplanation, *, top: int = 15, axes: Axes | None = None
) -> tuple[Axes, ...]:
    """Draw an explanation with pyplot: its strongest words and, if there is one, the path.

    Axes are returned rather than the figure, which a notebook would show a second time.

    Args:
        explanation: what to draw, for the label that it explains.
        top: how many words, those with the highest absolute scores.
        axes: where to draw the words; the curve is then left out. By default a new figure.

    Returns:
        The axes of the words and, where there is a path, those of its curve.
    """
    need_matplotlib()
    _check(top)
    lettering = lettering_for(_texts_of(explanation, top))
    if axes is None:
        import matplotlib.pyplot as plt

        return _draw(plt.figure(), explanation, top, lettering)
    _draw_words(axes, explanation, top, lettering)
    return (axes,)


def save_plot(explanation: TextExplanation, path: str | Path, *, top: int = 15) -> None:
    """Write the figure of `plot` to a ``.png`` or ``.svg`` file.

    Pyplot and its figures are left alone, and the file looks the same whatever style the session
    has chosen. An SVG keeps its text as text: it can be searched, and edited.

    Args:
        explanation: what to draw, for the label that it explains.
        path: where to; the suffix says how.
        top: how many words, those with the highest absolute scores.
    """
    need_matplotlib()
    _check(top)
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        raise ValueError(
            f"cannot save a plot as {suffix or 'a file without suffix'}; "
            f"known: {', '.join(_SUFFIXES)}"
        )
    import matplotlib.style
    from matplotlib.figure import Figure

    as_text = suffix == ".svg"
    # The salt and the missing date make the same explanation the same file.
    style = {"svg.fonttype": "none", "svg.hashsalt": "textsobol"}
    with matplotlib.style.context(["default", style]), warnings.catch_warnings():
        # The viewer of an SVG may well have the glyphs that are missing here.
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        figure = Figure()
        lettering = lettering_for(_texts_of(explanation, top), keep_missing=as_text)
        _draw(figure, explanation, top, lettering)
        figure.savefig(
            path,
            format=suffix[1:],
            dpi=150,
            facecolor="white",
            bbox_inches="tight",
            pad_inches=0.08,
            metadata={"Date": None} if as_text else None,
        )


def need_matplotlib() -> None:
    """An error that says how to get it, where it is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "textsobol[plot]"') from error


def _check(top: int) -> None:
    if top < 1:
        raise ValueError(f"top must be at least 1, not {top}")


def _listed(explanation: TextExplanation, top: int) -> list[WordScore]:
    """The strongest words; those whose score rounds to 0 only where all do."""
    strongest = explanation.top(top)
    return [own for own in strongest if abs(own.score) >= _SMALLEST] or strongest


def _texts_of(explanation: TextExplanation, top: int) -> list[str]:
    words = [own.name for own in _listed(explanation, top)]
    labels = (*explanation.probabilities, explanation.label)
    return [_one_line(text) for text in (*words, *labels)]


def _draw(
    figure: Figure, explanation: TextExplanation, top: int, lettering: Lettering
) -> tuple[Axes, ...]:
    """Words and, if there is a path, its curve beside them, on an empty figure."""
    figure.set_layout_engine("constrained", wspace=0.03)
    words = [_one_line(own.name) for own in _listed(explanation, top)]
    # Room for the words: the bars are as long beside long ones as beside short ones.
    width = _BARS + _CHARACTER * max(map(_columns, words), default=0)
    height = min(_AROUND + _ROW * max(len(words), _FEWEST_ROWS), _TALLEST)
    path = explanation.path
    if path is None or not path.steps:
        figure.set_size_inches(width, height)
        axes = figure.add_subplot()
        _draw_words(axes, explanation, top, lettering)
        return (axes,)
    figure.set_size_inches(width + _CURVE + _AROUND, height)
    left, right = figure.subplots(1, 2, width_ratios=[_BARS, _CURVE])
    _draw_words(left, explanation, top, lettering)
    _draw_path(right, explanation, path, lettering)
    return left, right


def _draw_words(axes: Axes, explanation: TextExplanation, top: int, lettering: Lettering) -> None:
    ink = _ink()
    rows = _listed(explanation, top)
    scores = [own.score for own in rows]
    places = range(len(rows))
    axes.axvline(0, color=ink, linewidth=0.8, zorder=1)
    axes.barh(places, scores, height=0.68, color=[_colour(score) for score in scores], zorder=2)
    with_interval = [(k, own) for k, own in enumerate(rows) if own.high > own.low]
    # Around the middle of the interval, not the score: an estimate may lie outside of it.
    axes.errorbar(
        [(own.low + own.high) / 2 for _, own in with_interval],
        [place for place, _ in with_interval],
        xerr=[(own.high - own.low) / 2 for _, own in with_interval],
        fmt="none",
        ecolor=ink,
        elinewidth=1.0,
        capsize=2.5,
        zorder=3,
    )
    axes.set_yticks(
        places, [lettering.shown(_one_line(own.name)) for own in rows], **lettering.style
    )
    spare = max(_FEWEST_ROWS - len(rows), 0) / 2
    axes.set_ylim(len(rows) - 0.5 + spare, -0.5 - spare)  # the strongest on top
    if not any(scores) and not with_interval:
        axes.set_xlim(-1, 1)
    axes.set_xlabel(_axis_label(explanation, rows))
    head = lettering.shown(_one_line(explanation.label))
    if explanation.label in explanation.probabilities:  # that of a contrast is not
        head += f" {explanation.probabilities[explanation.label]:.3f}"
    tail = (
        "words for (blue) and against (orange)" if is_signed(explanation) else "words that matter"
    )
    title = _on_two_lines_if_long(f"{head}:", tail, _TITLE)
    axes.set_title(title, fontsize="medium", **lettering.style)
    axes.locator_params(axis="x", nbins=7)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=ink, alpha=_PALE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _axis_label(explanation: TextExplanation, rows: Sequence[WordScore]) -> str:
    what = "score"
    if is_share(explanation):
        what += (
            " (share of the variation, signed)"
            if is_signed(explanation)
            else " (share of the variation)"
        )
    if explanation.is_exact:
        return f"{what}, exact"
    return f"{what}, 95 % interval" if any(own.high > own.low for own in rows) else what


def _draw_path(
    axes: Axes, explanation: TextExplanation, path: DeletionPath, lettering: Lettering
) -> None:
    from matplotlib.ticker import MaxNLocator

    start = explanation.probabilities[path.label]
    left = [start, *(step.probabilities[path.label] for step in path.steps)]
    # Not clipped: points on the rim, at 0 or 1, are as round as the others.
    axes.plot(range(len(left)), left, "o-", color=_colour(1), markersize=4, clip_on=False, zorder=3)
    if shows_probabilities(explanation):
        axes.set_ylabel("probability")
        axes.set_ylim(0, 1)
    else:
        axes.set_ylabel("score")
    axes.set_xlim(0, len(path.steps))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("deletions, in the order that a search found")
    label = lettering.shown(_one_line(path.label))
    title = _on_two_lines_if_long(label, "when words are deleted", _CURVE_TITLE)
    axes.set_title(title, fontsize="medium", **lettering.style)
    axes.grid(axis="y", color=_ink(), alpha=_PALE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    _mark_turn(axes, path, lettering)


def _mark_turn(axes: Axes, path: DeletionPath, lettering: Lettering) -> None:
    """The first deletion after which something else is predicted than for the whole text."""
    turns = (k for k, step in enumerate(path.steps, 1) if step.prediction != path.label)
    turn = next(turns, None)
    if turn is None:
        return
    axes.axvline(turn, color=_colour(-1), linestyle=":", linewidth=1.5, zorder=2)
    # A falling curve leaves room above it on the right and below it on the left.
    early = turn <= len(path.steps) / 2
    note = lettering.shown(f"now {_one_line(path.steps[turn - 1].prediction)}")
    axes.annotate(
        textwrap.fill(note, _NOTE),
        xy=(turn, 0.97 if early else 0.03),
        xycoords=axes.get_xaxis_transform(),
        xytext=(5 if early else -5, 0),
        textcoords="offset points",
        ha="left" if early else "right",
        va="top" if early else "bottom",
        color=_colour(-1),
        **lettering.style,
    )


def _on_two_lines_if_long(head: str, tail: str, longest: int) -> str:
    line = f"{head} {tail}"
    return line if _columns(line) <= longest else f"{head}\n{tail}"


def _colour(score: float) -> tuple[float, float, float]:
    red, green, blue = FOR if score >= 0 else AGAINST
    return red / 255, green / 255, blue / 255


def _ink() -> str:
    """Black, or what is written with on the dark background of a session's style."""
    from matplotlib import rcParams

    return str(rcParams["text.color"])


def _one_line(text: str) -> str:
    """A word or label on one line, shortened, without characters that XML does not allow."""
    return one_line(text).replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")


def _columns(text: str) -> int:
    """How wide a text is, in Latin letters."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
