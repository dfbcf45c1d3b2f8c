"""Words: spans of the original text, found by a segmenter.

A segmenter maps a text to spans ``(start, end)`` that ascend and do not overlap. What lies between
the spans is not a feature and always stays.
"""

from collections.abc import Callable, Iterable
from functools import partial

import regex

Span = tuple[int, int]
Segmenter = Callable[[str], Iterable[Span]]
Ignore = str | Iterable[str] | Callable[[str], bool]

# With the joiners that Persian and Indic scripts write inside words.
_LETTERS = r"[\p{L}\p{M}\p{N}_](?:[\p{L}\p{M}\p{N}_]|[\u200c\u200d](?=\p{L}))*"
# An inner point does not join two sentences that lack a space: "bad.The".
_JOINT = r"(?:['\u2019\-\u2010\u2011/]|(?<!\p{Ll})\.|\.(?!\p{Lu}))"
_EMOJI = r"(?:\p{Regional_Indicator}{2}|[\p{Extended_Pictographic}--\p{N}][\p{M}\p{EMod}\u200d]*)+"
_FACE = r"(?<![\w:;=])(?:[:;=][-o^']?[()\[\]DdPp/\\|*]+|<3+|[xX]D+)(?!\w)"
_MARKUP = r"(?P<markup></?[A-Za-z][^<>]{0,200}>)"
_WORD = regex.compile(
    rf"{_MARKUP}|{_FACE}|{_LETTERS}(?:{_JOINT}{_LETTERS})*|{_EMOJI}|[!?]{{2,}}|\p{{So}}+",
    regex.VERSION1,
)
_MARKS = regex.compile(rf"{_MARKUP}|(?P<mark>[\p{{P}}\p{{S}}])(?P=mark)*+")
# Western sentences end before a space; full-width, Indic, Burmese and Khmer stops need none.
_SENTENCE_END = regex.compile(
    # From the first stop of a run, without backtracking: else a long run takes quadratic time.
    r"(?<![.!?\u2026])[.!?\u2026]++[\"'\u201d\u2019)\]]*+(?=\s|$)"
    r"|[\u3002\uff61\uff01\uff1f\u0964\u104b\u17d4]+[\u300d\u300f\u201d\u2019\uff09]*|\n\s*"
)
_ABBREVIATION = regex.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|St|vs|etc|e\.g|i\.e|Prof|Jr|Sr|No)|\b\p{Lu})\.$"
)
_LONGEST_ABBREVIATION = 8  # characters, with a margin
_PARAGRAPH_BREAK = regex.compile(r"\n\s*\n|(?:<br\s*/?>\s*){2,}", regex.IGNORECASE)

STOP_WORDS = frozenset(
    """
    a about above after again all also am an and any are as at be because been before being below
    between both but by can could did do does doing down during each few for from further had has
    have having he her here hers herself him himself his how i if in into is it its itself just me
    more most my myself of off on once only or other our ours ourselves out over own same she so
    some such than that the their theirs them themselves then there these they this those through
    to too under until up very was we were what when where which while who whom why will with would
    you your yours yourself yourselves
    """.split()  # noqa: SIM905
)
"""English function words, without "not", "no" and other words that reverse a meaning."""


def find_words(text: str) -> list[Span]:
    """Runs of letters and digits, with inner apostrophes, hyphens, slashes and points.

    Symbols that carry meaning are words too: emoji, ":)", "!!!". Plain punctuation and markup such
    as ``<br />`` are not. What a script without spaces between words writes is one run; `unspaced`
    cuts it.

    Example:
        >>> text = "Don't miss it :) 10/10!!!<br />"
        >>> [text[start:end] for start, end in find_words(text)]
        ["Don't", 'miss', 'it', ':)', '10/10', '!!!']
    """
    return find_words_between(text, 0, len(text))


def find_words_between(text: str, start: int, end: int) -> list[Span]:
    """The words of a part of the text."""
    matches = _WORD.finditer(text, start, end)
    return [match.span() for match in matches if match["markup"] is None]


def add_punctuation(text: str, words: Iterable[Span]) -> list[Span]:
    """The words, and all punctuation marks and symbols between them, equal neighbours as one.

    Example:
        >>> text = "Wow! What... <br />"
        >>> spans = add_punctuation(text, find_words(text))
        >>> [text[start:end] for start, end in spans]
        ['Wow', '!', 'What', '...']
    """
    spans: list[Span] = []
    position = 0
    for start, end in [*words, (len(text), len(text))]:
        marks = _MARKS.finditer(text, position, start)
        spans += [match.span() for match in marks if match["markup"] is None]
        spans += [(start, end)] * (end > start)
        position = end
    return spans


def find_sentences(text: str) -> list[Span]:
    """Sentences by their final punctuation; line breaks end a sentence too.

    Example:
        >>> text = "Dr. Who is back. Good!"
        >>> [text[start:end] for start, end in find_sentences(text)]
        ['Dr. Who is back.', 'Good!']
    """
    cuts = [0]
    for match in _SENTENCE_END.finditer(text):
        start = max(cuts[-1], match.end() - _LONGEST_ABBREVIATION)
        if not _ABBREVIATION.search(text, start, match.end()):
            cuts.append(match.end())
    return trim(text, zip(cuts, [*cuts[1:], len(text)], strict=True))


def find_paragraphs(text: str) -> list[Span]:
    """Paragraphs, separated by a blank line or by two ``<br />``."""
    breaks = [match.span() for match in _PARAGRAPH_BREAK.finditer(text)]
    starts = [0, *(end for _, end in breaks)]
    return trim(text, zip(starts, [*(start for start, _ in breaks), len(text)], strict=True))


def check_spans(spans: Iterable[Span], text: str) -> list[Span]:
    """The spans as a list, or an error that names the first wrong one."""
    checked: list[Span] = []
    end_of_last = 0
    for start, end in spans:
        if not end_of_last <= start < end <= len(text):
            raise ValueError(
                f"the segmenter returned the span ({start}, {end}); spans must lie within the "
                f"text's {len(text)} characters, be ascending, not empty and not overlap"
            )
        checked.append((int(start), int(end)))
        end_of_last = end
    return checked


def describe_ignore(ignore: Ignore | None) -> str | list[str] | None:
    """What is ignored, for the record."""
    if ignore is None or isinstance(ignore, str):
        return ignore
    return getattr(ignore, "__name__", "callable") if callable(ignore) else sorted(ignore)


def make_ignore_predicate(ignore: Ignore | None) -> Callable[[str], bool]:
    """A function that says whether a word is left out of the analysis.

    Example:
        >>> is_ignored = make_ignore_predicate("stopwords")
        >>> is_ignored("The"), is_ignored("not")
        (True, False)
    """
    if callable(ignore):
        return ignore
    if isinstance(ignore, str):
        if ignore != "stopwords":
            raise ValueError(f"ignore={ignore!r}: give 'stopwords', a list of words or a predicate")
        ignore = STOP_WORDS
    return partial(_is_listed, frozenset(word.lower() for word in ignore or ()))


def _is_listed(listed: frozenset[str], word: str) -> bool:
    return word.lower() in listed


def trim(text: str, spans: Iterable[Span]) -> list[Span]:
    """The spans without white space at their ends; those with nothing else are left out."""
    trimmed = []
    for start, end in spans:
        piece = text[start:end].rstrip()
        if content := piece.lstrip():
            trimmed.append((start + len(piece) - len(content), start + len(piece)))
    return trimmed
