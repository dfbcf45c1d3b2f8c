"""Any function that calls a server, through one that is slow, flaky and sometimes wrong."""

import json
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import pytest

from tests.endpoints.server import LABELS, Reply, Server, probabilities, rows
from textsobol import BlackBoxError, Sobol, TextExplainer, TextExplanation, remote
from textsobol.endpoints.client import RemoteCost
from textsobol.endpoints.model import Remote
from textsobol.errors import RemoteError

TEXT = "The plot is good but the ending is bad and long."
TEXTS = [f"{word} film number {k}" for k in range(12) for word in ("good", "bad")]


class Post:
    """Calls the server: a text, or a list of texts, to what it answers."""

    def __init__(self, url: str, *, timeout: float = 5.0) -> None:
        self.url = url
        self.timeout = timeout

    def __call__(self, inputs: str | list[str]) -> Any:
        request = Request(self.url, json.dumps({"inputs": inputs}).encode())
        with urlopen(request, timeout=self.timeout) as response:
            answer = json.load(response)
        return answer[0] if isinstance(inputs, str) else answer


def model_at(server: Server, *, timeout: float = 5.0, **options: Any) -> Remote:
    options = {"single": True, "backoff": 0.002, "activation": "softmax", **options}
    return remote(Post(server.url, timeout=timeout), name="local", **options)


def expected(texts: list[str]) -> list[dict[str, float]]:
    return [dict(sorted(probabilities(text).items())) for text in texts]


def scores(explanation: TextExplanation) -> np.ndarray[Any, Any]:
    return np.array([
        [word.scores[label].total for label in LABELS]
        + [word.scores[label].effect for label in LABELS]
        for word in explanation.words
    ])  # fmt: skip


def log_odds(texts: list[str]) -> Any:
    """The same model on this machine."""
    p = np.array(rows(texts))
    return np.log(p / (1 - p))


def local(text: str = TEXT, **asking: Any) -> TextExplanation:
    return TextExplainer(log_odds, label_names=LABELS)(text, **asking)


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize("batch", [None, 1, 7])
def test_scores_are_those_of_the_model_itself(
    server: Server, concurrency: int, batch: int | None
) -> None:
    """Whatever the number of calls at once and of texts of a call."""
    model = model_at(server, concurrency=concurrency, single=batch is None, batch=batch)
    explanation = TextExplainer(model)(TEXT, method=Sobol(base_masks=4, path=False))
    same = local(method=Sobol(base_masks=4, path=False))
    np.testing.assert_allclose(scores(explanation), scores(same), atol=1e-9)
    assert explanation.probabilities == pytest.approx(probabilities(TEXT))
    assert list(explanation.probabilities) == LABELS, "sorted, not as they come"
    n_texts = explanation.cost["forwarded"]
    # The whole text and the one without punctuation come by themselves.
    n_calls = n_texts if batch in (None, 1) else 2 + -(-(n_texts - 2) // 7)
    assert server.n_requests == explanation.cost["calls"] == n_calls
    assert server.most_at_once <= concurrency


def test_no_more_calls_at_once_than_allowed(server: Server) -> None:
    server.seconds = 0.02
    model = model_at(server, concurrency=3)
    with ThreadPoolExecutor(4) as callers:
        halves = list(callers.map(model, [TEXTS[:6], TEXTS[6:12], TEXTS[12:18], TEXTS[18:]]))
    assert [answer for half in halves for answer in half] == expected(TEXTS)
    assert server.most_at_once == 3, "many callers share one limit, and it is made use of"


def flaky(text: str, time_: int) -> Reply | None:
    """Every text fails once or more, each in a way of its own."""
    kind = len(text) % 5
    if time_ > 2 or (time_ == 2 and kind != 1):
        return None
    return [
        Reply(429, {"error": "slow down"}, {"Retry-After": "0.005"}),
        Reply(500, {"error": "oh dear"}),
        Reply(503, b"<html>loading</html>"),
        Reply(drop=True),
        Reply(drop=True, seconds=0.6),  # longer than the caller waits
    ][kind]


def test_failures_that_pass_change_nothing_but_the_cost(server: Server, tmp_path: Path) -> None:
    server.misbehaves = flaky
    model = model_at(server, cache=tmp_path, concurrency=8, timeout=0.3)
    explanation = TextExplainer(model)(TEXT, method=Sobol(base_masks=2))
    np.testing.assert_allclose(
        scores(explanation), scores(local(method=Sobol(base_masks=2))), atol=1e-9
    )
    cost = explanation.cost
    assert cost["calls"] == server.n_requests == cost["forwarded"] + cost["retried"]
    twice = sum(len(json.loads(text)) % 5 == 1 for text in server.seen)
    # A machine that is busy with other things may make for a time-out more.
    assert cost["retried"] >= cost["forwarded"] + twice
    assert cost["waited"] > 0
    server.misbehaves = lambda text, _: Reply(500)
    again = TextExplainer(model_at(server, cache=tmp_path))(TEXT, method=Sobol(base_masks=2))
    assert again.words == explanation.words
    assert server.n_requests == cost["calls"], "the second run asks for nothing"
    assert (again.cost["calls"], again.cost["cached"]) == (0, cost["forwarded"])
    assert again.cost["retried"] == again.cost["waited"] == 0


def test_a_pause_that_the_server_asks_for_is_kept_by_all(server: Server) -> None:
    pause = Reply(429, {}, {"Retry-After": "0.05"})
    server.misbehaves = lambda text, time_: pause if server.n_requests == 1 else None
    cost = RemoteCost()
    model = model_at(server, concurrency=2)
    model.ask(TEXTS[:1], cost=cost)
    assert server.times[1] - server.times[0] >= 0.05
    assert 0.05 <= cost.waited < 0.5
    assert (cost.calls, cost.retried) == (2, 1)

    server.requests.clear()
    server.times.clear()
    model = model_at(server, concurrency=2)
    with ThreadPoolExecutor(1) as other:
        first = other.submit(model, TEXTS[1:2])
        while not server.times:
            time.sleep(0.001)
        time.sleep(0.02)  # the pause was told by now
        model(TEXTS[2:3])
        first.result()
    assert server.times[1] - server.times[0] >= 0.05, "another text waits, too"


def test_it_gives_up_with_the_text_and_the_last_answer(server: Server) -> None:
    server.misbehaves = lambda text, time_: (
        Reply(500, {"error": f"broken, time {time_}"}) if "ending" not in text else None
    )
    model = model_at(server, retries=2, concurrency=1)
    with pytest.raises(BlackBoxError, match=r"failed 3 times.*broken, time 3") as caught:
        TextExplainer(model)("good ending", method=Sobol(estimator="exact"))
    assert "(text: 'good')" in str(caught.value)
    assert isinstance(caught.value.__cause__, BlackBoxError | RemoteError)
    assert server.seen['"good"'] == 3


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply(401, {"error": "who are you"}), r"HTTP 401: .*who are you.*is the token right\?"),
        (Reply(404, b"nothing here"), r"HTTP 404: nothing here; is the address right\?"),
        (Reply(429, {}, {"Retry-After": "900"}), r"asks to wait 900 s, more than longest_wait=120"),
    ],
)
def test_what_no_waiting_mends_is_told_at_once(server: Server, reply: Reply, message: str) -> None:
    server.misbehaves = lambda text, _: reply
    with pytest.raises(RemoteError, match=message) as caught:
        model_at(server)(["a good film"])
    assert str(caught.value).endswith("(text: 'a good film')")
    assert server.n_requests == 1


GOOD = [{"label": "NEGATIVE", "score": 0.5}, {"label": "POSITIVE", "score": 0.5}]
WRONG: list[tuple[Any, str]] = [
    (b"<html>busy</html>", "JSONDecodeError"),
    ({"error": "model overloaded"}, "KeyError"),
    ([{"error": "model overloaded"}], "no labels and scores in {'error': 'model overloaded'}"),
    ([[]], "an empty list of scores"),
    ([[{"label": "NEGATIVE", "score": None}]], "None is no score"),
    (b'[[{"label": "NEGATIVE", "score": NaN}]]', "nan is no score"),
    ([[*GOOD, GOOD[0]]], "a label comes twice"),
    ([GOOD[:1]], "no score of the labels NEUTRAL, POSITIVE"),
    ([[*GOOD, {"label": "OTHER", "score": 0.0}]], "expected NEGATIVE, NEUTRAL, POSITIVE"),
    ([[{"label": name, "score": 0.9} for name in LABELS]], "whose sum is 2.7, not 1"),
    ([[{"label": name, "score": 40.0} for name in LABELS]], "no probabilities"),
    ([[0.2, 0.8]], "2 scores, expected 3"),
]


@pytest.mark.parametrize(("body", "message"), WRONG, ids=range(len(WRONG)))
def test_wrong_answers_are_an_error_and_not_kept(
    server: Server, tmp_path: Path, body: Any, message: str
) -> None:
    wrong_for = "The is good but ending bad"
    server.misbehaves = lambda text, _: Reply(body=body) if text == wrong_for else None
    explainer = TextExplainer(model_at(server, cache=tmp_path, concurrency=1), label_names=LABELS)
    texts = ["a good film", wrong_for]
    with pytest.raises(RemoteError, match=message) as caught:
        explainer._classifier._ask(RemoteCost(), texts, lambda _: None)  # type: ignore[attr-defined]
    assert f"(text: {wrong_for!r})" in str(caught.value)
    assert set(server.seen.values()) == {1}, "not asked again"
    server.misbehaves = lambda text, _: None
    assert model_at(server, cache=tmp_path)(texts) == expected(texts)
    assert server.seen[json.dumps(wrong_for)] == 2, "the wrong one was not kept"
    assert server.seen[json.dumps("a good film")] == 1, "the good one was"


def test_a_number_of_labels_that_changes_leaves_no_trace(server: Server, tmp_path: Path) -> None:
    """The first answer was wrong, but nobody could know; the next run is whole again."""
    server.misbehaves = lambda text, time_: (
        Reply(body=[GOOD]) if text == TEXT and time_ == 1 else None
    )
    explainer = TextExplainer(model_at(server, cache=tmp_path))
    with pytest.raises(BlackBoxError, match=r"labels NEGATIVE, NEUTRAL.*name them: TextExplainer"):
        explainer(TEXT, method=Sobol(base_masks=2))
    for again in (explainer, TextExplainer(model_at(server, cache=tmp_path))):
        np.testing.assert_allclose(
            scores(again(TEXT, method=Sobol(base_masks=2))),
            scores(local(method=Sobol(base_masks=2))),
            atol=1e-9,
        )


def test_one_wrong_answer_of_a_batch_costs_no_other(server: Server, tmp_path: Path) -> None:
    def answers(texts: list[str]) -> list[list[float]]:
        return [[float("nan") if text == TEXTS[3] else len(text)] for text in texts]

    model = remote(answers, name="lengths", cache=tmp_path, batch=50)
    with pytest.raises(RemoteError, match="nan is no score") as caught:
        model(TEXTS)
    assert f"(text: {TEXTS[3]!r})" in str(caught.value)
    none = remote(answers, name="lengths", cache=tmp_path, max_calls=0)
    others = [text for text in TEXTS if text != TEXTS[3]]
    assert none(others) == [[len(text)] for text in others]


def test_a_batch_with_an_answer_too_few_names_its_first_text() -> None:
    model = remote(lambda texts: [0.0] * (len(texts) - 1), name="few")
    with pytest.raises(RemoteError, match=r"2 answers for 3 texts.*first of 3 texts.*'bbb'"):
        model(["a", "bbb", "cc"])


@pytest.mark.parametrize("kept", [False, True])
def test_no_text_is_asked_for_twice_at_the_same_time(
    server: Server, tmp_path: Path, kept: bool
) -> None:
    server.seconds = 0.03
    model = model_at(server, concurrency=8, cache=tmp_path if kept else None)
    with ThreadPoolExecutor(6) as callers:
        found = list(callers.map(lambda _: model(TEXTS[:4] * 2), range(6)))
    assert found == [expected(TEXTS[:4] * 2)] * 6
    assert server.same_at_once == 1
    if kept:  # nor later
        assert set(server.seen.values()) == {1}


def test_everything_answered_before_a_failure_is_kept(server: Server, tmp_path: Path) -> None:
    good = sorted(TEXTS, key=lambda text: (-len(text), text))
    bad = good[9]
    server.misbehaves = lambda text, _: Reply(400) if text == bad else None
    with pytest.raises(RemoteError, match="HTTP 400"):
        model_at(server, cache=tmp_path, concurrency=1)(TEXTS)
    asked = server.n_requests
    assert asked == 10, "nothing more is asked after a failure"
    server.misbehaves = lambda text, _: None
    cost = RemoteCost()
    model_at(server, cache=tmp_path).ask(TEXTS, cost=cost)
    assert (cost.cached, cost.calls) == (9, len(TEXTS) - 9)


def test_ctrl_c_keeps_what_was_answered_and_what_is_under_way(
    server: Server, tmp_path: Path
) -> None:
    server.seconds = 0.02
    model = model_at(server, cache=tmp_path, concurrency=2)

    def interrupt(n_texts: int) -> None:
        if sum(server.seen.values()) >= 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.ask(TEXTS, tick=interrupt)
    assert 7 <= server.n_requests < len(TEXTS)
    assert model(TEXTS) == expected(TEXTS), "what was given up can be asked for again"
    assert server.n_requests == len(TEXTS)
    assert set(server.seen.values()) == {1}, "calls under way were waited for, not made again"


def test_nobody_waits_for_a_pause_after_ctrl_c(server: Server) -> None:
    server.misbehaves = lambda text, _: Reply(503) if text == "broken" else None
    model = model_at(server, backoff=60.0, concurrency=2)

    def interrupt(n_texts: int) -> None:
        while not server.seen['"broken"']:
            time.sleep(0.001)
        raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        model.ask(["broken", "a"], tick=interrupt)
    state = model._process_state()
    state.threads.shutdown()  # as Python does at its end
    assert time.monotonic() - start < 10
    assert all(job.done() for job in state.jobs.values())


def test_calls_can_be_limited(server: Server, tmp_path: Path) -> None:
    model = model_at(server, cache=tmp_path, max_calls=5)
    with pytest.raises(RemoteError, match=r"not called more than max_calls=5.*is in the cache"):
        model(TEXTS)
    assert server.n_requests == 5
    server.misbehaves = lambda text, _: Reply(500)
    with pytest.raises(RemoteError, match="max_calls=3"):
        model_at(server, max_calls=3)(["x"])
    assert server.n_requests == 8, "calls that failed count"


def test_progress_ticks_while_waiting_and_only_for_what_is_done(server: Server) -> None:
    server.seconds = 0.01
    ticks: list[tuple[int, int]] = []
    model = model_at(server, concurrency=2)
    model.ask(TEXTS, tick=lambda n: ticks.append((n, server.n_requests)))
    assert sum(n for n, _ in ticks) == len(TEXTS)
    assert ticks[0][1] < len(TEXTS), "after the first answers, not at the end"


def test_it_is_silent(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    server.misbehaves = flaky
    TextExplainer(model_at(server, timeout=0.3), progress=False)(
        "a good film", method=Sobol(base_masks=2)
    )
    assert capfd.readouterr() == ("", "")


def test_it_can_be_sent_to_other_processes(server: Server, tmp_path: Path) -> None:
    model = model_at(server, cache=tmp_path)
    model(TEXTS[:2])
    copy = pickle.loads(pickle.dumps(model))
    assert copy.settings.cache == model.settings.cache
    assert copy(TEXTS[:3]) == expected(TEXTS[:3])
    assert server.n_requests == 3


def test_functions_without_a_server_keep_their_contract() -> None:
    """Arrays, tensors and bare numbers, as for any function of texts."""
    torch = pytest.importorskip("torch")
    lengths = [float(len(text)) for text in TEXTS[:3]]
    for returned in (np.array(lengths), np.array([lengths]).T, torch.tensor(lengths), lengths):
        model = remote(lambda texts, r=returned: r, batch=3)
        answers = [list(answer) for answer in model(TEXTS[:3])]
        assert sorted(answers) == sorted([length] for length in lengths)
    assert remote(len, single=True)(["abc"]) == [[3.0]]
    model = remote(lambda texts: [[len(t), t.count("o")] for t in texts])
    with pytest.raises(BlackBoxError, match="2 scores, expected 3"):
        TextExplainer(model, label_names=["a", "b", "c"])("good film")
    assert list(TextExplainer(model, label_names=["b", "a"])("good film").probabilities) == [
        "b",
        "a",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cache": "answers"}, "a cache needs name="),
        ({"concurrency": 0}, "concurrency must be at least 1"),
        ({"batch": 3, "single": True}, "leave out batch="),
        ({"activation": "relu"}, "unknown activation 'relu'; known: softmax"),
        ({"max_calls": -1}, "max_calls must not be negative"),
        ({"backoff": -0.1}, "must not be negative"),
    ],
)
def test_settings_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        remote(len, **options)
