"""Connections to a server that is not trusted: kept open, within the time and size of a call."""

from __future__ import annotations

import base64
import http.client
import io
import os
import selectors
import socket
import ssl
import threading
import time
import urllib.request
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from textsobol.errors import WrongAnswerError

LARGEST_ANSWER = 4_000_000
"""Bytes of an answer for one text, decompressed: about 50,000 labels."""
LARGEST_HEAD = 256_000  # bytes of status line and headers

_PIECE = 65_536


class TooLargeError(WrongAnswerError):
    """More bytes than allowed."""


@dataclass(frozen=True)
class Origin:
    """Where a connection goes to: the same origin may get the same headers."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, address: SplitResult) -> Origin:
        """The origin of an http or https address; ``ValueError`` if there is none."""
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ValueError("no address of a server")
        return cls(
            address.scheme,
            address.hostname,
            address.port or (443 if address.scheme == "https" else 80),
        )


class ConnectionPool:
    """Open connections that no call uses."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._idle: list[tuple[Origin, http.client.HTTPConnection]] = []
        weakref.finalize(self, _close_all, self._idle)

    def take(self, origin: Origin) -> http.client.HTTPConnection | None:
        """An open connection that is not in use, if there is one."""
        with self._lock:
            if self._process != os.getpid():  # connections belong to the process that made them
                _close_all(self._idle)
                self._process = os.getpid()
            while (found := self._pop(origin)) is not None:
                if _is_quiet(found):
                    return found
                found.close()  # closed by the server, or with bytes that nobody asked for
        return None

    def give(self, origin: Origin, connection: http.client.HTTPConnection) -> None:
        """Keep a connection for the next call."""
        with self._lock:
            self._idle.append((origin, connection))

    def _pop(self, origin: Origin) -> http.client.HTTPConnection | None:
        for number, (other, connection) in enumerate(self._idle):
            if other == origin:
                del self._idle[number]
                return connection
        return None


def _close_all(idle: list[tuple[Origin, http.client.HTTPConnection]]) -> None:
    while idle:
        idle.pop()[1].close()


def _is_quiet(connection: http.client.HTTPConnection) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(connection.sock, selectors.EVENT_READ)
        return not selector.select(0)


class Call:
    """The time that is left for a call, and what it may still read."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self.received = 0
        self.allowed = LARGEST_HEAD

    def time_left(self) -> float:
        """Seconds until the deadline; a ``TimeoutError`` after it."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def allow(self, n_bytes: int) -> None:
        """Let the connection bring so many bytes more."""
        self.allowed = self.received + n_bytes

    def receive(self, n_bytes: int) -> None:
        """Count bytes that came; refuse more than allowed."""
        self.received += n_bytes
        if self.received > self.allowed:
            raise TooLargeError(describe_limit(LARGEST_ANSWER))


class _Wire(io.RawIOBase):
    """What comes from a socket, in the time and up to the size of a call."""

    def __init__(self, sock: socket.socket, call: Call) -> None:
        self._socket = sock
        self._raw = sock.makefile("rb", buffering=0)
        self._call = call

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._socket.settimeout(self._call.time_left())
        n_bytes = self._raw.readinto(buffer) or 0
        self._call.receive(n_bytes)
        return n_bytes

    def close(self) -> None:
        self._raw.close()
        super().close()


@dataclass
class _Socket:
    """A socket as `http.client` reads it."""

    sock: socket.socket
    call: Call

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Wire(self.sock, self.call), _PIECE)


def connect(origin: Origin, call: Call) -> http.client.HTTPConnection:
    """A connection, through the proxy of the environment if there is one."""
    proxy = find_proxy(origin)
    host, port = (origin.host, origin.port) if proxy is None else (proxy.hostname, proxy.port or 80)
    made: http.client.HTTPConnection
    if origin.scheme == "https":
        made = http.client.HTTPSConnection(str(host), port, context=_tls())
    else:
        made = http.client.HTTPConnection(str(host), port)
    if proxy is not None and origin.scheme == "https":
        made.set_tunnel(origin.host, origin.port, authorize(proxy, "Proxy-Authorization"))
    made._create_connection = _opener(call)  # type: ignore[attr-defined]
    made.response_class = limit_responses(call)  # type: ignore[assignment]
    try:
        made.connect()
    except BaseException:
        made.close()
        raise
    return made


def _opener(call: Call) -> Callable[..., socket.socket]:
    def open_socket(address: tuple[str, int], *_: Any) -> socket.socket:
        """Try all addresses of a host, in the time of one call."""
        failure = OSError("the host has no address")
        for found in socket.getaddrinfo(*address, type=socket.SOCK_STREAM):
            made = socket.socket(*found[:3])
            try:
                made.settimeout(call.time_left())
                made.connect(found[4])
                made.settimeout(call.time_left())  # for the handshake
            except OSError as error:
                made.close()
                failure = error
            else:
                return made
        raise failure

    return open_socket


def limit_responses(call: Call) -> Callable[..., http.client.HTTPResponse]:
    """Responses whose bytes count towards the call."""

    def respond(sock: socket.socket, *args: Any, **options: Any) -> http.client.HTTPResponse:
        wrapped: Any = _Socket(sock, call)
        return http.client.HTTPResponse(wrapped, *args, **options)

    return respond


@cache
def _tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    try:
        import certifi
    except ImportError:
        return context
    context.load_verify_locations(certifi.where())  # beside those of the system
    return context


def list_proxies() -> list[str]:
    """The addresses of the environment's proxies, which may hold passwords."""
    return [proxy for name, proxy in urllib.request.getproxies().items() if name != "no"]


def find_proxy(origin: Origin) -> SplitResult | None:
    """The proxy that the environment names for an address, if any."""
    found = urllib.request.getproxies()
    proxy = found.get(origin.scheme) or found.get("all")
    if not proxy or urllib.request.proxy_bypass(origin.host):
        return None
    try:
        address = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        is_good = address.scheme == "http" and address.hostname and address.port != 0
    except ValueError:
        is_good = False
    if not is_good:  # not shown: it may hold a password
        kind = proxy.partition("://")[0] if "://" in proxy else "http"
        raise ValueError(
            f"the proxy of the environment, {kind[:20]}://..., cannot be used: it must be "
            f"http://host:port"
        )
    return address


def authorize(address: SplitResult, name: str = "authorization") -> dict[str, str]:
    """The header for the user info of an address."""
    if address.username is None:
        return {}
    pair = f"{unquote(address.username)}:{unquote(address.password or '')}"
    return {name: "Basic " + base64.b64encode(pair.encode()).decode()}


def describe_limit(n_bytes: int) -> str:
    """A limit in words, for messages."""
    return f"more than {n_bytes / 1_000_000:g} MB"
