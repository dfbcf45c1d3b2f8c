"""Explanations in a terminal: coloured with rich, plain in a pipe."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from textsobol.text.explanation import TextExplanation

# Blue against orange: told apart by people who confuse red and green.
_FOR, _AGAINST = (33, 102, 172), (217, 95, 2)
_BAR = 16


def show(explanation: TextExplanation, console: Console, *, top: int = 10) -> None:
    """Print the text with its words highlighted, and the words that matter most."""
    console.print(_headline(explanation))
    console.print()
    console.print(_highlighted(explanation), soft_wrap=True)
    console.print()
    console.print(_ranking(explanation, top))
    cost = explanation.cost
    console.print(
        f"{explanation.settings['model']}: {explanation.settings['estimator']}, "
        f"{cost['forwarded']:.0f} forward passes, {cost['seconds']:.1f} s",
        style="dim",
        highlight=False,
    )


def as_text(explanation: TextExplanation) -> str:
    """What `show` prints, without colours."""
    buffer = io.StringIO()
    show(explanation, Console(file=buffer, width=100, no_color=True, force_terminal=False))
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines())


def _headline(explanation: TextExplanation) -> Text:
    shares = sorted(explanation.probabilities.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{label} {share:.3f}" for label, share in shares[:5])
    line = Text(f"{explanation.prediction}", style="bold")
    line.append(f"  ({shown})", style="not bold")
    if explanation.label != explanation.prediction:
        line.append(f"  words for and against {explanation.label}", style="not bold")
    return line


def _highlighted(explanation: TextExplanation) -> Text:
    texts = [explanation.text] if isinstance(explanation.text, str) else list(explanation.text)
    strongest = max((abs(explanation.score_of(w).score) for w in explanation.words), default=0.0)
    shown = Text()
    for part, text in enumerate(texts):
        line = Text(_printable(text))
        for word in explanation.words:
            if word.part != part:
                continue
            if word.status == "outside":
                line.stylize("dim", word.start, word.end)
            elif strongest > 0:
                score = explanation.score_of(word).score
                line.stylize(_style(score / strongest), word.start, word.end)
        shown.append_text(line)
        if part < len(texts) - 1:
            shown.append("\n")
    return shown


def _style(strength: float) -> str:
    if abs(strength) < 0.05:
        return ""
    red, green, blue = _FOR if strength > 0 else _AGAINST
    weight = "bold " if abs(strength) > 0.5 else ""
    # Fainter words fade towards the background of a dark or light terminal alike.
    fade = 0.35 + 0.65 * abs(strength)
    mixed = [round(128 + (colour - 128) * fade) for colour in (red, green, blue)]
    return f"{weight}rgb({mixed[0]},{mixed[1]},{mixed[2]})" + (
        " reverse" if abs(strength) > 0.25 else ""
    )


def _ranking(explanation: TextExplanation, top: int) -> Table:
    table = Table(box=None, padding=(0, 1), show_edge=False)
    for name in ("word", "score", "95 % interval", ""):
        table.add_column(name, justify="right" if name == "score" else "left")
    rows = explanation.top(top)
    strongest = max((abs(score) for _, score, _ in rows), default=0.0)
    for text, score, (low, high) in rows:
        share = abs(score) / strongest if strongest > 0 else 0.0
        bar = ("+" if score > 0 else "-") * math.ceil(share * _BAR)
        table.add_row(
            Text(_printable(text)),
            f"{score:+.3f}",
            f"{low:+.3f} to {high:+.3f}",
            Text(bar, style=_style(math.copysign(1.0, score)).removesuffix(" reverse")),
        )
    return table


def _printable(text: str) -> str:
    """The text with characters that would steer the terminal made harmless, same length."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)
