"""When to repeat a failed call, whichever library made it.

Errors of requests, httpx, urllib, aiohttp and huggingface_hub are recognized by their attributes
and class names, without importing those libraries.
"""

import math
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from tenacity import RetryCallState, wait_exponential, wait_random_exponential

from textsobol.endpoints.answers import shorten
from textsobol.redaction import Redaction
from textsobol.render.printable import replace_controls

_REDACTION = Redaction()
_LARGEST_BODY = 64_000  # bytes that are read of an error's body
_LONGEST_READ = 10.0  # seconds
_PIECE = 8192
_TRANSIENT_STATUS = (408, 425, 429)
# Failed connections, beyond Python's own ConnectionError and TimeoutError.
_TRANSIENT = {
    "Timeout", "ConnectionError", "ChunkedEncodingError",  # requests
    "TimeoutException", "NetworkError", "RemoteProtocolError",  # httpx
    "ClientConnectionError", "ClientPayloadError",  # aiohttp
    "APIConnectionError",  # clients of language models
    "IncompleteRead", "BadStatusLine", "gaierror",  # http.client and below
}  # fmt: skip
# Connection errors that a later call would meet again.
_PERMANENT = {"SSLError", "SSLCertVerificationError", "OfflineModeIsEnabled"}


@dataclass(frozen=True)
class RetryPolicy:
    """Exponential backoff with jitter, which keeps clients from retrying all at once; see `remote`.

    If a server asks for a wait of more than ``longest_wait`` seconds, the call fails.
    """

    retries: int = 6
    backoff: float = 0.5
    longest_wait: float = 120.0

    def __post_init__(self) -> None:
        if self.retries < 0 or not (self.backoff >= 0 and self.longest_wait >= 0):
            raise ValueError("retries, backoff and longest_wait must not be negative")

    def wait(self, attempt: RetryCallState) -> float:
        """Seconds until the next call; never less than the server asks for."""
        half = {"multiplier": self.backoff / 2, "max": self.longest_wait / 2}
        own = wait_exponential(**half)(attempt) + wait_random_exponential(**half)(attempt)
        asked = get_retry_after(get_error(attempt))
        return own if asked is None else max(own, asked + self.backoff * random.random())


def get_error(attempt: RetryCallState) -> BaseException:
    """The error of a failed attempt."""
    assert attempt.outcome is not None
    error = attempt.outcome.exception()
    assert error is not None
    return error


def get_status(error: BaseException) -> int | None:
    """The HTTP status that an error carries, or ``None``.

    Example:
        >>> from urllib.error import HTTPError
        >>> get_status(HTTPError("http://a.b", 429, "slow down", None, None))
        429
    """
    return _find_http_error(error)[1]


def is_transient(error: BaseException) -> bool:
    """Whether the same call may succeed later.

    Example:
        >>> is_transient(TimeoutError()), is_transient(ValueError("no JSON"))
        (True, False)
    """
    status = get_status(error)
    if status is not None:
        return status in _TRANSIENT_STATUS or 500 <= status < 600
    causes = _list_causes(error)
    names = {kind.__name__ for cause in causes for kind in type(cause).__mro__}
    if names & _PERMANENT:
        return False
    if names & _TRANSIENT or any(isinstance(one, ConnectionError | TimeoutError) for one in causes):
        return True
    return "URLError" in names and any(type(one) is OSError for one in causes)  # no route to host


def get_retry_after(error: BaseException) -> float | None:
    """Seconds that the server asks to wait, or ``None`` when it does not say."""
    found, _ = _find_http_error(error)
    for holder in (getattr(found, "response", None), found):
        headers = getattr(holder, "headers", None)
        asked = None if headers is None else headers.get("Retry-After")
        if asked is not None:
            return _parse_seconds(str(asked))
    return None


def describe_error(error: BaseException, redaction: Redaction = _REDACTION) -> str:
    """What the server said, or else the message of the error: one short line, without secrets."""
    found, status = _find_http_error(error)
    name = type(error).__name__ if found is None else f"HTTP {status}"
    said = _show_message(error) if found is None else _read_body(found) or _show_message(found)
    line = clean(redaction(said))
    return f"{name}: {line}" if line else name


def clean(text: str, limit: int = 200) -> str:
    """One short line without control characters, from what others say."""
    text = text[: 20 * limit]
    return shorten(" ".join(replace_controls(text).split()), limit)


def _show_message(error: BaseException) -> str:
    try:
        return str(error)[:_LARGEST_BODY]
    except Exception:  # an error of the user's own, with a message that fails
        return ""


def suggest_fix(error: BaseException, texts: Sequence[str]) -> str:
    """What a person can do if the server refused a call, as the end of a message."""
    status = get_status(error)
    if status in (401, 403):
        return "; is the token right?"
    if status in (404, 405):
        return "; is the address right?"
    if status is not None and not all(text.strip() for text in texts):
        return "; some servers refuse empty texts: endpoint(..., empty='.') sends something else"
    return ""


def _list_causes(error: BaseException) -> list[BaseException]:
    """The error and those that it wraps."""
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        chain.append(cause)
        reason = getattr(cause, "reason", None)  # urllib's URLError
        context = None if cause.__suppress_context__ else cause.__context__
        cause = reason if isinstance(reason, BaseException) else cause.__cause__ or context
    return chain


def _find_http_error(error: BaseException) -> tuple[BaseException | None, int | None]:
    """The first of the causes that carries an HTTP status, and the status."""
    for cause in _list_causes(error):
        for holder in (getattr(cause, "response", None), cause):
            for name in ("status_code", "status", "code"):
                value = getattr(holder, name, None)
                if isinstance(value, int) and 100 <= value < 1000:
                    return cause, int(value)
    return None, None


def _parse_seconds(value: str) -> float | None:
    """Seconds from now, from a number or a date."""
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError, OSError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _read_body(error: BaseException) -> str:
    """The beginning of the body of an HTTP error, whichever library has it."""
    body = getattr(error, "body", None)
    if isinstance(body, str):  # our own
        return body
    response: Any = getattr(error, "response", None)
    end = time.monotonic() + _LONGEST_READ
    read = b""
    try:
        for piece in _iterate_body(error if response is None else response):
            read += piece[:_LARGEST_BODY]
            if len(read) >= _LARGEST_BODY or time.monotonic() > end:
                break
    except Exception:  # without a body, or one not read in time
        pass
    finally:
        with suppress(Exception):
            (error if response is None else response).close()  # type: ignore[union-attr]
    return read[:_LARGEST_BODY].decode("utf-8", "replace")


def _iterate_body(holder: Any) -> Iterator[bytes]:
    for name in ("iter_content", "iter_bytes"):  # requests, httpx: also of what was read before
        if hasattr(holder, name):
            return iter(getattr(holder, name)(_PIECE))
    return iter(lambda: bytes(holder.fp.read1(_PIECE)), b"")  # urllib's is an open file
