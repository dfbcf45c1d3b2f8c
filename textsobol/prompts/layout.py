"""A text in its prompt: what can be left out, where it stands, and the prompt without it.

A prompt's messages are made of plain characters and *places*, which hold one or several *items*.
Each item is masked by itself. If nothing is left of one, its separator goes too; if nothing is left
of a place, so does the white space before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from textsobol.prompts.prompt import Prompt, cut_template
from textsobol.prompts.scoring import AnyPrompt, Message
from textsobol.sobol.arrays import Array
from textsobol.text.masked_text import MaskedText
from textsobol.text.segmenters import get_segmenter
from textsobol.text.tokens import split_masks
from textsobol.text.words import Segmenter, Span

_BETWEEN_MESSAGES = "\n\n"


@dataclass(frozen=True)
class Item:
    """A piece of the prompt.

    Attributes:
        name: "text", "instruction" or "document 2"; empty for a whole message.
        text: what stands there.
        start: where it stands in the displayed text.
        unit: the unit of its features; ``None`` if it has none, empty for the explainer's own.
    """

    name: str
    text: str
    start: int
    unit: str | None


@dataclass(frozen=True)
class Place:
    """Items that stand for one name of the template, with what separates them."""

    items: tuple[Item, ...]
    separator: str


class Layout:
    """A text in its prompt.

    Attributes:
        shown: the text that is displayed: the text itself if nothing else can be left out, else the
            whole prompt without the markup of a chat.
        messages: role and content of each.

    Example:
        >>> prompt = Prompt("{hint} Review: {text}", parts={"hint": "Short."}, features="parts")
        >>> layout = Layout(prompt, "A fine film.")
        >>> layout.shown, layout.features(len)
        ('Short. Review: A fine film.', [((0, 6), 'hint')])
    """

    def __init__(self, prompt: Prompt, text: str) -> None:
        units = prompt.chosen_features()
        self._is_chat = prompt.is_chat
        self.messages: list[tuple[str, list[str | Place]]] = []
        contents, start = [], 0
        for role, template in prompt.messages:
            pieces: list[str | Place] = []
            content = ""
            for is_place, own in cut_template(template):
                if not is_place:
                    pieces.append(own)
                    content += own
                    continue
                named = [("text", text)] if own == "text" else prompt.items(own)
                items = []
                for number, (name, one) in enumerate(named):
                    content += prompt.separator if number else ""
                    items.append(Item(name, one, start + len(content), units.get(own)))
                    content += one
                pieces.append(Place(tuple(items), prompt.separator))
            if "all" in units:
                pieces = [Place((Item("", content, start, ""),), "")]
            self.messages.append((role, pieces))
            contents.append(content)
            start += len(content) + len(_BETWEEN_MESSAGES)
        is_text_alone = list(units) == ["text"]
        self.shown = text if is_text_alone else _BETWEEN_MESSAGES.join(contents)
        # Only the text has features then, and they are counted from where it begins.
        self._origin = next(i.start for i in self.items if i.name == "text") if is_text_alone else 0

    @property
    def items(self) -> list[Item]:
        """All items, in order."""
        return [
            item
            for _, pieces in self.messages
            for place in pieces
            if isinstance(place, Place)
            for item in place.items
        ]

    def features(self, segment: Segmenter) -> list[tuple[Span, str]]:
        """Spans of the displayed text that can be left out, and the names of those that have one.

        Args:
            segment: finds the features of what has no unit of its own.
        """
        found = []
        for item in self.items:
            if item.unit is None:
                continue
            name = item.name if item.unit == "part" else ""
            own = segment if not item.unit else _get_segmenter(item.unit)
            first = item.start - self._origin
            found += [((first + start, first + end), name) for start, end in own(item.text)]
        return found

    def masked(self, spans: Sequence[Span], replacement: str = "") -> MaskedPrompt:
        """The prompt whose features at these spans of the displayed text can be left out."""
        own_spans = []
        for item in self.items:
            first = item.start - self._origin
            inside = [
                (start - first, end - first)
                for start, end in spans
                if item.unit is not None and first <= start < first + len(item.text)
            ]
            own_spans.append(inside)
        return MaskedPrompt(self, own_spans, replacement, is_chat=self._is_chat)


class MaskedPrompt:
    """A prompt with features that can be left out; see `Layout.masked`."""

    def __init__(
        self, layout: Layout, spans: Sequence[Sequence[Span]], replacement: str, *, is_chat: bool
    ) -> None:
        self._messages = layout.messages
        self._is_chat = is_chat
        self._parts = [
            MaskedText(item.text, own, replacement)
            for item, own in zip(layout.items, spans, strict=True)
        ]

    def render(self, masks: Array) -> list[AnyPrompt]:
        """The prompt for each of the masks ``(masks, features)``."""
        own_masks = split_masks(masks, self._parts)
        rendered = [part.render(own) for part, own in zip(self._parts, own_masks, strict=True)]
        return [self._render(iter(texts)) for texts in zip(*rendered, strict=True)]

    def _render(self, texts: Iterable[str]) -> AnyPrompt:
        texts = iter(texts)
        messages: list[Message] = []
        for role, pieces in self._messages:
            own: list[tuple[bool, str]] = []
            for piece in pieces:
                if isinstance(piece, str):
                    own.append((False, piece))
                    continue
                left = [text for _, text in zip(piece.items, texts, strict=False)]
                whole = piece.separator.join(text for text in left if text.strip())
                own.append((True, whole))
            messages.append({"role": role, "content": _join(own)})
        return messages if self._is_chat else messages[0]["content"]


def _join(pieces: Iterable[tuple[bool, str]]) -> str:
    """Put a message together; an empty place goes with the white space before it, or after it."""
    content, begins_empty = "", False
    for is_place, text in pieces:
        if is_place and not text:
            content = content.rstrip()
            begins_empty = not content
        else:
            content += text.lstrip() if begins_empty else text
            begins_empty = begins_empty and not content
    return content


def _get_segmenter(unit: str) -> Segmenter:
    return _find_whole if unit == "part" else get_segmenter(unit)


def _find_whole(text: str) -> list[Span]:
    """All of a text but the white space around it."""
    return [(len(text) - len(text.lstrip()), len(text.rstrip()))]
