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
    "IncompleteRead", "BadStatusLine",  # http.client
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
    response = getattr(error, "response", None)
    for holder in (response, error):
        for name in ("status_code", "status", "code"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and 100 <= value < 600:
                return int(value)
    return None


def is_passing(error: BaseException) -> bool:
    """Whether the same call may succeed a little later.

    Example:
        >>> is_passing(TimeoutError()), is_passing(ValueError("no JSON"))
        (True, False)
    """
    status = status_of(error)
    if status is not None:
        return status in _TOO_EARLY or status >= 500
    reason = getattr(error, "reason", None)  # of urllib's URLError
    if isinstance(reason, OSError):
        return is_passing(reason) or not _names(reason) & _LASTING
    names = _names(error)
    if names & _LASTING:
        return False
    return isinstance(error, ConnectionError | TimeoutError) or bool(names & _PASSING)


def retry_after(error: BaseException) -> float | None:
    """Seconds that the server asks to wait, or ``None`` when it does not say."""
    for holder in (getattr(error, "response", None), error):
        headers = getattr(holder, "headers", None)
        asked = None if headers is None else headers.get("Retry-After")
        if asked is not None:
            return _seconds(str(asked))
    return None


def last_words(error: BaseException) -> str:
    """What the server said, on one short line; what Python says if it said nothing."""
    status, body = status_of(error), _body(error)
    said = body or str(error) or type(error).__name__
    line = " ".join(said.split())
    line = line if len(line) <= _SHOWN else line[:_SHOWN] + " ..."
    return f"{type(error).__name__}: {line}" if status is None else f"HTTP {status}: {line}"


def _names(error: BaseException) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}


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
        if status_of(error) is not None and hasattr(error, "read"):
            with error:  # type: ignore[attr-defined]  # urllib's is an open file
                return bytes(error.read()).decode("utf-8", "replace")
    except Exception:  # a body that was not read in time is gone; the error itself is told
        return ""
    return ""
