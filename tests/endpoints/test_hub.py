"""Text-classification endpoints through the hub's client, from Python and from the shell."""

import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.endpoints.server import LABELS, Reply, Server, listed, probabilities
from tests.endpoints.test_client import flaky, local, scores
from textsobol import BlackBoxError, Sobol, TextExplainer, endpoint
from textsobol.cli import app
from textsobol.endpoints.addresses import is_on_hub
from textsobol.errors import RemoteError

TEXT = "The plot is good but the ending is bad and long."


def at(server: Server, **options: Any) -> Any:
    return endpoint(server.url, **{"backoff": 0.002, "timeout": 5.0, **options})


def shuffled(text: str) -> list[dict[str, Any]]:
    """Another order for every text."""
    turn = len(text) % 3
    labels = listed(text)
    return labels[turn:] + labels[:turn]


@pytest.mark.parametrize(
    "answer", [lambda t: [listed(t)], listed, lambda t: [shuffled(t)]], ids=["hub", "flat", "mixed"]
)
@pytest.mark.parametrize("concurrency", [1, 8])
def test_an_endpoint_is_explained_as_the_model_itself(
    server: Server, tmp_path: Path, answer: Callable[[str], Any], concurrency: int
) -> None:
    """The hub wraps labels in a list, a single container may not."""
    server.answer = answer
    explainer = TextExplainer(at(server, cache=tmp_path, concurrency=concurrency))
    explanation = explainer(TEXT, method=Sobol(base_masks=3))
    np.testing.assert_allclose(
        scores(explanation), scores(local(method=Sobol(base_masks=3))), atol=1e-9
    )
    assert explanation.probabilities == pytest.approx(probabilities(TEXT))
    assert list(explanation.probabilities) == LABELS
    assert explanation.settings["score"] == "logit"
    assert server.n_requests == explanation.cost["calls"] == explanation.cost["forwarded"]
    assert server.most_at_once <= concurrency
    assert {json.dumps(r["parameters"]) for r in server.requests} == {'{"top_k": 1000}'}
    again = TextExplainer(at(server, cache=tmp_path))(TEXT, method=Sobol(base_masks=3))
    assert again.words == explanation.words
    assert server.n_requests == again.cost["cached"] == explanation.cost["calls"]


def test_an_endpoint_may_be_flaky(server: Server) -> None:
    server.misbehaves = flaky
    explanation = TextExplainer(at(server, timeout=0.3))(TEXT, method=Sobol(base_masks=2))
    np.testing.assert_allclose(
        scores(explanation), scores(local(method=Sobol(base_masks=2))), atol=1e-9
    )
    assert explanation.cost["retried"] >= explanation.cost["forwarded"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>busy</html>", "not JSON: '<html>busy</html>'"),
        ({"error": "overloaded"}, "no list of labels: {'error': 'overloaded'}"),
        ([], "no list of labels"),
        ([{"error": "overloaded"}], "no labels and scores in"),
        ([listed("a"), listed("b")], "no labels and scores of one text"),
        ([["POSITIVE"]], "'POSITIVE' is no score"),
        ([[0.2, 0.8]], "no labels and scores of one text"),
        (b'[[{"label": "A", "score": NaN}]]', "nan is no score"),
        ([{"label": "POSITIVE", "score": 0.75}], r"sum is 0\.75.*Or are labels missing\?"),
        ([[{"label": "A", "score": 0.9}, {"label": "B", "score": 0.9}]], "several labels"),
    ],
)
def test_wrong_answers_name_the_text(
    server: Server, tmp_path: Path, body: Any, message: str
) -> None:
    server.misbehaves = lambda text, _: Reply(body=body)
    with pytest.raises(BlackBoxError, match=message) as caught:
        TextExplainer(at(server, cache=tmp_path))(TEXT)
    assert f"(text: {TEXT!r})" in str(caught.value)
    assert server.n_requests == 1
    server.misbehaves = lambda text, _: None
    assert at(server, cache=tmp_path)([TEXT]) == [dict(sorted(probabilities(TEXT).items()))]


def test_the_likeliest_label_alone_is_enough_where_there_are_two(server: Server) -> None:
    def top(text: str) -> list[dict[str, Any]]:
        positive = 0.9 if "good" in text else 0.2
        label = "POSITIVE" if positive > 0.5 else "NEGATIVE"
        return [{"label": label, "score": max(positive, 1 - positive)}]

    server.answer = top
    explainer = TextExplainer(at(server), label_names=["NEGATIVE", "POSITIVE"])
    explanation = explainer("a good film", method=Sobol(estimator="exact"), target="POSITIVE")
    assert explanation.probabilities == pytest.approx({"NEGATIVE": 0.1, "POSITIVE": 0.9})
    effects = [word.scores["POSITIVE"].effect for word in explanation.words]
    np.testing.assert_allclose(effects, [0, np.log(9) - np.log(0.25), 0], atol=1e-9)


def test_a_text_may_have_several_labels(server: Server) -> None:
    server.answer = lambda text: [
        {"label": "rude", "score": 0.9 if "bad" in text else 0.5},
        {"label": "about films", "score": 0.8 if "film" in text else 0.5},
    ]
    explainer = TextExplainer(at(server, function_to_apply="sigmoid"))
    explanation = explainer("bad film", method=Sobol(estimator="exact"))
    assert explanation.probabilities == pytest.approx({"rude": 0.9, "about films": 0.8})
    bad, film = explanation.words
    assert bad.scores["rude"].effect == pytest.approx(np.log(9))
    assert film.scores["about films"].effect == pytest.approx(np.log(4))
    assert server.requests[0]["parameters"]["function_to_apply"] == "sigmoid"


def test_regression_is_analysed_as_it_is(server: Server) -> None:
    server.answer = lambda text: [{"label": "stars", "score": -7.0 + 3 * text.count("good")}]
    explanation = TextExplainer(at(server, function_to_apply="none"))(
        "good film", method=Sobol(base_masks=2)
    )
    assert explanation.probabilities == {"stars": -4.0}
    assert explanation.words[0].scores["stars"].effect == pytest.approx(3.0)


def test_a_server_that_refuses_empty_texts(server: Server) -> None:
    server.misbehaves = lambda text, _: (
        None if text else Reply(422, {"error": "`inputs` cannot be empty"})
    )
    with pytest.raises(BlackBoxError, match=r"HTTP 422.*endpoint\(\.\.\., empty='\.'\)"):
        TextExplainer(at(server))("good film", method=Sobol(estimator="exact"))
    explanation = TextExplainer(at(server, empty="."))("good film", method=Sobol(estimator="exact"))
    assert explanation.cost["forwarded"] == 4
    assert server.seen['"."'] == 1


@pytest.mark.parametrize("given", [None, "mine"])
def test_a_saved_token_is_not_sent_to_strangers(
    server: Server, monkeypatch: pytest.MonkeyPatch, given: str | None
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_saved")
    at(server, token=given)(["a"])
    expected = None if given is None else "Bearer mine"
    assert server.headers[0].get("authorization") == expected
    at(server, headers={"X-Key": "k"})(["b"])
    assert server.headers[1]["x-key"] == "k"


@pytest.mark.parametrize(
    ("model", "is_hub"),
    [
        ("org/model", True),
        ("https://x.us-east-1.aws.endpoints.huggingface.cloud", True),
        ("https://huggingface.co/api", True),
        ("http://x.endpoints.huggingface.cloud", False),
        ("https://evil-huggingface.co/", False),
        ("https://huggingface.co.evil.com/", False),
        ("http://127.0.0.1:8080", False),
    ],
)
def test_hosts_of_the_hub(model: str, is_hub: bool) -> None:
    assert is_on_hub(model) == is_hub


def test_no_secret_is_shown_or_lost(server: Server) -> None:
    model = at(server, token="secret")
    model(["a"])
    copy = pickle.loads(pickle.dumps(model))
    copy(["b"])
    assert server.headers[1]["authorization"] == "Bearer secret"
    assert "secret" not in repr(model) + repr(model.settings) + repr(model.settings.function)
    named = endpoint("https://user:secret@host.org:81/path/?key=secret")
    assert named.name == "host.org:81/path"
    assert "secret" not in repr(named) + repr(named.settings)


@pytest.mark.parametrize("model", ["", "http://", "https:///path"])
def test_an_address_without_a_host_is_refused(model: str) -> None:
    with pytest.raises(ValueError, match="give an address such as https://host/path"):
        endpoint(model)


def test_answers_are_known_by_everything_that_shapes_them(server: Server, tmp_path: Path) -> None:
    ways: list[dict[str, Any]] = [
        {},
        {"function_to_apply": "softmax"},
        {"top_k": 3},
        {"empty": "."},
    ]
    for way in ways:
        at(server, cache=tmp_path, **way)(["a"])
    endpoint(server.url + "/other", cache=tmp_path)(["a"])
    assert server.n_requests == 5
    for way in ways:
        at(server, cache=tmp_path, concurrency=1, retries=0, token="x", **way)(["a"])
    assert server.n_requests == 5


def test_an_offline_client_says_so_at_once(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(RemoteError, match="failed: OfflineModeIsEnabled"):
        at(server, backoff=60.0)(["a"])


run = CliRunner().invoke


def test_the_command_line(server: Server, tmp_path: Path) -> None:
    command = ["explain", TEXT, "--endpoint", server.url, "--cache", str(tmp_path / "a"), "-q"]
    command += ["--budget", "60"]
    first, second = run(app, command), run(app, command)
    assert first.exit_code == second.exit_code == 0, first.output + second.output
    closing, known = (" ".join(result.output.split())[-160:] for result in (first, second))
    n = server.n_requests
    assert f"{n} forward passes" in closing
    assert f"{n} calls, " in closing
    assert "cache" not in closing
    assert f"0 calls, {n} from the cache, " in known
    assert first.output.split("127.0.0.1")[0] == second.output.split("127.0.0.1")[0]
    told = run(app, [*command, "--json", "--concurrency", "2"], env={"TEXTSOBOL_TOKEN": "t"})
    cost = json.loads(told.stdout)["cost"]
    assert (cost["calls"], cost["cached"], cost["retried"], cost["waited"]) == (0, n, 0, 0.0)
    server.misbehaves = lambda text, time_: Reply(500) if time_ == 1 else None
    page = tmp_path / "page.html"
    again = run(app, ["explain", "a film", "--endpoint", server.url, "--html", str(page)])
    assert "8 calls (4 retries, " in " ".join(again.output.split()), again.output
    assert "from the cache" in page.read_text()


def test_the_command_line_sends_a_token_and_what_to_apply(server: Server) -> None:
    asked = ["explain", "good film", "--endpoint", server.url, "--function-to-apply", "sigmoid"]
    result = run(app, asked, env={"TEXTSOBOL_TOKEN": "from the environment"})
    assert result.exit_code == 0, result.output
    assert server.headers[0]["authorization"] == "Bearer from the environment"
    assert server.requests[0]["parameters"]["function_to_apply"] == "sigmoid"


def test_what_the_command_line_refuses(server: Server) -> None:
    both = run(app, ["explain", "a", "--endpoint", server.url, "--model", "m"])
    alone = run(app, ["explain", "a", "--cache", "answers"])
    assert (both.exit_code, alone.exit_code) == (2, 2)
    assert "not both" in both.output
    assert "needs --endpoint" in alone.output
    server.misbehaves = lambda text, _: Reply(401, {"error": "no"})
    failed = run(app, ["explain", "a film", "--endpoint", server.url])
    assert failed.exit_code == 1
    assert "is the token right?" in " ".join(failed.output.split())
    assert "Traceback" not in failed.output


def test_a_model_elsewhere_needs_no_library_here(server: Server) -> None:
    code = (
        "import sys; from textsobol.cli import app;"
        f"app(['explain', 'good film', '--endpoint', {server.url!r}], standalone_mode=False);"
        "print([name for name in ('torch', 'transformers') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
