"""Errors of every library are known by what they carry, on calls that really fail."""

import time
from collections.abc import Callable
from email.utils import formatdate
from importlib import import_module
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest
from tenacity import RetryCallState, Retrying

from tests.endpoints.server import Reply, Server
from textsobol.endpoints.retry import (
    RetryPolicy,
    describe_error,
    get_retry_after,
    get_status,
    is_transient,
)

TIMEOUT = 0.5


def by_urllib(url: str) -> None:
    urlopen(Request(url, b'{"inputs": "x"}'), timeout=TIMEOUT).read()


def by_requests(url: str) -> None:
    requests = import_module("requests")
    requests.post(url, json={"inputs": "x"}, timeout=TIMEOUT).raise_for_status()


def by_httpx(url: str) -> None:
    httpx = import_module("httpx")
    httpx.post(url, json={"inputs": "x"}, timeout=TIMEOUT).raise_for_status()


def by_hub(url: str) -> None:
    hub = import_module("huggingface_hub")
    hub.InferenceClient(url, timeout=TIMEOUT).text_classification("x")


WAYS = [by_urllib, by_requests, by_httpx, by_hub]
Call = Callable[[str], None]


def error_of(call: Call, url: str) -> Exception:
    pytest.importorskip({"by_requests": "requests", "by_httpx": "httpx"}.get(call.__name__, "os"))
    with pytest.raises(Exception) as caught:  # noqa: PT011  (which one is the question)
        call(url)
    assert isinstance(caught.value, Exception)
    return caught.value


@pytest.mark.parametrize("call", WAYS)
@pytest.mark.parametrize(
    ("status", "passes"),
    [(429, True), (408, True), (500, True), (503, True), (400, False), (401, False), (404, False)],
)
def test_a_status_says_whether_to_try_again(
    server: Server, call: Call, status: int, passes: bool
) -> None:
    headers = {"Retry-After": "3"}
    server.misbehaves = lambda text, _: Reply(status, {"error": "so  sorry"}, headers)
    error = error_of(call, server.url)
    assert (get_status(error), is_transient(error)) == (status, passes)
    assert get_retry_after(error) == 3.0
    if call is by_hub:  # the client reads the body of some errors only
        assert describe_error(error).startswith(f"HTTP {status}: ")
    else:
        assert describe_error(error) == f'HTTP {status}: {{"error": "so sorry"}}'


@pytest.mark.parametrize("call", WAYS)
@pytest.mark.parametrize("reply", [Reply(drop=True), Reply(drop=True, seconds=3 * TIMEOUT)])
def test_broken_connections_and_time_outs_pass(server: Server, call: Call, reply: Reply) -> None:
    server.misbehaves = lambda text, _: reply
    error = error_of(call, server.url)
    assert is_transient(error), repr(error)
    assert get_status(error) is None
    assert get_retry_after(error) is None
    assert describe_error(error).startswith(type(error).__name__ + ": ")


@pytest.mark.parametrize("call", WAYS)
def test_a_server_that_is_not_there_may_come_back(call: Call) -> None:
    assert is_transient(error_of(call, "http://127.0.0.1:1/"))


def test_a_host_out_of_reach_may_come_back() -> None:
    assert is_transient(URLError(OSError(113, "No route to host")))


def test_what_no_waiting_mends() -> None:
    import ssl

    class SSLError(ConnectionError):
        """As in requests."""

    lasting: list[Exception] = [
        ValueError("no JSON"), KeyError("score"), URLError("unknown url type: htp"), SSLError(),
        URLError(ssl.SSLCertVerificationError("self-signed")), FileNotFoundError("token.txt"),
    ]  # fmt: skip
    assert [is_transient(error) for error in lasting] == [False] * len(lasting)


def test_wrapped_errors_are_what_they_wrap() -> None:
    """A client that stumbles over an error's body, or a function with errors of its own."""
    headers: Any = {"Retry-After": "7"}
    stumbled, outer = KeyError("message"), RuntimeError("no answer")
    with HTTPError("http://a.b", 503, "loading", headers, None) as refused:
        stumbled.__context__, outer.__cause__ = refused, stumbled
        assert get_status(outer) == 503
        assert is_transient(outer)
        assert get_retry_after(outer) == 7.0
        assert describe_error(outer) == "HTTP 503: HTTP Error 503: loading"
    outer.__cause__ = ConnectionResetError()
    assert is_transient(outer)
    outer.__context__, outer.__cause__ = TimeoutError(), None  # as raise ... from None does
    assert not is_transient(outer)


@pytest.mark.parametrize("call", WAYS)
@pytest.mark.parametrize("body", [None, [], b"", b"\xff\xfe"])
def test_the_body_of_an_error_may_be_anything(server: Server, call: Call, body: Any) -> None:
    server.misbehaves = lambda text, _: Reply(500, body)
    error = error_of(call, server.url)
    assert is_transient(error)
    assert describe_error(error).startswith("HTTP 500: ")


def test_retry_after_may_be_a_date_or_nonsense() -> None:
    def asked(value: str) -> float | None:
        headers: Any = {"Retry-After": value}
        with HTTPError("http://a.b", 429, "", headers, None) as error:
            return get_retry_after(error)

    assert asked(formatdate(time.time() + 30, usegmt=True)) == pytest.approx(30, abs=1.5)
    assert asked(formatdate(time.time() - 30, usegmt=True)) == 0.0
    assert asked("0.25") == 0.25
    assert asked("-4") == 0.0
    assert asked("soon") is None
    assert asked("nan") is None


def wait_after(policy: RetryPolicy, failures: int, asked: str | None = None) -> float:
    attempt = RetryCallState(Retrying(), None, (), {})
    attempt.attempt_number = failures
    headers: Any = {} if asked is None else {"Retry-After": asked}
    with HTTPError("http://a.b", 429, "", headers, None) as error:
        attempt.set_exception((HTTPError, error, None))
        return policy.wait(attempt)


def test_waits_double_with_jitter_up_to_the_longest() -> None:
    policy = RetryPolicy(backoff=0.5, longest_wait=3.0)
    for failures, low in ((1, 0.25), (2, 0.5), (3, 1.0), (4, 1.5), (9, 1.5), (2000, 1.5)):
        waits = [wait_after(policy, failures) for _ in range(200)]
        assert low <= min(waits) < max(waits) <= 2 * low
    waits = [wait_after(policy, 1, "2.0") for _ in range(200)]
    assert 2.0 <= min(waits) < max(waits) <= 2.5, "never sooner than the server asks"
    assert wait_after(RetryPolicy(backoff=0.0), 3) == 0.0
    with pytest.raises(ValueError, match="must not be negative"):
        RetryPolicy(retries=-1)
