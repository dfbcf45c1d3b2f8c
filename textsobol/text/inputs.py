"""What is asked for, checked: texts, budget, labels."""

from collections.abc import Mapping
from typing import Any

from textsobol.methods.contract import Method

Text = str | tuple[str, str]


def default_budget(n_words: int) -> int:
    """Forward passes for a text of that many words, when none are given.

    Four base rows, 4 (d + 1) passes, rank the words of a long text well. A short text gets
    up to 512 passes or 32 base rows, whichever is less, since they cost little there. One more
    pass is the prediction.

    Example:
        >>> [default_budget(n) for n in (5, 20, 60, 230)]
        [193, 513, 513, 925]
    """
    return 1 + max(4 * (n_words + 1), min(512, 32 * (n_words + 1)))


def checked_texts(text: Any) -> tuple[Text, list[str]]:
    """The text as it is kept in an explanation, and its one or two parts."""
    if isinstance(text, Mapping) and set(text) == {"text", "text_pair"}:
        text = (text["text"], text["text_pair"])
    if isinstance(text, list):
        raise ValueError("a list of texts goes to explainer.many(texts); a pair is a tuple")
    parts = list(text) if isinstance(text, tuple) else [text]
    if not 1 <= len(parts) <= 2 or not all(isinstance(part, str) for part in parts):
        raise ValueError("a text is a string, or a pair of strings (premise, hypothesis)")
    for part in parts:
        if not part.strip():
            raise ValueError("nothing to explain: the text is empty or blank")
        try:
            part.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueError(
                f"the text has half of a surrogate pair at character {error.start}, which no "
                f"tokenizer can read; mend it with text.encode('utf-8', 'replace').decode()"
            ) from None
    return text, parts


def n_pairs_among(interactions: int, n_words: int) -> int:
    """Number of pairs that ``interactions`` words have; no more words than there are."""
    if interactions < 0 or interactions == 1:
        raise ValueError(f"interactions={interactions}: must be 0, or 2 words at least")
    k = min(interactions, n_words)
    return k * (k - 1) // 2


def checked_budget(
    budget: int | None, rows: int | None, n_words: int, passes: int, n_pairs: int = 0
) -> int | None:
    """The budget in forward passes; ``None`` when only ``rows`` are given."""
    if budget is None:
        return None if rows is not None else passes * default_budget(n_words + n_pairs)
    least = passes * (n_words + n_pairs + 2)
    if budget < least:
        pairs = f" and {n_pairs} pairs" if n_pairs else ""
        each = f" for each of the {passes} labels" if passes > 1 else ""
        raise ValueError(
            f"budget={budget}: {n_words} words{pairs} need at least {least} forward passes, one "
            f"for the prediction and {n_words + n_pairs + 1} for one base row{each}"
        )
    return budget


def method_budget(method: Method, budget: int | None, n_words: int, passes: int) -> int:
    """The budget of a method other than ours, in forward passes."""
    if budget is not None and method.natural is not None and not method.natural(n_words):
        raise ValueError(f"budget={budget}: {method.title} has its own number of passes")
    if budget is None:
        natural = default_budget if method.natural is None else method.natural
        return passes * max(method.least(n_words), natural(n_words))
    least = passes * method.least(n_words)
    if budget < least:
        raise ValueError(
            f"budget={budget}: {method.title} needs at least {least} forward passes for "
            f"{n_words} words"
        )
    return budget
