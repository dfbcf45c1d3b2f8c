"""A server on this machine that answers with any bytes, well-formed or not."""

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

GOOD = json.dumps([[{"label": "A", "score": 0.25}, {"label": "B", "score": 0.75}]]).encode()
"""What a well-behaved server says."""


@dataclass
class Asked:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes


Behaviour = Callable[[Asked, socket.socket], None]
"""Writes to the connection, which is closed afterwards."""


@dataclass
class Server:
    """What was asked, and what to do then."""

    behave: Behaviour
    url: str = ""
    asked: list[Asked] = field(default_factory=list)

    @property
    def paths(self) -> list[str]:
        return [one.path for one in self.asked]

    def address(self, *, user: str = "", path: str = "/p", query: str = "") -> str:
        """The URL with user info, a path and a query."""
        scheme, _, host = self.url.partition("://")
        return f"{scheme}://{user + '@' if user else ''}{host}{path}{'?' + query if query else ''}"


def reply(
    status: int = 200,
    body: bytes = GOOD,
    headers: Mapping[str, str] | None = None,
    *,
    length: str | None = "",
) -> bytes:
    """A whole answer; ``length`` replaces the right ``Content-Length``, ``None`` leaves it out."""
    lines = [f"HTTP/1.1 {status} Words", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    if length is not None:
        lines.append(f"Content-Length: {length or len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def say(*answers: bytes) -> Behaviour:
    """Answer with these bytes, the last of them again and again."""
    left = list(answers)

    def behave(asked: Asked, connection: socket.socket) -> None:
        connection.sendall(left.pop(0) if len(left) > 1 else left[0])

    return behave


def flood(head: bytes, piece: bytes, n_pieces: int | None) -> Behaviour:
    """Send a head, and then the same piece many times, or without end."""

    def behave(asked: Asked, connection: socket.socket) -> None:
        connection.sendall(head)
        sent = 0
        while n_pieces is None or sent < n_pieces:
            connection.sendall(piece)
            sent += 1

    return behave


def drip(head: bytes, piece: bytes, pause: float, stop: threading.Event) -> Behaviour:
    """Send a head, and then a piece again and again with pauses, until told to stop."""

    def behave(asked: Asked, connection: socket.socket) -> None:
        connection.sendall(head)
        while not stop.wait(pause):
            connection.sendall(piece)

    return behave


def read_request(connection: socket.socket) -> Asked | None:
    """The next request of a connection, or ``None`` when there is none."""
    with connection.makefile("rb") as file:
        first = file.readline().decode("latin-1").split()
        if len(first) < 3:
            return None
        headers: dict[str, str] = {}
        while line := file.readline().decode("latin-1").strip():
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        return Asked(first[1], headers, file.read(int(headers.get("content-length", "0"))))


@contextmanager
def attacking(behave: Behaviour, tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """The server, on a free port of this machine."""
    server = Server(behave)
    listener = socket.create_server(("127.0.0.1", 0))
    server.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{listener.getsockname()[1]}"
    threads: list[threading.Thread] = []

    def serve(connection: socket.socket) -> None:
        with connection:
            connection.settimeout(20)
            try:
                if tls is not None:
                    connection = tls.wrap_socket(connection, server_side=True)
                asked = read_request(connection)
                if asked is not None:
                    server.asked.append(asked)
                    server.behave(asked, connection)
            except OSError:  # the caller hung up
                return
            finally:
                connection.close()

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=serve, args=[connection], daemon=True)
            threads.append(thread)
            thread.start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield server
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for thread in [accepting, *threads]:
            thread.join(5)


def ask(server: Server, url: str = "", **options: Any) -> Any:
    """One call of an endpoint there."""
    from textsobol import endpoint

    defaults = {"backoff": 0.001, "retries": 1, "timeout": 5.0}
    return endpoint(url or server.address(), **{**defaults, **options})(["a good film"])
