"""What went wrong with a call, whichever library made it.

Nothing is imported for that: errors of requests, httpx, urllib, aiohttp and huggingface_hub are
known by what they carry and by the names of their classes.
"""

import math
import time
from email.utils import parsedate_to_datetime
from typing import Any

_TOO_EARLY = (408, 425, 429)
# Of a connection that failed, beyond Python's own ConnectionError and TimeoutError.
_PASSING = {
    "Timeout", "ConnectionError", "ChunkedEncodingError",  # requests
    "TimeoutException", "NetworkError", "RemoteProtocolError",  # httpx
    "ClientConnectionError", "ClientPayloadError",  # aiohttp
    "APIConnectionError",  # clients of language models
    "IncompleteRead", "BadStatusLine", "gaierror",  # http.client and below
}  # fmt: skip
# Errors of a connection that no waiting mends.
_LASTING = {"SSLError", "SSLCertVerificationError", "OfflineModeIsEnabled"}
_SHOWN = 200  # characters of an answer


def status_of(error: BaseException) -> int | None:
    """The HTTP status that an error carries, or ``None``.

    Example:
        >>> from urllib.error import HTTPError
        >>> status_of(HTTPError("http://a.b", 429, "slow down", None, None))
        429
    """
    told = _with_status(error)
    return None if told is None else _own_status(told)


def is_passing(error: BaseException) -> bool:
    """Whether the same call may succeed a little later.

    Example:
        >>> is_passing(TimeoutError()), is_passing(ValueError("no JSON"))
        (True, False)
    """
    status = status_of(error)
    if status is not None:
        return status in _TOO_EARLY or status >= 500
    chain = _chain(error)
    names = {kind.__name__ for one in chain for kind in type(one).__mro__}
    if names & _LASTING:
        return False
    if names & _PASSING or any(isinstance(one, ConnectionError | TimeoutError) for one in chain):
        return True
    return "URLError" in names and any(type(one) is OSError for one in chain)  # no route to host


def retry_after(error: BaseException) -> float | None:
    """Seconds that the server asks to wait, or ``None`` when it does not say."""
    told = _with_status(error)
    for holder in (getattr(told, "response", None), told):
        headers = getattr(holder, "headers", None)
        asked = None if headers is None else headers.get("Retry-After")
        if asked is not None:
            return _seconds(str(asked))
    return None


def last_words(error: BaseException) -> str:
    """What the server said, on one short line; what Python says if it said nothing."""
    told = _with_status(error)
    said = (_body(told) or str(told)) if told is not None else str(error)
    line = " ".join(said.split())
    line = line if len(line) <= _SHOWN else line[:_SHOWN] + " ..."
    name = type(error).__name__ if told is None else f"HTTP {status_of(told)}"
    return f"{name}: {line}" if line else name


def _chain(error: BaseException) -> list[BaseException]:
    """The error and what it was raised from, or while handling: wrappers come and go."""
    found: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in found:
        found.append(following)
        reason = getattr(following, "reason", None)  # of urllib's URLError
        handled = None if following.__suppress_context__ else following.__context__
        following = following.__cause__ or handled
        following = reason if isinstance(reason, BaseException) else following
    return found


def _with_status(error: BaseException) -> BaseException | None:
    """The first of the chain that carries an HTTP status."""
    return next((one for one in _chain(error) if _own_status(one) is not None), None)


def _own_status(error: BaseException) -> int | None:
    for holder in (getattr(error, "response", None), error):
        for name in ("status_code", "status", "code"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and 100 <= value < 600:
                return int(value)
    return None


def _seconds(asked: str) -> float | None:
    """From a number of seconds or a date."""
    try:
        seconds = float(asked)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(asked).timestamp() - time.time()
        except ValueError:
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _body(error: BaseException) -> str:
    response: Any = getattr(error, "response", None)
    try:
        if response is not None:
            return str(response.text)
        if hasattr(error, "read"):
            with error:  # type: ignore[attr-defined]  # urllib's is an open file
                return bytes(error.read()).decode("utf-8", "replace")
    except Exception:  # a body that was not read in time is gone; the error itself is told
        return ""
    return ""
