"""The page of one explanation, in a real browser."""

import re
from dataclasses import replace

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.render.conftest import Look
from tests.render.samples import TEXT, explained, length, word
from textsobol import TextExplainer
from textsobol.render.page import explanation_html, notebook_html

# Colours as they are seen, of every word: its own over those that lie behind it.
CONTRAST = """() => {
  const parse = (colour) => {
    const [r, g, b, a] = colour.match(/[\\d.]+/g).map(Number);
    return [r, g, b, a ?? 1];
  };
  const line = (v) => (v / 255 <= .04045 ? v / 255 / 12.92 : ((v / 255 + .055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => .2126 * line(r) + .7152 * line(g) + .0722 * line(b);
  const ground = parse(getComputedStyle(document.body).backgroundColor);
  return [...document.querySelectorAll('.w')].map((w) => {
    const style = getComputedStyle(w);
    const over = parse(style.backgroundColor);
    const seen = [0, 1, 2].map((k) => over[k] * over[3] + ground[k] * (1 - over[3]));
    const [a, b] = [light(seen), light(parse(style.color))].sort((x, y) => y - x);
    return (a + .05) / (b + .05);
  });
}"""


def test_the_text_stands_as_it_was_written(look: Look) -> None:
    with look(explanation_html(explained())) as page:
        assert page.locator(".text").inner_text() == TEXT
        assert page.locator("h1").inner_text() == "NEGATIVE 88.1%"
        for name, value in explained().probabilities.items():
            assert f"{name}{value:.3f}" in page.locator("fieldset.label").inner_text().replace(
                "\n", ""
            )
        footer = page.locator("footer").inner_text()
        for fact in ("sentiment", "sobol", "flip", "budget 513", "seed 0", "textsobol 0.1.0"):
            assert fact in footer


def test_words_are_coloured_by_their_sign(look: Look) -> None:
    explanation = explained()
    with look(explanation_html(explanation)) as page:
        spans = page.locator(".w").all()
        assert len(spans) == len(explanation.words)
        for span, own in zip(spans, explanation.words, strict=True):
            score = explanation.score_of(own).score
            classes = (span.get_attribute("class") or "").split()
            strong = abs(score) > 0.02
            assert ("for" in classes) == (strong and score > 0), own.text
            assert ("against" in classes) == (strong and score < 0), own.text


def test_a_click_shows_another_label(look: Look) -> None:
    explanation = explained()
    with look(explanation_html(explanation)) as page:
        expect(word(page, "awful")).to_have_class(re.compile(r"\bfor\b"))
        page.get_by_text("POSITIVE", exact=True).click()
        expect(word(page, "awful")).to_have_class(re.compile(r"\bagainst\b"))
        expect(page.locator(".reading")).to_contain_text("speak for POSITIVE")
        first = page.locator(".bar").first.inner_text().split()
        text, score, _ = explanation.for_label("POSITIVE").top(1)[0]
        assert first[0] == text
        assert first[1].replace("\u2212", "-").startswith(f"{score:+.3f}")


def test_measures_can_be_switched(look: Look) -> None:
    explanation = explained()
    with look(explanation_html(explanation)) as page:
        page.get_by_text("first order", exact=True).click()
        expect(word(page, "awful")).to_have_class(re.compile(r"\bshare\b"))
        shown = {
            row.locator("button").inner_text(): float(
                row.locator(".value").evaluate("e => e.firstChild.data")
            )
            for row in page.locator(".bar").all()[:4]
        }
        for own in explanation.words:
            if own.text in shown and own.text != "The":
                assert shown[own.text] == pytest.approx(explanation.score_of(own).first, abs=6e-4)
        page.get_by_text("total", exact=True).click()
        ranked = sorted((explanation.score_of(w).total for w in explanation.words), reverse=True)
        value = page.locator(".bar .value").first.evaluate("e => e.firstChild.data")
        assert float(value) == pytest.approx(ranked[0], abs=6e-4)


def test_hovering_tells_a_words_numbers(look: Look) -> None:
    explanation = explained()
    own = next(w for w in explanation.words if w.text == "awful")
    score = explanation.score_of(own)
    with look(explanation_html(explanation)) as page:
        word(page, "awful").hover()
        told = page.locator("#details").inner_text().replace("\u2212", "-")
        rank = [text for text, _, _ in explanation.top(99)].index("awful") + 1
        for expected in (
            f"{score.score:+.3f}", f"{score.low:+.3f} to {score.high:+.3f}", f"{score.first:.3f}",
            f"{rank} of 18", f"{score.effect:+.2f}",
        ):  # fmt: skip
            assert expected in told
        page.mouse.move(5, 5)
        expect(page.locator("#details")).to_be_hidden()


def test_the_bars_and_their_error_bars_are_to_scale(look: Look) -> None:
    explanation = explained()
    with look(explanation_html(explanation)) as page:
        ends = [explanation.score_of(w) for w in explanation.words]
        low, high = min(0.0, *(s.low for s in ends)), max(s.high for s in ends)
        text, score, interval = explanation.top(1)[0]
        row = page.locator(".bar").first
        assert row.locator("button").inner_text() == text
        track = row.locator(".track").bounding_box()
        assert track is not None
        for part, (left, right) in {".fill": sorted((0.0, score)), ".error": interval}.items():
            box = row.locator(part).bounding_box()
            assert box is not None
            scale = track["width"] / (high - low)
            assert box["x"] - track["x"] == pytest.approx((left - low) * scale, abs=1)
            assert box["width"] == pytest.approx((right - left) * scale, abs=1)


def test_the_slider_strikes_words_and_tells_what_is_left(look: Look) -> None:
    explanation = explained(whatif=True)
    steps = explanation.whatif["NEGATIVE"]
    turned = next(k for k, step in enumerate(steps, start=1) if step.prediction == "POSITIVE")
    with look(explanation_html(explanation)) as page:
        slider = page.get_by_role("slider")
        slider.focus()
        for k, step in enumerate(steps[:turned], start=1):
            page.keyboard.press("ArrowRight")
            gone = page.locator(".w.gone").all_inner_texts()
            assert sorted(gone) == sorted(explanation.words[s.word].text for s in steps[:k])
            expect(page.locator(".after")).to_contain_text(f"\u2192 {step.probability:.3f}")
        expect(page.locator(".after")).to_contain_text("the prediction is now POSITIVE")
        assert "POSITIVE" in (slider.get_attribute("aria-valuetext") or "")
        assert page.locator("svg.curve circle").count() == len(steps) + 2
        page.get_by_text("POSITIVE", exact=True).click()
        assert int(slider.input_value()) <= len(explanation.whatif["POSITIVE"])


def test_without_whatif_there_is_no_slider(look: Look) -> None:
    with look(explanation_html(explained())) as page:
        assert page.get_by_role("slider").count() == 0


def test_pairs_are_marked_on_hover(look: Look) -> None:
    explanation = explained("this is not a good film", interactions=2)
    with look(explanation_html(explanation.for_label("POSITIVE"))) as page:
        before = page.locator(".text").bounding_box(), word(page, "film").bounding_box()
        word(page, "not").hover()
        expect(word(page, "good")).to_have_class(re.compile("partner.*weakens"))
        after = page.locator(".text").bounding_box(), word(page, "film").bounding_box()
        assert after == before, "words that move would slip away from under the pointer"
        effect = explanation.pairs[0].scores["POSITIVE"].effect
        assert effect < 0
        expect(word(page, "good")).to_have_attribute("data-pair", f"\u2212{-effect:.2f}")
        expect(page.locator("#details")).to_contain_text("good")


def test_the_keyboard_reaches_everything(look: Look) -> None:
    with look(explanation_html(explained(whatif=True))) as page:
        active = "document.activeElement"
        page.keyboard.press("Tab")
        assert page.evaluate(f"{active}.value") == "NEGATIVE"
        page.keyboard.press("ArrowRight")
        expect(page.locator(".reading")).to_contain_text("speak for POSITIVE")
        page.keyboard.press("Tab")
        assert page.evaluate(f"{active}.value") == "signed"
        page.keyboard.press("Tab")
        assert page.evaluate(f"{active}.textContent") == "The"
        page.keyboard.press("ArrowRight")
        assert page.evaluate(f"{active}.textContent") == "film"
        expect(page.locator("#details")).to_be_visible()
        assert page.evaluate(f"{active}.getAttribute('aria-describedby')") == "details"
        page.keyboard.press("Escape")
        expect(page.locator("#details")).to_be_hidden()
        page.keyboard.press("End")
        assert page.evaluate(f"{active}.textContent") == "long"
        page.keyboard.press("Tab")
        assert page.evaluate(f"{active}.type") == "range"
        page.keyboard.press("Tab")
        assert page.evaluate(f"{active}.parentElement.className").startswith("bar")
        expect(page.locator("#details")).to_be_visible()
        for _ in range(15):
            page.keyboard.press("Tab")
        assert page.evaluate(f"{active}.textContent") == "all 18"
        page.keyboard.press("Enter")
        assert page.locator(".bar").count() == 18


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_in_light_and_dark(look: Look, scheme: str) -> None:
    explanation = explained(TEXT, whatif=True)
    with look(explanation_html(explanation), color_scheme=scheme) as page:
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", ground))) > 382) == (scheme == "light")
        for measure in ("signed", "total"):
            page.get_by_text(measure, exact=True).click()
            assert min(page.evaluate(CONTRAST)) >= 4.5
        page.get_by_role("slider").fill("2")
        assert min(page.evaluate(CONTRAST)) >= 4.5
        word(page, "awful").hover()
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


def test_a_phone_shows_it_without_scrolling_sideways(look: Look) -> None:
    phone = {"viewport": {"width": 375, "height": 700}, "has_touch": True, "is_mobile": True}
    with look(explanation_html(explained(whatif=True)), **phone) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 375
        word(page, "awful").tap()
        box = page.locator("#details").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 375
        assert box["y"] + box["height"] <= 700
        page.locator("h1").tap()
        expect(page.locator("#details")).to_be_hidden()


def test_on_paper_the_colours_stay_and_the_controls_go(look: Look) -> None:
    with look(explanation_html(explained(whatif=True)), color_scheme="dark") as page:
        page.emulate_media(media="print")
        assert (
            page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        )
        assert page.locator(".controls").is_hidden()
        for name, want in {
            "printColorAdjust": "exact",
            "backgroundColor": "rgb(96, 170, 222)",
        }.items():
            assert word(page, "not").evaluate(f"e => getComputedStyle(e).{name}") == want
        assert min(page.evaluate(CONTRAST)) >= 4.5


def test_without_scripts_the_colours_and_the_list_are_there(look: Look) -> None:
    explanation = explained()
    with look(explanation_html(explanation), java_script_enabled=False) as page:
        expect(word(page, "awful")).to_have_class(re.compile(r"\bfor\b"))
        table = page.locator("noscript table").inner_text()
        assert explanation.top(1)[0][0] in table
        assert "95 % interval" in table
    focused = explained("a good or awful film", method="focus")
    (best,) = focused.top(1)
    total = focused.score_of(focused.words[focused.ranking[0]]).total
    share = f"{total:.2f} ({total:.2f} to {total:.2f})"
    with look(explanation_html(focused), java_script_enabled=False) as page:
        rows = page.locator("noscript table tr").all_inner_texts()
        assert rows[0].split("\t") == ["word", "score", "share of the variation (95 %)"]
        assert rows[1].split("\t") == [best[0], f"{best[1]:+.3f}", share]


def test_words_that_the_model_cannot_see_are_grey(look: Look) -> None:
    explanation = explained()
    words = [*explanation.words[:-1], replace(explanation.words[-1], status="outside", scores={})]
    with look(explanation_html(replace(explanation, words=tuple(words)))) as page:
        expect(word(page, "long")).to_have_class(re.compile("outside"))
        word(page, "long").hover()
        expect(page.locator("#details")).to_contain_text("outside the model")


def test_a_function_without_probabilities_has_scores(look: Look) -> None:
    explanation = TextExplainer(length, labels=["length"])("some words are longer", whatif=True)
    with look(explanation_html(explanation)) as page:
        value = explanation.probabilities["length"]
        assert page.locator("h1").inner_text() == f"length {value:.3f}"
        assert page.locator(".choice .share").count() == 0
        label = page.locator("svg.curve").get_attribute("aria-label") or ""
        assert label.startswith("Score of length")


def test_labels_that_were_not_analysed_cannot_be_chosen(look: Look) -> None:
    with look(explanation_html(explained(labels=["POSITIVE"]))) as page:
        assert page.locator("input[value=NEGATIVE]").is_disabled()
        assert page.locator("input[value=POSITIVE]").is_checked()


def test_a_notebook_keeps_its_styles_and_the_page_its_own(look: Look) -> None:
    host = (
        "<style>* { color: rgb(1, 2, 3) !important; } .w { display: none !important; }</style>"
        f"<p id=host class=reading>cell</p>{notebook_html(explained())}"
    )
    with look(host) as page:
        frame = page.frame_locator("iframe")
        expect(frame.locator(".bar").first).to_be_visible()
        expect(frame.locator(".w").first).to_be_visible()
        colour = "e => getComputedStyle(e).color"
        assert frame.locator("body").evaluate(colour) != "rgb(1, 2, 3)"
        assert page.locator("#host").evaluate(colour) == "rgb(1, 2, 3)"
        inner = frame.locator("html").evaluate("e => e.scrollHeight - e.clientHeight")
        assert inner <= 0, "the frame is as high as the page"
