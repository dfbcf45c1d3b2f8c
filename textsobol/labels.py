"""Names of labels, and the choice among them."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

_NUMBER = re.compile(r"(?:LABEL_)?(-?\d+)(?:\.0)?")
NAME_LABELS = "labels without names are numbered; label_names=[...] names them"


def disambiguate(names: Sequence[str]) -> list[str]:
    """Add the number of a label to its name if several labels share the name.

    Example:
        >>> disambiguate(["crane", "lamp", "crane"])
        ['crane (0)', 'lamp', 'crane (2)']
    """
    count = Counter(names)
    return [f"{name} ({k})" if count[name] > 1 else name for k, name in enumerate(names)]


def are_numbers(names: Iterable[str]) -> bool:
    """Whether labels are only numbered: a library's stand-ins for names.

    Example:
        >>> are_numbers(["LABEL_0", "LABEL_1"]), are_numbers(["0", "1"]), are_numbers(["no", "1"])
        (True, True, False)
    """
    return all(_NUMBER.fullmatch(name) for name in names)


def sort_labels(names: Iterable[str]) -> list[str]:
    """Names in alphabetical order, and numbered labels by number.

    Example:
        >>> sort_labels(["LABEL_10", "LABEL_9"]), sort_labels(["pos", "neg"])
        (['LABEL_9', 'LABEL_10'], ['neg', 'pos'])
    """
    names = list(names)
    if not are_numbers(names):
        return sorted(names)
    return sorted(names, key=lambda name: int(_NUMBER.sub(r"\1", name)))


def rename_labels(own: Sequence[str], given: Sequence[str] | None) -> list[str]:
    """A model's own labels, or the names given for labels that are only numbered.

    Raises:
        ValueError: when the model has other names, which would be hidden, or another number of
            labels.

    Example:
        >>> rename_labels(["LABEL_0", "LABEL_1"], ["negative", "positive"])
        ['negative', 'positive']
    """
    if given is None or list(given) == list(own):
        return list(own)
    if len(given) != len(own):
        raise ValueError(
            f"{len(given)} labels were named, but the classifier returns {len(own)} scores; name "
            f"one label for each score"
        )
    if not are_numbers(own):
        raise ValueError(
            f"label_names= is for labels that are only numbered, but this model has its own: "
            f"{', '.join(own)}; leave it out"
        )
    return list(given)


def choose_labels(asked: Sequence[str] | None, known: Sequence[str]) -> list[int]:
    """Numbers of the requested labels; by default all."""
    if asked is None:
        return list(range(len(known)))
    asked = [asked] if isinstance(asked, str) else list(map(str, asked))
    unknown = [label for label in asked if label not in known]
    if unknown or not asked:
        hint = f"; {NAME_LABELS}" if are_numbers(known) else ""
        raise ValueError(
            f"unknown label {', '.join(map(repr, unknown))}; known: {', '.join(known)}{hint}"
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
        hint = f"; {NAME_LABELS}" if are_numbers(probabilities) else ""
        raise ValueError(f"label {asked!r} {reason}; analysed: {', '.join(analysed)}{hint}")
    return asked
