"""POST to a server that is not trusted: limits of time, size, headers and redirects.

The clients at hand limit the time of every read but not of a call, decompress without a limit, and
send all headers wherever a server redirects to. This one is `http.client` with what they lack.
"""

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
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from functools import cache
from typing import Any
from urllib.parse import SplitResult, quote, unquote, urljoin, urlsplit

from textsobol.errors import WrongAnswerError
from textsobol.render.printable import one_line

LARGEST_ANSWER = 4_000_000
"""Bytes of an answer for one text, decompressed: about 50,000 labels."""

_LARGEST_ERROR = 64_000  # bytes that are read of an error's body
_LARGEST_HEAD = 256_000  # bytes of status line and headers
_PIECE = 65_536
_REDIRECTS = (301, 302, 307, 308)
_MOST_REDIRECTS = 5
_SAFE = "!#$%&'()*+,/:;=?@[]~"  # what stays as it is in a path or query


class HttpError(Exception):
    """An answer with a status other than 2xx.

    Attributes:
        status: the status code.
        headers: of the answer.
        body: the beginning of the answer, or why it was not accepted.
    """

    def __init__(self, status: int, headers: Message, body: str) -> None:
        super().__init__(f"HTTP {status}: {one_line(body, 300)}")
        self.status = status
        self.headers = headers
        self.body = body

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.status, self.headers, self.body)


class _TooLargeError(WrongAnswerError):
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


class Transport:
    """Makes calls, and keeps connections open for the next ones.

    Args:
        timeout: seconds for a call, from the connection to the last byte of the answer. Only the
            lookup of the host's name is not interrupted.
    """

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self._pool = _Pool()

    def __reduce__(self) -> tuple[type[Transport], tuple[float]]:
        return type(self), (self.timeout,)

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> bytes:
        """The body of the answer.

        Raises:
            HttpError: for a status other than 2xx, and for a redirect to another server.
            WrongAnswerError: for an answer that is too large or cannot be decoded.
        """
        call = _Call(time.monotonic() + self.timeout)
        address = urlsplit(url)
        for _ in range(_MOST_REDIRECTS + 1):
            try:
                answer = self._exchange(call, address, body, headers)
            except TimeoutError:
                raise TimeoutError(f"no whole answer in timeout={self.timeout:g} s") from None
            if not isinstance(answer, SplitResult):
                return answer
            address = answer
        raise WrongAnswerError(f"more than {_MOST_REDIRECTS} redirects")

    def _exchange(
        self, call: _Call, address: SplitResult, body: bytes, headers: Mapping[str, str]
    ) -> bytes | SplitResult:
        """The answer, or where the same server has it."""
        origin = Origin.of(address)
        before = call.received
        while True:
            connection = self._pool.take(origin)
            is_new = connection is None
            connection = connection or _connect(origin, call)
            try:
                answer = _ask(connection, call, address, body, headers)
            except (http.client.RemoteDisconnected, ConnectionError):
                connection.close()
                if is_new or call.received > before:
                    raise
                continue  # the server had closed a kept connection: nothing was lost
            except BaseException:
                connection.close()
                raise
            if connection.sock is not None:  # `http.client` closes those that are not to be kept
                self._pool.give(origin, connection)
            return answer


class _Pool:
    """Open connections that no call uses."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._idle: list[tuple[Origin, http.client.HTTPConnection]] = []
        weakref.finalize(self, _close_all, self._idle)

    def take(self, origin: Origin) -> http.client.HTTPConnection | None:
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


class _Call:
    """The time that is left for a call, and what it may still read."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self.received = 0
        self.allowed = _LARGEST_HEAD

    def time_left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def allow(self, n_bytes: int) -> None:
        """Let the connection bring so many bytes more."""
        self.allowed = self.received + n_bytes

    def receive(self, n_bytes: int) -> None:
        self.received += n_bytes
        if self.received > self.allowed:
            raise _TooLargeError(_describe_limit(LARGEST_ANSWER))


class _Wire(io.RawIOBase):
    """What comes from a socket, in the time and up to the size of a call."""

    def __init__(self, sock: socket.socket, call: _Call) -> None:
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
    call: _Call

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Wire(self.sock, self.call), _PIECE)


def _connect(origin: Origin, call: _Call) -> http.client.HTTPConnection:
    """A connection, through the proxy of the environment if there is one."""
    proxy = _find_proxy(origin)
    host, port = (origin.host, origin.port) if proxy is None else (proxy.hostname, proxy.port or 80)
    made: http.client.HTTPConnection
    if origin.scheme == "https":
        made = http.client.HTTPSConnection(str(host), port, context=_tls())
    else:
        made = http.client.HTTPConnection(str(host), port)
    if proxy is not None and origin.scheme == "https":
        made.set_tunnel(origin.host, origin.port, _authorize(proxy, "Proxy-Authorization"))
    made._create_connection = _opener(call)  # type: ignore[attr-defined]
    made.response_class = _responder(call)  # type: ignore[assignment]
    try:
        made.connect()
    except BaseException:
        made.close()
        raise
    return made


def _opener(call: _Call) -> Callable[..., socket.socket]:
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


def _responder(call: _Call) -> Callable[..., http.client.HTTPResponse]:
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


def _find_proxy(origin: Origin) -> SplitResult | None:
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


def _authorize(address: SplitResult, name: str = "authorization") -> dict[str, str]:
    """The header for the user info of an address."""
    if address.username is None:
        return {}
    pair = f"{unquote(address.username)}:{unquote(address.password or '')}"
    return {name: "Basic " + base64.b64encode(pair.encode()).decode()}


def _address_request(address: SplitResult) -> tuple[str, dict[str, str]]:
    """The target of a request and the headers that belong to it."""
    target = quote(address.path or "/", safe=_SAFE)
    target += f"?{quote(address.query, safe=_SAFE)}" if address.query else ""
    proxy = _find_proxy(Origin.of(address))
    if proxy is None or address.scheme == "https":  # a tunnel is like a direct connection
        return target, _authorize(address)
    headers = _authorize(address) | _authorize(proxy, "Proxy-Authorization")
    return f"http://{address.netloc.rpartition('@')[2]}{target}", headers


def _ask(
    connection: http.client.HTTPConnection,
    call: _Call,
    address: SplitResult,
    body: bytes,
    headers: Mapping[str, str],
) -> bytes | SplitResult:
    """Send a request, and read the answer or where it is."""
    call.allow(_LARGEST_HEAD)
    connection.response_class = _responder(call)  # type: ignore[assignment]
    connection.sock.settimeout(call.time_left())
    target, own = _address_request(address)
    sent = {"accept-encoding": "gzip", **own, **headers, "content-length": str(len(body))}
    connection.request("POST", target, body=_send_pieces(connection, call, body), headers=sent)
    try:
        response = connection.getresponse()
    except _TooLargeError:
        raise WrongAnswerError(f"{_describe_limit(_LARGEST_HEAD)} of headers") from None
    try:
        return _read_answer(response, call, address)
    finally:
        if not response.isclosed():  # not read to its end
            response.close()
            connection.close()


def _send_pieces(
    connection: http.client.HTTPConnection, call: _Call, body: bytes
) -> Iterator[bytes]:
    """The body in pieces, each in the time that is left."""
    for start in range(0, len(body), _PIECE):
        connection.sock.settimeout(call.time_left())
        yield body[start : start + _PIECE]


def _read_answer(
    response: http.client.HTTPResponse, call: _Call, address: SplitResult
) -> bytes | SplitResult:
    status = response.status
    if 300 <= status < 400 and "location" in response.headers:
        return _resolve_redirect(response, address)
    is_good = 200 <= status < 300
    largest = LARGEST_ANSWER if is_good else _LARGEST_ERROR
    call.allow(largest + 2 * _PIECE + _LARGEST_HEAD)  # room for what is only buffered, and chunks
    if is_good:
        return b"".join(_decode(response, largest))
    body = b""
    try:
        for piece in _decode(response, largest):
            body += piece
    except (WrongAnswerError, OSError, http.client.HTTPException):
        pass  # what was read is enough
    raise HttpError(status, response.headers, body.decode("utf-8", "replace"))


def _resolve_redirect(response: http.client.HTTPResponse, address: SplitResult) -> SplitResult:
    """Where the same server has the answer."""
    location = response.headers["location"]
    try:
        target: SplitResult = urlsplit(urljoin(address.geturl(), location))
        is_same = Origin.of(target) == Origin.of(address) and target.username is None
    except ValueError:
        is_same = False
        target = urlsplit("")
    if not location or not is_same:
        shown = f"{target.scheme}://{target.netloc.rpartition('@')[2]}{target.path}"
        raise HttpError(
            response.status, response.headers,
            f"the server redirects to {shown[:200]}, another server, which gets neither texts nor "
            f"headers. If that is right, give its address",
        )  # fmt: skip
    if response.status not in _REDIRECTS:
        raise HttpError(
            response.status, response.headers, f"the server redirects to {target.path[:200]}"
        )
    return target._replace(netloc=address.netloc)  # with the user info


def _decode(response: http.client.HTTPResponse, largest: int) -> Iterator[bytes]:
    """The decompressed body in pieces; an error after ``largest`` bytes."""
    encoding = ", ".join(response.headers.get_all("content-encoding", [])).strip().lower()
    if encoding in ("", "identity"):
        pieces = _read_pieces(response)
    elif encoding in ("gzip", "x-gzip", "deflate"):
        pieces = _inflate(_read_pieces(response), encoding)
    else:
        raise WrongAnswerError(f"a body encoded as {encoding[:100]!r}, which was not asked for")
    n_bytes = 0
    for piece in pieces:
        left = largest - n_bytes
        yield piece[:left]
        n_bytes += len(piece)
        if n_bytes > largest:
            raise _TooLargeError(_describe_limit(largest))


def _read_pieces(response: http.client.HTTPResponse) -> Iterator[bytes]:
    while piece := response.read1(_PIECE):
        yield piece
    if response.length:  # `read1` does not mind a body that ends early
        raise http.client.IncompleteRead(b"", response.length)
    response.close()


def _inflate(pieces: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """Decompress, never more at a time than a piece."""
    engine = None
    for data in pieces:
        if engine is None:
            engine = zlib.decompressobj(_window_bits(encoding, data))
        while data and not engine.eof:
            try:
                yield engine.decompress(data, _PIECE)
            except zlib.error as error:
                raise WrongAnswerError(f"a body that is not {encoding}: {error}") from None
            data = engine.unconsumed_tail
    if engine is None or not engine.eof:
        raise ConnectionError("the compressed answer ends early")


def _window_bits(encoding: str, data: bytes) -> int:
    if encoding != "deflate":
        return 16 + zlib.MAX_WBITS
    has_head = data[0] & 15 == 8 and (len(data) < 2 or (data[0] * 256 + data[1]) % 31 == 0)
    return zlib.MAX_WBITS if has_head else -zlib.MAX_WBITS  # some servers leave the head out


def _describe_limit(n_bytes: int) -> str:
    return f"more than {n_bytes / 1_000_000:g} MB"
