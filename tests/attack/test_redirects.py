"""Headers and tokens go to the host that they were given for, and nowhere else."""

import pytest

from tests.attack.server import Asked, ask, attacking, reply, say
from textsobol import endpoint
from textsobol.endpoints.addresses import is_on_hub
from textsobol.errors import RemoteError

KEYS = {"x-api-key": "header-secret-1"}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_header_follows_a_redirect_to_another_server(status: int) -> None:
    with attacking(say(reply())) as other:
        moved = reply(status, b"", {"Location": other.address(path="/stolen", query="sig=abcdef")})
        with (
            attacking(say(moved)) as server,
            pytest.raises(RemoteError, match=r"redirects to .*another") as caught,
        ):
            ask(server, headers=KEYS, token="token-secret-2")
        assert other.asked == []
        assert len(server.asked) == 1, "nothing to try again"
    assert "abcdef" not in str(caught.value)
    assert "/stolen" in str(caught.value), "where to is shown"


@pytest.mark.parametrize(
    "location",
    ["https://127.0.0.1:{port}/p", "//localhost:{port}/p", "http://127.0.0.1:1/p", "file:///etc",
     "http://evil.test@127.0.0.2:{port}/p", "http://[::1/p", "http://\x1b[31m/", ""],
)  # fmt: skip
def test_another_scheme_host_or_port_is_another_server(location: str) -> None:
    with attacking(say(reply())) as server:
        target = location.format(port=server.url.rpartition(":")[2])
        server.behave = say(reply(307, b"", {"Location": target}))
        with pytest.raises(RemoteError, match=r"HTTP 307: .*redirect") as caught:
            ask(server, headers=KEYS)
    assert len(server.asked) == 1
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_on_the_same_server_is_followed_with_everything(status: int) -> None:
    moved, found = reply(status, b"", {"Location": "/p/"}), reply()
    with attacking(lambda a, c: c.sendall(found if a.path == "/p/" else moved)) as server:
        assert ask(server, headers=KEYS) == [{"A": 0.25, "B": 0.75}]
    assert server.paths == ["/p", "/p/"]
    first, second = server.asked
    assert second.headers["x-api-key"] == "header-secret-1"
    assert first.body == second.body


def test_a_loop_of_redirects_ends() -> None:
    def around(asked: Asked, connection: object) -> None:
        other = {"/p": "/q", "/q": "/p"}[asked.path]
        connection.sendall(reply(308, b"", {"Location": other}))  # type: ignore[attr-defined]

    with attacking(around) as server, pytest.raises(RemoteError, match="more than 5 redirects"):
        ask(server)
    assert len(server.asked) < 10


@pytest.mark.parametrize(
    ("model", "is_hub"),
    [
        ("org/model", True),
        ("https://huggingface.co/api", True),
        ("https://api-inference.huggingface.co/models/org/model", True),
        ("https://router.huggingface.co/hf-inference/models/org/model", True),
        ("https://x.us-east-1.aws.endpoints.huggingface.cloud", True),
        ("https://HUGGINGFACE.co:443/api", True),
        ("https://anybody-space.hf.space/", False),
        ("https://hf.space/", False),
        ("https://other.huggingface.co/", False),
        ("https://other.huggingface.cloud/", False),
        ("https://endpoints.huggingface.cloud.evil.com/", False),
        ("https://evil-endpoints.huggingface.cloud/", False),
        ("https://huggingface.co:8443/", False),
        ("https://huggingface.co@evil.com/", False),
        ("http://router.huggingface.co/", False),
    ],
)
def test_only_the_hub_itself_gets_a_saved_token(
    model: str, is_hub: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_on_hub(model) == is_hub
    monkeypatch.setenv("HF_TOKEN", "hf_savedsavedsaved")
    if "://" in model:
        sent = endpoint(model).settings.function.build_headers(model, {})  # type: ignore[attr-defined]
        assert ("authorization" in sent) == is_hub


def test_headers_are_sent_whatever_their_case() -> None:
    with attacking(say(reply())) as server:
        ask(server, headers={"Authorization": "Key my-own-secret"})
        ask(server, headers={"AUTHORIZATION": "Key my-own-secret"}, token="other")
    assert server.asked[0].headers["authorization"] == "Key my-own-secret"
    assert server.asked[1].headers["authorization"] == "Key my-own-secret"


def test_headers_must_be_text() -> None:
    with pytest.raises(TypeError, match="header 'x-n'"):
        endpoint("http://127.0.0.1/", headers={"x-n": 5})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="name of a header"):
        endpoint("http://127.0.0.1/", headers={"x: y\r\nz": "a"})


def test_addresses_are_written_as_servers_want_them() -> None:
    with attacking(say(reply())) as server:
        ask(server, server.address(path="/@cf/a b/\u00e9%20", query="m=\u00e9 f"))
    assert server.paths == ["/@cf/a%20b/%C3%A9%20?m=%C3%A9%20f"]
