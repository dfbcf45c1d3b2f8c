"""Fonts for the words of a plot: no single font has all scripts."""

from collections.abc import Iterable, Set
from typing import Any

import regex


class Fonts:
    """A fallback list: matplotlib takes each character from the first font that has it.

    The session's fonts come first, then other installed ones for characters they lack.

    Args:
        texts: what will be drawn.
        keep_missing: whether to keep characters that no font has.
    """

    def __init__(self, texts: Iterable[str], *, keep_missing: bool = False) -> None:
        from matplotlib import rcParams
        from matplotlib.font_manager import FontProperties, findfont, fontManager

        # DejaVu Sans comes with matplotlib, and has the replacement character.
        families = [*rcParams["font.family"], "DejaVu Sans"]
        missing = {character for text in texts for character in _split_characters(text)}
        for name in families:
            missing -= _find_drawable(missing, findfont(FontProperties(family=[name])))
        offers = {
            font.name: _find_drawable(missing, font.fname)
            for font in (fontManager.ttflist if missing else ())
            # The last resort font draws a box for every character.
            if font.style == "normal" and font.weight in (400, "normal", "regular")
            if "lastresort" not in font.name.lower().replace(" ", "")
        }
        for name in sorted(offers, key=lambda name: (-len(offers[name]), name)):
            if offers[name] & missing:
                families.append(name)
                missing -= offers[name]
        self._missing = set() if keep_missing else missing
        # ``$``, ``_`` and backslashes stay literal. The face is regular: another weight or slant is
        # another file, with other glyphs.
        self.style: dict[str, Any] = {
            "fontfamily": families, "fontweight": "normal", "fontstyle": "normal",
            "parse_math": False, "usetex": False,
        }  # fmt: skip

    def replace_missing(self, text: str) -> str:
        """The text without characters that matplotlib would warn about."""
        return "".join("\ufffd" if c in self._missing else c for c in _split_characters(text))


def _split_characters(text: str) -> list[str]:
    """Graphemes: letters with their accents, flags, families of emoji."""
    return list(regex.findall(r"\X", text))


def _find_drawable(characters: Set[str], path: Any) -> set[str]:
    """The characters that a font has, each with all of its accents."""
    from matplotlib.font_manager import get_font

    try:
        glyphs = get_font(path).get_charmap()
    except (OSError, RuntimeError):
        return set()  # in matplotlib's list, but deleted or broken
    return {character for character in characters if all(ord(part) in glyphs for part in character)}
