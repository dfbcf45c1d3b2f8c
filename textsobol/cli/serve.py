"""``textsobol serve``: a local page to try texts on."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from textsobol.cli.options import DtypeOption, Long, LongOption, ModelOptions, Quiet
from textsobol.cli.output import EXPECTED, fail, note
from textsobol.cli.prompts import PromptOptions


def serve(
    *,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help="Directory or hub id of a text classifier, or of a language model with --prompt; "
            "give two or more to compare them. By default a bundled classifier of film reviews.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = 8000,
    host: Annotated[
        str, typer.Option(help="Address to listen on; any but this machine's own needs --token.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(
            envvar="TEXTSOBOL_SERVE_TOKEN",
            help="A secret of at least 16 characters that requests must contain.",
            show_default=False,
        ),
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(help="Output directory of textsobol corpus, to browse.", show_default=False),
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    unit: Annotated[
        str,
        typer.Option(
            help="What is left out as a whole: word, token, sentence, paragraph, spacy[:NAME]."
        ),
    ] = "word",
    prompt: PromptOptions,
    long: LongOption = Long.outside,
    dtype: DtypeOption = None,
    trust_remote_code: Annotated[
        bool,
        typer.Option("--trust-remote-code", help="Run Python code that comes with a model."),
    ] = False,
    seconds: Annotated[
        float, typer.Option(help="Most seconds that one text may take.", min=1)
    ] = 120.0,
    characters: Annotated[int, typer.Option(help="Longest text, in characters.", min=1)] = 20_000,
    quiet: Quiet = False,
) -> None:
    """Open a page to try texts on: type, and see what the model says, and why.

    It runs on this machine only. Nothing is stored, and nothing is sent anywhere, except to
    --server.

    For example:

    textsobol serve --open

    textsobol serve --model DIRECTORY --model OTHER

    textsobol serve --corpus explained/

    textsobol serve --server http://localhost:8000/v1 --server-model NAME --prompt prompt.txt
    --answer positive=' positive' --answer negative=' negative'
    """
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        fail(ImportError('serve needs Starlette and uvicorn: pip install "textsobol[serve]"'))
    try:
        from textsobol.serve import server
        from textsobol.serve.limits import Limits
        from textsobol.serve.security import Rules

        Rules(host, port, token)  # before the models, which take longer
        names: list[str | None] = [*model] if model else [None]
        explainers = [
            ModelOptions(
                model=name,
                unit=unit,
                long=long,
                dtype=dtype,
                trust_remote_code=trust_remote_code,
                token=os.environ.get("TEXTSOBOL_TOKEN"),  # --token is for the page
            ).make_explainer(prompt, quiet=True)
            for name in names
        ]

        def show(address: str) -> None:
            typer.echo(address)
            note("press Ctrl-C to stop", quiet=quiet)
            if open_page:
                server.open_page(address)

        server.serve(
            explainers, host=host, port=port, token=token, corpus=corpus,
            limits=Limits(characters=characters, seconds=seconds),
            example="" if model or prompt.prompt else server.EXAMPLE, on_start=show,
        )  # fmt: skip
    except EXPECTED as error:
        fail(error)
    except KeyboardInterrupt:
        note("stopped", quiet=quiet)
