"""Connections that are kept, encrypted, or made through a proxy."""

import multiprocessing
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.attack.server import (
    GOOD,
    Asked,
    ask,
    attacking,
    drip,
    flood,
    read_request,
    reply,
    say,
)
from textsobol import endpoint
from textsobol.endpoints import connections
from textsobol.errors import RemoteError

KEPT = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(GOOD), GOOD)
EXPECTED = [{"A": 0.25, "B": 0.75}]


class Keep:
    """Answers all requests of a connection, and counts."""

    def __init__(self, answer: bytes = KEPT) -> None:
        self.answer = answer
        self.n_connections = 0
        self.n_requests = 0

    def __call__(self, asked: Asked | None, connection: socket.socket) -> None:
        self.n_connections += 1
        while asked is not None:
            self.n_requests += 1
            connection.sendall(self.answer)
            asked = read_request(connection)


def test_a_connection_is_used_again() -> None:
    keep = Keep()
    with attacking(keep) as server:
        model = endpoint(server.address(), retries=0, concurrency=1)
        for text in "abcde":
            assert model([text]) == EXPECTED
        model.settings.function._transport._pool._idle.pop()[1].close()  # type: ignore[attr-defined]
    assert (keep.n_connections, keep.n_requests) == (1, 5)


def test_bytes_that_nobody_asked_for_are_no_answer_to_the_next_request() -> None:
    other = GOOD.replace(b"0.25", b"0.50").replace(b"0.75", b"0.50")
    more = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(other), other)
    with attacking(say(KEPT + more)) as server:
        model = endpoint(server.address(), retries=0, concurrency=1)
        for text in "abc":
            assert model([text]) == EXPECTED


def _call(model: Any, answers: Any) -> None:
    answers.put(model(["in a child"]))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_does_not_use_the_connections_of_its_parent() -> None:
    keep = Keep()
    with attacking(keep) as server:
        model = endpoint(server.address(), retries=0, concurrency=1)
        model(["a"])
        context = multiprocessing.get_context("fork")
        answers = context.Queue()
        child = context.Process(target=_call, args=(model, answers))
        child.start()
        assert answers.get(timeout=10) == EXPECTED
        child.join(10)
        assert model(["b"]) == EXPECTED
        model.settings.function._transport._pool._idle.pop()[1].close()  # type: ignore[attr-defined]
    assert keep.n_requests == 3
    assert keep.n_connections == 2, "one for each process"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=IP:127.0.0.1", "-keyout", str(path), "-out", f"{path}.crt"],
        check=True, capture_output=True,
    )  # fmt: skip
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path


@pytest.fixture
def tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.fixture
def trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = ssl.create_default_context(cafile=str(certificate))
    monkeypatch.setattr(connections, "_tls", lambda: context)


@pytest.mark.usefixtures("trusted")
def test_encrypted_connections(tls: ssl.SSLContext) -> None:
    keep = Keep()
    with attacking(keep, tls) as server:
        model = endpoint(server.address(), retries=0, concurrency=1)
        for text in "abc":
            assert model([text]) == EXPECTED
        model.settings.function._transport._pool._idle.pop()[1].close()  # type: ignore[attr-defined]
    assert keep.n_requests == 3


@pytest.mark.usefixtures("trusted")
def test_encrypted_connections_have_the_same_limits(tls: ssl.SSLContext) -> None:
    stop = threading.Event()
    start = time.monotonic()
    with attacking(drip(reply(body=b"[", length="1000"), b" ", 0.02, stop), tls) as server:
        with pytest.raises(RemoteError, match=r"no whole answer in timeout=0\.3 s"):
            ask(server, timeout=0.3, retries=0)
        stop.set()
    assert time.monotonic() - start < 1.5
    with attacking(flood(reply(body=b"", length=None), b" " * 65_536, None), tls) as server:
        with pytest.raises(RemoteError, match="more than 4 MB"):
            ask(server)
        moved = reply(307, b"", {"Location": server.address().replace("https", "http")})
        server.behave = say(moved)
        with pytest.raises(RemoteError, match="another server"):
            ask(server)


def test_a_certificate_that_is_not_trusted_is_refused_at_once(tls: ssl.SSLContext) -> None:
    with (
        attacking(say(reply()), tls) as server,
        pytest.raises(RemoteError, match="failed: SSLCertVerificationError"),
    ):
        ask(server, retries=5, backoff=60.0)
    assert server.asked == []


def test_a_handshake_that_never_ends() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/"
        start = time.monotonic()
        with pytest.raises(RemoteError, match="time"):
            endpoint(url, timeout=0.3, retries=0)(["a"])
        assert time.monotonic() - start < 1.5


def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with attacking(say(reply())) as proxy:
        monkeypatch.setenv("http_proxy", proxy.address(user="me:proxy-password", path=""))
        monkeypatch.setenv("no_proxy", "127.0.0.9")
        assert ask(proxy, "http://model.test/p?a=b", headers={"x-key": "k"}) == EXPECTED
        (asked,) = proxy.asked
        assert asked.path == "http://model.test/p?a=b"
        assert asked.headers["host"] == "model.test"
        assert asked.headers["proxy-authorization"].startswith("Basic ")
        monkeypatch.setenv("no_proxy", "model.test")
        with pytest.raises(RemoteError, match="gaierror"):
            ask(proxy, "http://model.test/p", retries=0)


def test_an_encrypted_call_through_a_proxy_shows_the_proxy_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with attacking(say(reply(407, b"no \x1b[2J"))) as proxy:
        monkeypatch.setenv("https_proxy", proxy.address(user="me:proxy-password", path=""))
        with pytest.raises(RemoteError, match="407") as caught:
            ask(proxy, "https://model.test/p?a=b", headers={"x-key": "my-secret"}, retries=0)
    (asked,) = proxy.asked
    assert asked.path == "model.test:443"
    assert "x-key" not in asked.headers
    assert "\x1b" not in str(caught.value)
    assert "proxy-password" not in str(caught.value)


def test_other_kinds_of_proxies_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "socks5://me:proxy-password@127.0.0.1:1")
    with pytest.raises(RemoteError, match="socks5") as caught, suppress(OSError):
        endpoint("http://model.test/", retries=0)(["a"])
    assert "proxy-password" not in str(caught.value)


def test_a_remote_model_needs_nothing_that_only_unix_has() -> None:
    code = (
        "import sys; sys.modules.update(fcntl=None, resource=None, termios=None);"
        "from textsobol import endpoint; print(endpoint('http://host/p'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "Remote('host/p')", done.stderr


def test_a_proxy_that_says_what_it_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    with attacking(say(reply(403, b"sorry: proxy-password, bWU6cHJveHktcGFzc3dvcmQ="))) as proxy:
        monkeypatch.setenv("http_proxy", proxy.address(user="me:proxy-password", path=""))
        with pytest.raises(RemoteError, match="403: sorry") as caught:
            ask(proxy, "http://model.test/")
    assert "proxy-password" not in str(caught.value)
    assert "bWU6cHJveHktcGFzc3dvcmQ" not in str(caught.value)


@pytest.mark.parametrize("proxy", ["http://me:proxy/password@host:1", "http://[proxy", "http://"])
def test_a_wrong_proxy_is_not_shown(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(RemoteError, match="failed: ValueError: the proxy") as caught:
        endpoint("http://model.test/", retries=0)(["a"])
    assert "password" not in str(caught.value)


def test_a_kept_connection_that_ends_within_a_redirect_is_replaced() -> None:
    moved = b"HTTP/1.1 307 Moved\r\nLocation: /q\r\nContent-Length: 0\r\n\r\n"
    with attacking(lambda a, c: c.sendall(moved if a.path == "/p" else KEPT)) as server:
        model = endpoint(server.address(), retries=0, concurrency=1)
        for text in "abc":
            assert model([text]) == EXPECTED


def test_headers_of_the_user_replace_those_of_the_client() -> None:
    with attacking(say(reply())) as server:
        ask(server, headers={"Accept-Encoding": "identity", "Content-Length": "3"})
    (asked,) = server.asked
    assert asked.headers["accept-encoding"] == "identity"
    assert int(asked.headers["content-length"]) == len(asked.body) > 3
