"""Texts that are asked about, checked, and what they may cost."""

from collections.abc import Mapping
from typing import Any

Text = str | tuple[str, str]


def default_budget(n_words: int) -> int:
    """Forward passes for a text of that many words, when none are given.

    `Sobol` itself takes fewer for long texts, and where it uses gates.

    Eight for every word: with fewer, two seeds agree less. A short text gets up to 512 passes or
    32 for every word, whichever is less, since they cost little there. One more pass is the
    prediction.

    Example:
        >>> [default_budget(n) for n in (5, 20, 60, 230)]
        [193, 513, 513, 1849]
    """
    return 1 + max(8 * (n_words + 1), min(512, 32 * (n_words + 1)))


def checked_texts(text: Any) -> tuple[Text, list[str]]:
    """The text as it is kept in an explanation, and its one or two parts."""
    if isinstance(text, Mapping) and set(text) == {"text", "text_pair"}:
        text = (text["text"], text["text_pair"])
    if isinstance(text, list):
        raise ValueError("a list of texts goes to explainer.many(texts); a pair is a tuple")
    is_pair = isinstance(text, tuple)
    parts = list(text) if is_pair else [text]
    if len(parts) != 1 + is_pair or not all(isinstance(part, str) for part in parts):
        raise ValueError("a text is a string, or a pair of strings (premise, hypothesis)")
    for part in parts:
        if not part.strip():
            raise ValueError("nothing to explain: the text is empty or blank")
        refuse_surrogates(part, "the text")
    return text, parts


def refuse_surrogates(text: str, name: str) -> None:
    """Raise an error for a text that cannot be encoded."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{name} has half of a surrogate pair at character {error.start}, which no tokenizer "
            f"can read; fix it with text.encode('utf-8', 'replace').decode()"
        ) from None
