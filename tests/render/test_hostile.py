"""Texts and labels that try to be more than text: they are shown, and nothing runs."""

import json
import re

import pytest

pytest.importorskip("playwright")

from playwright.sync_api import expect

from tests.render.conftest import Look
from tests.render.samples import length
from textsobol import Sobol, TextExplainer
from textsobol.render.page import render_comparison, render_explanation, render_notebook
from textsobol.render.report import render_report
from textsobol.render.summary import describe_flip_set, summarise
from textsobol.render.view import clean

pytestmark = [
    pytest.mark.filterwarnings("ignore::textsobol.ConstantScoreWarning"),
    pytest.mark.filterwarnings("ignore::textsobol.PunctuationWarning"),
]
HOSTILE = {
    "script": "good <script>window.hacked = 1; alert(1)</script> film",
    "end of script": "good </script><script>window.hacked = 1</script> film",
    "end of all": "good --></style></title></noscript></template><svg onload=hacked=1> film",
    "image": 'good "><img src=x onerror="window.hacked = 1"> film',
    "handler": "good ' onmouseover='window.hacked = 1' film",
    "entities": "good &amp; &lt;b&gt; &#x3c;script&#x3e; film",
    "template": "good {{7*7}} {% raw %} ${7*7} {# no #} film",
    "separators": "good \u2028 line \u2029 paragraph film",
    "overrides": "good \u202e reversed \u202c \u2066 isolated \u2069 film",
    "controls": "good \x00 \x07 \x1b[31m red \x7f \x85 film",
    "windows lines": "good\r\nfilm\rold\nend",
    "hebrew": "\u05d4\u05e1\u05e8\u05d8 \u05d4\u05d9\u05d4 \u05de\u05e6\u05d5\u05d9\u05df",
    "emoji": "good \U0001f468\u200d\U0001f469\u200d\U0001f467 film \U0001f600!!!",
    "long word": "a good " + "x" * 3000 + " film",
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("width", [375, 1200])
def test_it_is_shown_as_text_and_nothing_runs(look: Look, name: str, width: int) -> None:
    text = HOSTILE[name]
    explanation = TextExplainer(length, label_names=[text[:60]])(text)
    pages = {
        ".card .text": render_explanation(explanation),
        ".item > .text": render_report([explanation, explanation], truth=[0, 0], title=text),
    }
    for where, html in pages.items():
        with look(html, viewport={"width": width, "height": 800}) as page:
            # textContent: what is in the page, whatever its lines look like.
            assert page.locator(where).first.evaluate("e => e.textContent") == clean(text)
            if where.startswith(".card"):  # sentences and slider have words of the text in them
                assert explanation.path is not None
                lines = page.locator(".summary, .flip").all_text_contents()
                assert lines == [summarise(explanation), describe_flip_set(explanation) or ""]
                page.get_by_role("slider").press("End")
                gone = {k for step in explanation.path.steps for k in step.words}
                expect(page.locator(".w.gone")).to_have_count(len(gone))
            page.locator(where).first.scroll_into_view_if_needed()
            words = page.locator(where).first.locator(".w")
            expect(words).to_have_count(len(explanation.words))
            found = words.evaluate_all("all => all.map((w) => w.textContent)")
            assert found == [clean(word.text) for word in explanation.words]
            page.locator(".w").first.hover()
            if where.startswith(".item"):
                page.locator("button.open").first.click()
            assert page.evaluate("window.hacked") is None
            assert page.locator("main img, main script, svg[onload]").count() == 0
            assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_hostile_names_in_a_comparison(look: Look) -> None:
    text = HOSTILE["image"]
    explanation = TextExplainer(length, label_names=[text])("good film")
    both = {HOSTILE["end of script"]: explanation, HOSTILE["handler"]: explanation}
    with look(render_comparison(both)) as page:
        page.locator(".w").first.hover()
        assert page.evaluate("window.hacked") is None
        assert HOSTILE["handler"] in page.locator("table").inner_text()


def test_a_notebook_frame_lets_nothing_out(look: Look) -> None:
    explanation = TextExplainer(length)(HOSTILE["image"] + HOSTILE["end of script"])
    with look(f"<!doctype html>{render_notebook(explanation)}") as page:
        assert page.locator("img, script").count() == 0
        assert page.frame_locator("iframe").locator(".bar").count() > 0


def test_even_markup_that_got_through_could_not_run(look: Look) -> None:
    """The page's own policy stands behind the escaping."""
    html = render_explanation(TextExplainer(length)("good film"))
    broken = html.replace("<h1>", "<script>window.hacked = 1</script><h1 onclick='hacked = 1'>")
    assert broken != html
    refusal = pytest.raises(AssertionError, match="Content Security Policy")
    with refusal, look(broken) as page:
        page.locator("h1").click()
        assert page.evaluate("window.hacked") is None
        assert page.locator(".bar").count() == 2, "its own script does run"


def test_five_thousand_words(look: Look) -> None:
    text = " ".join(f"word{k}" for k in range(5000))
    explainer = TextExplainer(lambda texts: [float("word7 " in text) for text in texts])
    explanation = explainer(text, method=Sobol(base_masks=1))
    with look(render_explanation(explanation), viewport={"width": 375, "height": 800}) as page:
        assert page.locator(".w").count() == 5000
        assert page.locator(".bar button").first.inner_text() == "word7"
        assert page.evaluate("document.documentElement.scrollWidth") <= 375
        page.locator("button.more").click()
        assert page.locator(".bar").count() == 5000


def test_the_data_block_is_plain_ascii_json() -> None:
    explanation = TextExplainer(length, label_names=["</script>\u2028"])("good film")
    found = re.search(r'id="data">(.*?)</script>', render_explanation(explanation), re.DOTALL)
    assert found is not None
    assert found[1].isascii()
    assert not set("<>&") & set(found[1])
    assert json.loads(found[1])["items"][0]["label"] == "</script>\u2028"
