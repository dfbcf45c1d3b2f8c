"""A server on this machine that classifies texts, and misbehaves as it is told."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LABELS = ["NEGATIVE", "NEUTRAL", "POSITIVE"]


def probabilities(text: str) -> dict[str, float]:
    """What the model says: from the words, in a way that no two texts of the tests share."""
    words = text.lower().split()
    logits = {
        "POSITIVE": 2.0 * words.count("good") - 0.5 * words.count("ending"),
        "NEGATIVE": 1.5 * words.count("bad") + 0.25 * len(words),
        "NEUTRAL": 0.1 * len(text),
    }
    top = max(logits.values())
    weights = {label: 2.0 ** (logit - top) for label, logit in logits.items()}
    whole = sum(weights.values())
    return {label: weight / whole for label, weight in weights.items()}


def rows(texts: list[str]) -> list[list[float]]:
    """The same as a local function."""
    return [[probabilities(text)[label] for label in LABELS] for text in texts]


def listed(text: str) -> list[dict[str, Any]]:
    """What an endpoint answers: the likeliest label first."""
    ranked = sorted(probabilities(text).items(), key=lambda item: -item[1])
    return [{"label": label, "score": score} for label, score in ranked]


@dataclass
class Reply:
    """What the server does instead of answering well."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    drop: bool = False
    seconds: float = 0.0


Misbehaviour = Callable[[str, int], Reply | None]
"""From a text and how often it was asked for, 1 the first time; ``None``: behave."""


class Server:
    """What was seen, and how to behave."""

    def __init__(self) -> None:
        self.url = ""
        self.answer: Callable[[str], Any] = lambda text: [listed(text)]
        self.read: Callable[[dict[str, Any]], Any] = lambda request: request["inputs"]
        self.complete: Callable[[str, dict[str, Any]], Any] | None = None
        self.misbehaves: Misbehaviour = lambda text, time_: None
        self.seconds = 0.0
        self.seen: Counter[str] = Counter()
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.at_once = 0
        self.most_at_once = 0
        self.same_at_once = 0
        self._under_way: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def n_requests(self) -> int:
        return len(self.requests)

    @contextmanager
    def counted(self, request: dict[str, Any], headers: dict[str, str]) -> Iterator[int]:
        """Note a request; how often its text was asked for."""
        text = json.dumps(self.read(request))
        with self._lock:
            self.requests.append(request)
            self.headers.append(headers)
            self.times.append(time.monotonic())
            self.seen[text] += 1
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            self._under_way[text] += 1
            self.same_at_once = max(self.same_at_once, self._under_way[text])
            number = self.seen[text]
        try:
            yield number
        finally:
            with self._lock:
                self.at_once -= 1
                self._under_way[text] -= 1


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            request = json.loads(self.rfile.read(length))
            headers = {name.lower(): value for name, value in self.headers.items()}
            with server.counted(request, headers) as number:
                inputs = server.read(request)
                text = inputs if isinstance(inputs, str) else inputs[0]
                reply = server.misbehaves(text, number)
                time.sleep(server.seconds if reply is None else reply.seconds)
                if reply is None:
                    reply = self._answer(request, inputs)
            self._send(reply)

        def _answer(self, request: dict[str, Any], inputs: Any) -> Reply:
            if server.complete is not None:
                found = server.complete(self.path, request)
                return found if isinstance(found, Reply) else Reply(body=found)
            if isinstance(inputs, str):
                return Reply(body=server.answer(inputs))
            return Reply(body=[listed(text) for text in inputs])

        def _send(self, reply: Reply) -> None:
            self.close_connection = True
            if reply.drop:
                return
            body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            try:
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(body)
            except OSError:  # the caller did not wait
                return

        def log_message(self, *args: Any) -> None:
            """Tests are quiet."""

    return Handler


class _HttpServer(ThreadingHTTPServer):
    request_queue_size = 128  # connections that come at once are not turned away


@contextmanager
def running() -> Iterator[Server]:
    """The server, on a free port of this machine."""
    server = Server()
    http = _HttpServer(("127.0.0.1", 0), _handler(server))
    server.url = f"http://127.0.0.1:{http.server_address[1]}/classify"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
