"""What an explanation will cost, before it is made."""

from __future__ import annotations

from dataclasses import dataclass

from textsobol.progress import format_duration


@dataclass(frozen=True)
class Estimate:
    """What an explanation, or many, will cost.

    Attributes:
        passes: forward passes; one is a masked text, with all its windows.
        is_most: whether these are the most that are allowed: how many are made depends on the
            scores. Otherwise it is their number.
        windows: about how many windows will be run, if the text is longer than the model's window
            and windows slide over it.
        tokens: about how many tokens the model will be given; ``None`` for models without tokens.
        seconds: about how long it takes here; ``None`` if it was not measured.
        texts: number of texts.
        sampled: if not all texts were looked at, how many were.

    Example:
        >>> print(Estimate(1609, is_most=True, tokens=3_214_567, seconds=700.0))
        at most 1,609 forward passes (about 3,210,000 tokens), about 12 min
        >>> print(Estimate(9, is_most=False))
        9 forward passes
    """

    passes: int
    is_most: bool
    windows: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    texts: int = 1
    sampled: int | None = None

    def __str__(self) -> str:
        about = "about " if self.sampled else ""
        most = "at most " if self.is_most else ""
        text = f"{most}{about}{self.passes:,} forward pass{'es' if self.passes != 1 else ''}"
        sizes = [(self.windows, "windows"), (self.tokens, "tokens")]
        parts = [f"{_round(number):,} {name}" for number, name in sizes if number]
        text += f" (about {', '.join(parts)})" if parts else ""
        if self.seconds is not None:
            short = f"{self.seconds:.1f} s"
            text += f", about {format_duration(self.seconds) if self.seconds > 9.95 else short}"
        if self.texts > 1:
            text = f"{self.texts:,} texts: {text}"
        return text + (f"; estimated from {self.sampled} of them" if self.sampled else "")


def _round(number: int) -> int:
    """Three digits are enough for what is about so many."""
    return int(float(f"{number:.3g}"))
