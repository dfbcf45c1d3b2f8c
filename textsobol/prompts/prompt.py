"""`Prompt`: a template with a text in it, named parts, and the answers that stand for labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import regex

from textsobol.prompts.answers import check_answers
from textsobol.text.inputs import refuse_surrogates

_PLACE = regex.compile(r"\{\{(?P<plain>\w+)\}\}|\{(?P<name>[^\W\d]\w*)\}")
_UNITS = ("part", "word", "sentence", "paragraph")

Template = str | Sequence[Mapping[str, str]]
Parts = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True)
class Prompt:
    r"""A prompt that makes a language model a classifier, or asks it for an answer.

    Attributes:
        template: the prompt with ``{text}`` where the text goes, or a list of chat messages
            ``{"role": ..., "content": ...}``, which the tokenizer's chat template puts together.
            ``{{name}}`` stands for the characters ``{name}``; other braces are plain characters.
        answers: for every label the answer that stands for it, or several. With most tokenizers a
            word that follows a plain prompt begins with its space: ``" positive"``. If ``None``, an
            answer is explained: the ``target`` of a call, or the model's own.
        parts: contents of other placeholders, by name: ``{"instruction": "..."}``, or several
            pieces of one kind: ``{"document": ["...", "..."]}``.
        features: what can be left out: ``text`` (the words of the text), ``parts`` (every named
            part as a whole), ``all`` (all words of the prompt), or a list of names: ``text``,
            ``document`` (each as a whole), ``document:sentence``, ``instruction:word``.
        calibrate: a text without content, such as ``"N/A"``. The log-probabilities that labels get
            for this text are subtracted (contextual calibration, Zhao et al. 2021).
        separator: what stands between the pieces of one part.

    Example:
        >>> prompt = Prompt(
        ...     "{example}\n\nReview: {text}\nSentiment:",
        ...     answers={"negative": " negative", "positive": [" positive", " great"]},
        ...     parts={"example": ["Review: Dull.\nSentiment: negative"]},
        ... )
        >>> prompt.fill("A fine film.")
        'Review: Dull.\nSentiment: negative\n\nReview: A fine film.\nSentiment:'
    """

    template: Template
    answers: Mapping[str, str | Sequence[str]] | None = None
    parts: Parts | None = None
    features: str | Sequence[str] = "text"
    calibrate: str | None = None
    separator: str = "\n\n"

    def __post_init__(self) -> None:
        _check_template(self.template)
        _check_parts(self.template, self.parts or {})
        self.chosen_features()
        if self.answers is not None:
            check_answers(self.answers)
        if self.calibrate is not None and self.answers is None:
            raise ValueError("calibrate= compares labels: give answers={label: answer}, too")
        if self.calibrate is not None and not isinstance(self.calibrate, str):
            raise ValueError(f"calibrate={self.calibrate!r}: give a text, such as 'N/A'")
        if not isinstance(self.separator, str):
            raise ValueError(f"separator={self.separator!r}: give a string")
        refuse_surrogates(self.separator, "separator=")
        refuse_surrogates(self.calibrate or "", "the text of calibrate=")

    @property
    def is_chat(self) -> bool:
        """Whether the prompt is a list of messages."""
        return not isinstance(self.template, str)

    @property
    def messages(self) -> list[tuple[str, str]]:
        """Role and content of each message; a plain prompt is one without a role."""
        if isinstance(self.template, str):
            return [("", self.template)]
        return [(message["role"], message["content"]) for message in self.template]

    def items(self, name: str) -> list[tuple[str, str]]:
        """The pieces of a part, each with its own name: "document 2"."""
        own = (self.parts or {})[name]
        if isinstance(own, str):
            return [(name, own)]
        return [(f"{name} {k}", text) for k, text in enumerate(own, 1)]

    def chosen_features(self) -> dict[str, str]:
        """The unit of the features of each part that has some; ``all`` for the whole prompt.

        A unit is ``part``, ``word``, ``sentence`` or ``paragraph``; empty: what the explainer says.

        Example:
            >>> Prompt("{document} {text}", parts={"document": ["One.", "Two."]},
            ...        features=["document", "text"]).chosen_features()
            {'document': 'part', 'text': ''}
        """
        own = [self.features] if isinstance(self.features, str) else self.features
        if not isinstance(own, Sequence) or not all(isinstance(each, str) for each in own):
            raise ValueError(
                f"features={own!r}: give 'text', 'parts', 'all' or a list of names of parts"
            )
        asked = list(own)
        if asked == ["all"]:
            return {"all": ""}
        names = list(self.parts or {})
        if "parts" in asked and not names:
            raise ValueError("features='parts': the prompt has no named parts; give parts={...}")
        asked = [name for each in asked for name in (names if each == "parts" else [each])]
        chosen: dict[str, str] = {}
        for each in asked:
            name, _, unit = each.partition(":")
            if name not in ("text", *names):
                known = ", ".join(["text", *names, "parts", "all"])
                raise ValueError(f"features: the prompt has no part {name!r}; known: {known}")
            if unit and unit not in _UNITS:
                raise ValueError(f"features={each!r}: unknown unit; known: {', '.join(_UNITS)}")
            if name in chosen:
                raise ValueError(f"features: {name!r} is there twice")
            chosen[name] = unit or ("" if name == "text" else "part")
        if not chosen:
            raise ValueError("features=[] leaves nothing to explain; by default 'text'")
        return chosen

    def fill(self, text: str) -> Any:
        """The prompt with the text in it: a string, or a list of messages."""
        every = {name: self.separator.join(t for _, t in self.items(name))
                 for name in self.parts or {}}  # fmt: skip
        every["text"] = text
        filled = [
            (role, "".join(every[own] if is_place else own for is_place, own in cut_template(each)))
            for role, each in self.messages
        ]
        if not self.is_chat:
            return filled[0][1]
        return [{"role": role, "content": content} for role, content in filled]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for an explanation's settings."""
        answers, parts = self.answers, self.parts
        return {
            "template": self.template if isinstance(self.template, str)
            else [dict(message) for message in self.template],
            "answers": None if answers is None
            else {str(label): _to_plain(own) for label, own in answers.items()},
            "parts": None if parts is None
            else {name: _to_plain(own) for name, own in parts.items()},
            "features": _to_plain(self.features),
            "calibrate": self.calibrate,
            "separator": self.separator,
        }  # fmt: skip


def cut_template(content: str) -> list[tuple[bool, str]]:
    """The content in pieces: whether it is a place, and the place's name or the text itself.

    Example:
        >>> cut_template('Review: {text} {"json": {{x}}}')
        [(False, 'Review: '), (True, 'text'), (False, ' {"json": {x}}')]
    """
    pieces: list[tuple[bool, str]] = []
    plain, done = "", 0
    for match in _PLACE.finditer(content):
        plain += content[done : match.start()]
        done = match.end()
        if match["name"] is None:
            plain += "{" + match["plain"] + "}"
            continue
        pieces += [(False, plain), (True, match["name"])]
        plain = ""
    return [(is_place, own) for is_place, own in [*pieces, (False, plain + content[done:])] if own]


def _check_template(template: Any) -> None:
    if isinstance(template, str):
        refuse_surrogates(template, "the prompt")
        return
    if not isinstance(template, Sequence) or isinstance(template, bytes) or not template:
        raise ValueError("a prompt is a string with {text} in it, or a list of chat messages")
    for number, message in enumerate(template):
        is_message = isinstance(message, Mapping) and all(
            isinstance(message.get(key), str) for key in ("role", "content")
        )
        if not is_message:
            raise ValueError(
                f"message {number} of the prompt must be {{'role': ..., 'content': ...}} with "
                f"strings, not {message!r:.80}"
            )
        refuse_surrogates(message["role"] + message["content"], f"message {number} of the prompt")


def _check_parts(template: Template, parts: Parts) -> None:
    if not isinstance(parts, Mapping):
        raise ValueError("parts= maps names to texts, such as {'instruction': 'Be brief.'}")
    contents = [template] if isinstance(template, str) else [m["content"] for m in template]
    places = [own for content in contents for is_place, own in cut_template(content) if is_place]
    if "text" not in places:
        raise ValueError("the prompt has no {text}: write it where the text goes")
    for name in places:
        if name != "text" and name not in parts:
            raise ValueError(
                f"the prompt's {{{name}}} is not known: give parts={{{name!r}: ...}}, or write "
                f"{{{{{name}}}}} for the characters themselves"
            )
        if places.count(name) > 1:
            raise ValueError(f"the prompt has {{{name}}} twice; a feature can be in one place only")
    for name, own in parts.items():
        if name in ("text", "parts", "all"):
            raise ValueError(f"a part cannot be called {name!r}, which has a meaning of its own")
        if name not in places:
            raise ValueError(f"part {name!r} has no place in the prompt: write {{{name}}} there")
        texts = [own] if isinstance(own, str) else own
        is_list = isinstance(texts, Sequence) and len(texts) > 0
        if not is_list or not all(isinstance(text, str) and text.strip() for text in texts):
            raise ValueError(f"part {name!r} must be a text, or a list of texts, and not empty")
        for text in texts:
            refuse_surrogates(text, f"part {name!r}")


def _to_plain(value: str | Sequence[str]) -> str | list[str]:
    return value if isinstance(value, str) else list(value)
