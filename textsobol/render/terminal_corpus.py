"""The words of many texts, printed in a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from textsobol.render.printable import one_line

if TYPE_CHECKING:
    from rich.console import Console

    from textsobol.corpus.view import CorpusView

_LABELS = 5


def show_corpus(view: CorpusView, console: Console, *, top: int = 10) -> None:
    """Print the words and phrases that push to each label.

    Args:
        view: the words.
        console: where to print.
        top: number of words, and of phrases, per label.
    """
    labels = sorted(view.predicted, key=lambda label: -view.predicted[label])[:_LABELS]
    failed = f", {view.failed:,} could not be explained" if view.failed else ""
    counts = ", ".join(f"{one_line(label)} {view.predicted[label]:,}" for label in labels)
    console.print(Text(f"{view.texts:,} texts: {counts}{failed}", style="bold"))
    n_listed = 0
    for label in labels:
        table = Table(box=None, padding=(0, 1), show_edge=False)
        table.add_column(Text(f"push to {one_line(label)}"))
        for name in ("texts", "times", "mean score", "95 % interval"):
            table.add_column(name, justify="right")
        for words in (view.words, view.phrases):
            own = (w for w in words if w.label == label and w.texts >= view.least_texts)
            for word in [w for w in own if w.score > 0][:top]:
                interval = "" if math.isnan(word.low) else f"{word.low:+.3f} to {word.high:+.3f}"
                numbers = f"{word.texts:,}", f"{word.occurrences:,}", f"{word.score:+.3f}"
                table.add_row(Text(one_line(word.word)), *numbers, interval)
            table.add_section()
        if table.row_count:
            console.print()
            console.print(table)
        n_listed += table.row_count
    console.print()
    note = f"words and phrases in at least {view.least_texts} texts, by score and frequency"
    if not n_listed:
        note = (
            f"no word that pushes to a label is in {view.least_texts} texts or more (--min-texts)"
        )
    console.print(note, style="dim", highlight=False, markup=False)
