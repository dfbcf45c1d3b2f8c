"""A playground on a free port, with models whose answers are known."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import httpx
import pytest

from textsobol import TextExplainer
from textsobol.serve.limits import Limits
from textsobol.serve.security import Rules
from textsobol.serve.server import listen, make_server
from textsobol.serve.work import Worker

TAB = "0123abcd-0000"
Event = tuple[str, Any]


@cache
def bundled() -> TextExplainer:
    return TextExplainer(progress=False)


@dataclass
class Slow:
    """A model that takes a while for every batch, and counts its calls."""

    seconds: float = 0.05
    calls: int = 0
    texts: list[str] = field(default_factory=list)

    def explainer(self) -> TextExplainer:
        return TextExplainer(self._score, label_names=["length"], batch_texts=4, progress=False)

    def _score(self, texts: list[str]) -> list[float]:
        self.calls += 1
        self.texts += texts
        time.sleep(self.seconds)
        return [float(len(text)) for text in texts]


@dataclass
class Running:
    """A server that runs, and a client of it."""

    address: str
    worker: Worker
    client: Any

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        given = {"origin": self.address, **{k.replace("_", "-"): v for k, v in headers.items()}}
        given = {name: value for name, value in given.items() if value}
        return self.client.post(f"/api/{path}", json={"tab": TAB, **(body or {})}, headers=given)

    def ask(self, path: str, **body: Any) -> Any:
        response = self.post(path, body)
        assert response.status_code == 200, response.text
        return response.json()

    @contextmanager
    def stream(self, text: str, **body: Any) -> Iterator[Iterator[Event]]:
        given = {"tab": TAB, "text": text, "sides": [{}], **body}
        headers = {"origin": self.address}
        with self.client.stream("POST", "/api/explain", json=given, headers=headers) as response:
            if response.status_code != 200:
                response.read()
                pytest.fail(response.text)
            yield read_events(response.iter_lines())

    def explain(self, text: str, **body: Any) -> list[Event]:
        with self.stream(text, **body) as events:
            return list(events)

    def wait_until_idle(self, seconds: float = 10.0) -> None:
        end = time.monotonic() + seconds
        while not self.worker.is_idle:
            assert time.monotonic() < end, "work goes on"
            time.sleep(0.01)


def read_events(lines: Iterator[str]) -> Iterator[Event]:
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


@contextmanager
def run_server(
    *explainers: TextExplainer,
    limits: Limits | None = None,
    token: str | None = None,
    corpus: Any = None,
    example: str = "",
) -> Iterator[Running]:
    with listen("127.0.0.1", 0) as connection:
        port = connection.getsockname()[1]
        rules = Rules(port=port, token=token)
        server = make_server(explainers, rules, limits or Limits(), corpus, example)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [connection]})
        thread.start()
        app: Any = server.config.app
        address = f"http://127.0.0.1:{port}"
        try:
            while not server.started:
                assert thread.is_alive()
                time.sleep(0.01)
            with httpx.Client(base_url=address, timeout=30, trust_env=False) as client:
                yield Running(address, app.state.worker, client)
        finally:
            server.should_exit = True
            thread.join(timeout=20)
            assert not thread.is_alive()
