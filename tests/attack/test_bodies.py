"""Answers that are too large, too slow, or not what they say they are."""

import gzip
import json
import threading
import time
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.attack.server import GOOD, Behaviour, ask, attacking, drip, flood, reply, say
from textsobol.errors import RemoteError

MB = 1_000_000


@contextmanager
def at_most(n_bytes: int) -> Iterator[None]:
    """Limit what Python allocates within, the server's side included."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < n_bytes, f"{peak / MB:.0f} MB"


def chunked(n_bytes: int = 65_536) -> bytes:
    return b"%x\r\n" % n_bytes + b" " * n_bytes + b"\r\n"


OPEN = reply(body=b"", length=None)
CHUNKED = reply(body=b"", headers={"Transfer-Encoding": "chunked"}, length=None)
BOMB = gzip.compress(b"[" + b" " * (100 * MB) + b"]")
GZIPPED = {"Content-Encoding": "gzip"}

TOO_LARGE: dict[str, Behaviour] = {
    "gzip bomb": say(reply(body=BOMB, headers=GZIPPED)),
    "deflate bomb": say(
        reply(body=zlib.compress(b" " * 100 * MB), headers={"Content-Encoding": "deflate"})
    ),
    "long": flood(reply(body=b"", length=str(400 * MB)), b" " * 65_536, 400 * MB // 65_536),
    "endless": flood(OPEN, b" " * 65_536, None),
    "endless chunks": flood(CHUNKED, chunked(), None),
    "endless continue": flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000, None),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_an_answer_is_read_only_up_to_a_limit(name: str) -> None:
    with (
        attacking(TOO_LARGE[name]) as server,
        at_most(24 * MB),
        pytest.raises(RemoteError, match=r"answered with more than .* MB"),
    ):
        ask(server)
    assert len(server.asked) == 1, "the same would come again"


@pytest.mark.parametrize("status", [400, 500, 999])
@pytest.mark.parametrize("kind", ["long", "bomb", "endless"])
def test_the_body_of_an_error_is_read_only_up_to_a_limit(status: int, kind: str) -> None:
    behave = {
        "long": flood(
            reply(status, b"sorry ", length=str(400 * MB)), b"so " * 20_000, 400 * MB // 60_000
        ),
        "bomb": say(reply(status, gzip.compress(b"sorry " * 10 * MB), GZIPPED)),
        "endless": flood(reply(status, b"sorry ", length=None), b"so " * 20_000, None),
    }[kind]
    with (
        attacking(behave) as server,
        at_most(8 * MB),
        pytest.raises(RemoteError, match=f"HTTP {status}: sorry") as caught,
    ):
        ask(server)
    assert len(str(caught.value)) < 1000
    assert len(server.asked) == (2 if status == 500 else 1)


HEADERS: dict[str, bytes] = {
    "many": b"".join(b"X-%d: y\r\n" % k for k in range(50_000)),
    "long": b"X-Long: " + b"y" * 5 * MB + b"\r\n",
    "status": b"HTTP/1.1 200 " + b"y" * 5 * MB,
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers_without_end(name: str) -> None:
    head = b"" if name == "status" else b"HTTP/1.1 200 OK\r\n"
    with (
        attacking(flood(head, HEADERS[name], None)) as server,
        at_most(24 * MB),
        pytest.raises(RemoteError),
    ):
        ask(server)


DRIPS = {
    "status": (b"", b"H"),
    "headers": (b"HTTP/1.1 200 OK\r\nX: ", b"y"),
    "more headers": (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
    "continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "body": (reply(body=b"[", length="1000000"), b" "),
    "body without length": (OPEN, b" "),
    "chunks": (CHUNKED, b"1\r\n \r\n"),
    "chunk size": (CHUNKED, b"0"),
    "trailers": (CHUNKED + b"0\r\n", b"X: y\r\n"),
    "error": (reply(500, b"", length="1000000"), b" "),
    "gzip": (reply(body=BOMB[:10], headers=GZIPPED, length="1000000"), BOMB[10:11] * 0 + b"\0"),
}


@pytest.mark.parametrize("name", DRIPS)
def test_timeout_is_the_time_of_the_whole_call(name: str) -> None:
    """Every byte comes in time, but never the last."""
    stop = threading.Event()
    start = time.monotonic()
    with attacking(drip(*DRIPS[name], 0.02, stop)) as server:
        try:
            with pytest.raises(RemoteError):
                ask(server, timeout=0.3, retries=0)
            assert time.monotonic() - start < 1.5
        finally:
            stop.set()


def test_a_server_that_does_not_read_is_left_in_time() -> None:
    """Neither is the request sent for longer than allowed."""
    import socket

    from textsobol import endpoint

    with socket.create_server(("127.0.0.1", 0)) as listener:
        model = endpoint(f"http://127.0.0.1:{listener.getsockname()[1]}/", timeout=0.3, retries=0)
        start = time.monotonic()
        with pytest.raises(RemoteError, match="time"):
            model(["long text " * 2 * MB])
        assert time.monotonic() - start < 2


WRONG: dict[str, tuple[bytes, str]] = {
    "length too long": (reply(length=str(len(GOOD) + 5)), "IncompleteRead|ends early"),
    "length too short": (reply(length=str(len(GOOD) - 5)), "not JSON"),
    "br": (reply(headers={"Content-Encoding": "br"}), "encoded as 'br'"),
    "zstd": (reply(headers={"Content-Encoding": "zstd"}), "encoded as 'zstd'"),
    "gzip twice": (
        reply(body=gzip.compress(gzip.compress(GOOD)), headers={"Content-Encoding": "gzip, gzip"}),
        "encoded as 'gzip, gzip'",
    ),
    "two headers": (
        reply(
            body=gzip.compress(gzip.compress(GOOD)),
            headers={"Content-Encoding": "gzip", "content-encoding": "gzip"},
        ),
        "encoded as 'gzip, gzip'",
    ),
    "not gzip": (reply(headers=GZIPPED), "not gzip"),
    "half of gzip": (reply(body=gzip.compress(GOOD)[:-12], headers=GZIPPED), "ends early"),
    "nothing": (reply(body=b""), "not JSON: ''"),
    "no status": (b"\r\n\r\n", "BadStatusLine"),
    "not HTTP": (b"SSH-2.0-OpenSSH_9.6\r\n", "BadStatusLine"),
    "deep": (reply(body=b"[" * 100_000), "nested too deeply|not JSON"),
    "deep and whole": (reply(body=b"[" * 100_000 + b"]" * 100_000), "nested too deeply"),
    "rather deep": (reply(body=b"[" * 900 + b"]" * 900), "no labels and scores|is no score|nested"),
    "deep label": (
        reply(body=b'[{"score": 1, "label": ' + b"[" * 100 + b"]" * 100 + b"}]"),
        "is no label",
    ),
    "a key twice": (
        reply(body=b'[[{"label": "A", "score": 1, "score": 0}]]'),
        "'score' comes twice",
    ),
    "many digits": (
        reply(body=b'[[{"label": "A", "score": ' + b"9" * 4000 + b"}]]"),
        "is no score",
    ),
    "too many digits": (
        reply(body=b'[[{"label": "A", "score": ' + b"9" * 100_000 + b"}]]"),
        "not JSON|is no score",
    ),
    "a huge power": (reply(body=b'[[{"label": "A", "score": 1e999}]]'), "inf is no score"),
    "a huge score": (reply(body=b'[[{"label": "A", "score": 1e300}]]'), "no prob|is no score"),
    "a boolean": (reply(body=b'[[{"label": "A", "score": true}]]'), "True is no score"),
    "a text": (reply(body=b'[[{"label": "A", "score": "1"}]]'), "'1' is no score"),
    "no label": (reply(body=b'[[{"label": null, "score": 1}]]'), "None is no label"),
    "a long label": (
        reply(body=json.dumps([[{"label": "A" * 100_000, "score": 1}]]).encode()),
        "is no label",
    ),
    "utf-16": (reply(body=b"\xff\xfe\xff[\xd8"), "not JSON"),
}


@pytest.mark.parametrize("name", WRONG)
def test_answers_that_are_not_what_they_say(name: str) -> None:
    body, message = WRONG[name]
    start = time.monotonic()
    with (
        attacking(say(body)) as server,
        at_most(24 * MB),
        pytest.raises(RemoteError, match=message) as caught,
    ):
        ask(server)
    assert len(str(caught.value)) < 1000
    assert time.monotonic() - start < 5


GOOD_ANSWERS: dict[str, bytes] = {
    "gzip": reply(body=gzip.compress(GOOD), headers=GZIPPED),
    "GZIP": reply(body=gzip.compress(GOOD), headers={"content-encoding": " GZip "}),
    "deflate": reply(body=zlib.compress(GOOD), headers={"Content-Encoding": "deflate"}),
    "raw deflate": reply(body=zlib.compress(GOOD)[2:-4], headers={"Content-Encoding": "deflate"}),
    "identity": reply(headers={"Content-Encoding": "identity"}),
    "no length": reply(length=None),
    "negative length": reply(length="-5"),
    "length of words": reply(length="many"),
    "chunks": CHUNKED + b"%x\r\n%s\r\n0\r\n\r\n" % (len(GOOD), GOOD),
    "gzip in chunks": reply(
        body=b"", headers={**GZIPPED, "Transfer-Encoding": "chunked"}, length=None
    )
    + b"%x\r\n%s\r\n0\r\n\r\n" % (len(gzip.compress(GOOD)), gzip.compress(GOOD)),
    "continue": b"HTTP/1.1 100 Continue\r\n\r\n" + reply(),
    "number as label": reply(body=b'[[{"label": 0, "score": 0.25}, {"label": 1, "score": 0.75}]]'),
    "more than asked for": reply() + b"HTTP/1.1 500 Smuggled\r\n\r\n",
}


@pytest.mark.parametrize("name", GOOD_ANSWERS)
def test_unusual_answers_that_are_right(name: str) -> None:
    with attacking(say(GOOD_ANSWERS[name])) as server:
        assert [sorted(one.values()) for one in ask(server)] == [[0.25, 0.75]]


def test_many_labels_are_no_attack() -> None:
    labels = [
        {"label": f"a rather long name, number {k}", "score": 1 / 20_000} for k in range(20_000)
    ]
    with attacking(say(reply(body=json.dumps([labels]).encode()))) as server:
        (answer,) = ask(server)
    assert len(answer) == 20_000


@pytest.mark.parametrize("timeout", [0, -1.0, float("nan"), float("inf")])
def test_a_timeout_must_be_one(timeout: Any) -> None:
    from textsobol import endpoint

    with pytest.raises(ValueError, match="timeout"):
        endpoint("http://127.0.0.1/", timeout=timeout)


def test_errors_of_other_clients_are_read_only_up_to_a_limit() -> None:
    """A function of the user's own, whose error still holds an open body."""
    from urllib.request import Request, urlopen

    from textsobol import remote

    def call(text: str) -> list[float]:
        with urlopen(Request(server.address(), b"{}"), timeout=2) as response:
            return [len(response.read())]

    endless = flood(reply(400, b"sorry ", length=None), b"so " * 20_000, None)
    with (
        attacking(endless) as server,
        at_most(8 * MB),
        pytest.raises(RemoteError, match="HTTP 400: sorry"),
    ):
        remote(call, single=True, retries=0)(["a"])


def test_objects_with_many_keys_are_refused_in_time() -> None:
    keys = ", ".join(f'"{k}": 1' for k in range(200_000))
    start = time.monotonic()
    with (
        attacking(say(reply(body=f'[{{{keys}, "199999": 2}}]'.encode()))) as server,
        pytest.raises(RemoteError, match="'199999' comes twice"),
    ):
        ask(server)
    assert time.monotonic() - start < 5


def test_many_labels_cost_little_time() -> None:
    """Looking for secrets in an answer takes no longer than reading it."""
    from textsobol.redaction import Redaction

    labels = [{"label": f"a rather long name {k}", "score": 0.0} for k in range(1000)]
    hide = Redaction.of("http://me:password@host/?key=abcdefgh", token="hf_abcdefgh")
    assert hide.hide_known(labels) == labels
    start = time.perf_counter()
    for _ in range(10):
        hide.hide_known(labels)
    assert (time.perf_counter() - start) / 10 < 0.02


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (10**5000, "is no score"),
        (float("1e200"), "is no score"),
        ([{"label": 10**5000, "score": 1.0}], "is no label"),
        ([{"label": ("a",) * 10**6, "score": 1.0}], "is no label"),
        ("x" * 10**6, "is no score"),
    ],
    ids=["integer", "float", "integer as label", "tuple as label", "text"],
)
def test_functions_that_return_something_huge(returned: Any, message: str) -> None:
    from textsobol import remote

    with pytest.raises(RemoteError, match=message) as caught:
        remote(lambda text: returned, single=True)(["a"])
    assert len(str(caught.value)) < 1000
