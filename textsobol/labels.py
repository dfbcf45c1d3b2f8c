"""Names of labels, and the choice among them."""

from collections import Counter
from collections.abc import Mapping, Sequence


def disambiguate(names: Sequence[str]) -> list[str]:
    """Add the number of a label to its name if several labels share the name.

    Example:
        >>> disambiguate(["crane", "lamp", "crane"])
        ['crane (0)', 'lamp', 'crane (2)']
    """
    count = Counter(names)
    return [f"{name} ({k})" if count[name] > 1 else name for k, name in enumerate(names)]


def choose_labels(asked: Sequence[str] | None, known: Sequence[str]) -> list[int]:
    """Numbers of the requested labels; by default all."""
    if asked is None:
        return list(range(len(known)))
    asked = [asked] if isinstance(asked, str) else list(map(str, asked))
    unknown = [label for label in asked if label not in known]
    if unknown or not asked:
        raise ValueError(
            f"unknown label {', '.join(map(repr, unknown))}; known: {', '.join(known)}"
        )
    return [known.index(label) for label in asked]


def choose_target(
    asked: str | None, analysed: Sequence[str], probabilities: Mapping[str, float]
) -> str:
    """Check the label to explain; by default the likeliest analysed one."""
    if asked is None:
        return max(analysed, key=lambda label: probabilities[label])
    asked = str(asked)  # the labels 0 and 1 of a function are numbers to its author
    if asked not in analysed:
        reason = "was not analysed" if asked in probabilities else "is not known"
        raise ValueError(f"label {asked!r} {reason}; analysed: {', '.join(analysed)}")
    return asked
