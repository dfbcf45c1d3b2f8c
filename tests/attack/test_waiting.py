"""However a server asks to wait, or fails, a call ends in time and says why."""

import time

import pytest

from tests.attack.server import GOOD, ask, attacking, reply, say
from textsobol.errors import RemoteError

DATES = {
    "Thu, 01 Jan 1970 00:00:00 GMT": "at once",
    "Fri, 31 Dec 9999 23:59:59 GMT": "too long",
    "Fri, 31 Dec 99999 23:59:59 GMT": "at once",
    "Mon, 01 Jan 0001 00:00:00 +2359": "at once",
    "1e300": "too long",
    "9" * 400: "at once",
    "9" * 300: "too long",
    "-5": "at once",
    "-1e300": "at once",
    "inf": "at once",
    "nan": "at once",
    "0x10": "at once",
    "": "at once",
    "\x9b2J": "at once",
    "1_000_000": "too long",
}


@pytest.mark.parametrize("asked", DATES)
@pytest.mark.parametrize("status", [429, 503])
def test_absurd_times_to_wait(asked: str, status: int) -> None:
    start = time.monotonic()
    busy = reply(status, b"busy", {"Retry-After": asked})
    message = "asks to wait" if DATES[asked] == "too long" else "failed 2 times"
    with (
        attacking(say(busy)) as server,
        pytest.raises(RemoteError, match=message) as caught,
    ):
        ask(server)
    assert time.monotonic() - start < 2
    assert len(str(caught.value)) < 300
    assert len(server.asked) == (1 if DATES[asked] == "too long" else 2)


@pytest.mark.parametrize(
    ("status", "n_calls"),
    [
        (100, 2),
        (199, 1),
        (204, 1),
        (299, 1),
        (304, 1),
        (399, 1),
        (418, 1),
        (599, 2),
        (600, 1),
        (999, 1),
    ],
)
def test_unknown_status_codes(status: int, n_calls: int) -> None:
    body = b"" if status < 200 or status in (204, 304) else b"sorry"
    with attacking(say(reply(status, body))) as server, pytest.raises(RemoteError) as caught:
        ask(server)
    assert len(server.asked) == n_calls
    if status >= 300:
        assert f"HTTP {status}" in str(caught.value)


@pytest.mark.parametrize(
    "line", ["HTTP/1.1 99 Low", "HTTP/1.1 1000 High", "HTTP/1.1 -200 No", "HTTP/1.1 2e2 No",
             "ICY 200 OK", "HTTP/9.9 200 OK", "HTTP/1.1", ""],
)  # fmt: skip
def test_broken_status_lines(line: str) -> None:
    with attacking(say(f"{line}\r\n\r\n".encode())) as server, pytest.raises(RemoteError):
        ask(server)
    assert len(server.asked) <= 2


@pytest.mark.parametrize(
    "part", [b"", b"H", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nX: ", reply()[:-3]]
)
def test_a_server_that_hangs_up(part: bytes) -> None:
    start = time.monotonic()
    with (
        attacking(say(part)) as server,
        pytest.raises(RemoteError, match=r"failed 2 times|not JSON"),
    ):
        ask(server)
    assert time.monotonic() - start < 2


def test_a_server_that_hangs_up_once_is_asked_again() -> None:
    with attacking(say(b"", reply())) as server:
        assert ask(server) == [{"A": 0.25, "B": 0.75}]


def test_connections_are_kept_and_replaced_when_the_server_has_closed_them() -> None:
    """A server that promises to keep a connection open, and closes it: no call is lost."""
    from textsobol import endpoint

    kept = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(GOOD), GOOD)
    with attacking(say(kept)) as server:
        model = endpoint(server.address(), retries=0, concurrency=1)
        for text in ("a", "b", "c"):
            assert model([text]) == [{"A": 0.25, "B": 0.75}]
    assert len(server.asked) == 3


def test_who_allows_any_wait_can_still_interrupt_it() -> None:
    from textsobol import endpoint

    busy = reply(429, b"", {"Retry-After": "1e300"})
    with attacking(say(busy)) as server:
        model = endpoint(server.address(), longest_wait=float("inf"), backoff=0.001)

        def interrupt(n_texts: int) -> None:
            while not server.asked:
                time.sleep(0.001)
            time.sleep(0.05)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            model.ask(["a"], tick=interrupt)
        state = model._process_state()
        state.threads.shutdown()
        errors = [job.exception() for job in state.jobs.values() if not job.cancelled()]
    assert all(type(error).__name__ == "CancelledError" for error in errors), errors
    assert len(server.asked) == 1
