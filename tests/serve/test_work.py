"""What the playground answers, and what it stops."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

pytest.importorskip("uvicorn")

from tests.render.samples import LABELS, NEWS, TEXT, TOPICS, sentiment, topics
from tests.render.test_hostile import HOSTILE
from tests.serve.running import Running, Slow, bundled, run_server
from textsobol import TextExplainer, TextExplanation
from textsobol.serve.limits import Limits

LONG = " ".join(f"word{k}" for k in range(80))


def explainer() -> TextExplainer:
    return TextExplainer(sentiment, label_names=LABELS, progress=False)


def news() -> TextExplainer:
    return TextExplainer(topics, label_names=TOPICS, progress=False)


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with run_server(explainer(), news(), bundled()) as running:
        yield running


def test_a_prediction_then_better_and_better_explanations(server: Running) -> None:
    events = server.explain(TEXT)
    assert events[0][0] == "prediction"
    assert events[0][1]["prediction"] == "NEGATIVE"
    text = "".join(piece for part in events[0][1]["parts"] for piece, _ in part)
    assert text == TEXT
    stages = [data["stage"] for name, data in events if name == "explanation"]
    assert stages[-1] == "done"
    saved = json.loads(server.ask("save", kind="json")["content"])
    explained = explainer()(TEXT)
    assert TextExplanation.from_dict(saved).words == explained.words, "no other numbers than these"


def test_models_with_gates_give_a_quick_estimate_first(server: Running) -> None:
    events = server.explain("A gripping film with a dull ending.", sides=[{"model": 2}])
    stages = [data["stage"] for name, data in events if name == "explanation"]
    assert stages[0] == "quick"
    assert stages[-1] == "done"


def test_words_are_taken_out(server: Running) -> None:
    server.explain(TEXT)
    numbers = {word.text: k for k, word in enumerate(explainer()(TEXT).words)}
    [side] = server.ask(
        "predict", removed=[[numbers["awful"]], [numbers["awful"], numbers["not"]]]
    )["sides"]
    texts = [TEXT.replace("awful ", ""), TEXT.replace("awful ", "").replace("not ", "")]
    assert side["labels"] == LABELS
    assert side["values"] == pytest.approx(sentiment(texts))
    wrong = server.post("predict", {"removed": [[999]]})
    assert (wrong.status_code, wrong.json()["error"]) == (422, "there is no such word")


def test_the_words_that_flip_it_come_in_the_order_of_the_path(server: Running) -> None:
    found = server.explain(TEXT)[-1][1]
    explained = explainer()(TEXT)
    assert explained.flip is not None
    assert explained.path is not None
    assert sorted(found["flip"]) == list(explained.flip.words)
    order = [word for step in explained.path.steps for word in step.words]
    assert found["flip"] == sorted(found["flip"], key=order.index)


def test_why_one_label_and_not_the_other(server: Running) -> None:
    pair = ["sports", "politics"]
    found = server.explain(NEWS, sides=[{"model": 1}], contrast=pair)[-1][1]
    assert found["data"]["label"] == "sports rather than politics"
    [back] = server.ask("contrast", contrast=None)["sides"]
    assert back["data"]["label"] == "sports"
    [again] = server.ask("contrast", contrast=pair)["sides"]
    assert again["data"]["numbers"] == found["data"]["numbers"]
    wrong = server.post("contrast", {"contrast": ["sports", "cooking"]})
    assert wrong.status_code == 422
    assert "no label cooking" in wrong.json()["error"]
    page = server.ask("save", kind="html")["content"]
    assert "sports rather than politics" in page


def test_two_methods_side_by_side(server: Running) -> None:
    events = server.explain(TEXT, sides=[{}, {"method": "occlusion"}])
    last = {data["side"]: data for name, data in events if name == "explanation"}
    assert [last[side]["data"]["method"] for side in (0, 1)] == ["sobol", "occlusion"]
    page = server.ask("save", kind="html", label="POSITIVE")["content"]
    assert "2 explanations of one text" in page
    second = json.loads(server.ask("save", kind="json", side=1)["content"])
    assert second["settings"]["method"] == "occlusion"


def test_models_without_a_common_label(server: Running) -> None:
    events = server.explain(NEWS, sides=[{"model": 0}, {"model": 1}])
    assert [data["stage"] for name, data in events if name == "explanation"][-1] == "done"
    refused = server.post("save", {"kind": "html"})
    assert refused.status_code == 422
    assert "no label in common" in refused.json()["error"]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_data(server: Running, name: str) -> None:
    events = [event for event in server.explain(HOSTILE[name]) if event[0] != "note"]
    assert events[-1][1]["stage"] == "done"


def test_what_cannot_be_explained_is_said(server: Running) -> None:
    events = server.explain(", . ;")
    assert events[-1][0] == "error"
    assert "nothing to explain" in events[-1][1]["message"]
    events = server.explain("   \n ")
    assert "nothing to explain" in events[-1][1]["message"]


def test_a_failing_model_is_named_and_the_next_text_works() -> None:
    def fails(texts: list[str]) -> list[float]:
        if any("bad" in text for text in texts):
            raise RuntimeError("out of order")
        return [1.0 * len(text) for text in texts]

    with run_server(TextExplainer(fails, progress=False)) as server:
        assert "out of order" in server.explain("a bad text")[-1][1]["message"]
        assert server.explain("a good text")[-1][1]["stage"] == "done"


def test_forgotten_texts_are_gone(server: Running) -> None:
    server.explain(TEXT)
    server.ask("forget")
    gone = server.post("save", {"kind": "json"})
    assert (gone.status_code, "no longer in memory" in gone.json()["error"]) == (422, True)


def test_only_the_last_pages_are_remembered(server: Running) -> None:
    for k in range(20):
        server.explain("good film", tab=f"{k:08}-0000")
    assert server.post("save", {"kind": "json", "tab": "00000000-0000"}).status_code == 422
    assert server.post("save", {"kind": "json", "tab": "00000019-0000"}).status_code == 200


def test_twenty_cancelled_requests_leave_no_thread_and_no_work() -> None:
    slow = Slow()
    at_first = set(threading.enumerate())
    with run_server(slow.explainer()) as server:
        with server.stream(LONG) as events:
            next(events)
        server.wait_until_idle()
        before = set(threading.enumerate())
        for k in range(20):
            with server.stream(f"{LONG} again{k}", tab=f"{k % 5:08}-0000") as events:
                assert next(events)[0] == "prediction"
        server.wait_until_idle(2)
        calls = slow.calls
        time.sleep(0.4)
        assert slow.calls == calls, "no work goes on"
        assert set(threading.enumerate()) == before
    assert set(threading.enumerate()) <= at_first


def test_a_newer_text_of_the_same_page_ends_the_work_for_the_older() -> None:
    slow = Slow()
    with run_server(slow.explainer()) as server, server.stream(LONG) as events:
        assert next(events)[0] == "prediction"
        start = time.monotonic()
        newer = server.explain("a new text")
        assert newer[-1][1]["stage"] == "done"
        assert time.monotonic() - start < 3, "the long text would have taken far longer"
        assert all(data.get("stage") != "done" for _, data in events), "the older one just ends"


def test_a_prediction_does_not_wait_for_a_long_explanation() -> None:
    slow = Slow()
    with run_server(slow.explainer()) as server, server.stream(LONG) as events:
        assert next(events)[0] == "prediction"
        while slow.calls < 5:
            time.sleep(0.01)
        start = time.monotonic()
        server.ask("predict", removed=[[0, 1]])
        assert time.monotonic() - start < 1
        other = server.stream("another page", tab="ffff0000-0000")
        with other as more:
            assert next(more)[0] == "prediction", "and so does the first of another page"
        assert not server.worker.is_idle


def test_stop_ends_the_work() -> None:
    slow = Slow()
    with run_server(slow.explainer()) as server, server.stream(LONG) as events:
        next(events)
        server.ask("stop")
        assert [name for name, _ in events if name == "explanation"][5:] == []
        server.wait_until_idle(1)


def test_too_many_pages_at_once_are_asked_to_wait() -> None:
    slow = Slow()
    limits = Limits(waiting=2)
    with run_server(slow.explainer(), limits=limits) as server, ExitStack() as stack:
        streams = [stack.enter_context(server.stream(LONG, tab=f"{k:08}-0000")) for k in range(3)]
        assert [next(events)[0] for events in streams] == ["prediction"] * 3
        body = {"text": LONG, "sides": [{}], "tab": "ffff0000-0000"}
        busy = server.post("explain", body)
        assert (busy.status_code, "wait" in busy.json()["error"]) == (503, True)


def test_a_server_that_stops_ends_its_work() -> None:
    slow = Slow()
    with run_server(slow.explainer()) as server:
        stream = server.stream(LONG)
        next(stream.__enter__())
        start = time.monotonic()
    assert time.monotonic() - start < 5
    calls = slow.calls
    time.sleep(0.2)
    assert slow.calls == calls
