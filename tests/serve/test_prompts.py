"""The playground with a prompt for a language model."""

import json

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("playwright")

from playwright.sync_api import expect

from tests.endpoints import language
from tests.endpoints.language import serving
from tests.endpoints.test_llm import at
from tests.prompts.tiny import ANSWERS, REVIEW, model, tokenizer
from tests.serve.conftest import Visit
from tests.serve.running import run_server
from textsobol import Prompt, TextExplainer, TextExplanation

TEXT = "A good film, a bad film."
PARTS = {"document": ["The film is good.", "It is long."]}


def explainer(prompt: Prompt) -> TextExplainer:
    return TextExplainer(model(), tokenizer(), prompt=prompt, progress=False)


def test_words_are_explained_and_taken_out() -> None:
    own = explainer(Prompt(REVIEW, answers=ANSWERS))
    with run_server(own) as server:
        events = server.explain(TEXT)
        assert [data["stage"] for name, data in events if name == "explanation"][-1] == "done"
        saved = json.loads(server.ask("save", kind="json")["content"])
        [side] = server.ask("predict", removed=[[1]])["sides"]
    totals, expected = (
        [word.scores["positive"].total for word in each.words]
        for each in (TextExplanation.from_dict(saved), own(TEXT))
    )
    assert totals == pytest.approx(expected, abs=1e-4)
    less = own("A film, a bad film.").probabilities
    shown = dict(zip(side["labels"], side["values"][0], strict=True))
    assert shown == pytest.approx(less, abs=1e-5)


@pytest.mark.browser
def test_the_page_shows_the_parts_of_the_prompt(visit: Visit) -> None:
    prompt = Prompt(
        "{document}\n" + REVIEW, answers=ANSWERS, parts=PARTS, features=["document", "text"]
    )
    with run_server(explainer(prompt), example=TEXT) as server, visit(server) as page:
        expect(page.locator("#status")).to_have_text("done")
        words = page.locator(".board .text").first.inner_text()
        about = page.locator("#about").inner_text()
    assert words.split() == prompt.fill(TEXT).split()
    assert "Nothing leaves this machine." in about


@pytest.mark.browser
def test_the_page_says_where_texts_go(visit: Visit) -> None:
    prompt = Prompt(REVIEW, answers={"good": " good", "bad": " bad"})
    with serving(language.llama_cpp) as model_server:
        own = TextExplainer(at(model_server, top_logprobs=60), prompt=prompt, progress=False)
        with run_server(own, example="a good film") as server, visit(server) as page:
            expect(page.locator("#status")).to_have_text("done")
            about = page.locator("#about").inner_text()
    assert "Texts are sent to tiny at 127.0.0.1" in about
    assert "Nothing leaves" not in about
