"""``textsobol explain`` and ``textsobol compare``: one text."""

import json
import sys
import webbrowser
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from textsobol.cli.options import (
    AsJson,
    CallOptions,
    DryRun,
    DtypeOption,
    Long,
    LongOption,
    Model,
    ModelOptions,
    Quiet,
    Seed,
    SobolOptions,
    Target,
    Top,
)
from textsobol.cli.output import EXPECTED, check_suffix, fail, note, print_estimate, report_warnings
from textsobol.cli.prompts import PromptOptions
from textsobol.methods import METHODS, TEXT_METHODS, find_method

_TEXT_SUFFIXES = (".txt", ".md", ".html", ".htm")

HtmlFile = Annotated[
    Path | None,
    typer.Option(help="Write an interactive HTML page, in one file.", show_default=False),
]


def explain(
    *,
    text: Annotated[
        str | None,
        typer.Argument(help="The text, a text file, or - for standard input.", show_default=False),
    ] = None,
    call: CallOptions,
    against: Annotated[
        str | None,
        typer.Option(
            help="Another label: explain --target rather than this one.",
            show_default=False,
        ),
    ] = None,
    model: ModelOptions,
    prompt: PromptOptions,
    sobol: SobolOptions,
    top: Top = 10,
    html: HtmlFile = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the HTML page in a browser.")
    ] = False,
    png: Annotated[
        Path | None, typer.Option(help="Write a plot: a .png or .svg file.", show_default=False)
    ] = None,
    as_json: AsJson = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
) -> None:
    """Explain a text: find the words behind the model's prediction.

    Words are left out at random. The score of a word is its share of the variation of the model's
    answer: positive if the word speaks for the label, negative if it speaks against it. Below the
    words are the fewest words found whose removal changes the prediction.

    For example:

    textsobol explain "A gripping, beautifully acted film."

    textsobol explain review.txt --html review.html --open

    textsobol explain review.txt --model DIRECTORY --json > review.json

    cat review.txt | textsobol explain - --model DIRECTORY --budget 1000

    textsobol explain review.txt --endpoint https://HOST/ --cache answers

    textsobol explain review.txt --model DIRECTORY --prompt prompt.txt
    --answer positive=' positive' --answer negative=' negative'

    textsobol explain question.txt --server http://localhost:8000/v1 --server-model NAME
    --prompt prompt.txt --part document=@a.txt --part document=@b.txt --features document
    """
    if open_page and html is None:
        raise typer.BadParameter("--open needs --html FILE")
    check_suffix("--html", html, (".html",))
    check_suffix("--png", png, (".png", ".svg"))
    if png is not None and find_spec("matplotlib") is None:
        fail(ImportError('--png needs matplotlib: pip install "textsobol[plot]"'))
    content = _read_text(text)
    try:
        arguments = call.make_arguments(sobol)
        if not content.strip():
            raise ValueError("nothing to explain: the text is empty or blank")
        with report_warnings(quiet=quiet):
            explainer = model.make_explainer(prompt, quiet=quiet)
            if dry_run:
                print_estimate(explainer.estimate(content, **arguments), as_json=as_json)
                return
            explanation = explainer(content, **arguments)
        if against is not None:
            explanation = explanation.contrast(explanation.target, against)
        for file in filter(None, (html, png)):
            explanation.save(file)
    except EXPECTED as error:
        fail(error)
    if open_page and html is not None:
        webbrowser.open(html.resolve().as_uri())
    if as_json:
        typer.echo(json.dumps(explanation.to_dict(), ensure_ascii=False))
        return
    from textsobol.render.terminal import show

    show(explanation, Console(), top=top)
    for file in filter(None, (html, png)):
        note(f"wrote {file}", quiet=quiet)


def compare(
    text: Annotated[str, typer.Argument(help="The text, a text file, or - for standard input.")],
    more: Annotated[
        list[str] | None,
        typer.Argument(help="More methods.", metavar="METHOD", show_default=False),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Methods, separated by spaces or commas: {', '.join(TEXT_METHODS)}.",
            show_default="sobol occlusion",
        ),
    ] = None,
    model: Model = None,
    long: LongOption = Long.outside,
    dtype: DtypeOption = None,
    target: Target = None,
    budget: Annotated[
        int | None,
        typer.Option(help="Forward passes allowed for each method that takes a budget."),
    ] = None,
    seed: Seed = 0,
    top: Top = 10,
    html: HtmlFile = None,
    quiet: Quiet = False,
) -> None:
    """Explain a text with several methods, and compare them.

    Lists the top words with the score of each method, and the rank correlation of the methods over
    all words.

    For example:

    textsobol compare review.txt --methods sobol occlusion lime --html compared.html
    """
    from textsobol.render.files import save_comparison
    from textsobol.render.terminal import show_comparison

    names = [name for given in (*(methods or ()), *(more or ())) for name in given.split(",")]
    names = list(dict.fromkeys(names)) or ["sobol", "occlusion"]
    check_suffix("--html", html, (".html",))
    content = _read_text(text)
    try:
        for name in names:
            find_method(name).for_texts()
        found = {}
        with report_warnings(quiet=quiet):
            explainer = ModelOptions(model=model, long=long, dtype=dtype).make_explainer(
                PromptOptions(), quiet=quiet
            )
            for name in names:
                can_choose = METHODS[name].natural_masks(1) is None
                own = budget if can_choose else None
                found[name] = explainer(content, method=name, target=target, budget=own, seed=seed)
        if html is not None:
            save_comparison(found, html)
    except EXPECTED as error:
        fail(error)
    show_comparison(found, Console(), top=top)
    if html is not None:
        note(f"wrote {html}", quiet=quiet)


def _read_text(text: str | None) -> str:
    """Read the text from the argument, a file or standard input."""
    if text == "-" or (text is None and not sys.stdin.isatty()):
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    if text is None:
        raise typer.BadParameter("give a text, a file, or - for standard input")
    is_name = not any(map(str.isspace, text))
    if text and is_name and _holds_many(text):
        raise typer.BadParameter(
            f"{text} holds many texts: textsobol corpus {text} --out DIRECTORY"
        )
    if text and _exists(text, Path.is_file):
        return Path(text).read_bytes().decode("utf-8", "replace")
    if text and _exists(text, Path.is_dir):
        raise typer.BadParameter(f"{text!r} is a directory; give a file or a text")
    if text.endswith(_TEXT_SUFFIXES) and is_name:
        raise typer.BadParameter(f"there is no file {text!r}")
    return text.encode("utf-8", "replace").decode()


def _holds_many(name: str) -> bool:
    from textsobol.provenance import format_of

    return format_of(name) is not None


def _exists(text: str, kind: Callable[[Path], bool]) -> bool:
    try:
        return kind(Path(text))
    except (OSError, ValueError):  # too long for a file name, or with a NUL
        return False
