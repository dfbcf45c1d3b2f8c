"""Prompts on servers are explained as with the model itself, in Python and from the shell."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.endpoints import language
from tests.endpoints.language import VOCABULARY, score, serving
from tests.endpoints.test_llm import at
from textsobol import Prompt, Sobol, TextExplainer
from textsobol.cli import app
from textsobol.errors import BoundedScoreWarning

TEXT = "a good film . the end is bad"
PROMPT = Prompt(
    "Review: {text}\nThis is",
    answers={"positive": [" good", " fine"], "negative": " bad"},
)
EXACT = Sobol(estimator="exact")
run = CliRunner().invoke


def log_odds(texts: list[str]) -> Any:
    """The same model and prompt, without a server."""
    every = {answer: [score(PROMPT.fill(text), answer) for text in texts]
             for answer in (" good", " fine", " bad")}  # fmt: skip
    odds = np.logaddexp(every[" good"], every[" fine"]) - np.array(every[" bad"])
    return np.stack([odds, -odds], axis=1)


def scores(explanation: Any) -> Any:
    return np.array([[word.scores["positive"].total, word.scores["positive"].effect]
                     for word in explanation.words])  # fmt: skip


@pytest.mark.parametrize("kind", [language.vllm, language.llama_cpp])
def test_labels_are_explained_as_by_the_model_itself(kind: Any) -> None:
    local = TextExplainer(log_odds, label_names=["positive", "negative"])
    with serving(kind) as server:
        model = at(server, top_logprobs=len(VOCABULARY))
        there = TextExplainer(model, prompt=PROMPT)(TEXT, method=EXACT)
        assert there.cost["calls"] == server.n_requests
    here = local(TEXT, method=EXACT)
    np.testing.assert_allclose(scores(there), scores(here), atol=1e-9)
    assert there.settings["given"]["kind"] == "language model on a server"
    assert there.settings["logprobs"] == ("prompt" if kind is language.vllm else "generated")
    assert "bounded" not in there.settings


def test_an_answer_is_explained_token_by_token() -> None:
    with serving(language.vllm) as server:
        explainer = TextExplainer(at(server), prompt=Prompt("Review: {text}\nThis is"))
        there = explainer(TEXT, target=" positive", method=EXACT)
        own = explainer(TEXT, method=Sobol(base_masks=1), budget=40)
    assert set(there.words[1].scores) == {" positive", " positi", "ve"}
    masked = [f"Review: {text}\nThis is" for text in (TEXT, "a film . the end is bad")]
    change = score(masked[0], " positive") - score(masked[1], " positive")
    assert there.probabilities[" positive"] == pytest.approx(np.exp(score(masked[0], " positive")))
    assert np.sign(there.words[1].scores[" positive"].effect) == np.sign(change)
    assert own.settings["is_own_answer"]


def test_a_server_is_asked_about_the_whole_prompt_only_for_an_estimate() -> None:
    with serving(language.llama_cpp) as server:
        explainer = TextExplainer(at(server, logprobs="generated"), prompt=PROMPT)
        found = explainer.estimate(TEXT, method="occlusion")
        assert server.n_requests == 1
    assert (found.passes, found.tokens, found.seconds) == (8, None, None)
    assert explainer.model is None, "no model of torch"


def test_scores_that_are_bounds_are_said() -> None:
    with serving(language.llama_cpp) as server:
        explainer = TextExplainer(at(server, top_logprobs=3), prompt=PROMPT)
        with pytest.warns(BoundedScoreWarning, match=r"likeliest tokens .*' fine' \d+ times"):
            explanation = explainer(TEXT, method=EXACT)
    assert 0 < explanation.settings["bounded"] < 1
    assert type(explanation).from_dict(explanation.to_dict()) == explanation


def write_prompt(directory: Path) -> list[str]:
    """A prompt's file, and the options that go with it."""
    (directory / "prompt.txt").write_text("Review: {text}\nThis is\n")
    return ["--prompt", str(directory / "prompt.txt"), "--answer", "positive= good",
            "--answer", "positive= fine", "--answer", "negative= bad"]  # fmt: skip


def test_the_command_line_asks_a_server(tmp_path: Path) -> None:
    given = write_prompt(tmp_path)
    with serving(language.llama_cpp) as server:
        command = ["explain", TEXT, "--server", server.url, "--server-model", "tiny", *given,
                   "--top-logprobs", "60", "--cache", str(tmp_path / "cache")]  # fmt: skip
        result = run(app, [*command, "--json"], env={"TEXTSOBOL_TOKEN": "from the environment"})
        assert result.exit_code == 0, result.output
        assert server.headers[0]["authorization"] == "Bearer from the environment"
        n = server.n_requests
        again = run(app, command)
        assert server.n_requests <= n + 1
        few = run(app, [*command[:-4], "--top-logprobs", "3"])
    found = json.loads(result.stdout)
    odds = log_odds([TEXT])[0, 0]
    assert found["prediction"]["probabilities"]["positive"] == pytest.approx(
        1 / (1 + np.exp(-odds)), abs=1e-6
    )
    assert found["settings"]["prompt"]["answers"]["positive"] == [" good", " fine"]
    assert "tiny at 127.0.0.1" in again.output
    assert "are only upper bounds" in " ".join(few.output.split())
    assert "of log-probabilities only bounded" in " ".join(few.output.split())
