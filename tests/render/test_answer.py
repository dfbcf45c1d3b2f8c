"""The page of an explained answer, in a real browser."""

import math
from dataclasses import replace

import pytest

pytest.importorskip("playwright")
pytest.importorskip("axe_playwright_python")

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.prompts.tiny import REVIEW, model, tokenizer
from tests.render.conftest import Look
from tests.render.samples import bars_of, plus_minus
from textsobol import Prompt, TextExplainer, TextExplanation
from textsobol.render.answer_table import make_answer_table
from textsobol.render.page import render_explanation
from textsobol.render.terminal import as_text

ANSWER = " a bad film,\nreally"


def explained(prompt: Prompt | None = None, **options: object) -> TextExplanation:
    explainer = TextExplainer(model(), tokenizer(), prompt=prompt or Prompt(REVIEW))
    return explainer("A good film, a good plot", target=ANSWER, **options)  # type: ignore[arg-type]


def test_the_table_has_a_cell_for_every_word_and_token(look: Look) -> None:
    explanation = explained()
    parts = explanation.targets[1:]
    with look(render_explanation(explanation)) as page:
        table = page.locator(".answer table")
        heads = table.locator("th[scope=col]").all_inner_texts()
        assert heads == [part.strip() or "\u21b5" for part in parts]
        assert "\u21b5" in heads
        assert table.locator("th[scope=row]").all_inner_texts() == explanation.names
        for row, word in zip(table.locator("tr").all()[1:], explanation.words, strict=True):
            shown = [float(plus_minus(own)) for own in row.locator("td").all_inner_texts()]
            effects = [word.scores[part].effect for part in parts]
            assert shown == pytest.approx(effects, abs=0.006)
        strongest = max(
            (word.scores[part].effect for word in explanation.words for part in parts), key=abs
        )
        cell = table.locator("span[style*='--a:1.000']")
        assert float(plus_minus(cell.inner_text())) == pytest.approx(strongest, abs=0.006)
        assert cell.get_attribute("class") == ("for" if strongest > 0 else "against")
        assert cell.evaluate("e => getComputedStyle(e).backgroundColor") != "rgba(0, 0, 0, 0)"
        report = Axe().run(page)
        assert report.violations_count == 0, report.generate_report()


def test_a_token_can_be_chosen_like_a_label(look: Look) -> None:
    explanation = explained()
    token = explanation.targets[2]
    with look(render_explanation(explanation)) as page:
        shown = page.locator("h1").inner_text()
        assert shown.startswith("a bad film, really ")
        assert page.locator("fieldset.label .choice").count() == len(explanation.targets)
        own = explanation.for_target(token)
        page.locator(f".choice input[value='{token}']").check()
        names = [name for name, _ in bars_of(page)]
        assert names == [own.names[k] for k in own.ranking]
        assert "log-probability" in page.locator(".sums").inner_text()


def test_parts_of_the_prompt_have_their_names_in_the_bars(look: Look) -> None:
    prompt = Prompt(
        "{document}\n\nReview: {text}", parts={"document": ["One is good.", "Two <b>bad</b>."]},
        features="parts",
    )  # fmt: skip
    explanation = explained(prompt)
    with look(render_explanation(explanation)) as page:
        assert {name for name, _ in bars_of(page)} == {"document 1", "document 2"}
        assert page.locator(".text").inner_text() == explanation.text
        assert page.locator(".answer th[scope=row]").all_inner_texts() == [
            "document 1", "document 2",
        ]  # fmt: skip
        footer = page.locator("footer").inner_text()
        assert f"tokens {explanation.cost['tokens']} " in footer
    shown = as_text(explanation)
    assert "document 1" in shown
    assert "\n part " in shown


def test_there_is_no_table_without_parts(look: Look) -> None:
    whole = explained(targets=[])
    assert whole.targets == (ANSWER,)
    assert make_answer_table(whole) is None
    with look(render_explanation(whole)) as page:
        expect(page.locator(".answer")).to_have_count(0)


def test_words_that_matter_least_have_no_row_and_other_methods_their_own_scores() -> None:
    explanation = explained(method="occlusion")
    table = make_answer_table(explanation)
    assert table is not None
    assert not table.is_effect
    assert math.isnan(explanation.words[0].scores[ANSWER].effect)
    many = replace(explanation, words=explanation.words * 8)
    shown = make_answer_table(many)
    assert shown is not None
    assert (len(shown.rows), shown.n_hidden) == (40, len(many.words) - 40)
