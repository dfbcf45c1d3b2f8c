"""The playground in a real browser."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("playwright")
pytest.importorskip("axe_playwright_python")

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.render.samples import LABELS, NEWS, TEXT, TOPICS, sentiment, topics, word
from tests.render.test_hostile import HOSTILE
from tests.render.test_page import CONTRAST
from tests.serve.conftest import Visit
from tests.serve.running import Running, Slow, bundled, run_server
from textsobol import TextExplainer, TextExplanation
from textsobol.render.view import clean

PHONE = {"viewport": {"width": 375, "height": 700}, "has_touch": True, "is_mobile": True}
WIDTHS = "all => all.map((fill) => parseFloat(fill.style.width))"
MEAN = "A gripping, beautifully acted film, ruined by its dull ending."


def explainer() -> TextExplainer:
    return TextExplainer(sentiment, label_names=LABELS, progress=False)


def harsh(texts: list[str]) -> object:
    """Another model with the same labels."""
    found = sentiment(texts)
    found[:, 0] = 1 - 0.5 * found[:, 1]
    found[:, 1] = 1 - found[:, 0]
    return found


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with run_server(explainer(), example=TEXT) as running:
        yield running


@pytest.fixture(scope="module")
def news() -> Iterator[Running]:
    with run_server(TextExplainer(topics, label_names=TOPICS, progress=False)) as running:
        yield running


def finish(page: Page) -> None:
    expect(page.locator("#status")).to_have_text("done")


def type_text(page: Page, text: str) -> None:
    page.locator("#text").fill(text)
    expect(page.locator(".board .text").first).to_have_text(text.replace("\n", " "))
    finish(page)


def prediction(page: Page) -> Locator:
    return page.locator("#prediction span:not(.was)")


def test_the_prediction_follows_the_typing(visit: Visit, server: Running) -> None:
    with visit(server) as page:
        finish(page)
        expect(prediction(page)).to_have_text("NEGATIVE 88.1\u00a0%")
        expect(word(page, "awful")).to_have_class(re.compile(r"\bfor\b"))
        page.locator("#text").fill("")
        page.locator("#text").type("a good and fine film", delay=20)
        expect(prediction(page)).to_have_text("POSITIVE 95.3\u00a0%")
        finish(page)
        expect(page.locator(".board .text")).to_have_text("a good and fine film")
        expect(word(page, "good")).to_have_class(re.compile(r"\bfor\b"))
        page.locator("#text").fill("  ")
        expect(page.locator(".board")).to_have_count(0)


def test_the_colours_get_better(visit: Visit) -> None:
    with run_server(bundled()) as running, visit(running) as page:
        type_text(page, MEAN)
        expect(word(page, "dull")).to_have_class(re.compile(r"\bfor\b"))
        expect(word(page, "beautifully")).to_have_class(re.compile(r"\bagainst\b"))
        expect(page.locator(".card .summary")).to_contain_text("mostly because of dull")
        expect(page.locator("footer")).to_contain_text("forward passes 320")


def test_words_go_and_come_back(visit: Visit, server: Running) -> None:
    with visit(server) as page:
        finish(page)
        word(page, "awful").click()
        expect(prediction(page)).to_have_text("Without awful: NEGATIVE 62.2\u00a0%")
        expect(word(page, "awful")).to_have_attribute("aria-pressed", "true")
        expect(word(page, "awful")).to_have_class(re.compile(r"\bgone\b"))
        expect(page.locator("#probabilities")).to_contain_text("88.1\u00a0% \u2192 62.2\u00a0%")
        word(page, "not").click()
        expect(prediction(page)).to_have_text("Without awful and not: POSITIVE 92.4\u00a0%")
        page.get_by_role("button", name="Undo").click()
        expect(prediction(page)).to_have_text("Without awful: NEGATIVE 62.2\u00a0%")
        word(page, "awful").click()
        expect(prediction(page)).to_have_text("NEGATIVE 88.1\u00a0%")
        page.get_by_role("button", name="Undo").click()
        page.get_by_role("button", name="Put all words back").click()
        expect(prediction(page)).to_have_text("NEGATIVE 88.1\u00a0%")
        expect(page.locator(".w.gone")).to_have_count(0)


def test_the_keyboard_is_enough(visit: Visit, server: Running) -> None:
    with visit(server) as page:
        finish(page)
        expect(page.locator("#text")).to_be_focused()
        for _ in range(30):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.classList.contains('w')"):
                break
        expect(word(page, "The")).to_be_focused()
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        expect(word(page, "not")).to_be_focused()
        page.keyboard.press("Enter")
        expect(prediction(page)).to_have_text(re.compile("^Without not: "))
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Space")
        expect(prediction(page)).to_have_text(re.compile("^Without not and good: "))
        page.keyboard.press("Control+z")
        expect(prediction(page)).to_have_text(re.compile("^Without not: "))
        expect(word(page, "good")).to_be_focused()
        expect(page.locator("#prediction")).to_have_attribute("role", "status")


def test_what_flips_it_is_played(visit: Visit, server: Running) -> None:
    flip = explainer()(TEXT).flip
    assert flip is not None
    with visit(server) as page:
        finish(page)
        page.get_by_role("button", name="What flips it?").click()
        expect(page.locator(".w.gone")).to_have_count(len(flip.words))
        expect(prediction(page)).to_contain_text(flip.prediction)
        for left in reversed(range(len(flip.words))):
            page.get_by_role("button", name="Undo").click()
            expect(page.locator(".w.gone")).to_have_count(left)
        type_text(page, "good")
        page.get_by_role("button", name="What flips it?").click()
        expect(page.locator("#message, .w.gone").first).to_be_visible()


def test_why_one_and_not_the_other(visit: Visit, news: Running) -> None:
    with visit(news) as page:
        type_text(page, NEWS)
        page.locator("#for").select_option("film")
        page.locator("#against").select_option("politics")
        expect(page.locator(".legend.directed .target")).to_have_text("film rather than politics")
        expect(word(page, "star")).to_have_class(re.compile(r"\bfor\b"))
        expect(word(page, "vote")).to_have_class(re.compile(r"\bagainst\b"))
        type_text(page, NEWS + " again")
        expect(page.locator(".legend.directed .target")).to_have_text("film rather than politics")
        page.locator("#against").select_option("")
        expect(page.locator(".legend.directed .target")).to_have_text("sports")


def test_a_chosen_label_and_measure_stay(visit: Visit, news: Running) -> None:
    with visit(news) as page:
        type_text(page, NEWS)
        page.locator(".choice").get_by_text("politics", exact=True).click()
        page.locator(".choice").get_by_text("effect", exact=True).click()
        type_text(page, NEWS + " again")
        expect(page.locator(".legend.directed .target")).to_have_text("politics")
        expect(page.get_by_role("radio", name="effect")).to_be_checked()


def test_two_models_side_by_side(visit: Visit) -> None:
    models = explainer(), TextExplainer(harsh, label_names=LABELS, progress=False)
    with run_server(*models, example=TEXT) as running, visit(running) as page:
        finish(page)
        titles = page.locator(".card .side")
        expect(titles).to_have_text(
            [re.compile("^sentiment: NEGATIVE"), re.compile("^harsh: NEGATIVE")]
        )
        boxes = [card.bounding_box() for card in page.locator(".card").all()]
        assert all(boxes)
        assert boxes[0]["y"] == boxes[1]["y"], "side by side"  # type: ignore[index]
        zeros = page.locator(".zero").evaluate_all("all => all.map((z) => z.style.left)")
        assert len(set(zeros)) == 1, "one scale"
        page.locator(".card").nth(1).locator(".w", has_text="awful").click()
        expect(prediction(page)).to_have_count(2)
        expect(prediction(page).first).to_have_text(
            "sentiment, without awful: NEGATIVE 62.2\u00a0%"
        )
        expect(page.locator(".w.gone")).to_have_count(2)


def test_two_methods_share_one_scale(visit: Visit, server: Running) -> None:
    with visit(server) as page:
        finish(page)
        page.locator("#compare").select_option("method:occlusion")
        expect(page.locator(".card")).to_have_count(2)
        finish(page)
        # Parts of the highest score: the longest bars of both sides are equally long.
        widths = [
            max(
                card.locator(".fill").evaluate_all(
                    "all => all.map((f) => parseFloat(f.style.width))"
                )
            )
            for card in page.locator(".card").all()
        ]
        assert widths[0] == pytest.approx(widths[1], abs=0.1)
        expect(prediction(page)).to_have_count(1)
        expect(page.locator("#against")).to_be_disabled()


def test_what_is_seen_is_saved(visit: Visit, server: Running, tmp_path: Path) -> None:
    with visit(server) as page:
        finish(page)
        page.locator(".choice").get_by_text("POSITIVE", exact=True).click()
        for kind in ("page", "JSON"):
            with page.expect_download() as waiting:
                page.get_by_role("button", name=f"Save {kind}").click()
            waiting.value.save_as(tmp_path / waiting.value.suggested_filename)
    saved = TextExplanation.load(tmp_path / "textsobol.json")
    assert (saved.text, saved.target) == (TEXT, "POSITIVE")
    assert "Content-Security-Policy" in (tmp_path / "textsobol.html").read_text()


def test_typing_again_and_stop_end_the_work(visit: Visit) -> None:
    slow = Slow()
    with run_server(slow.explainer()) as running, visit(running) as page:
        page.locator("#text").fill(" ".join(f"word{k}" for k in range(80)))
        expect(page.locator(".board .w")).to_have_count(80)
        page.get_by_role("button", name="Stop").click()
        expect(page.locator("#status")).to_have_text("stopped")
        running.wait_until_idle(2)
        page.locator("#text").fill(" ".join(f"again{k}" for k in range(80)))
        expect(page.get_by_role("button", name="Stop")).to_be_visible()
        type_text(page, "short")
        running.wait_until_idle(2)
        page.locator("#text").fill(" ".join(f"more{k}" for k in range(80)))
        expect(page.get_by_role("button", name="Stop")).to_be_visible()
        expect(prediction(page)).to_contain_text("length")
    # The page is closed: nothing goes on.


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_shown_as_text(visit: Visit, name: str) -> None:
    text = HOSTILE[name]
    model = TextExplainer(lambda texts: [float(len(t)) for t in texts], label_names=[text[:60]])
    with run_server(model) as running, visit(running, **PHONE) as page:
        page.locator("#text").evaluate("(e, text) => { e.value = text; }", text)
        page.locator("#text").dispatch_event("input")
        finish(page)
        shown = page.locator(".board .text").evaluate("e => e.textContent")
        # A text field has one kind of line end, and no NUL.
        assert shown.split() == clean(text.replace("\r\n", "\n").replace("\r", "\n")).split()
        page.locator(".w").first.click()
        expect(page.locator("#probabilities")).to_be_visible()
        assert page.evaluate("window.hacked") is None
        assert page.locator("main img, main script, svg[onload]").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 375


@pytest.mark.parametrize(
    "options", [{"color_scheme": "light"}, {"color_scheme": "dark"}, PHONE], ids=str
)
@pytest.mark.parametrize("compared", [False, True])
def test_it_is_accessible(
    visit: Visit, server: Running, options: dict[str, object], compared: bool
) -> None:
    with visit(server, **options) as page:
        finish(page)
        if compared:
            page.evaluate("document.getElementById('settings').open = true")
            page.locator("#compare").select_option("method:occlusion")
            expect(page.locator(".card")).to_have_count(2)
            finish(page)
        word(page, "awful").click()
        expect(prediction(page)).to_contain_text("Without awful")
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        assert min(page.evaluate(CONTRAST)) >= 4.5
        width = page.viewport_size["width"] if page.viewport_size else 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_token_leaves_the_address(visit: Visit) -> None:
    token = "a-secret-of-20-letters"
    with run_server(explainer(), token=token, example=TEXT) as running:
        with visit(running, f"#token={token}") as page:
            finish(page)
            assert page.url == f"{running.address}/"
            page.reload()
            finish(page)
        with pytest.raises(AssertionError, match="401"), visit(running) as page:
            expect(page.get_by_role("alert")).to_contain_text("needs its token")


def test_a_corpus_is_browsed(visit: Visit, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    from textsobol import explain_corpus

    texts = [f"A good film, number {k}, and not bad" for k in range(25)] + ["An awful film"]
    data = datasets.Dataset.from_dict({"text": texts})
    explain_corpus(explainer(), data, out=tmp_path / "job", budget=40)
    with run_server(explainer(), corpus=tmp_path / "job") as running, visit(running) as page:
        page.locator("#corpus > summary").click()
        expect(page.locator("#corpus-count")).to_have_text("1 to 20 of 26")
        page.get_by_role("button", name="Next texts").click()
        expect(page.locator("#corpus-list li")).to_have_count(6)
        page.locator("#corpus-search").fill("AWFUL")
        expect(page.locator("#corpus-count")).to_have_text("1 to 1 of 1")
        page.get_by_role("button", name="An awful film").click()
        expect(page.locator("#status")).to_have_text("as it was explained")
        expect(page.locator(".board .text")).to_have_text("An awful film")
        expect(word(page, "awful")).to_have_class(re.compile(r"\bfor\b"))
        expect(page.locator("#text")).to_have_value("An awful film")
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        with page.expect_download() as waiting:
            page.get_by_role("button", name="Save JSON").click()
        assert json.loads(waiting.value.path().read_text())["text"] == "An awful film"
        page.locator("#text").press_sequentially("!")
        finish(page)
        word(page, "awful").click()
        expect(prediction(page)).to_contain_text("Without awful")
