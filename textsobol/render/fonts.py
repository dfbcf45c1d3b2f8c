"""Fonts for the words of a plot: texts come in every script, matplotlib's own font does not."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

import regex


@dataclass(frozen=True)
class Lettering:
    """How words and labels are written.

    Attributes:
        families: fonts that are asked for a character, in this order.
        glyphs: what each of them has.
        keep_missing: whether what none of them has stays in the text.
    """

    families: tuple[str, ...]
    glyphs: tuple[frozenset[int], ...]
    keep_missing: bool

    @property
    def style(self) -> dict[str, Any]:
        """Of a matplotlib text: these fonts, and ``$``, ``_`` and backslashes as they are."""
        # Another weight or slant is another file, with other glyphs.
        regular_face = {"fontweight": "normal", "fontstyle": "normal"}
        as_written = {"parse_math": False, "usetex": False}
        return {"fontfamily": list(self.families), **regular_face, **as_written}

    def shown(self, text: str) -> str:
        """The text as it can be drawn without matplotlib's warning of missing glyphs."""
        if self.keep_missing:
            return text
        return "".join(c if self._has(c) else "\ufffd" for c in _characters(text))

    def _has(self, character: str) -> bool:
        return any(_draws(glyphs, character) for glyphs in self.glyphs)


def lettering_for(texts: Sequence[str], *, keep_missing: bool = False) -> Lettering:
    """Matplotlib's fonts and, for the characters that they lack, others that are installed."""
    from matplotlib import rcParams

    needed = {character for text in texts for character in _characters(text)}
    # DejaVu Sans comes with matplotlib, and has the replacement character.
    families = [*rcParams["font.family"], "DejaVu Sans"]
    known = [_glyphs(name) for name in families]
    missing = {c for c in needed if not any(_draws(glyphs, c) for glyphs in known)}
    found = _installed_for(missing) if missing else []
    return Lettering(
        tuple(families + found), (*known, *(_glyphs(name) for name in found)), keep_missing
    )


def _characters(text: str) -> list[str]:
    """What readers call characters: letters with their accents, flags, families of emoji."""
    return list(regex.findall(r"\X", text))


def _draws(glyphs: Set[int], character: str) -> bool:
    # A letter and its accent have to come from one font.
    return all(ord(part) in glyphs for part in character)


def _glyphs(family: str) -> frozenset[int]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return frozenset(get_font(findfont(FontProperties(family=[family]))).get_charmap())


def _installed_for(missing: set[str]) -> list[str]:
    """Installed fonts that have the missing characters, those with most of them first."""
    from matplotlib.font_manager import fontManager, get_font

    offers: dict[str, set[str]] = {}
    for font in fontManager.ttflist:
        regular_face = font.style == "normal" and font.weight in (400, "normal", "regular")
        # The font of last resort has a box for every character, and helps nobody.
        if not regular_face or "lastresort" in font.name.lower().replace(" ", ""):
            continue
        try:
            glyphs = get_font(font.fname).get_charmap().keys()
        except (OSError, RuntimeError):
            continue  # in matplotlib's list of fonts, but no longer there or broken
        offers[font.name] = {c for c in missing if _draws(glyphs, c)}
    families: list[str] = []
    while offers:
        best = max(sorted(offers), key=lambda name: len(offers[name]))
        gained = offers.pop(best)
        if not gained:
            break
        families.append(best)
        offers = {name: offer - gained for name, offer in offers.items()}
    return families
