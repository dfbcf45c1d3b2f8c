"""A tiny language model behind the interfaces of several kinds of servers."""

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.endpoints.server import Reply, Server, running

_TOKEN = re.compile(r" ?\w{1,6}|\s|[^\w\s]")  # a long word is several tokens
WORDS = (
    "a . ! , : the it is was film plot end ends of positive negative Positive Negative good bad "
    "fine dull yes no"
)
VOCABULARY = sorted(
    {
        piece
        for word in ["", "\n", *re.split(" ", WORDS)]
        for text in (word, f" {word}")
        for piece in _TOKEN.findall(text)
    }
)
START = "<s>"


def cut(text: str) -> list[str]:
    return _TOKEN.findall(text)


def distribution(tokens: list[str]) -> dict[str, float]:
    """Log-probabilities of all next tokens: from counts of words, and from the last token."""
    n_good = sum(token in (" good", " fine") for token in tokens)
    n_bad = sum(token in (" bad", " dull") for token in tokens)
    last = tokens[-1] if tokens else ""
    logits = {}
    for number, token in enumerate(VOCABULARY):
        pull = {"positi": n_good - n_bad, "negati": n_bad - n_good, "good": n_good, "bad": n_bad}
        name = token.strip().lower()
        own = 1.2 * pull.get(name, 0) + (2.0 if name in pull else 0.0)
        fits = token.startswith(" ") != (last == "\n")
        logits[token] = own + 3.0 * fits + 0.05 * (sum(map(ord, token + last)) % 23 + number / 100)
    if last.strip().lower() in ("positi", "negati"):
        logits["ve"] += 9.0
    whole = math.log(sum(map(math.exp, logits.values())))
    return {token: logit - whole for token, logit in logits.items()}


def score(prompt: str, answer: str) -> float:
    """The log-probability of an answer after a prompt, without any server."""
    before, total = cut(prompt), 0.0
    for token in cut(answer):
        total += distribution(before)[token]
        before.append(token)
    return total


def render(messages: list[dict[str, str]], start: str = "") -> str:
    """The messages of a chat as one text, with the start of the assistant's answer."""
    text = "".join(f"{message['role']}: {message['content']}\n" for message in messages)
    return f"{text}assistant:\n{start}"


def _get_scores(tokens: list[str]) -> list[float | None]:
    return [None, *(distribution(tokens[:k]).get(tokens[k], -30.0) for k in range(1, len(tokens)))]


def _rank(tokens: list[str], k: int) -> dict[str, float]:
    ranked = sorted(distribution(tokens).items(), key=lambda item: -item[1])
    return dict(ranked[:k])


def _reply(logprobs: Any, text: str, n_prompt: int) -> dict[str, Any]:
    usage = {"prompt_tokens": n_prompt, "completion_tokens": 1, "total_tokens": n_prompt + 1}
    choice = {"index": 0, "text": text, "logprobs": logprobs, "finish_reason": "length"}
    return {"object": "text_completion", "choices": [choice], "usage": usage}


def _in_chat_form(top: dict[str, float]) -> dict[str, Any]:
    entries = [{"token": token, "logprob": value, "bytes": list(token.encode())}
               for token, value in top.items()]  # fmt: skip
    return {"content": [{**entries[0], "top_logprobs": entries}]}


def _write(text: str, n_tokens: int) -> str:
    tokens = cut(text)
    start = len(tokens)
    while len(tokens) < start + n_tokens:
        tokens.append(next(iter(_rank(tokens, 1))))
    return "".join(tokens[start:])


def vllm(path: str, request: dict[str, Any]) -> Any:
    """Whole answers in both interfaces; the start token is shown, and moves ``text_offset``."""
    if path == "/v1/completions":
        tokens = cut(request["prompt"])
        if "logprobs" not in request:
            return _reply(None, _write(request["prompt"], request["max_tokens"]), len(tokens))
        top = _rank(tokens, request["logprobs"])
        new = next(iter(top))
        if not request.get("echo"):
            logprobs = {"tokens": [new], "token_logprobs": [top[new]], "top_logprobs": [top]}
            return _reply(logprobs, new, len(tokens) + 1)
        first = distribution([])[tokens[0]] if tokens and tokens[0] in VOCABULARY else -30.0
        values = [None, first, *_get_scores(tokens)[1:], top[new]]
        logprobs = {"tokens": [START, *tokens, new], "token_logprobs": values}
        return _reply(logprobs, request["prompt"] + new, len(tokens) + 1)
    if request.get("continue_final_message"):
        *messages, answer = request["messages"]
        tokens = cut(render(messages, answer["content"]))
        entries = [
            {str(k): {"logprob": value, "rank": 1, "decoded_token": token}} if k else None
            for k, (token, value) in enumerate(zip(tokens, _get_scores(tokens), strict=True))
        ]
        return {**_reply(None, "", len(tokens)), "prompt_logprobs": entries}
    return openai(path, request)


def llama_cpp(path: str, request: dict[str, Any]) -> Any:
    """The next token only, in the form of a chat also for plain prompts."""
    if request.get("echo"):
        return Reply(400, {"error": {"message": "Only no echo is supported"}})
    if "prompt" in request:
        tokens = cut(request["prompt"])
        return _reply(_in_chat_form(_rank(tokens, request["logprobs"])), "", len(tokens))
    return openai(path, {k: v for k, v in request.items() if k in ("messages", "top_logprobs")})


def llama_cpp_python(path: str, request: dict[str, Any]) -> Any:
    """Without a start token the log-probabilities of a prompt are those of the token after it."""
    reply = vllm(path, request)
    if request.get("echo"):
        tokens = cut(request["prompt"])
        shifted = [None, *(distribution(tokens[: k + 1]).get(tokens[k], -30.0)
                           for k in range(1, len(tokens)))]  # fmt: skip
        reply["choices"][0]["logprobs"] = {"tokens": tokens, "token_logprobs": shifted}
    return reply


def shifted(path: str, request: dict[str, Any]) -> Any:
    """As before, with nothing in the form of the reply that shows it."""
    reply = llama_cpp_python(path, request)
    if request.get("echo"):
        logprobs = reply["choices"][0]["logprobs"]
        logprobs["tokens"].append("?")
        logprobs["token_logprobs"].append(-1.0)
    return reply


def deaf(path: str, request: dict[str, Any]) -> Any:
    """Does not know ``echo``, and says nothing of it."""
    return vllm(path, {k: v for k, v in request.items() if k != "echo"})


def openai(path: str, request: dict[str, Any]) -> Any:
    """Chats, with the likeliest next tokens; refuses what it does not know."""
    if "prompt_logprobs" in request:
        message = "Unrecognized request argument supplied: prompt_logprobs"
        return Reply(400, {"error": {"message": message, "type": "invalid_request_error"}})
    text = render(request["messages"])
    tokens = cut(text)
    top = _rank(tokens, request.get("top_logprobs", 1))
    written = _write(text, request.get("max_tokens", 1))
    choice = {"message": {"role": "assistant", "content": written},
              "logprobs": _in_chat_form(top)}  # fmt: skip
    return {"object": "chat.completion", "choices": [choice]}


def silent(path: str, request: dict[str, Any]) -> Any:
    """No log-probabilities at all."""
    if "prompt" in request:
        return _reply(None, " a", 3)
    return {"choices": [{"message": {"content": "a"}, "logprobs": None}]}


@contextmanager
def serving(complete: Callable[[str, dict[str, Any]], Any]) -> Iterator[Server]:
    """One of these servers, on a free port of this machine."""
    with running() as server:
        server.url = server.url.removesuffix("/classify") + "/v1"
        server.read = lambda request: request.get("prompt") or str(request.get("messages"))
        server.complete = complete
        yield server
