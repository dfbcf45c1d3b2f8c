"""Explain a model that lives behind an address, and pay for every masked text once.

python examples/endpoint.py

A small server with the bundled classifier stands in for the endpoint; now and then it is busy,
as endpoints are. With one of your own, `endpoint(address)` is all you need.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from tempfile import TemporaryDirectory

import torch

from textsobol import TextExplainer, endpoint
from textsobol.text.loading import load_model

REVIEW = "A gripping, beautifully acted film, ruined by its dull ending."

model, tokenizer = load_model()
one_at_a_time = threading.Lock()
number = count(1)


class Endpoint(BaseHTTPRequestHandler):
    """Answers as a text-classification endpoint does; every tenth call is turned away."""

    def do_POST(self) -> None:
        """Classify the text of a request."""
        text = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["inputs"]
        with one_at_a_time, torch.inference_mode():
            logits = model(**tokenizer(text, return_tensors="pt")).logits[0]
            is_busy = next(number) % 10 == 0
        shares = logits.softmax(0).tolist()
        answer = [{"label": model.config.id2label[k], "score": s} for k, s in enumerate(shares)]
        self.send_response(429 if is_busy else 200)
        if is_busy:
            self.send_header("Retry-After", "0.01")
        self.end_headers()
        self.wfile.write(json.dumps({"error": "busy"} if is_busy else [answer]).encode())

    def log_message(self, *args: object) -> None:
        """Not a line for every masked text."""


server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
threading.Thread(target=server.serve_forever, daemon=True).start()
address = f"http://127.0.0.1:{server.server_address[1]}"

with TemporaryDirectory() as directory:
    for run in ("first", "second"):
        explainer = TextExplainer(
            endpoint(address, cache=directory, concurrency=4, backoff=0.01), progress=False
        )
        explanation = explainer(REVIEW, budget=100)
        if run == "first":
            print(explanation, end="\n\n")
        cost = explanation.cost
        print(
            f"{run} run: {cost['calls']} calls, {cost['retried']} of them again after "
            f"{cost['waited']:.2f} s of waiting, {cost['cached']} answers from the cache"
        )
server.shutdown()
