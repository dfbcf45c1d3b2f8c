"""Who may ask: this machine's own pages, or those who know the token.

Any page in the same browser can send requests to 127.0.0.1, and a name that an attacker controls
can point there (DNS rebinding). So every request must name this server in ``Host``, and all but
those for the page itself must come from that page: ``Origin`` says so, or ``Sec-Fetch-Site``.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from textsobol.serve.limits import RateLimiter

LEAST_TOKEN = 16  # characters
_GUESSES = 20  # wrong tokens per minute from one address
_LOCAL = ("127.0.0.1", "localhost", "::1")
_ANY = ("0.0.0.0", "::")
_HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


def is_local(host: str) -> bool:
    """Whether only this machine can connect to the address.

    Example:
        >>> [is_local(host) for host in ("127.0.0.1", "localhost", "0.0.0.0", "example.org")]
        [True, True, False, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_plain(token: str) -> bool:
    """Whether it can stand in a header and an address."""
    return re.fullmatch(r"[A-Za-z0-9._~-]+", token) is not None


@dataclass(frozen=True)
class Rules:
    """Whom the server answers.

    Attributes:
        host: the address that it is bound to.
        port: its port.
        token: what requests must know, or ``None``.
        session: what a cookie holds in place of the token, made anew at every start.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    def __post_init__(self) -> None:
        if self.token is None and not is_local(self.host):
            raise ValueError(
                f"other machines can reach --host {self.host}: give --token, a secret of at least "
                f"{LEAST_TOKEN} characters that their requests must contain"
            )
        token = self.token
        if token is not None and (len(token) < LEAST_TOKEN or not is_plain(token)):
            raise ValueError(
                f"a token needs at least {LEAST_TOKEN} plain characters "
                f"(letters, digits, . _ ~ -), for example {secrets.token_urlsafe(24)}"
            )

    @property
    def cookie(self) -> str:
        """The name of the cookie: cookies of all ports of a host are sent together."""
        return f"textsobol-{self.port}"

    def is_own_host(self, given: str) -> bool:
        """Whether a ``Host`` header names this server.

        Example:
            >>> rules = Rules(port=8000)
            >>> rules.is_own_host("localhost:8000"), rules.is_own_host("evil.example:8000")
            (True, False)
        """
        try:
            parts = urlsplit(f"//{given}")
            name, port = parts.hostname or "", parts.port
        except ValueError:
            return False
        if parts.netloc != given or "@" in given or (port or 80) != self.port:
            return False
        if name in _LOCAL or name == self.host.lower():
            return True
        # A name can be made to point here; a number cannot be anyone else's.
        return self.host in _ANY and _is_number(name)

    def is_own_page(self, headers: Headers) -> bool:
        """Whether a request comes from a page of this server."""
        origin = headers.get("origin")
        if origin is not None:
            scheme, _, rest = origin.partition("://")
            return scheme in ("http", "https") and rest == headers["host"]
        return headers.get("sec-fetch-site") == "same-origin"

    def knows_token(self, headers: Headers) -> bool:
        """Whether a request shows the token, or the cookie that was given for it."""
        if self.token is None:
            return True
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and _is_same(given.strip(), self.token):
            return True
        return _is_same(_read_cookie(headers, self.cookie), self.session)


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_same(given: str, known: str) -> bool:
    """Compare in a time that does not tell how much is right."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), known.encode())


def _read_cookie(headers: Headers, name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return "" if found is None else found.value


class Guard:
    """Refuses what `Rules` refuse, and adds headers to every response.

    Args:
        app: what is guarded.
        rules: whom to answer.
        requests: most requests per minute from one address.
        policy: the content security policy of every response.
    """

    def __init__(self, app: ASGIApp, rules: Rules, requests: int, policy: str) -> None:
        self._app, self._rules = app, rules
        self._headers = {**_HEADERS, "content-security-policy": policy}
        self._all, self._wrong = RateLimiter(requests), RateLimiter(_GUESSES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or refuse a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        refusal = self._refuse(scope)
        app = self._app if refusal is None else _refusal(*refusal)
        await app(scope, receive, send_with_headers)

    def _refuse(self, scope: Scope) -> tuple[int, str] | None:
        headers, client = Headers(scope=scope), scope.get("client") or ("?", 0)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._rules.is_own_host(hosts[0]):
            return 421, "this server does not answer to that Host"
        if scope["method"] in ("GET", "HEAD"):
            is_page = scope["path"] == "/"
            return None if is_page else (404, "there is no such page")
        if scope["method"] != "POST":
            return 405, "only GET and POST"
        if not self._rules.is_own_page(headers):
            return 403, "requests must come from this server's own page"
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return 415, "requests are JSON"
        if not self._all.allows(client[0]):
            return 429, "too many requests; wait a moment"
        if not self._rules.knows_token(headers):
            return self._count_guess(client[0])
        return None

    def _count_guess(self, address: str) -> tuple[int, str]:
        if self._wrong.allows(address):
            return 401, "this server needs its token: open the address that it printed"
        return 429, "too many wrong tokens; wait a minute"


def _refusal(status: int, message: str) -> ASGIApp:
    headers = {"retry-after": "10"} if status == 429 else None
    return JSONResponse({"error": message}, status, headers)
