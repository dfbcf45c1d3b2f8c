"""Labels that are asked for, checked."""

from collections import Counter
from collections.abc import Mapping, Sequence


def disambiguate(names: Sequence[str]) -> list[str]:
    """Names of labels, each with its number where a name stands for several.

    Example:
        >>> disambiguate(["crane", "lamp", "crane"])
        ['crane (0)', 'lamp', 'crane (2)']
    """
    count = Counter(names)
    return [f"{name} ({k})" if count[name] > 1 else name for k, name in enumerate(names)]


def chosen_labels(asked: Sequence[str] | None, known: Sequence[str]) -> list[int]:
    """Numbers of the labels asked for; all of them by default."""
    if asked is None:
        return list(range(len(known)))
    asked = [asked] if isinstance(asked, str) else list(map(str, asked))
    unknown = [label for label in asked if label not in known]
    if unknown or not asked:
        raise ValueError(
            f"unknown label {', '.join(map(repr, unknown))}; known: {', '.join(known)}"
        )
    return [known.index(label) for label in asked]


def checked_label(
    asked: str | None, analysed: Sequence[str], probabilities: Mapping[str, float]
) -> str:
    """The label to look at; by default the likeliest of those analysed."""
    if asked is None:
        return max(analysed, key=lambda label: probabilities[label])
    asked = str(asked)  # the labels 0 and 1 of a function are numbers to its author
    if asked not in analysed:
        reason = "was not analysed" if asked in probabilities else "is not known"
        raise ValueError(f"label {asked!r} {reason}; analysed: {', '.join(analysed)}")
    return asked
