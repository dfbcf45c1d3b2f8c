"""Passwords, keys and tokens are sent to the server, and appear nowhere else."""

import base64
import json
import pickle
import re
import sqlite3
import traceback
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest
from typer.testing import CliRunner

from tests.attack.server import Asked, ask, attacking, reply, say
from textsobol import TextExplainer, endpoint, remote
from textsobol.cli import app
from textsobol.errors import RemoteError

USER, PASSWORD, KEY = "lovelace", "p/ss w&rd=1", "KEY4711"
TOKEN, HEADER = "hf_abcdefghij", "header-secret"
SECRETS = [
    USER, PASSWORD, quote(PASSWORD, safe=""), KEY, TOKEN, HEADER,
    base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode().rstrip("="),
]  # fmt: skip
OPTIONS: dict[str, Any] = {"token": TOKEN, "headers": {"X-Api-Key": HEADER}}


def address(server: Any) -> str:
    user = f"{USER}:{quote(PASSWORD, safe='')}"
    return str(server.address(user=user, query=f"api_key={KEY}&model=small"))


BASIC = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
INNER = base64.b64encode(f"x {TOKEN} {HEADER}".encode()).decode()
SAID = ["{path}", "{authorization}", "{x-api-key}", TOKEN, USER, PASSWORD, BASIC, INNER,
        quote(PASSWORD, safe=""), f"http://{USER}:{KEY}@host/p?api_key={KEY}", KEY]  # fmt: skip
"""What a server may say of what it was sent."""
TEXTS = [f"film {k}" for k in range(len(SAID))]


def echo(status: int, wrap: Callable[[str], Any] = str) -> Callable[[Asked, Any], None]:
    """A server that returns what it was sent, as debug pages do: a part of it for each text."""

    def behave(asked: Asked, connection: Any) -> None:
        which = int((re.findall(rb"film (\d+)", asked.body) or [b"0"])[0])
        said = SAID[which].format_map(defaultdict(str, {"path": asked.path, **asked.headers}))
        connection.sendall(reply(status, json.dumps(wrap(f"sorry: {said}")).encode()))

    return behave


def check_no_secret(*shown: str) -> None:
    for text in shown:
        assert [secret for secret in SECRETS if secret.lower() in text.lower()] == [], text


def print_error(error: BaseException) -> str:
    """As Python prints it, with all of its causes."""
    return "".join(traceback.format_exception(error)) + repr(error) + repr(error.__cause__)


def test_what_is_given_is_sent() -> None:
    with attacking(say(reply())) as server:
        endpoint(address(server), headers={"X-Api-Key": HEADER})(["a"])
        endpoint(server.address(), token=TOKEN)(["a"])
    first, second = server.asked
    basic = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    assert first.headers["authorization"] == f"Basic {basic}"
    assert first.headers["x-api-key"] == HEADER
    assert first.path == f"/p?api_key={KEY}&model=small"
    assert first.headers["host"] == server.url.removeprefix("http://")
    assert second.headers["authorization"] == f"Bearer {TOKEN}"


WAYS: dict[str, Callable[[Asked, Any], None]] = {
    "401": echo(401),
    "404": echo(404),
    "422": echo(422),
    "500": echo(500),
    "label": echo(200, lambda text: [[{"label": text, "score": 0.5}]]),
    "body": echo(200),
    "deep": echo(200, lambda text: [[{"x": {"y": [text]}}]]),
    "drop": lambda asked, connection: None,
    "not HTTP": lambda asked, connection: connection.sendall(f"{TOKEN} {KEY}\r\n".encode()),
    "redirect": lambda asked, connection: connection.sendall(
        reply(307, b"", {"Location": f"http://{USER}:{KEY}@127.0.0.1:1{asked.path}"})
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_no_error_shows_a_secret(way: str) -> None:
    with attacking(WAYS[way]) as server:
        model = endpoint(address(server), retries=1, backoff=0.001, **OPTIONS)
        for text in TEXTS:
            explainer = TextExplainer(model)
            with pytest.raises(RemoteError) as caught:
                explainer._classifier._ask(_cost(), [text], lambda _: None)  # type: ignore[attr-defined]
            check_no_secret(print_error(caught.value))
            assert text in str(caught.value)
            with pytest.raises(Exception, match="failed") as shown:
                explainer(text)
            check_no_secret(print_error(shown.value))


def _cost() -> Any:
    from textsobol.endpoints.client import RemoteCost

    return RemoteCost()


def test_nobody_is_there() -> None:
    model = endpoint(f"http://{USER}:{KEY}@127.0.0.1:1/p?api_key={KEY}", retries=0, **OPTIONS)
    with pytest.raises(RemoteError, match="refused") as caught:
        model(["a"])
    check_no_secret(print_error(caught.value))


@pytest.mark.filterwarnings("ignore::textsobol.errors.ConstantScoreWarning")
def test_names_reprs_and_files_hold_no_secret(tmp_path: Path) -> None:
    with attacking(say(reply())) as server:
        model = endpoint(address(server), cache=tmp_path / "answers.sqlite", **OPTIONS)
        explanation = TextExplainer(model)("a film")
    page = tmp_path / "page.html"
    explanation.save(page)
    shown = [repr(model), repr(model.settings), repr(model.settings.function), str(model.name)]
    shown += [json.dumps(explanation.to_dict()), page.read_text(), repr(model.settings.redaction)]
    shown += [model.settings.identity]
    check_no_secret(*shown)
    assert explanation.settings["model"] == server.url.removeprefix("http://") + "/p"
    stored = (tmp_path / "answers.sqlite").read_bytes()
    assert not any(secret.encode() in stored for secret in SECRETS)


def test_a_label_that_is_a_secret_is_not_stored(tmp_path: Path) -> None:
    labels = [{"label": f"was sent {TOKEN}", "score": 0.5}, {"label": HEADER, "score": 0.5}]
    with attacking(say(reply(body=json.dumps([labels]).encode()))) as server:
        (answer,) = ask(server, address(server), cache=tmp_path, **OPTIONS)
    check_no_secret(repr(answer))
    with sqlite3.connect(tmp_path / "answers.sqlite") as database:
        check_no_secret(repr(database.execute("SELECT answer FROM answers").fetchall()))
    database.close()


def test_a_new_password_or_key_finds_the_same_cache(tmp_path: Path) -> None:
    with attacking(say(reply())) as server:
        for secret in ("first", "second"):
            url = server.address(user=f"me:{secret}", query=f"model=a&api_key={secret}")
            ask(server, url, cache=tmp_path)
        assert len(server.asked) == 1
        ask(server, server.address(query="model=b"), cache=tmp_path)
        assert len(server.asked) == 2, "another model is another cache"


def test_a_copy_of_the_model_still_hides_and_still_works() -> None:
    with attacking(say(reply(), reply(401, f"no {TOKEN}".encode()))) as server:
        copy = pickle.loads(pickle.dumps(endpoint(server.address(), token=TOKEN, retries=0)))
        copy(["a"])
        with pytest.raises(RemoteError) as caught:
            copy(["b"])
    assert server.asked[0].headers["authorization"] == f"Bearer {TOKEN}"
    check_no_secret(print_error(caught.value), repr(copy), repr(copy.settings))


@pytest.mark.parametrize("model", [
    f"ftp://{USER}:{KEY}@host/p", f"{USER}:{KEY}@host/p", f"http://{USER}:{KEY}@/p?k={KEY}",
    f"http://{USER}:{KEY}/x@host/p", f"http://host:99999999/p?k={KEY}", f"http://[{KEY}/p",
    f"http://{USER}:{KEY}@ho st/p", f"org/model?token={KEY}", f"http://host/\r\nX: {KEY}",
])  # fmt: skip
def test_addresses_that_are_refused_are_not_shown(model: str) -> None:
    with pytest.raises(ValueError, match="address") as caught:
        endpoint(model)
    check_no_secret(print_error(caught.value))


@pytest.mark.parametrize("value", [f"{KEY}\n", f"{KEY}\r\nX: y", f"{KEY}\0", f"{KEY}é", ""])
def test_a_token_from_a_file_with_a_line_end_is_refused_without_showing_it(value: str) -> None:
    for options in ({"token": value}, {"headers": {"x-key": value}}):
        if value == "" and "headers" in options:
            continue
        with pytest.raises(ValueError, match=r"token|x-key") as caught:
            endpoint("http://127.0.0.1/", **options)
        check_no_secret(print_error(caught.value))


def test_functions_of_the_user_are_covered_where_secrets_can_be_recognized(tmp_path: Path) -> None:
    """Nothing is known of their secrets, but their addresses and headers have a form."""

    def call(text: str) -> list[float]:
        try:
            with urlopen(Request(server.address(), b"{}")) as response:
                return [len(response.read())]
        except OSError as error:
            said = f"http://{USER}:{KEY}@host/p?api_key={KEY} with Authorization: Bearer {TOKEN}"
            raise RuntimeError(f"cannot call {said}") from error

    with attacking(lambda asked, connection: None) as server:
        model = remote(call, name=f"http://{USER}:{KEY}@h/p?api_key={KEY}", single=True, retries=0)
        with pytest.raises(RemoteError, match="cannot call http://") as caught:
            model(["a"])
    check_no_secret(print_error(caught.value), model.name, repr(model), repr(model.settings))
    assert "in call\n" in print_error(caught.value), "the line of the user's function is shown"


@pytest.mark.parametrize("library", ["requests", "httpx", "urllib.request"])
@pytest.mark.parametrize("kind", ["refused", "dropped", "401"])
def test_errors_of_other_clients(library: str, kind: str) -> None:
    """They like to show the address, and httpx also logs it."""
    client = pytest.importorskip(library)
    behave = say(b"" if kind == "dropped" else reply(401, b"no"))
    with attacking(behave) as server:
        url = server.address(user=f"{USER}:{KEY}", query=f"api_key={KEY}")
        url = url.replace(server.url.rpartition(":")[2], "1") if kind == "refused" else url

        def call(text: str) -> list[float]:
            if library == "urllib.request":
                plain = url.replace(f"{USER}:{KEY}@", "")
                with client.urlopen(plain, b"{}", timeout=5) as response:
                    return [len(response.read())]
            client.post(url, json={}, timeout=5).raise_for_status()
            return [1.0]

        with pytest.raises(RemoteError) as caught:
            remote(call, single=True, retries=0)(["a"])
    check_no_secret(print_error(caught.value))


def test_names_that_differ_in_what_is_hidden_share_no_cache(tmp_path: Path) -> None:
    one = remote(len, name="http://h/p?model=a", single=True, cache=tmp_path)
    two = remote(lambda text: 7.0, name="http://h/p?model=b", single=True, cache=tmp_path)
    assert (one(["abc"]), two(["abc"])) == ([[3.0]], [[7.0]])


def run(*asked: Any, **options: Any) -> Any:
    return CliRunner().invoke(*asked, **options)


def test_the_command_line(tmp_path: Path) -> None:
    with attacking(say(reply())) as server:
        good = run(app, ["explain", "a film", "--endpoint", address(server)])
        assert good.exit_code == 0, good.output
        check_no_secret(good.output)
        server.behave = echo(401)
        for text in TEXTS:
            command = ["explain", text, "--endpoint", address(server)]
            bad = run(app, command, env={"TEXTSOBOL_TOKEN": TOKEN})
            assert bad.exit_code == 1
            assert "HTTP 401" in " ".join(bad.output.split())
            check_no_secret("".join(bad.output.split()), bad.output)
    wrong = run(app, ["explain", "a film", "--endpoint", f"ftp://{USER}:{KEY}@host"])
    assert wrong.exit_code != 0
    check_no_secret("".join(wrong.output.split()), wrong.output)


def test_a_corpus_job(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    texts = tmp_path / "texts.csv"
    texts.write_text("\n".join(["text", "a good one", *TEXTS]) + "\n")

    def behave(asked: Asked, connection: Any) -> None:
        if b"film" in asked.body:
            echo(401)(asked, connection)
        else:
            connection.sendall(reply())

    with attacking(behave) as server:
        out = tmp_path / "out"
        source = ["corpus", str(texts), "--out", str(out)]
        command = [*source, "--endpoint", address(server)]
        done = run(app, command, env={"TEXTSOBOL_TOKEN": TOKEN})
    shown = run(app, ["report", str(out), "--html", str(tmp_path / "report.html")])
    from textsobol.corpus.results import read_explanations

    failures = [error for _, error in read_explanations(out).failures()]
    assert len(failures) == len(TEXTS)
    assert all("HTTP 401" in error for error in failures)
    check_no_secret(*failures, done.output, shown.output, (tmp_path / "report.html").read_text())
    for path in out.iterdir():
        assert not any(secret.encode() in path.read_bytes() for secret in SECRETS), path
