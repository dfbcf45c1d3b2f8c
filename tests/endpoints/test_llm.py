"""Answers scored by servers of language models, of every kind, and by those that misbehave."""

import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.endpoints import language
from tests.endpoints.language import VOCABULARY, cut, distribution, render, score, serving
from tests.endpoints.server import Reply, Server
from textsobol import llm_endpoint
from textsobol.endpoints.completions import clean_address
from textsobol.endpoints.language_server import LanguageServer
from textsobol.endpoints.logprobs import cut_end, find_token
from textsobol.errors import BoundedScoreWarning, RemoteError, WrongAnswerError

TEXTS = ["a good film .", "a dull film .", "the plot is good , the end bad !", "it was"]
PROMPTS = [f"Review: {text}\nThis is" for text in TEXTS]
CHATS = [[{"role": "user", "content": prompt}] for prompt in PROMPTS]
ANSWERS = [" good", " bad", " positive", " fine end"]


class Tokenizer:
    """The tokenizer of the tiny model, as far as answers need one."""

    bos_token_id = eos_token_id = pad_token_id = sep_token_id = None
    chat_template = "yes"

    def __call__(self, texts: list[str], **_: Any) -> dict[str, Any]:
        return {"input_ids": [[VOCABULARY.index(t) if t in VOCABULARY else 99 for t in cut(text)]
                              for text in texts]}  # fmt: skip

    def decode(self, ids: list[int], **_: Any) -> str:
        return "".join(VOCABULARY[k] for k in ids)

    def apply_chat_template(self, messages: Any, **_: Any) -> str:
        return render(messages)


def at(server: Server, **options: Any) -> LanguageServer:
    return llm_endpoint(server.url, "tiny", **{"backoff": 0.002, "timeout": 5.0, **options})


def ask(model: LanguageServer, prompts: Any, answers: list[str]) -> tuple[Any, Any, int]:
    ticks: list[int] = []
    scorer, cost = model.for_prompt(prompts[0], answers)
    return scorer.score_answers(prompts, answers, ticks.append), cost, sum(ticks)


def expected(prompts: list[str], answers: list[str]) -> Any:
    return np.array([[score(prompt, answer) for answer in answers] for prompt in prompts])


@pytest.mark.parametrize("concurrency", [1, 8])
def test_whole_answers_have_the_log_probabilities_of_the_model(concurrency: int) -> None:
    with serving(language.vllm) as server:
        found, cost, n_ticks = ask(at(server, concurrency=concurrency), PROMPTS, ANSWERS)
        np.testing.assert_allclose(found, expected(PROMPTS, ANSWERS), atol=1e-9)
        assert cost.findings() == {"logprobs": "prompt"}
        # Four calls find out what the server can do.
        n_calls = len(PROMPTS) * len(ANSWERS) + 4
        assert server.n_requests == cost.calls == n_calls
        assert n_ticks == len(PROMPTS)
        model = at(server)
        assert model.cut_answer(PROMPTS[0], " positive end") == [" positi", "ve", " end"]
        pieces = model.score_pieces(PROMPTS, " positive", lambda n: None)
        np.testing.assert_allclose(pieces.sum(axis=1), found[:, 2], atol=1e-9)
        np.testing.assert_allclose(pieces[:, 0], expected(PROMPTS, [" positi"])[:, 0], atol=1e-9)


def test_next_tokens_that_join_the_prompt_test_nothing() -> None:
    """After "This is" an "s" is likely here, and "iss" is another token."""

    def complete(path: str, request: dict[str, Any]) -> Any:
        reply = language.vllm(path, request)
        if not request.get("echo"):
            top = reply["choices"][0]["logprobs"]["top_logprobs"][0]
            reply["choices"][0]["logprobs"]["top_logprobs"] = [{"s": -0.01, **top}]
        return reply

    with serving(complete) as server:
        found, cost, _ = ask(at(server), PROMPTS, [" good"])
    assert cost.route == "prompt"
    np.testing.assert_allclose(found, expected(PROMPTS, [" good"]), atol=1e-9)


def test_whole_answers_to_chats() -> None:
    answers = ["good", "positive"]
    with serving(language.vllm) as server:
        found, cost, _ = ask(at(server), CHATS, answers)
        assert cost.route == "prompt"
        assert server.requests[-1]["messages"][-1]["role"] == "assistant"
    expected_scores = expected([render(chat) for chat in CHATS], answers)
    np.testing.assert_allclose(found, expected_scores, atol=1e-9)


@pytest.mark.parametrize(
    "kind", [language.llama_cpp, language.llama_cpp_python, language.shifted, language.deaf]
)
def test_servers_that_cannot_score_a_prompt_show_the_next_tokens(kind: Any) -> None:
    """Also those that say they can, and are wrong."""
    with serving(kind) as server:
        every = {"top_logprobs": len(VOCABULARY)}
        found, cost, n_ticks = ask(at(server, **every), PROMPTS, [" good", " bad"])
        np.testing.assert_allclose(found, expected(PROMPTS, [" good", " bad"]), atol=1e-9)
        assert cost.findings() == {"logprobs": "generated"}
        n_tested = 2 if kind is language.shifted else 1
        assert server.n_requests == len(PROMPTS) + 1 + n_tested
        assert n_ticks == len(PROMPTS)
        with pytest.raises(RemoteError, match=r"give logprobs='generated' instead of 'prompt'"):
            ask(at(server, logprobs="prompt"), PROMPTS, [" good"])
        longer, _, n_ticks = ask(at(server, tokenizer=Tokenizer(), **every), PROMPTS, ANSWERS)
    np.testing.assert_allclose(longer, expected(PROMPTS, ANSWERS), atol=1e-9)
    assert n_ticks == len(PROMPTS)


def test_chats_show_the_next_token() -> None:
    every = {"top_logprobs": len(VOCABULARY)}
    with serving(language.openai) as server:
        found, cost, _ = ask(at(server, **every), CHATS, ["good", "bad"])
        assert cost.route == "generated"
        with pytest.raises(ValueError, match=r"'positive' is 2 tokens, .* answers of one token"):
            ask(at(server, tokenizer=Tokenizer()), CHATS, ["positive", "negative"])
    np.testing.assert_allclose(
        found, expected([render(chat) for chat in CHATS], ["good", "bad"]), atol=1e-9
    )


@pytest.mark.parametrize("top", [1, 3, 8])
@pytest.mark.parametrize("tokenizer", [None, Tokenizer()])
def test_what_is_not_shown_is_bounded(top: int, tokenizer: Any) -> None:
    """Never below the truth, never above the unlikeliest token that is shown; and it is said."""
    words = [token for token in VOCABULARY if token.startswith(" ") and token.strip()]
    answers = [*words, " positive"]
    with serving(language.llama_cpp) as server:
        model = at(server, top_logprobs=top, tokenizer=tokenizer)
        found, cost, _ = ask(model, PROMPTS, answers)
    truth = expected(PROMPTS, answers)
    assert (found >= truth - 1e-9).all()
    ranked = [sorted(distribution(cut(prompt)).values(), reverse=True) for prompt in PROMPTS]
    least = np.array([[row[top - 1]] for row in ranked])
    rest = np.log([[math.fsum(map(math.exp, row[top:]))] for row in ranked])
    one_token, hidden = truth[:, :-1], found[:, :-1].copy()
    is_shown = one_token >= least - 1e-9
    np.testing.assert_allclose(hidden[is_shown], one_token[is_shown], atol=1e-9)
    if tokenizer is not None:  # else what is shown may be the beginning of the answer
        hidden[is_shown] = -np.inf
        assert (hidden <= least + 1e-9).all()
        assert (hidden <= rest + 1e-4).all()
    n_bounded = int((~is_shown).sum()) + cost.bounded[" positive"]
    assert cost.bounded.total() == n_bounded > 0
    assert cost.findings()["bounded"] == pytest.approx(n_bounded / truth.size, abs=1e-4)
    share = f"{n_bounded / truth.size:.0%}"
    with pytest.warns(BoundedScoreWarning, match=rf"{n_bounded} of {truth.size} .*\({share}\)"):
        cost.warn()


def test_a_bound_holds_for_an_answer_of_unknown_tokens() -> None:
    shown = {" posit": math.log(0.6), " bad": math.log(0.3)}
    assert find_token(shown, " positive", is_whole=False) == (math.log(0.6), True)
    bound, is_bound = find_token(shown, " positive")
    assert is_bound
    assert bound == pytest.approx(math.log(0.1), abs=1e-4)
    full = {" good": math.log(0.9), " bad": math.log(0.1)}
    assert find_token(full, " dull")[0] == pytest.approx(math.log(1e-6), abs=1e-6)


def test_answers_are_cached_and_bounds_stay_bounds(tmp_path: Path) -> None:
    with serving(language.llama_cpp) as server:
        first, cost, _ = ask(at(server, cache=tmp_path, top_logprobs=3), PROMPTS, ANSWERS)
        n = server.n_requests
        again, known, _ = ask(
            pickle.loads(pickle.dumps(at(server, cache=tmp_path, top_logprobs=3))), PROMPTS, ANSWERS
        )
        # A refusal is not an answer, so the question is asked again.
        assert server.n_requests == n + 1
        other, _, _ = ask(at(server, cache=tmp_path, top_logprobs=4), PROMPTS, ANSWERS)
        assert server.n_requests > n + 1
    np.testing.assert_array_equal(first, again)
    assert (other <= first).all()
    assert cost.bounded == known.bounded
    assert known.cached == len(PROMPTS) + 1


def test_the_models_own_answer() -> None:
    with serving(language.vllm) as server:
        plain, chat = at(server).write_answer(PROMPTS[0]), at(server).write_answer(CHATS[1])
        assert server.requests[0]["temperature"] == 0
    best = max(distribution(cut(PROMPTS[0])).items(), key=lambda item: item[1])[0]
    assert plain.startswith(best)
    assert "\n" not in plain.strip()
    assert len(cut(chat)) == 24


@pytest.mark.parametrize("prompt", [PROMPTS, CHATS], ids=["plain", "chat"])
@pytest.mark.parametrize("route", [None, "prompt", "generated"])
def test_a_server_without_log_probabilities_says_what_to_do(prompt: Any, route: str | None) -> None:
    with serving(language.silent) as server:
        with pytest.raises(RemoteError, match=r"no log-probabilities.*Start the server so that"):
            ask(at(server, logprobs=route), prompt[:1], [" good", " bad"])
        assert server.n_requests == 1


def test_a_server_that_refuses_log_probabilities_is_not_asked_again() -> None:
    said = {"error": {"message": "logprobs is not supported for models created without logits"}}
    with serving(lambda path, request: Reply(500, said)) as server:
        fix = r"HTTP 500: .*without logits.*smaller top_logprobs=.*Start the server"
        with pytest.raises(RemoteError, match=fix):
            ask(at(server), PROMPTS, [" good"])
        assert server.n_requests == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"choices": [{"te', "not JSON"),
        (b"<html>busy</html>", "not JSON: '<html>busy</html>'"),
        ({"error": "overloaded"}, "no completion: {'error': 'overloaded'}"),
        ({"choices": []}, "no completion"),
        (
            {"choices": [{"logprobs": {"top_logprobs": [{" a": "high"}]}}]},
            "'high' instead of a log",
        ),
        (b'{"choices": [{"logprobs": {"top_logprobs": [{" a": NaN}]}}]}', "nan instead of a log"),
        ({"choices": [{"logprobs": {"top_logprobs": [{" a": 0.75}]}}]}, "0.75 instead of a log"),
        ({"choices": [{"logprobs": {"top_logprobs": [{}]}}]}, "no log-probabilities of tokens"),
        ({"choices": [{"logprobs": {"top_logprobs": None}}]}, "no log-probabilities of tokens"),
    ],
)
def test_malformed_replies_are_refused(body: Any, message: str, tmp_path: Path) -> None:
    with serving(lambda path, request: Reply(200, body)) as server:
        with pytest.raises(RemoteError, match=message) as caught:
            ask(at(server, cache=tmp_path), PROMPTS, [" good"])
        assert "tiny at 127.0.0.1" in str(caught.value)
        server.complete = language.vllm  # nothing wrong was kept
        found, _, _ = ask(at(server, cache=tmp_path), PROMPTS, [" good"])
    np.testing.assert_allclose(found, expected(PROMPTS, [" good"]), atol=1e-9)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply(401, {"error": "no key"}), "HTTP 401: .*is the token right"),
        (Reply(404, {"error": "no model 'tiny'"}), "HTTP 404: .*no model.*is the address right"),
        (Reply(400, {"error": "maximum context length is 512 tokens"}), "HTTP 400: .*512 tokens"),
    ],
)
def test_what_a_server_refuses_is_said_once(reply: Reply, message: str) -> None:
    with serving(lambda path, request: reply) as server:
        with pytest.raises(RemoteError, match=message):
            ask(at(server), PROMPTS, [" good"])
        assert server.n_requests == 1


def test_a_flaky_server_is_asked_again() -> None:
    faults = [Reply(429, headers={"Retry-After": "0.01"}), Reply(500), Reply(drop=True), None]

    def misbehave(text: str, number: int) -> Reply | None:
        return faults[len(text) % len(faults)] if number == 1 else None

    with serving(language.vllm) as server:
        server.misbehaves = misbehave
        found, cost, _ = ask(at(server, concurrency=4), PROMPTS, ANSWERS)
    np.testing.assert_allclose(found, expected(PROMPTS, ANSWERS), atol=1e-9)
    assert cost.retried > 0


def test_tokens_across_the_end_of_a_prompt_are_refused() -> None:
    tokens = [("It", None), (" is", -1.0), (" a good", -2.0)]
    with pytest.raises(WrongAnswerError, match="do not begin where the answer 'good' begins"):
        cut_end(tokens, "good")
    with pytest.raises(WrongAnswerError, match="let the prompt begin with something"):
        cut_end([(" good", None)], " good")
    assert cut_end([*tokens, ("very", -3.0), ("well", -4.0)], " very well") == [
        ("very", -3.0), ("well", -4.0)
    ]  # fmt: skip


def test_tokens_go_where_they_belong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_saved")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-saved-and-secret")
    with serving(language.vllm) as server:
        ask(at(server), PROMPTS[:1], [" good"])
        assert "authorization" not in server.headers[-1]
        model = at(server, token="my-secret-token", headers={"X-Team": "secret-team"})
        ask(model, PROMPTS[:1], [" good"])
        assert server.headers[-1]["authorization"] == "Bearer my-secret-token"
        assert server.headers[-1]["x-team"] == "secret-team"
        server.complete = lambda path, request: Reply(403, {"error": "my-secret-token is wrong"})
        with pytest.raises(RemoteError, match="is the token right") as caught:
            ask(model, PROMPTS[1:], [" good"])
    assert "my-secret" not in str(caught.value)
    shown = repr(model) + repr(model.model.settings) + json.dumps(model.details)
    assert "secret" not in shown + model.model.settings.identity
    official = llm_endpoint("https://api.openai.com/v1", "gpt").model.settings.function
    assert official._headers["authorization"] == "Bearer sk-saved-and-secret"  # type: ignore[attr-defined]
    router = llm_endpoint("https://router.huggingface.co/v1", "m").model.settings.function
    assert router._headers["authorization"] == "Bearer hf_saved"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"address": "localhost:8000"}, "give an address such as http://localhost:8000/v1"),
        ({"address": "http://a b/"}, "give an address"),
        ({"model": ""}, "needs the model's name"),
        ({"logprobs": "all"}, "unknown logprobs 'all'; known: prompt, generated"),
        ({"top_logprobs": 0}, "top_logprobs=0"),
        ({"token": "a\n"}, "the token is empty, or has a line end"),
        ({"timeout": 0.0}, "timeout=0"),
    ],
)
def test_wrong_arguments_say_what_is_right(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        llm_endpoint(**{"address": "http://localhost:8000/v1", "model": "m", **options})


def test_what_else_a_request_holds() -> None:
    thinking = {"chat_template_kwargs": {"enable_thinking": False}}
    with serving(language.openai) as server:
        ask(at(server, extra_body=thinking), CHATS[:1], ["good"])
        assert server.requests[-1]["chat_template_kwargs"] == {"enable_thinking": False}
    plain, other = (at(server, extra_body=body).model.settings.identity for body in ({}, thinking))
    assert plain != other


def test_any_address_of_a_server_will_do() -> None:
    ends = ["", "/", "/v1", "/v1/", "/v1/completions", "/v1/chat/completions"]
    assert {clean_address(f"http://a:1{end}") for end in ends} == {"http://a:1/v1"}
    assert clean_address("https://a/openai/v1?api-version=2") == "https://a/openai/v1?api-version=2"
