"""Why one label and not another, from masks that were scored already."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from textsobol.labels import checked_label
from textsobol.text.explanation import TextExplanation
from textsobol.text.records import Word
from textsobol.text.scores import advised_passes, measured_words, sums_of


def contrast(explanation: TextExplanation, label: str, other: str) -> TextExplanation:
    """The explanation of the difference of two labels' log-odds; see `TextExplanation.contrast`."""
    for name in (label, other):
        checked_label(name, explanation.labels, explanation.probabilities)
    if label == other:
        raise ValueError(f"contrast needs two different labels, not {label!r} twice")
    found = explanation.evidence
    if found is None or found.indices is None:
        raise ValueError(
            "contrast needs the scored masks, which only an explanation by method='sobol' has, and "
            "which are not saved: explain the text again"
        )
    columns = [explanation.labels.index(name) for name in (label, other)]
    found = replace(found, indices=found.indices.contrast(*columns))
    value = explanation.sums[label].value - explanation.sums[other].value
    name = f"{label} rather than {other}"
    bare: list[Word] = [replace(word, scores={}, shared_by=1) for word in explanation.words]
    return replace(
        explanation,
        words=measured_words(bare, [name], found),
        label=name,
        pairs=(),
        sums=sums_of([name], found.indices, np.array([value])),
        advised=advised_passes([name], found),
        evidence=None,
        settings={**explanation.settings, "contrast": [label, other]},
    )
