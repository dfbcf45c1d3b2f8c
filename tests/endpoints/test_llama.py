"""A server that is not ours: its log-probabilities are those of the same model on this machine.

``TEXTSOBOL_LLAMA`` is the directory that ``python -m tests.endpoints.llama`` made, and
``TEXTSOBOL_LLAMA_PYTHON`` a Python with llama-cpp-python[server], by default this one.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textsobol import Prompt, Sobol, TextExplainer, llm_endpoint

DIRECTORY = Path(os.environ.get("TEXTSOBOL_LLAMA", "?"))
PYTHON = os.environ.get("TEXTSOBOL_LLAMA_PYTHON", sys.executable)
SECONDS_TO_START = 60
TEXTS = ["A dull film.", "A wonderful film.", "It works, but drags on for an hour."]
PROMPTS = [f"Is this review positive or negative?\n\n{text}\nThis review is" for text in TEXTS]
CHATS = [[{"role": "user", "content": f"Positive or negative?\n{text}"}] for text in TEXTS]
ANSWERS = [" positive", " negative", " not worth watching"]


def is_installed() -> bool:
    if not (DIRECTORY / "float32.gguf").is_file():
        return False
    return not subprocess.run([PYTHON, "-c", "import llama_cpp.server"], check=False).returncode


pytestmark = [
    pytest.mark.llama,
    pytest.mark.skipif(
        not is_installed(),
        reason="TEXTSOBOL_LLAMA names no directory made by python -m tests.endpoints.llama, or "
        "llama-cpp-python[server] is not installed",
    ),
]


def is_listening(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def running(file: str, *options: str) -> Iterator[str]:
    """The server of llama-cpp-python with a model, on a free port."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    process = subprocess.Popen(
        [PYTHON, "-m", "llama_cpp.server", "--model", str(DIRECTORY / file), "--logits_all", "true",
         "--n_ctx", "256", "--n_threads", "1", "--n_threads_batch", "1", "--port", str(port),
         "--host", "127.0.0.1", *options],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        end = time.monotonic() + SECONDS_TO_START
        while not is_listening(port):
            assert time.monotonic() < end, "the server does not start"
            assert process.poll() is None, "the server ends"
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def local() -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    path = DIRECTORY / "transformers"
    return AutoModelForCausalLM.from_pretrained(path).eval(), AutoTokenizer.from_pretrained(path)


def score(local: Any, prompts: list[str], answers: list[str], *, start: bool = False) -> Any:
    """Log-probabilities by one plain forward pass for each prompt and answer."""
    import torch

    model, tokenizer = local
    rows = []
    for prompt in prompts:
        before = [tokenizer.bos_token_id] * start
        before += tokenizer(prompt, add_special_tokens=False).input_ids
        row = []
        for answer in answers:
            own = tokenizer(answer, add_special_tokens=False).input_ids
            with torch.inference_mode():
                logits = model(torch.tensor([before + own])).logits[0].log_softmax(-1)
            places = range(len(before) - 1, len(before) + len(own) - 1)
            row.append(sum(logits[k, token].item() for k, token in zip(places, own, strict=True)))
        rows.append(row)
    return np.array(rows)


def ask(address: str, prompts: Any, answers: list[str], **options: Any) -> tuple[Any, Any]:
    model = llm_endpoint(address, "SmolLM2", concurrency=1, **options)
    scorer, cost = model.for_prompt(prompts[0], answers)
    return scorer.score_answers(prompts, answers, lambda n: None), cost


def test_log_probabilities_are_those_of_the_model(local: Any) -> None:
    """By whole answers if prompts have a start token, else token by token: to 4 digits."""
    single = ("--type_k", "0", "--type_v", "0")
    start = ("--kv_overrides", "tokenizer.ggml.add_bos_token=bool:true")
    with running("float32.gguf", *single, *start) as address:
        whole, cost = ask(address, PROMPTS, ANSWERS)
    assert cost.findings() == {"logprobs": "prompt"}
    np.testing.assert_allclose(whole, score(local, PROMPTS, ANSWERS, start=True), atol=1e-3)
    with running("float32.gguf", *single) as address:
        options = {"top_logprobs": 2000, "tokenizer": local[1]}
        tokens, cost = ask(address, PROMPTS, ANSWERS, **options)
        assert cost.findings() == {"logprobs": "generated"}
        chat, _ = ask(address, CHATS, ["Positive", "Negative"], **options)
        few, cost = ask(address, PROMPTS, ANSWERS[:2], top_logprobs=1)
    truth = score(local, PROMPTS, ANSWERS)
    np.testing.assert_allclose(tokens, truth, atol=1e-3)
    rendered = [local[1].apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
                for chat in CHATS]  # fmt: skip
    np.testing.assert_allclose(chat, score(local, rendered, ["Positive", "Negative"]), atol=1e-3)
    assert (few >= truth[:, :2] - 1e-3).all()
    assert cost.bounded.total() > 0


def test_quantized_weights_give_nearly_the_same(local: Any) -> None:
    with running("quantized.gguf") as address:
        found, _ = ask(address, PROMPTS, ANSWERS[:2], top_logprobs=500)
    assert abs(found - score(local, PROMPTS, ANSWERS[:2])).mean() < 0.3


def test_a_prompt_is_explained_as_with_the_model(local: Any) -> None:
    prompt = Prompt(
        "Is this review positive or negative?\n\n{text}\nThis review is",
        answers={"positive": " positive", "negative": " negative"},
    )
    method = Sobol(estimator="exact")
    own = TextExplainer(*local, prompt=prompt)("A dull film", method=method)
    with running("float32.gguf", "--type_k", "0", "--type_v", "0") as address:
        model = llm_endpoint(address, "SmolLM2", concurrency=1, top_logprobs=500)
        there = TextExplainer(model, prompt=prompt)("A dull film", method=method)
    for here, word in zip(own.words, there.words, strict=True):
        assert word.scores["positive"].total == pytest.approx(
            here.scores["positive"].total, abs=1e-3
        )
        assert word.scores["positive"].effect == pytest.approx(
            here.scores["positive"].effect, abs=1e-3
        )
