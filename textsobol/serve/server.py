"""Runs the playground on this machine."""

from __future__ import annotations

import socket
import webbrowser
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from textsobol.serve.limits import Limits
from textsobol.serve.security import Rules

if TYPE_CHECKING:
    import uvicorn

    from textsobol.text.explainer import TextExplainer

EXAMPLE = "A gripping, beautifully acted film, ruined by its dull ending."


def serve(
    explainers: TextExplainer | Sequence[TextExplainer],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    corpus: str | Path | None = None,
    limits: Limits | None = None,
    example: str = "",
    on_start: Callable[[str], None] = print,
) -> None:
    """Serve a page to try texts on, until it is interrupted.

    Args:
        explainers: one model, or several to compare.
        host: where to listen; any address but this machine's own needs a ``token``.
        port: the port; 0 takes a free one.
        token: a secret that requests must know.
        corpus: the output of a corpus job, to browse.
        limits: of texts, requests and time.
        example: the text that the page begins with.
        on_start: called with the page's address once it can be opened.

    Example:
        >>> from textsobol import TextExplainer
        >>> from textsobol.serve import serve
        >>> serve(TextExplainer(lambda texts: [len(text) for text in texts]))  # doctest: +SKIP
        http://127.0.0.1:8000/
    """
    many = explainers if isinstance(explainers, Sequence) else [explainers]
    rules = Rules(host, port, token)
    with listen(host, port) as connection:
        rules = replace(rules, port=connection.getsockname()[1])
        server = make_server(many, rules, limits or Limits(), corpus, example)
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{rules.port}/"
        on_start(address if token is None else f"{address}#token={token}")
        server.run(sockets=[connection])


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens, or an error that says what to do."""
    connection: socket.socket | None = None
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        connection = socket.socket(family, socket.SOCK_STREAM)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        connection.bind(address)
        connection.listen()
    except OSError as error:
        if connection is not None:
            connection.close()
        reason = error.strerror or error
        raise OSError(f"cannot listen on {host}, port {port}: {reason}; try --port") from error
    return connection


def make_server(
    explainers: Sequence[TextExplainer],
    rules: Rules,
    limits: Limits,
    corpus: str | Path | None = None,
    example: str = "",
) -> uvicorn.Server:
    """The server, which runs on a socket of yours; nothing of a request is logged."""
    import uvicorn

    from textsobol.serve.app import make_app

    app = make_app(explainers, rules=rules, limits=limits, corpus=corpus, example=example)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, proxy_headers=False,
        timeout_keep_alive=20, timeout_graceful_shutdown=1, ws="none",
    )  # fmt: skip
    return uvicorn.Server(config)


def open_page(address: str) -> None:
    """Open the page in a browser."""
    webbrowser.open(address)
