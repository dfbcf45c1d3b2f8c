"""What a server says cannot control a terminal."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.attack.server import Asked, ask, attacking, reply, say
from textsobol import BlackBoxError, TextExplainer, endpoint, remote
from textsobol.cli import app
from textsobol.errors import RemoteError

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\x08\x00 \u202eevil\u2066 \r\n\n\x7f"
FORBIDDEN = set("\x1b\x07\x9b\x08\x00\u202e\u2066\r\n\x7f")
DUMPED = json.dumps({"error": ESCAPES}, ensure_ascii=False).encode()

SAYS: dict[str, bytes] = {
    "plain": reply(400, ESCAPES.encode()),
    "latin-1": reply(400, b"\x9b31m \x1b[2J"),
    "JSON": reply(400, DUMPED),
    "JSON later": reply(500, DUMPED),
    "not JSON": reply(200, ESCAPES.encode()),
    "no labels": reply(200, DUMPED),
    "label": reply(200, json.dumps([[{"label": ESCAPES, "score": 0.1}]]).encode()),
    "labels": reply(200, json.dumps([[{"label": ESCAPES, "score": s} for s in (0, 1)]]).encode()),
    "key": reply(200, b'[{"\\u001b[2J": 1, "\\u001b[2J": 2}]'),
    "encoding": reply(200, headers={"Content-Encoding": "\x1b[2J\x9b"}),
    "redirect": reply(302, b"", {"Location": "http://\x1b[2J\x9b/"}),
    "waiting": reply(429, ESCAPES.encode(), {"Retry-After": "9999"}),
    "status": b"HTTP/1.1 \x1b[2J \x9b\r\n\r\n",
    "long": reply(400, "é\x1b".encode() * 20_000),
}


@pytest.mark.parametrize("name", SAYS)
def test_errors_hold_no_control_characters(name: str) -> None:
    with attacking(say(SAYS[name])) as server:
        with pytest.raises(RemoteError) as caught:
            TextExplainer(_model(server))._classifier._ask(_cost(), ["a film"], lambda _: None)  # type: ignore[attr-defined]
        with pytest.raises(BlackBoxError) as wrapped:
            TextExplainer(_model(server))("a film")
        if name not in ("JSON later", "status"):  # others are not tried again, with pauses
            result = CliRunner().invoke(app, ["explain", "a film", "--endpoint", server.address()])
            assert FORBIDDEN.isdisjoint(result.output.replace("\n", ""))
    for error in (caught.value, caught.value.__cause__, wrapped.value, wrapped.value.__cause__):
        assert FORBIDDEN.isdisjoint(str(error)), repr(str(error))
        assert len(str(error)) < 1000


def _model(server: Any) -> Any:
    return endpoint(server.address(), retries=0, backoff=0.001)


def _cost() -> Any:
    from textsobol.endpoints.client import RemoteCost

    return RemoteCost()


def test_labels_that_change_hold_none_either() -> None:
    def body(label: str) -> bytes:
        return reply(body=json.dumps([[{"label": label, "score": 1.0}]]).encode())

    with (
        attacking(say(body("A"), body(ESCAPES))) as server,
        pytest.raises(BlackBoxError, match="the labels") as caught,
    ):
        TextExplainer(_model(server))("a film")
    assert FORBIDDEN.isdisjoint(str(caught.value))


def test_the_error_column_and_the_report(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    texts = tmp_path / "texts.csv"
    texts.write_text("text\na film\nbad film\n")

    def behave(asked: Asked, connection: Any) -> None:
        connection.sendall(SAYS["plain"] if b"bad" in asked.body else reply())

    with attacking(behave) as server:
        out = tmp_path / "out"
        command = ["corpus", str(texts), "--out", str(out), "--endpoint", server.address()]
        done = CliRunner().invoke(app, command)
    from textsobol.corpus.results import read_explanations

    ((_, error),) = read_explanations(out).failures()
    assert FORBIDDEN.isdisjoint(error)
    assert "evil" in error, "the rest is shown"
    page = tmp_path / "report.html"
    shown = CliRunner().invoke(app, ["report", str(out), "--html", str(page)])
    for text in (done.output, shown.output, page.read_text()):
        assert (FORBIDDEN - {"\n", "\u2066"}).isdisjoint(text)


def test_names_of_labels_are_shown_without_control_characters(tmp_path: Path) -> None:
    labels = [{"label": "good \x1b[31m", "score": 0.5}, {"label": "bad \u202e", "score": 0.5}]
    with attacking(say(reply(body=json.dumps([labels]).encode()))) as server:
        assert ask(server)
        shown = CliRunner().invoke(app, ["explain", "a film", "--endpoint", server.address()])
    assert shown.exit_code == 0
    assert (FORBIDDEN - {"\n"}).isdisjoint(shown.output)


def test_a_function_of_the_user_may_repeat_what_a_server_said() -> None:
    def call(text: str) -> list[float]:
        raise RuntimeError(ESCAPES * 100)

    with pytest.raises(RemoteError, match="evil") as caught:
        remote(call, single=True)(["a"])
    for error in (caught.value, caught.value.__cause__):
        assert FORBIDDEN.isdisjoint(str(error))
        assert len(str(error)) < 1000


def test_messages_that_cannot_be_read_are_left_out() -> None:
    class BrokenError(Exception):
        def __str__(self) -> str:
            raise ValueError("no message")

    def call(text: str) -> list[float]:
        raise BrokenError

    with pytest.raises(RemoteError, match="failed: BrokenError"):
        remote(call, single=True)(["a"])
