"""What RESULTS.md says around its tables."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.deletion.measures import DRAWS, SHARES

PLOT = "deletion.png"


@dataclass(frozen=True)
class Measure:
    """A column of the results.

    Attributes:
        name: of what is measured.
        title: in tables.
        higher_is_better: which way is better.
        has_interval: whether tables show intervals and differences.
    """

    name: str
    title: str
    higher_is_better: bool
    has_interval: bool = True


MEASURES = (
    Measure("hard comp", "comprehensiveness", higher_is_better=True),
    Measure("hard suff", "sufficiency", higher_is_better=False),
    Measure("soft comp", "soft comprehensiveness", higher_is_better=True),
    Measure("soft suff", "soft sufficiency", higher_is_better=False),
    *(
        Measure(f"without {share:g}", f"without {100 * share:g} %", higher_is_better=False,
                has_interval=False)
        for share in SHARES
    ),
)  # fmt: skip
_SHARES = ", ".join(f"{100 * share:g}" for share in SHARES)
HEADER = f"""# Deletion by shares of the text

Written by `python -m benchmarks.deletion report`; raw lines in `results/`.

Texts have their natural length; words beyond the model's window are not features. The top {_SHARES}
% of the words are deleted, or kept alone. **Comprehensiveness** is the mean drop of the predicted
label's probability without them (high is good), **sufficiency** the mean drop with only these (low
is good). **Soft**: words are chosen by chance in proportion to their scores above 0, as many on
average; {DRAWS} draws for each share, the same random numbers for all methods (after Zhao & Aletras
2023).

**Bounds.** All four are shown between the model's own bounds for the text (NAOPC, Edin et al.
2024): 0 is the lowest and 1 the highest value of the hard measure that greedy searches for it, or
any method, have found. Searches try every word left: one after another up to 30 words, in five
blocks for longer texts. A soft value can lie outside. Texts whose bounds coincide are left out.
Greedy search has one order for each curve. Total indices are close to squares of effects: chances
in proportion to them gather on few words, which soft measures reward.

**Attributions and searches.** A search looks for deletions and optimises what is measured here: it
is listed apart and not marked. "The default" gives both: its scores, and its path.

Methods are run with their defaults on the same texts, of one seed; nothing was tuned on them."""
PAIRED = (
    "Our default minus the other method, text by text, with 95 % intervals; above 0 is better "
    "for ours, whichever way the measure goes."
)
BY_LENGTH = "Mean normalised comprehensiveness; few texts of each length, so without intervals."
