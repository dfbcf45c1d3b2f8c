"""Options that make a language model a classifier: a prompt and its answers, and a server."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from textsobol.endpoints.language_server import LanguageServer
    from textsobol.prompts.prompt import Prompt

_PANEL = "A language model with a prompt"


@dataclasses.dataclass(frozen=True)
class PromptOptions:
    """A prompt, its answers and parts, and a server that runs the model."""

    prompt: Annotated[
        Path | None,
        typer.Option(
            help="File with a prompt for a language model, with {text} where the text goes. The "
            "line end at its end is dropped. A .json file holds a list of chat messages.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ] = None
    answer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL=ANSWER",
            help="What the model would write for a label, with the space before it: "
            "--answer positive=' positive'. Give one or more for each label; the probabilities of "
            "several are added. Without it, --target or the model's own answer is explained.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ] = None
    part: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=TEXT",
            help="Text for another placeholder of the prompt, {NAME}; NAME=@FILE reads a file. "
            "Repeat it for several documents or examples of the same name.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ] = None
    features: Annotated[
        str,
        typer.Option(
            help="What is left out: text, parts (each as a whole), all (the words of the whole "
            "prompt), or names with commas, such as text,document or document:sentence.",
            rich_help_panel=_PANEL,
        ),
    ] = "text"
    calibrate: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="A text without content, such as N/A. Its log-probabilities are subtracted, since "
            "models prefer some labels whatever the text.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ] = None
    server: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="OpenAI-compatible server of a language model (vLLM, llama.cpp, TGI, hosted), "
            "such as http://localhost:8000/v1. Its token is read from TEXTSOBOL_TOKEN.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ] = None
    server_model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The model's name on the server.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ] = None
    top_logprobs: Annotated[
        int,
        typer.Option(
            help="How many of the likeliest next tokens to request, if the server does not score "
            "whole answers. For an answer not among them, only an upper bound is known.",
            min=1,
            rich_help_panel=_PANEL,
        ),
    ] = 20

    def __post_init__(self) -> None:
        if self.prompt is None:
            given = {
                "--answer": self.answer, "--part": self.part, "--calibrate": self.calibrate,
                "--server": self.server, "--features": self.features != "text",
            }  # fmt: skip
            for name, value in given.items():
                if value:
                    raise typer.BadParameter(f"{name} needs --prompt FILE")
        if (self.server is None) != (self.server_model is None):
            raise typer.BadParameter("give both --server ADDRESS and --server-model NAME")

    def make_prompt(self) -> Prompt | None:
        """The prompt of these options."""
        if self.prompt is None:
            return None
        from textsobol.prompts.prompt import Prompt

        parts = _collect("--part", self.part or ())
        features = self.features.split(",")
        return Prompt(
            _read_template(self.prompt),
            answers=_collect("--answer", self.answer) if self.answer else None,
            parts={name: _read_parts(texts) for name, texts in parts.items()} or None,
            features=features if len(features) > 1 else features[0],
            calibrate=self.calibrate,
        )

    def make_server(self, **options: Any) -> LanguageServer | None:
        """The server of these options, with the options that servers of all kinds have."""
        if self.server is None or self.server_model is None:
            return None
        from textsobol.endpoints.llm import llm_endpoint

        return llm_endpoint(
            self.server, self.server_model, top_logprobs=self.top_logprobs, **options
        )


def _collect(option: str, given: Sequence[str]) -> dict[str, str | list[str]]:
    """Values by name; of a name that is there several times a list."""
    collected: dict[str, list[str]] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"{option} {each!r}: must be a name, =, and a text")
        collected.setdefault(name.strip(), []).append(value)
    return {name: own if len(own) > 1 else own[0] for name, own in collected.items()}


def _read_parts(texts: str | list[str]) -> str | list[str]:
    if isinstance(texts, list):
        return [_read_part(text) for text in texts]
    return _read_part(texts)


def _read_part(text: str) -> str:
    return _read_file(Path(text[1:])) if text.startswith("@") else text


def _read_template(path: Path) -> Any:
    content = _read_file(path)
    if path.suffix.lower() != ".json":
        return content
    try:
        return json.loads(content)
    except ValueError as error:
        raise ValueError(f"{path} is not a JSON file of chat messages: {error}") from error


def _read_file(path: Path) -> str:
    """The text of a file, without the line end that editors add."""
    try:
        return path.read_text(encoding="utf-8").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not a text file in UTF-8: {error}") from error
