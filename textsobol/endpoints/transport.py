"""POST to a server that is not trusted: limits of time, size, headers and redirects.

The clients at hand limit the time of every read but not of a call, decompress without a limit, and
send all headers wherever a server redirects to. This one is `http.client` with what they lack.
"""

from __future__ import annotations

import http.client
import time
import zlib
from collections.abc import Iterator, Mapping
from email.message import Message
from typing import Any
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from textsobol.endpoints.connections import (
    LARGEST_ANSWER,
    LARGEST_HEAD,
    Call,
    ConnectionPool,
    Origin,
    TooLargeError,
    authorize,
    connect,
    describe_limit,
    find_proxy,
    limit_responses,
)
from textsobol.errors import WrongAnswerError
from textsobol.render.printable import one_line

_LARGEST_ERROR = 64_000  # bytes that are read of an error's body
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


class Transport:
    """Makes calls, and keeps connections open for the next ones.

    Args:
        timeout: seconds for a call, from the connection to the last byte of the answer. Only the
            lookup of the host's name is not interrupted.
    """

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self._pool = ConnectionPool()

    def __reduce__(self) -> tuple[type[Transport], tuple[float]]:
        return type(self), (self.timeout,)

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> bytes:
        """The body of the answer.

        Raises:
            HttpError: for a status other than 2xx, and for a redirect to another server.
            WrongAnswerError: for an answer that is too large or cannot be decoded.
        """
        call = Call(time.monotonic() + self.timeout)
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
        self, call: Call, address: SplitResult, body: bytes, headers: Mapping[str, str]
    ) -> bytes | SplitResult:
        """The answer, or where the same server has it."""
        origin = Origin.of(address)
        before = call.received
        while True:
            connection = self._pool.take(origin)
            is_new = connection is None
            connection = connection or connect(origin, call)
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


def _address_request(address: SplitResult) -> tuple[str, dict[str, str]]:
    """The target of a request and the headers that belong to it."""
    target = quote(address.path or "/", safe=_SAFE)
    target += f"?{quote(address.query, safe=_SAFE)}" if address.query else ""
    proxy = find_proxy(Origin.of(address))
    if proxy is None or address.scheme == "https":  # a tunnel is like a direct connection
        return target, authorize(address)
    headers = authorize(address) | authorize(proxy, "Proxy-Authorization")
    return f"http://{address.netloc.rpartition('@')[2]}{target}", headers


def _ask(
    connection: http.client.HTTPConnection,
    call: Call,
    address: SplitResult,
    body: bytes,
    headers: Mapping[str, str],
) -> bytes | SplitResult:
    """Send a request, and read the answer or where it is."""
    call.allow(LARGEST_HEAD)
    connection.response_class = limit_responses(call)  # type: ignore[assignment]
    connection.sock.settimeout(call.time_left())
    target, own = _address_request(address)
    sent = {"accept-encoding": "gzip", **own, **headers, "content-length": str(len(body))}
    connection.request("POST", target, body=_send_pieces(connection, call, body), headers=sent)
    try:
        response = connection.getresponse()
    except TooLargeError:
        raise WrongAnswerError(f"{describe_limit(LARGEST_HEAD)} of headers") from None
    try:
        return _read_answer(response, call, address)
    finally:
        if not response.isclosed():  # not read to its end
            response.close()
            connection.close()


def _send_pieces(
    connection: http.client.HTTPConnection, call: Call, body: bytes
) -> Iterator[bytes]:
    """The body in pieces, each in the time that is left."""
    for start in range(0, len(body), _PIECE):
        connection.sock.settimeout(call.time_left())
        yield body[start : start + _PIECE]


def _read_answer(
    response: http.client.HTTPResponse, call: Call, address: SplitResult
) -> bytes | SplitResult:
    status = response.status
    if 300 <= status < 400 and "location" in response.headers:
        return _resolve_redirect(response, address)
    is_good = 200 <= status < 300
    largest = LARGEST_ANSWER if is_good else _LARGEST_ERROR
    call.allow(largest + 2 * _PIECE + LARGEST_HEAD)  # room for what is only buffered, and chunks
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
            raise TooLargeError(describe_limit(largest))


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
