"""Where calls go, and what is sent with them: checked without showing a secret."""

import math
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from textsobol.endpoints.answers import show
from textsobol.endpoints.connections import list_proxies
from textsobol.redaction import Redaction

_HUB_HOSTS = ("huggingface.co", "api-inference.huggingface.co", "router.huggingface.co")
_HUB_DOMAIN = ".endpoints.huggingface.cloud"
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~\-]+")


def check_address(address: str, refusal: str) -> None:
    """Refuse what is no address of a server, with ``refusal`` and without showing the address."""
    try:
        parts = urlsplit(address)
        is_good = bool(parts.hostname) and parts.port != 0  # a wrong port is a ValueError
        if " " in parts.netloc or not address.isprintable():
            raise ValueError
        if ":" not in f"{parts.hostname}":  # of version 6
            f"{parts.hostname}".encode("idna")
    except ValueError:
        raise ValueError(
            f"{refusal}; its host or port is not valid (in a password, write / as %2F and @ as %40)"
        ) from None
    if parts.scheme not in ("http", "https") or not is_good:
        raise ValueError(refusal)


def check_headers(token: str | None, headers: Mapping[str, str]) -> None:
    """Refuse what cannot be sent, such as the line end of a token file, without showing it."""
    given = {f"the header {show(name)}": value for name, value in headers.items()}
    if token is not None:
        given["the token"] = token or "\n"  # an empty one is an error, too
    for what, value in given.items():
        if not isinstance(value, str):
            raise TypeError(f"{what} must be a string, not {type(value).__name__}")
        if not (value.isascii() and value.isprintable()):
            raise ValueError(f"{what} is empty, or has a line end or other characters that cannot "
                             f"be sent")  # fmt: skip
    for name in headers:
        if not _HEADER_NAME.fullmatch(name):
            raise ValueError(f"{show(name)} cannot be the name of a header")


def check_timeout(timeout: float) -> None:
    """Refuse what is no time for a call."""
    if not 0 < timeout < math.inf:
        raise ValueError(f"timeout={timeout}: must be a positive number of seconds")


def get_public_name(model: str) -> str:
    """An address without user info and query, which may be secret."""
    address = urlsplit(model)
    return address.netloc.rpartition("@")[2].lower() + address.path.rstrip("/")


def is_on_hub(model: str) -> bool:
    """Whether it is a server of the hub's own. Others, such as those of Spaces, are anybody's."""
    address = urlsplit(model)
    if address.scheme not in ("http", "https"):
        return True
    if address.scheme != "https" or address.port not in (None, 443):
        return False
    return address.hostname in _HUB_HOSTS or f"{address.hostname}".endswith(_HUB_DOMAIN)


def make_redaction(address: str, token: str | None, headers: Mapping[str, str]) -> Redaction:
    """Hides the secrets of calls to an address, and those of the environment's proxies."""
    redaction = Redaction.of(address, token=token, headers=headers)
    for proxy in list_proxies():
        redaction |= Redaction.of(proxy)
    return redaction
