"""Text that is safe to print: no control characters, no changes of direction."""

import unicodedata


def replace_controls(text: str) -> str:
    r"""Replace what could control a terminal or change the text's direction; same length.

    Control characters (except line ends and tabs), lone surrogates and bidirectional overrides
    become U+FFFD.

    >>> replace_controls("red \x1b[31m alert\n")
    'red �[31m alert\n'
    """
    return "".join("\ufffd" if _is_control(c) else c for c in text)


def one_line(text: str, longest: int = 40) -> str:
    r"""A word or label on one line, shortened.

    >>> one_line("two\nlines"), one_line("abcdef", 4)
    ('two lines', 'abc…')
    """
    line = " ".join(replace_controls(text).split())
    return line if len(line) <= longest else line[: longest - 1] + "\u2026"


def _is_control(character: str) -> bool:
    if unicodedata.category(character) in ("Cc", "Cs"):
        return character not in "\n\t"
    return character in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
