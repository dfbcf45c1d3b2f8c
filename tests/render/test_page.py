"""The page of one explanation, in a real browser."""

import re
from dataclasses import replace

import pytest

pytest.importorskip("playwright")
pytest.importorskip("axe_playwright_python")

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.render.conftest import Look
from tests.render.samples import (
    NEWS,
    TEXT,
    TOPICS,
    bars_of,
    choose,
    explained,
    length,
    plus_minus,
    topics,
    word,
)
from textsobol import TextExplainer, __version__
from textsobol.render.page import render_explanation, render_notebook
from textsobol.render.summary import MEASURES, describe_flip_set, summarise

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
    explanation = explained()
    with look(render_explanation(explanation)) as page:
        assert page.locator(".text").inner_text() == TEXT
        assert page.locator("h1").inner_text() == "NEGATIVE 88.1\u00a0%"
        labels = page.locator("fieldset.label").inner_text().replace("\n", "")
        for name, value in explanation.probabilities.items():
            assert f"{name}{value:.3f}" in labels
        footer = page.locator("footer").inner_text()
        for fact in (
            "sentiment",
            "sobol",
            "flip",
            "budget 513",
            "seed 0",
            f"textsobol {__version__}",
        ):
            assert fact in footer


def test_the_footer_names_what_the_scores_of_other_methods_are(look: Look) -> None:
    explanation = explained(method="occlusion")
    old = {k: v for k, v in explanation.settings.items() if k != "quantity"}
    for each, method in (
        (explanation, "method occlusion (loss when left out) ·"),
        (replace(explanation, settings=old), "method occlusion ·"),
        (explained(), "method sobol ·"),
    ):
        with look(render_explanation(each)) as page:
            assert method in page.locator("footer").inner_text()


def test_it_begins_with_sentences(look: Look) -> None:
    explanation = replace(explained(), advised={"NEGATIVE": 4000})
    assert explanation.flip is not None
    with look(render_explanation(explanation)) as page:
        lines = [summarise(explanation), describe_flip_set(explanation), explanation.advice]
        assert page.locator(".summary, .flip, .advice").all_text_contents() == lines
        assert page.locator(".flip em").all_inner_texts() == list(explanation.flip.texts)
        assert explanation.top(1)[0].name in page.locator(".summary em").all_inner_texts()
        choose(page, "POSITIVE")
        other = explanation.for_target("POSITIVE")
        assert page.locator(".summary, .flip").all_text_contents() == [summarise(other), lines[1]]
        expect(page.locator(".advice")).to_be_hidden()


def test_it_says_how_the_log_odds_add_up(look: Look) -> None:
    explanation = explained()
    with look(render_explanation(explanation)) as page:
        for label in ("NEGATIVE", "POSITIVE"):
            choose(page, label)
            sums = explanation.sums[label]
            said = plus_minus(page.locator(".sums").inner_text())
            baseline, additive, remainder, value = map(float, re.findall(r"[+-]?\d+\.\d\d", said))
            assert baseline == pytest.approx(sums.baseline, abs=0.006)
            assert additive == pytest.approx(sums.additive, abs=0.006)
            assert value == pytest.approx(sums.value, abs=0.006)
            assert baseline + additive + remainder == pytest.approx(value), "as they are read"
            assert "(score)" in said
            assert f"cause {100 * sums.additive_share:.0f} % of the variation" in said
    with look(render_explanation(explained(method="occlusion"))) as page:
        expect(page.locator(".sums")).to_be_hidden()
    with look(render_explanation(TextExplainer()("dull film"))) as page:
        assert "(log-odds)" in page.locator(".sums").inner_text()
        choose(page, "effect")
        assert page.locator(".meaning").inner_text() == MEASURES["effect"]


def test_words_are_coloured_by_their_sign_as_the_legend_says(look: Look) -> None:
    explanation = explained()
    with look(render_explanation(explanation)) as page:
        spans = page.locator(".texts .w").all()
        assert len(spans) == len(explanation.words)
        for span, own in zip(spans, explanation.words, strict=True):
            score = explanation.score_of(own).score
            classes = (span.get_attribute("class") or "").split()
            strong = abs(score) > 0.02
            assert ("for" in classes) == (strong and score > 0), own.text
            assert ("against" in classes) == (strong and score < 0), own.text
        colour = "e => getComputedStyle(e).backgroundColor"
        strongest = word(page, explanation.top(1)[0].word).evaluate(colour)
        legend = page.locator(".legend:visible")
        assert legend.locator("i.for").first.evaluate(colour) == strongest
        assert legend.locator(".side").all_inner_texts() == [
            "for NEGATIVE (blue, solid)",
            "against it (orange, dashed)",
        ]
        choose(page, "share")
        assert legend.locator(".side").all_inner_texts() == ["matters for NEGATIVE"]


def test_a_click_shows_another_label(look: Look) -> None:
    explanation = explained()
    with look(render_explanation(explanation)) as page:
        expect(word(page, "awful")).to_have_class(re.compile(r"\bfor\b"))
        choose(page, "POSITIVE")
        expect(word(page, "awful")).to_have_class(re.compile(r"\bagainst\b"))
        best = explanation.for_target("POSITIVE").top(1)[0]
        assert bars_of(page)[0] == (best.name, f"{best.score:+.3f}")
        assert page.locator(".legend:visible .target").inner_text() == "POSITIVE"


def test_measures_have_names_for_people_and_a_line_each(look: Look) -> None:
    explanation = explained()
    fields = {"score": "score", "share": "total", "alone": "first", "effect": "effect"}
    with look(render_explanation(explanation)) as page:
        assert page.locator("fieldset.measure label").all_inner_texts() == list(MEASURES)
        for measure, field in fields.items():
            choose(page, measure)
            meaning = MEASURES[measure].replace("log-odds", "score")  # of a function
            assert page.locator(".meaning").inner_text() == meaning
            values = [getattr(explanation.score_of(w), field) for w in explanation.words]
            wanted = sorted(map(abs, values), reverse=True)[:4]
            shown = [value for _, value in bars_of(page)[:4]]
            assert [abs(float(value)) for value in shown] == pytest.approx(wanted, abs=6e-4)
            has_sign = measure in ("score", "effect")
            assert all((value[0] in "+-") == has_sign for value in shown)
            expect(word(page, "awful")).to_have_class(re.compile("for" if has_sign else "share"))


def test_hovering_shows_all_that_is_known_of_a_word(look: Look) -> None:
    explanation = explained()
    own = next(each for each in explanation.top(99) if each.word == "awful")
    rank = [each.word for each in explanation.top(99)].index("awful") + 1
    with look(render_explanation(explanation)) as page:
        word(page, "awful").hover()
        shown = plus_minus(page.locator("#details").inner_text()).split("\n")
        assert shown[0] == "awful"
        rows = dict(zip(shown[1::2], shown[2::2], strict=True))
        assert rows["score"] == f"{own.score:+.3f} ({own.low:+.3f} to {own.high:+.3f})"
        assert rows["share"].startswith(f"{own.total:.3f} (")
        assert rows["alone"].startswith(f"{own.first:.3f} (")
        assert rows["effect"].startswith(f"{own.effect:+.2f} (")
        assert rows["rank"] == f"{rank} of 18"
        assert "how sure" not in rows
        page.mouse.move(5, 5)
        expect(page.locator("#details")).to_be_hidden()


def test_the_bars_and_their_intervals_are_to_scale(look: Look) -> None:
    explanation = explained()
    with look(render_explanation(explanation)) as page:
        ends = [explanation.score_of(w) for w in explanation.words]
        low, high = min(0.0, *(s.low for s in ends)), max(s.high for s in ends)
        best = explanation.top(1)[0]
        row = page.locator(".bar").first
        assert row.locator("button").inner_text() == best.name
        track = row.locator(".track").bounding_box()
        assert track is not None
        scale = track["width"] / (high - low)
        parts = {".fill": sorted((0.0, best.score)), ".error": (best.low, best.high)}
        for part, (left, right) in parts.items():
            box = row.locator(part).bounding_box()
            assert box is not None
            assert box["x"] - track["x"] == pytest.approx((left - low) * scale, abs=1)
            assert box["width"] == pytest.approx((right - left) * scale, abs=1)


def test_the_slider_strikes_words_and_says_what_is_left(look: Look) -> None:
    explanation = explained()
    assert explanation.path is not None
    steps = explanation.path.steps
    turned = next(k for k, step in enumerate(steps, start=1) if step.prediction == "POSITIVE")
    with look(render_explanation(explanation)) as page:
        expect(page.locator(".slider-place")).to_contain_text("search")
        slider = page.get_by_role("slider")
        slider.focus()
        for k, step in enumerate(steps[:turned], start=1):
            page.keyboard.press("ArrowRight")
            gone = page.locator(".texts .w.gone").all_inner_texts()
            wanted = [explanation.words[word].text for step in steps[:k] for word in step.words]
            assert sorted(gone) == sorted(wanted)
            left = step.probabilities["NEGATIVE"]
            expect(page.locator(".after")).to_contain_text(f"NEGATIVE 0.881 \u2192 {left:.3f}")
        expect(page.locator(".after")).to_contain_text("the prediction is now POSITIVE")
        assert "POSITIVE" in (slider.get_attribute("aria-valuetext") or "")
        for label in ("NEGATIVE", "POSITIVE"):  # the same deletions, the curve of the label
            choose(page, label)
            curve = page.locator("svg.curve").get_attribute("aria-label") or ""
            assert curve.startswith(f"Probability of {label}")
            values = [explanation.probabilities[label], *(s.probabilities[label] for s in steps)]
            assert [float(v) for v in re.findall(r"\d\.\d+", curve)] == pytest.approx(
                values, abs=6e-4
            )
            expect(page.locator(".after")).to_contain_text(
                f"{label} {values[0]:.3f} \u2192 {values[turned]:.3f}"
            )


def test_the_note_of_the_turn_is_inside_of_the_curve(look: Look) -> None:
    explanation = explained("good awful but")
    assert explanation.path is not None
    assert [step.prediction for step in explanation.path.steps] == ["NEGATIVE"]
    with look(render_explanation(explanation)) as page:
        curve, note = (
            page.locator(where).bounding_box()
            for where in ("svg.curve", "svg.curve text >> nth=-1")
        )
        assert curve is not None
        assert note is not None
        assert page.locator("svg.curve text").last.text_content() == "now NEGATIVE"
        assert curve["x"] <= note["x"]
        assert note["x"] + note["width"] <= curve["x"] + curve["width"]


def test_without_a_path_there_is_no_slider(look: Look) -> None:
    with look(render_explanation(explained(path=False))) as page:
        assert page.locator(".bar").count() > 0
        assert page.get_by_role("slider").count() == 0
        assert page.locator(".slider-place:visible, svg.curve, .flip:visible").count() == 0


def test_a_contrast_has_no_probability(look: Look) -> None:
    explanation = TextExplainer(topics, label_names=TOPICS)(NEWS).contrast("sports", "politics")
    with look(render_explanation(explanation)) as page:
        assert page.locator("h1").inner_text().startswith("sports 7")
        assert page.locator("fieldset.label label").all_inner_texts() == [
            "sports rather than politics"
        ]
        assert page.locator(".part-of").count() == 0
        best = explanation.top(1)[0]
        assert bars_of(page)[0] == (best.name, f"{best.score:+.3f}")
        assert page.locator(".summary").inner_text() == summarise(explanation)
        assert "difference)" in page.locator(".sums").inner_text()
        choose(page, "effect")
        assert page.locator(".meaning").inner_text().endswith("difference when the word is present")
        page.get_by_role("slider").fill("1")
        expect(page.locator(".after")).to_contain_text("sports 0.")


def test_pairs_are_marked_on_hover_and_listed(look: Look) -> None:
    explanation = explained("this is not a good film", interactions=2)
    with look(render_explanation(explanation.for_target("POSITIVE"))) as page:
        before = page.locator(".text").bounding_box(), word(page, "film").bounding_box()
        word(page, "not").hover()
        expect(word(page, "good")).to_have_class(re.compile("partner.*weakens"))
        after = page.locator(".text").bounding_box(), word(page, "film").bounding_box()
        assert after == before, "words that move would slip away from under the pointer"
        effect = explanation.pairs[0].scores["POSITIVE"].effect
        assert effect < 0
        expect(word(page, "good")).to_have_attribute("data-pair", f"\u2212{-effect:.2f}")
        expect(page.locator("#details")).to_contain_text("good")
        together = page.locator(".together").inner_text()
        assert plus_minus(together).endswith(f"not and good {effect:+.2f}"), "exact: no interval"
        assert "exact" in together


def test_the_keyboard_reaches_everything(look: Look) -> None:
    explanation = explained()
    strong = [each for each in explanation.top(15) if abs(each.score) >= 0.0005]
    with look(render_explanation(explanation)) as page:
        active = "document.activeElement"
        page.keyboard.press("Tab")
        assert page.evaluate(f"{active}.value") == "NEGATIVE"
        page.keyboard.press("ArrowRight")
        expect(page.locator(".summary")).to_contain_text("for POSITIVE")
        page.keyboard.press("Tab")
        assert page.evaluate(f"{active}.value") == "score"
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
        for _ in strong:
            page.keyboard.press("Tab")
        assert page.evaluate(f"{active}.textContent") == "all 18"
        page.keyboard.press("Enter")
        assert page.locator(".bar").count() == 18


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_in_light_and_dark(look: Look, scheme: str) -> None:
    with look(render_explanation(explained()), color_scheme=scheme) as page:
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", ground))) > 382) == (scheme == "light")
        for measure in ("score", "share"):
            choose(page, measure)
            assert min(page.evaluate(CONTRAST)) >= 4.5
        page.get_by_role("slider").fill("2")
        assert min(page.evaluate(CONTRAST)) >= 4.5
        word(page, "awful").hover()
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


def test_a_phone_shows_it_without_scrolling_sideways(look: Look) -> None:
    phone = {"viewport": {"width": 375, "height": 700}, "has_touch": True, "is_mobile": True}
    with look(render_explanation(explained()), **phone) as page:
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
    with look(render_explanation(explained()), color_scheme="dark") as page:
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
    with look(render_explanation(explanation), java_script_enabled=False) as page:
        expect(word(page, "awful")).to_have_class(re.compile(r"\bfor\b"))
        assert page.locator(".summary").inner_text() == summarise(explanation)
        rows = [plus_minus(row) for row in page.locator("noscript table tr").all_inner_texts()]
        best = explanation.top(1)[0]
        interval = f"{best.low:+.3f} to {best.high:+.3f}"
        assert rows[0].split("\t") == ["word", "score", "95 % interval"]
        assert rows[1].split("\t") == [best.name, f"{best.score:+.3f}", interval]
    with look(render_explanation(explained("awful good")), java_script_enabled=False) as page:
        assert page.locator("noscript table tr").nth(1).inner_text().endswith("exact")


def test_words_that_the_model_cannot_see_are_grey(look: Look) -> None:
    explanation = explained()
    words = [*explanation.words[:-1], replace(explanation.words[-1], status="outside", scores={})]
    with look(render_explanation(replace(explanation, words=tuple(words)))) as page:
        expect(word(page, "long")).to_have_class(re.compile("outside"))
        word(page, "long").hover()
        expect(page.locator("#details")).to_contain_text("outside the model")


def test_a_function_without_probabilities_has_scores(look: Look) -> None:
    explanation = TextExplainer(length, label_names=["length"])("some words are longer")
    with look(render_explanation(explanation)) as page:
        value = explanation.probabilities["length"]
        assert page.locator("h1").inner_text() == f"length {value:.3f}"
        assert page.locator(".part-of").count() == 0
        label = page.locator("svg.curve").get_attribute("aria-label") or ""
        assert label.startswith("Score of length")


def test_labels_that_were_not_analysed_cannot_be_chosen(look: Look) -> None:
    with look(render_explanation(explained(targets=["POSITIVE"]))) as page:
        assert page.locator("input[value=NEGATIVE]").is_disabled()
        assert page.locator("input[value=POSITIVE]").is_checked()


def test_a_notebook_keeps_its_styles_and_the_page_its_own(look: Look) -> None:
    host = (
        "<style>* { color: rgb(1, 2, 3) !important; } .w { display: none !important; }</style>"
        f"<p id=host class=reading>cell</p>{render_notebook(explained())}"
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
