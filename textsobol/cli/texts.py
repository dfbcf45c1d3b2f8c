"""``textsobol explain`` and ``textsobol compare``."""

import json
import sys
import webbrowser
from collections.abc import Callable
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from textsobol.cli import corpus
from textsobol.cli.options import (
    AsJson,
    Cache,
    Concurrency,
    Endpoint,
    FunctionToApply,
    Label,
    Quiet,
    Seed,
    Token,
)
from textsobol.cli.output import (
    EXPECTED,
    check_suffix,
    fail,
    hush_transformers,
    tell,
    told_warnings,
)

_TEXT_SUFFIXES = (".txt", ".md", ".html", ".htm")


class Score(StrEnum):
    """What is analysed."""

    logit = "logit"
    probability = "probability"
    output = "output"


def explain(
    text: Annotated[
        str | None,
        typer.Argument(
            help="The text, a file with a text, or - for standard input; with --out a file of many "
            "texts (Parquet, CSV, JSON lines), a directory of such files, or a hub id.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="Directory or hub id of a text classifier; without it, a bundled one for films.",
            show_default=False,
        ),
    ] = None,
    label: Label = None,
    against: Annotated[
        str | None,
        typer.Option(
            help="Another label: which words speak for --label rather than for this one?",
            show_default=False,
        ),
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(
            help="Forward passes allowed, 2 at least. By default 8 a word, more for short texts.",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="sobol (shares of the variation, with intervals), or one of those of compare."
        ),
    ] = "sobol",
    keep: Annotated[
        float, typer.Option(help="Probability that a word is present in a masked text.")
    ] = 0.5,
    seed: Seed = 0,
    unit: Annotated[
        str,
        typer.Option(
            help="What is left out as one: word, token, sentence, paragraph, spacy[:NAME]."
        ),
    ] = "word",
    perturbation: Annotated[
        str,
        typer.Option(
            help="What happens to a word left out: delete, mask, pad, or a string instead of it."
        ),
    ] = "delete",
    ignore: Annotated[
        str | None,
        typer.Option(
            help="Words that always stay: stopwords, or a list with commas.", show_default=False
        ),
    ] = None,
    top: Annotated[int, typer.Option(help="Words to list.")] = 10,
    score: Annotated[
        Score, typer.Option(help="What is analysed: the log-odds of a label or its probability.")
    ] = Score.logit,
    html: Annotated[
        Path | None,
        typer.Option(help="Write a page to look at, on its own in one file.", show_default=False),
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the page of --html in a browser.")
    ] = False,
    png: Annotated[
        Path | None,
        typer.Option(help="Write a plot: a .png or .svg file.", show_default=False),
    ] = None,
    path: Annotated[
        bool,
        typer.Option(
            help="Also search for the fewest words whose deletion changes the prediction, with "
            "part of the budget.",
        ),
    ] = True,
    interactions: Annotated[
        int, typer.Option(help="Also look at all pairs of that many words.")
    ] = 0,
    precision: Annotated[
        float | None,
        typer.Option(
            help="Go on until the top words are this sure to be the top, such as 0.95; "
            "by default up to 64 forward passes for every word.",
            show_default=False,
        ),
    ] = None,
    stable_top: Annotated[int, typer.Option(help="Top words that --precision is about.")] = 5,
    endpoint: Endpoint = None,
    token: Token = None,
    cache: Cache = None,
    concurrency: Concurrency = 8,
    function_to_apply: FunctionToApply = None,
    as_json: AsJson = False,
    out: corpus.Out = None,
    column: corpus.Column = "text",
    pair_column: corpus.PairColumn = None,
    id_column: corpus.IdColumn = None,
    split: corpus.Split = None,
    limit: corpus.Limit = None,
    shard_size: corpus.ShardSize = None,
    retry_failed: corpus.RetryFailed = False,
    engine: corpus.Engine = "local",
    actors: corpus.Actors = 2,
    gpus_per_actor: corpus.GpusPerActor = 0.0,
    address: corpus.Address = None,
    quiet: Quiet = False,
) -> None:
    """Explain a text, or many: find the words that made the model decide.

    The score of a word is its share of the variation of the model's answer over texts with words
    left out at random: positive if the word speaks for the label, negative if it speaks against it.
    Below the words stand the fewest deletions found that change the prediction.

    For example:

    textsobol explain "A gripping, beautifully acted film."

    textsobol explain review.txt --html review.html --open

    textsobol explain review.txt --model DIRECTORY --json > review.json

    cat review.txt | textsobol explain - --model DIRECTORY --budget 1000

    textsobol explain reviews.parquet --column text --out explained/

    textsobol explain review.txt --endpoint https://HOST/ --cache answers
    """
    if endpoint is None and (cache or function_to_apply) is not None:
        raise typer.BadParameter("--cache and --function-to-apply need --endpoint ADDRESS")
    if endpoint is not None and model is not None:
        raise typer.BadParameter("give --model or --endpoint, not both")
    if open_page and html is None:
        raise typer.BadParameter("--open needs --html FILE")
    check_suffix("--html", html, (".html",))
    check_suffix("--png", png, (".png", ".svg"))
    if png is not None and find_spec("matplotlib") is None:
        fail(ImportError('--png needs matplotlib: pip install "textsobol[plot]"'))
    making = {
        "model": model
        if endpoint is None
        else _elsewhere(endpoint, token, cache, concurrency, function_to_apply),
        "unit": unit,
        "perturbation": perturbation,
        "score": score.value,
        "ignore": ignore.split(",") if ignore and ignore != "stopwords" else ignore,
    }
    asking = {
        "method": method,
        "budget": budget,
        "keep": keep,
        "seed": seed,
        "interactions": interactions,
        "precision": precision,
        "stable_top": stable_top,
        "label": label,
        "path": path,
    }
    if out is not None:
        corpus.check_alone({"--html": html, "--png": png, "--json": as_json, "--against": against})
        job = {
            "out": out, "column": column, "pair_column": pair_column, "id_column": id_column,
            "split": split, "limit": limit, "shard_size": shard_size,
            "retry_failed": retry_failed, "engine": engine, "actors": actors,
            "gpus_per_actor": gpus_per_actor, "address": address,
        }  # fmt: skip
        corpus.explain_many(text, making, {**job, **asking}, quiet=quiet)
        return
    corpus.check_is_one_text(text)
    content = _content(text)
    if not content.strip():
        fail(ValueError("nothing to explain: the text is empty or blank"))
    try:
        (explanation,) = _explain(content, making, asking, quiet=quiet)
        if against is not None:
            explanation = explanation.contrast(explanation.label, against)
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
        tell(f"wrote {file}", quiet=quiet)


def _elsewhere(
    address: str,
    token: str | None,
    cache: Path | None,
    concurrency: int,
    function_to_apply: Any,
) -> Any:
    """The model behind an address."""
    from textsobol.endpoints.hub import endpoint

    try:
        return endpoint(
            address,
            token=token,
            cache=cache,
            concurrency=concurrency,
            function_to_apply=None if function_to_apply is None else function_to_apply.value,
        )
    except EXPECTED as error:
        fail(error)


def compare(
    text: Annotated[
        str, typer.Argument(help="The text, a file with a text, or - for standard input.")
    ],
    more: Annotated[
        list[str] | None,
        typer.Argument(help="More methods.", metavar="METHOD", show_default=False),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            help="Methods, with spaces or commas: sobol, occlusion, lime, kernel_shap, "
            "permutation_shap, partition_shap, rise, saliency, gradient_input, smoothgrad, "
            "integrated_gradients, greedy, random.",
            show_default="sobol occlusion",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Directory or hub id of a text classifier."),
    ] = None,
    label: Label = None,
    budget: Annotated[
        int | None,
        typer.Option(help="Forward passes allowed for each method that can choose their number."),
    ] = None,
    seed: Seed = 0,
    top: Annotated[int, typer.Option(help="Words to list.")] = 10,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with all of them.", show_default=False)
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Explain a text by several methods: do they agree?

    Words that stand out are listed with the score that each method gives them, and how much the
    methods agree on the order of all words.

    For example:

    textsobol compare review.txt --methods sobol occlusion lime --html compared.html
    """
    from textsobol.methods import METHODS, TEXT_METHODS, method_named
    from textsobol.render.files import save_comparison
    from textsobol.render.terminal import show_comparison

    names = [name for given in (*(methods or ()), *(more or ())) for name in given.split(",")]
    names = list(dict.fromkeys(names)) or ["sobol", "occlusion"]
    check_suffix("--html", html, (".html",))
    content = _content(text)
    try:
        for name in names:
            method_named(name, TEXT_METHODS)
        askings = [
            {
                "method": name,
                "label": label,
                "seed": seed,
                "budget": budget if METHODS[name].natural is None else None,
            }
            for name in names
        ]
        explanations = _explain(content, {"model": model}, *askings, quiet=quiet)
        found = dict(zip(names, explanations, strict=True))
        if html is not None:
            save_comparison(found, html)
    except EXPECTED as error:
        fail(error)
    show_comparison(found, Console(), top=top)
    if html is not None:
        tell(f"wrote {html}", quiet=quiet)


def _content(text: str | None) -> str:
    """The text itself, from wherever it comes."""
    if text == "-" or (text is None and not sys.stdin.isatty()):
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    if text is None:
        raise typer.BadParameter("give a text, a file, or - for standard input")
    if text and _exists(text, Path.is_file):
        return Path(text).read_bytes().decode("utf-8", "replace")
    if text and _exists(text, Path.is_dir):
        raise typer.BadParameter(f"{text!r} is a directory; give a file or a text")
    if text.endswith(_TEXT_SUFFIXES) and not any(c.isspace() for c in text):
        raise typer.BadParameter(f"there is no file {text!r}")
    return text.encode("utf-8", "replace").decode()


def _exists(text: str, kind: Callable[[Path], bool]) -> bool:
    try:
        return kind(Path(text))
    except (OSError, ValueError):  # a text can be too long for a name, or hold a NUL
        return False


def _explain(text: str, making: dict[str, Any], *askings: dict[str, Any], quiet: bool) -> list[Any]:
    """An explanation for each of the ways that are asked for, by one explainer."""
    if isinstance(making["model"], str | None):  # a model elsewhere needs no library here
        hush_transformers()
    from textsobol.text.explainer import TextExplainer

    with told_warnings(quiet=quiet):
        explainer = TextExplainer(making.pop("model"), progress=not quiet, **making)
        return [explainer(text, **asking) for asking in askings]
