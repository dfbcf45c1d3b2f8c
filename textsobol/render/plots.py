"""Explanations as figures: bars of the top words, and the curve of the path.

Needs matplotlib, which is imported only when something is drawn.
"""

from __future__ import annotations

import textwrap
import unicodedata
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textsobol.files import write_file
from textsobol.render.colours import AGAINST, FOR
from textsobol.render.fonts import Fonts
from textsobol.render.printable import one_line
from textsobol.render.view import is_contrast, is_share, is_signed, shows_probabilities

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from textsobol.text.explanation import TextExplanation
    from textsobol.text.records import Path as DeletionPath
    from textsobol.text.records import WordScore

_TITLE, _CURVE_TITLE, _NOTE = 54, 40, 18  # characters per line
_SMALLEST = 0.0005  # smallest score that is drawn
_PALE = 0.12  # opacity of the grid

# Inches.
_BARS, _CURVE = 4.3, 3.2
_ROW, _CHARACTER = 0.27, 0.085
_AROUND = 1.0  # title, axis labels and margins
_FEWEST_ROWS = 6  # fewer words do not make thicker bars
_TALLEST = 400  # at 150 dpi; the PNG writer's limit is 65,536 pixels


def plot(
    explanation: TextExplanation, *, top: int = 15, axes: Axes | None = None
) -> tuple[Axes, ...]:
    """Draw an explanation with pyplot: its top words and the path, if there is one.

    Returns axes, not the figure, which a notebook would show a second time.

    Args:
        explanation: what to draw.
        top: number of words, those with the highest absolute scores.
        axes: where to draw the words, without the path; by default a new figure.

    Returns:
        The axes of the words and, if there is a path, those of its curve.
    """
    words = _pick_words(explanation, top)
    fonts = Fonts(_list_texts(explanation, words))
    if axes is None:
        import matplotlib.pyplot as plt

        return _draw(plt.figure(), explanation, words, fonts)
    _draw_words(axes, explanation, words, fonts)
    return (axes,)


def save_plot(explanation: TextExplanation, path: str | Path, *, top: int = 15) -> None:
    """Write the figure of `plot` to a ``.png`` or ``.svg`` file.

    Pyplot and the session's style are neither used nor changed. The text of an SVG stays text that
    can be searched and edited.

    Args:
        explanation: what to draw.
        path: the file; its suffix sets the format.
        top: number of words, those with the highest absolute scores.
    """
    words = _pick_words(explanation, top)
    suffix = Path(path).suffix.lower()
    if suffix not in (".png", ".svg"):
        known = "known: .png, .svg"
        raise ValueError(f"cannot save a plot as {suffix or 'a file without suffix'}; {known}")
    import matplotlib.style
    from matplotlib.figure import Figure

    is_svg = suffix == ".svg"
    # A fixed salt and no date: the same explanation gives the same file.
    style = {"svg.fonttype": "none", "svg.hashsalt": "textsobol"}
    options: dict[str, Any] = {"metadata": {"Date": None}} if is_svg else {}
    with matplotlib.style.context(["default", style]), warnings.catch_warnings():
        # An SVG viewer may have the glyphs that are missing here.
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        figure = Figure()
        fonts = Fonts(_list_texts(explanation, words), keep_missing=is_svg)
        _draw(figure, explanation, words, fonts)
        options.update(dpi=150, facecolor="white", bbox_inches="tight", pad_inches=0.08)
        write_file(path, lambda file: figure.savefig(file, format=suffix[1:], **options))


def require_matplotlib() -> None:
    """Raise an error with the install command if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "textsobol[plot]"') from error


def _pick_words(explanation: TextExplanation, top: int) -> list[WordScore]:
    """The top words; those whose score rounds to 0 only if all do."""
    require_matplotlib()
    if top < 1:
        raise ValueError(f"top must be at least 1, not {top}")
    ranked = explanation.top(top)
    return [word for word in ranked if abs(word.score) >= _SMALLEST] or ranked


def _list_texts(explanation: TextExplanation, words: Sequence[WordScore]) -> list[str]:
    names = [word.name for word in words]
    return [_one_line(t) for t in (*names, *explanation.probabilities, explanation.target)]


def _draw(
    figure: Figure, explanation: TextExplanation, words: Sequence[WordScore], fonts: Fonts
) -> tuple[Axes, ...]:
    """Draw the words and, if there is a path, its curve beside them."""
    figure.set_layout_engine("constrained", wspace=0.03)
    # More room for long words, so that bars always have the same scale.
    width = _BARS + _CHARACTER * max((_count_columns(_one_line(w.name)) for w in words), default=0)
    height = min(_AROUND + _ROW * max(len(words), _FEWEST_ROWS), _TALLEST)
    path = explanation.path
    if path is None or not path.steps:
        figure.set_size_inches(width, height)
        axes: tuple[Axes, ...] = (figure.add_subplot(),)
    else:
        figure.set_size_inches(width + _CURVE + _AROUND, height)
        axes = tuple(figure.subplots(1, 2, width_ratios=[_BARS, _CURVE]))
        _draw_path(axes[1], explanation, path, fonts)
    _draw_words(axes[0], explanation, words, fonts)
    return axes


def _draw_words(
    axes: Axes, explanation: TextExplanation, words: Sequence[WordScore], fonts: Fonts
) -> None:
    ink = _get_text_colour()
    scores = [word.score for word in words]
    places = range(len(words))
    axes.axvline(0, color=ink, linewidth=0.8, zorder=1)
    axes.barh(places, scores, height=0.68, color=[_colour(score) for score in scores], zorder=2)
    with_interval = [(k, word) for k, word in enumerate(words) if word.high > word.low]
    # Centred on the interval, not the score: an estimate may lie outside its interval.
    axes.errorbar(
        [(word.low + word.high) / 2 for _, word in with_interval],
        [place for place, _ in with_interval],
        xerr=[(word.high - word.low) / 2 for _, word in with_interval],
        fmt="none", ecolor=ink, elinewidth=1.0, capsize=2.5, zorder=3,
    )  # fmt: skip
    names = [fonts.replace_missing(_one_line(word.name)) for word in words]
    axes.set_yticks(places, names, **fonts.style)
    spare = max(_FEWEST_ROWS - len(words), 0) / 2
    axes.set_ylim(len(words) - 0.5 + spare, -0.5 - spare)  # the highest score on top
    if not any(scores) and not with_interval:
        axes.set_xlim(-1, 1)
    axes.set_xlabel(_make_axis_label(explanation, bool(with_interval)))
    head = fonts.replace_missing(_one_line(explanation.target))
    if not is_contrast(explanation):
        head += f" {explanation.probabilities[explanation.target]:.3f}"
    tail = "for (blue) and against (orange)" if is_signed(explanation) else "that matter"
    title = _wrap_title(f"{head}:", f"words {tail}", _TITLE)
    axes.set_title(title, fontsize="medium", **fonts.style)
    axes.locator_params(axis="x", nbins=7)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=ink, alpha=_PALE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _make_axis_label(explanation: TextExplanation, has_interval: bool) -> str:
    label = "score"
    if is_share(explanation):
        label += f" (share of the variation{', signed' if is_signed(explanation) else ''})"
    if explanation.is_exact:
        return f"{label}, exact"
    return f"{label}, 95 % interval" if has_interval else label


def _draw_path(axes: Axes, explanation: TextExplanation, path: DeletionPath, fonts: Fonts) -> None:
    from matplotlib.ticker import MaxNLocator

    start = explanation.probabilities[path.label]
    left = [start, *(step.probabilities[path.label] for step in path.steps)]
    # Not clipped, so that points at 0 and 1 are drawn whole.
    axes.plot(range(len(left)), left, "o-", color=_colour(1), markersize=4, clip_on=False, zorder=3)
    if shows_probabilities(explanation):
        axes.set_ylabel("probability")
        axes.set_ylim(0, 1)
    else:
        axes.set_ylabel("score")
    axes.set_xlim(0, len(path.steps))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("deletions, in the order that a search found")
    label = fonts.replace_missing(_one_line(path.label))
    title = _wrap_title(label, "when words are deleted", _CURVE_TITLE)
    axes.set_title(title, fontsize="medium", **fonts.style)
    axes.grid(axis="y", color=_get_text_colour(), alpha=_PALE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    turns = (k for k, step in enumerate(path.steps, 1) if step.prediction != path.label)
    turn = next(turns, None)  # the first deletion that changes the prediction
    if turn is None:
        return
    axes.axvline(turn, color=_colour(-1), linestyle=":", linewidth=1.5, zorder=2)
    # A falling curve leaves room above on the right and below on the left.
    is_early = turn <= len(path.steps) / 2
    prediction = fonts.replace_missing(_one_line(path.steps[turn - 1].prediction))
    axes.annotate(
        textwrap.fill(f"now {prediction}", _NOTE),
        xy=(turn, 0.97 if is_early else 0.03), xycoords=axes.get_xaxis_transform(),
        xytext=(5 if is_early else -5, 0), textcoords="offset points",
        ha="left" if is_early else "right", va="top" if is_early else "bottom",
        color=_colour(-1), **fonts.style,
    )  # fmt: skip


def _wrap_title(head: str, tail: str, longest: int) -> str:
    line = f"{head} {tail}"
    return line if _count_columns(line) <= longest else f"{head}\n{tail}"


def _colour(score: float) -> tuple[float, float, float]:
    red, green, blue = FOR if score >= 0 else AGAINST
    return red / 255, green / 255, blue / 255


def _get_text_colour() -> str:
    """Black, or the text colour of the session's style."""
    from matplotlib import rcParams

    return str(rcParams["text.color"])


def _one_line(text: str) -> str:
    """A word or label on one line, shortened, without characters that XML forbids."""
    return one_line(text).replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")


def _count_columns(text: str) -> int:
    """Width of a text, in Latin letters."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
