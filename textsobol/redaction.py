"""Hide passwords, keys and tokens in everything that is shown or stored.

What a user gives for a call (an address, a token, headers) is used for the call alone. Messages,
names, files and logs show `HIDDEN` instead, also when a server sends a secret back.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import (
    SplitResult,
    parse_qsl,
    quote,
    quote_plus,
    unquote,
    urlencode,
    urlsplit,
    urlunsplit,
)

HIDDEN = "[hidden]"
_SHORT = 8  # shorter secrets are hidden as words of their own only
_SHORTEST = 3
_SHORTEST_UNNAMED = 6  # of values whose name does not say that they are secret, such as "true"
_SECRET_NAME = re.compile(
    r"auth|key|token|secret|passw|pwd|cookie|session|credential|signature|\bsig\b|\bcode\b",
    re.IGNORECASE,
)
_PUBLIC_HEADERS = {
    "accept", "accept-charset", "accept-encoding", "accept-language", "cache-control",
    "connection", "content-length", "content-type", "host", "user-agent",
}  # fmt: skip

_QUOTE = r"\\{0,3}[\"']"
_HEADER_NAMES = (
    r"(?:proxy-)?authorization|(?:x-)?api[-_]?key|access[-_]token|client[-_]secret|passw(?:or)?d"
    r"|(?:set-)?cookie"
)
# What is recognized by its form; the group "kept" stays, the rest is hidden.
_FORMS = [
    # user info of an address, up to the last @ of the host
    re.compile(r"(?P<kept>//)[^\s/?#\"'<>]{1,500}(?=@)"),
    # a query or fragment, with or without an address before it
    re.compile(r"(?<=[\w/.\]\-])(?P<kept>\?)(?=[^\s\"'<>()?=]{0,200}=)[^\s\"'<>()]{1,8000}"),
    # "authorization": "...", x-api-key: ...
    re.compile(
        rf"(?P<kept>\b(?:{_HEADER_NAMES})(?:{_QUOTE})?\s{{0,3}}[:=]\s{{0,3}}(?P<q>{_QUOTE}))"
        rf".{{1,8000}}?(?=(?P=q))",
        re.IGNORECASE | re.DOTALL,
    ),
    re.compile(
        rf"(?P<kept>\b(?:{_HEADER_NAMES})\s{{0,3}}[:=]\s{{0,3}})(?![\"'\\\[])"
        r"(?:(?:bearer|basic|digest|token|key)\s{1,3})?[^\s\"'<>,;\\]{1,8000}",
        re.IGNORECASE,
    ),
    re.compile(r"(?P<kept>\b[Bb](?:earer|EARER)\s{1,3})[\w.~+/=\-]{8,8000}"),
    re.compile(
        r"(?P<kept>\b(?:Basic|basic|Token|Digest)\s{1,3})"
        r"(?=[a-z]{0,200}[A-Z0-9=.~+/\-])[\w.~+/=\-]{8,8000}"
    ),
    re.compile(r"\b(?P<kept>)(?:hf_|sk-|ghp_|eyJ)[\w\-]{8,8000}(?:\.[\w\-]{1,8000}){0,2}"),
]


@dataclass(frozen=True)
class Redaction:
    """Hides what has the form of a secret, and the secrets that it knows, in any text.

    Example:
        >>> hide = Redaction.of("https://me:pass-word@host.org/?key=12345", token="abcdefgh")
        >>> hide("POST https://me:pass-word@host.org/?key=12345 with 'abcdefgh': HTTP 401")
        "POST https://[hidden]@host.org/?[hidden] with '[hidden]': HTTP 401"
    """

    secrets: frozenset[str] = field(default=frozenset(), repr=False)

    @classmethod
    def of(
        cls,
        address: str = "",
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        values: Iterable[str] = (),
    ) -> Redaction:
        """For the secrets of an address, a token, headers, and any other values."""
        found = [*values, *([token] if token else [])]
        named = list((headers or {}).items())
        parts = _split(address)
        if parts is not None:
            named += parse_qsl(parts.query) + parse_qsl(parts.fragment)
            user, _, password = parts.netloc.rpartition("@")[0].partition(":")
            if user:
                found += [f"{user}:{password}", f"{unquote(user)}:{unquote(password)}"]
                found += [password, unquote(password)]
                named.append(("user" if password else "token", unquote(user)))
        for name, value in named:
            is_public = name.lower() in _PUBLIC_HEADERS
            if _SECRET_NAME.search(name) or (len(value) >= _SHORTEST_UNNAMED and not is_public):
                found += [value, value.partition(" ")[2]]  # "Bearer ..."
        return cls(frozenset(value for value in found if len(value) >= _SHORTEST))

    def __or__(self, other: Redaction) -> Redaction:
        """Hides what either hides."""
        return Redaction(self.secrets | other.secrets)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __call__(self, text: str) -> str:
        """The text without secrets."""
        for form in _FORMS:
            text = form.sub(rf"\g<kept>{HIDDEN}", text)
        return text if self._known is None else self._known.sub(HIDDEN, text)

    def hide_known(self, value: Any) -> Any:
        """What was read from JSON, without the known secrets in any of its strings."""
        if self._known is None:
            return value
        text = "\0".join(_list_strings(value)).lower()
        is_clean = not any(form.lower() in text for form in self._forms)
        return value if is_clean else self._hide_known(value)

    def _hide_known(self, value: Any) -> Any:
        if isinstance(value, str) and self._known is not None:
            return self._known.sub(HIDDEN, value)
        if isinstance(value, list):
            return [self._hide_known(one) for one in value]
        if isinstance(value, dict):
            return {self._hide_known(name): self._hide_known(one) for name, one in value.items()}
        return value

    @cached_property
    def _forms(self) -> list[str]:
        """The longest first: none may hide only a part of another."""
        forms = {form for secret in self.secrets for form in _list_forms(secret)}
        return sorted(forms, key=lambda form: (-len(form), form))

    @cached_property
    def _known(self) -> re.Pattern[str] | None:
        patterns = [
            re.escape(form) if len(form) >= _SHORT else rf"(?<![^\W_]){re.escape(form)}(?![^\W_])"
            for form in self._forms
        ]
        return re.compile("|".join(patterns), re.IGNORECASE) if patterns else None


def _list_strings(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, dict):
            waiting += [*one, *one.values()]


def _list_forms(secret: str) -> set[str]:
    """A secret as servers may write it."""
    forms = {
        secret, quote(secret), quote(secret, safe=""), quote_plus(secret), html.escape(secret),
        json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], repr(secret)[1:-1],
    }  # fmt: skip
    data = secret.encode("utf-8", "replace")
    if ":" in secret or len(data) >= _SHORT:
        forms |= {data.hex()}
        for before in range(3):  # the same bytes look different after 0, 1 or 2 others
            end = (before + len(data)) // 3 * 3 - before
            start = (3 - before) % 3
            core = base64.b64encode(data[start:end]).decode()
            forms |= {core, core.replace("+", "-").replace("/", "_")}
        whole = base64.b64encode(data).decode().rstrip("=")
        forms |= {whole, whole.replace("+", "-").replace("/", "_")}
    return {form for form in forms if len(form) >= _SHORTEST}


def strip_secrets(address: str) -> str:
    """An address without user info and without the values of secret parameters.

    Example:
        >>> strip_secrets("https://me:secret@host.org/path?model=a&api_key=secret")
        'https://host.org/path?model=a&api_key='
    """
    parts = _split(address)
    if parts is None:
        return address
    query = [
        (name, "" if _SECRET_NAME.search(name) else value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
    ]
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=host, query=urlencode(query), fragment=""))


def _split(address: str) -> SplitResult | None:
    """The parts of an address; ``None`` if it is something else."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    return parts if parts.scheme and parts.netloc else None
