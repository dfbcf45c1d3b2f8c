"""Who is answered, and what with."""

import base64
import hashlib
import re
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("uvicorn")

from tests.render.samples import LABELS, sentiment
from tests.serve.running import Running, Slow, run_server
from textsobol import TextExplainer
from textsobol.serve.limits import Limits, RateLimiter
from textsobol.serve.security import Rules

TOKEN = "a-secret-of-20-letters"


def explainer() -> TextExplainer:
    return TextExplainer(sentiment, label_names=LABELS, progress=False)


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with run_server(explainer()) as running:
        yield running


@pytest.fixture
def locked() -> Iterator[Running]:
    with run_server(explainer(), token=TOKEN) as running:
        yield running


def test_the_page_runs_its_own_script_only(server: Running) -> None:
    response = server.client.get("/")
    policy = response.headers["content-security-policy"]
    scripts = re.findall(r"<script>(.*?)</script>", response.text, re.DOTALL)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    for part in ("default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'"):
        assert part in policy
    assert "unsafe-eval" not in policy
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "server" not in response.headers


def test_answers_and_errors_have_the_same_headers(server: Running) -> None:
    for response in (
        server.post("info"),
        server.post("info", origin="null"),
        server.client.put("/"),
    ):
        assert response.headers["cache-control"] == "no-store"
        assert "default-src 'none'" in response.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:{port}", 200), ("localhost:{port}", 200), ("[::1]:{port}", 200),
        ("evil.example:{port}", 421), ("evil.example", 421), ("localhost:1", 421),
        ("localhost", 421), ("127.0.0.1.evil.example:{port}", 421), ("", 421),
        ("evil@127.0.0.1:{port}", 421), ("127.0.0.1:{port}/evil", 421), ("[::1:{port}", 421),
    ],
)  # fmt: skip
def test_a_name_that_was_made_to_point_here_is_refused(
    server: Running, host: str, status: int
) -> None:
    port = server.address.rpartition(":")[2]
    own = host.format(port=port)
    assert server.client.get("/", headers={"host": own}).status_code == status
    if own:
        assert server.post("info", host=own, origin=f"http://{own}").status_code == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1"}, 403),
        ({"origin": "http://localhost:{port}"}, 403),
        ({"origin": "file://127.0.0.1:{port}"}, 403),
        ({"origin": ""}, 403),
        ({"origin": "", "sec_fetch_site": "cross-site"}, 403),
        ({"origin": "", "sec_fetch_site": "same-site"}, 403),
        ({"origin": "", "sec_fetch_site": "same-origin"}, 200),
        ({"content_type": "text/plain"}, 415),
        ({"content_type": "application/x-www-form-urlencoded"}, 415),
    ],
)
def test_other_pages_are_refused(server: Running, headers: dict[str, str], status: int) -> None:
    port = server.address.rpartition(":")[2]
    given = {name: value.format(port=port) for name, value in headers.items()}
    for path in ("info", "explain", "predict", "save"):
        response = server.post(path, **given)
        assert (response.status_code == status) if path == "info" or status != 200 else True


def test_nothing_is_told_by_get(server: Running) -> None:
    for path in ("/api/info", "/api/explain", "/api/save", "/docs", "/index.html"):
        assert server.client.get(path).status_code == 404
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE"):
        assert server.client.request(method, "/").status_code == 405


def test_the_token_is_needed(locked: Running) -> None:
    page = locked.client.get("/")
    assert page.status_code == 200
    assert '"sentiment"' not in page.text, "no name of a model"
    assert TOKEN not in page.text
    for path in ("info", "explain", "predict", "contrast", "save", "corpus", "login", "forget"):
        assert locked.post(path).status_code == 401
    wrong = ("Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer")
    for given in wrong:
        assert locked.post("info", authorization=given).status_code == 401
    assert locked.post("info", authorization=f"Bearer {TOKEN}").status_code == 200


def test_a_cookie_takes_the_place_of_the_token(locked: Running) -> None:
    response = locked.post("login", authorization=f"Bearer {TOKEN}")
    cookie = response.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TOKEN not in cookie
    assert locked.post("info").status_code == 200, "the client sends the cookie"
    assert locked.post("info", origin="http://evil.example").status_code == 403
    locked.client.cookies.clear()
    assert locked.post("info").status_code == 401
    name = response.headers["set-cookie"].partition("=")[0]
    assert locked.post("info", cookie=f"{name}={TOKEN}").status_code == 401


def test_tokens_cannot_be_guessed_at_will(locked: Running) -> None:
    found = [locked.post("login", authorization=f"Bearer {k:020}").status_code for k in range(30)]
    assert found[0] == 401
    assert found[-1] == 429


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "example.org", "::"])
def test_other_addresses_need_a_token(host: str) -> None:
    with pytest.raises(ValueError, match="give --token"):
        Rules(host)
    with pytest.raises(ValueError, match="at least 16"):
        Rules(host, token="short")
    with pytest.raises(ValueError, match="letters, digits"):
        Rules(host, token="a token with spaces and \u00e9")
    assert Rules(host, token=TOKEN).is_own_host("localhost:8000")


def test_a_server_for_all_addresses_answers_to_numbers_only() -> None:
    rules = Rules("0.0.0.0", token=TOKEN)
    assert rules.is_own_host("192.168.1.5:8000")
    assert not rules.is_own_host("evil.example:8000")
    assert Rules("box.lan", token=TOKEN).is_own_host("box.lan:8000")
    assert not Rules("box.lan", token=TOKEN).is_own_host("192.168.1.5:8000")


def refused(server: Running, text: str, **body: Any) -> tuple[int, str]:
    response = server.post("explain", {"text": text, "sides": [{}], **body})
    return response.status_code, response.json()["error"]


def test_long_texts_and_bodies_are_refused() -> None:
    with run_server(explainer(), limits=Limits(characters=100)) as server:
        status, message = refused(server, "a" * 101)
        assert (status, "at most 100" in message) == (422, True)
        status, message = refused(server, "a" * 50_000)
        assert (status, "at most 100" in message) == (413, True)
        assert server.explain("good " * 20)[-1][1]["stage"] == "done"


def test_requests_are_counted() -> None:
    with run_server(explainer(), limits=Limits(requests=5)) as server:
        found = [server.post("info").status_code for _ in range(7)]
        assert found == [200] * 5 + [429] * 2
        assert server.client.get("/").status_code == 200


def test_the_allowance_refills() -> None:
    clock = [0.0]
    limiter = RateLimiter(60, now=lambda: clock[0])
    assert sum(limiter.allows("a") for _ in range(100)) == 60
    clock[0] = 10.0
    assert sum(limiter.allows("a") for _ in range(100)) == 10
    for k in range(2000):
        limiter.allows(str(k))
    assert len(limiter._left) <= 1000


def test_work_ends_when_its_time_is_over() -> None:
    slow = Slow()
    with run_server(slow.explainer(), limits=Limits(seconds=0.4)) as server:
        events = server.explain(" ".join(f"word{k}" for k in range(60)))
        assert events[-1][0] == "stopped"
        assert "0.4 s" in events[-1][1]["message"]
        server.wait_until_idle(1)


@pytest.mark.parametrize(
    "body",
    [
        {"text": "good", "sides": []},
        {"text": "good", "sides": [{}, {}, {}]},
        {"text": "good", "sides": [{"model": -1}]},
        {"text": "good", "sides": [{"model": 7}]},
        {"text": "good", "sides": [{"method": "no such method"}]},
        {"text": "good", "sides": [{"method": "gradcam"}]},
        {"text": 5, "sides": [{}]},
        {"text": "good", "sides": [{}], "tab": "../../etc"},
        {"text": "good", "sides": [{}], "more": 1},
        {"text": "good", "sides": [{}], "contrast": ["a"]},
    ],
)
def test_wrong_requests_are_named(server: Running, body: dict[str, Any]) -> None:
    response = server.post("explain", body)
    assert response.status_code == 422
    assert response.json()["error"]


def test_what_is_no_json_is_refused(server: Running) -> None:
    headers = {"origin": server.address, "content-type": "application/json"}
    for content in (b"", b"{", b"[]", b"\xff", b"[" * 10_000):
        assert (
            server.client.post("/api/explain", content=content, headers=headers).status_code == 422
        )
