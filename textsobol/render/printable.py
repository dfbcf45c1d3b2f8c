"""Text that is safe to show: it steers nothing and turns no direction."""

import unicodedata


def printable(text: str) -> str:
    r"""The text, same length, without what would steer a terminal or turn its direction.

    Control characters (but for line ends and tabs), lone surrogates and bidirectional overrides
    become U+FFFD.

    >>> printable("red \x1b[31m alert\n")
    'red �[31m alert\n'
    """
    return "".join("\ufffd" if _steers(c) else c for c in text)


def one_line(text: str, longest: int = 40) -> str:
    r"""A word or label on one line, shortened.

    >>> one_line("two\nlines"), one_line("abcdef", 4)
    ('two lines', 'abc…')
    """
    line = " ".join(printable(text).split())
    return line if len(line) <= longest else line[: longest - 1] + "\u2026"


def _steers(character: str) -> bool:
    if unicodedata.category(character) in ("Cc", "Cs"):
        return character not in "\n\t"
    return character in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
