"""What the page says of words: values, places, and what is not known."""

import math
import re
from dataclasses import replace

import pytest

pytest.importorskip("playwright")

import numpy as np
from playwright.sync_api import expect

from tests.render.conftest import Look
from tests.render.samples import bars_of, choose, explained, length, with_measures, word
from textsobol import Sobol, TextExplainer
from textsobol.render.page import render_explanation
from textsobol.render.report import render_report


def test_scores_beyond_one_keep_their_values_and_places(look: Look) -> None:
    weights = np.random.default_rng(0).normal(size=60)

    def wave(texts: list[str]) -> list[float]:
        present = [[float(f"w{k}." in text) for k in range(60)] for text in texts]
        return list(np.sin(2 * np.array(present) @ weights))

    text = " ".join(f"w{k}." for k in range(60))
    explanation = TextExplainer(wave)(text, method=Sobol(estimator="jansen", base_masks=32))
    assert explanation.top(1)[0].score > 1, "Jansen's estimator can do that"
    with look(render_explanation(explanation)) as page:
        expected = [(each.name, f"{each.score:+.3f}") for each in explanation.top(15)]
        assert bars_of(page) == expected


def test_estimates_beyond_one_are_not_called_shares(look: Look) -> None:
    explanation = with_measures(explained("an awful film"), "awful", total=1.18)
    sums = {label: replace(own, additive_share=-0.4) for label, own in explanation.sums.items()}
    with look(render_explanation(replace(explanation, sums=sums))) as page:
        assert page.locator(".summary").inner_text() == "NEGATIVE, mostly because of awful"
        assert page.locator(".sums").inner_text().endswith("(score).")


def test_small_scores_of_long_texts_keep_their_places(look: Look) -> None:
    weights = np.linspace(1, 3, 2000)
    places = {f"w{k}": k for k in range(2000)}

    def additive(texts: list[str]) -> list[float]:
        return [float(sum(weights[places[word]] for word in text.split())) for text in texts]

    explanation = TextExplainer(additive)(" ".join(places), method=Sobol(base_masks=2))
    with look(render_explanation(explanation)) as page:
        page.locator("button.more").click()
        names = [name for name, _ in bars_of(page)]
        assert names[:200] == [each.name for each in explanation.top(200)]


def test_a_share_alone_below_zero_is_no_share(look: Look) -> None:
    explanation = explained()
    for text, value in {"film": -0.4, "not": 0.3, "good": 0.1}.items():
        explanation = with_measures(explanation, text, first=value, first_low=-0.5, first_high=0.5)
    with look(render_explanation(explanation)) as page:
        choose(page, "alone")
        names = [name for name, _ in bars_of(page)]
        assert names[0] == "not"
        assert "film" not in names
        assert "share" not in (word(page, "film").get_attribute("class") or "")


def test_repeated_words_have_numbers_and_none_is_plus_zero(look: Look) -> None:
    explanation = with_measures(explained("very good, very bad, very fine"), "bad", score=4e-4)
    with look(render_explanation(explanation)) as page:
        page.locator("button.more").click()
        shown = dict(bars_of(page))
        assert set(shown) == {"very (1)", "good", "very (2)", "bad", "very (3)", "fine"}
        assert shown["bad"] == "0"
        assert page.locator(".bar .fill").count() == 2
        assert "0.000" not in page.locator(".card").inner_text()


def test_exact_results_say_so_and_have_no_intervals(look: Look) -> None:
    explanation = explained("an awful film")
    assert explanation.is_exact
    with look(render_explanation(explanation)) as page:
        expect(page.locator(".interval-note")).to_have_text("exact")
        assert page.locator(".bar .error").count() == 0
        word(page, "awful").hover()
        expect(page.locator("#details")).to_contain_text("+1.000, exact")
        assert "95 %" not in page.locator("body").inner_text()


def test_words_that_work_both_ways_have_no_direction(look: Look) -> None:
    def either(texts: list[str]) -> list[float]:
        return [("good" in text) != ("bad" in text) + 0.5 * ("fine" in text) for text in texts]

    with look(render_explanation(TextExplainer(either)("good bad fine"))) as page:
        for text, is_unclear in {"good": True, "bad": True, "fine": False}.items():
            bar = page.locator(".bar", has_text=text)
            assert (bar.locator(".fill.unclear").count() == 1) == is_unclear, text
        expect(page.locator(".doubt")).to_contain_text("as much against it")
        word(page, "good").hover()
        expect(page.locator("#details")).to_contain_text("no direction on average")


def test_intervals_that_reach_zero_say_what_is_unclear(look: Look) -> None:
    explanation = explained()
    unclear = {"score": 0.2, "low": -0.1, "high": 0.3, "total": 0.2, "total_high": 0.3}
    explanation = with_measures(explanation, "film", **unclear, total_low=0.1)
    explanation = with_measures(explanation, "music", **unclear, total_low=0.0)
    said = {"film": "direction unclear", "music": "may be 0", "awful": ""}
    with look(render_explanation(explanation)) as page:
        expect(page.locator(".doubt")).to_contain_text("the interval includes 0")
        for text, doubt in said.items():
            bar = page.locator(".bar", has_text=text)
            assert (bar.locator(".fill.unclear").count() == 1) == bool(doubt)
            assert bar.locator(".value").inner_text().endswith(doubt)
            word(page, text).hover()
            assert ("how sure" in page.locator("#details").inner_text()) == bool(doubt)
            expect(page.locator("#details")).to_contain_text(doubt)
            page.keyboard.press("Escape")  # the box may lie over the next word
        choose(page, "share")  # the share of the one is known to differ from 0
        assert page.locator(".bar", has_text="film").locator(".unclear").count() == 0
        assert page.locator(".bar", has_text="music").locator(".unclear").count() == 1
    with look(render_explanation(explanation), java_script_enabled=False) as page:
        rows = page.locator("noscript table").inner_text()
        assert "direction unclear" in rows
        assert "may be 0" in rows


def test_a_method_that_only_scores_has_only_a_score(look: Look) -> None:
    explanation = explained(method="occlusion")
    assert math.isnan(explanation.top(1)[0].total)
    with look(render_explanation(explanation)) as page:
        expect(page.locator(".interval-note")).to_have_text("no intervals")
        assert page.locator(".bar .error").count() == 0
        for measure in ("share", "alone", "effect"):
            assert page.locator(f"input[value={measure}]").is_disabled()
        word(page, "awful").hover()
        assert re.match(r"awful\s+score\s+\S+\s+rank\s+\d", page.locator("#details").inner_text())
        assert "NaN" not in page.locator("body").inner_text()


def test_one_base_mask_gives_no_interval(look: Look) -> None:
    with look(render_explanation(explained(base_masks=1))) as page:
        expect(page.locator(".interval-note")).to_have_text("no intervals at this budget")
        assert page.locator(".bar").count() > 0
        assert page.locator(".bar .error, .bar .unclear").count() == 0


def test_words_masked_as_one_are_listed_once(look: Look) -> None:
    explanation = explained(budget=10)
    n_shared = sum(w.shared_by > 1 for w in explanation.words)
    assert n_shared > 0
    with look(render_explanation(explanation)) as page:
        expect(page.locator(".card > .note").first).to_contain_text(f"{n_shared} words were masked")
        page.locator("button.more").click()
        listed = explanation.top(99)
        assert len(listed) < len(explanation.words)
        wanted = [(" ".join(each.name.split()), f"{each.score:+.3f}") for each in listed]
        zero = ("+0.000", "-0.000")
        assert bars_of(page) == [(name, "0" if v in zero else v) for name, v in wanted]
        group = next(each for each in listed if each.shared_by > 1)
        first = next(k for k, w in enumerate(explanation.words) if w.start == group.start)
        page.locator(".texts .w").nth(first).hover()
        expect(page.locator("#details")).to_contain_text(f"{group.shared_by} words, masked as one")
        assert page.locator(".texts .w.selected").count() == group.shared_by


def test_ties_rank_on_the_page_as_they_do_in_python(look: Look) -> None:
    def either(texts: list[str]) -> list[float]:
        return [float("fine" in text or "good" in text) for text in texts]

    explanation = TextExplainer(either)("ok and fine and good and all")
    one, other = explanation.top(2)
    assert one.score == other.score
    with look(render_explanation(explanation)) as page:
        assert [name for name, _ in bars_of(page)[:2]] == [one.name, other.name]


def test_a_method_without_signs_does_not_split_for_from_against(look: Look) -> None:
    explanation = explained(method="greedy")
    assert explanation.settings["signed"] is False
    with look(render_explanation(explanation)) as page:
        expect(word(page, "awful")).to_have_class(re.compile(r"\bshare\b"))
        assert page.locator(".texts .w.for, .texts .w.against").count() == 0
        expect(page.locator(".legend:visible")).to_contain_text("without a direction")
        assert not any(value[0] in "+-" for _, value in bars_of(page))


@pytest.mark.filterwarnings("ignore::textsobol.ConstantScoreWarning")
def test_labels_may_be_called_what_objects_have(look: Look) -> None:
    def many(texts: list[str]) -> list[list[float]]:
        return [[k + (k == 0) * 0.1 * t.count("joy") for k in range(7)] for t in texts]

    names = ["constructor", "toString", "__proto__", "d", "e", "f", "g"]
    explanation = TextExplainer(many, label_names=names)("such joy")
    with look(render_explanation(explanation)) as page:
        for name in names[:3]:
            choose(page, name)
            assert name in page.locator(".summary").inner_text()
        choose(page, "constructor")
        assert bars_of(page)[0][0] == "joy"


def test_the_box_can_be_reached_with_the_pointer(look: Look) -> None:
    with look(render_explanation(explained())) as page:
        word(page, "awful").hover()
        page.locator("#details").hover()
        page.wait_for_timeout(400)
        expect(page.locator("#details")).to_be_visible()
        page.mouse.move(2, 2)
        expect(page.locator("#details")).to_be_hidden()


def test_lines_of_any_system_keep_words_in_their_places(look: Look) -> None:
    def lines(text: str) -> list[tuple[int, int]]:
        return [found.span() for found in re.finditer(".+", text)]

    text = "first line\r\nsecond line\r\nthird"
    explanation = TextExplainer(length, unit=lines)(text)
    for html in (render_explanation(explanation), render_report([explanation])):
        with look(html) as page:
            expect(page.locator(".w")).to_have_count(3)
            found = page.locator(".w").evaluate_all("all => all.map((w) => w.textContent)")
            assert found == ["first line", "second line", "third"]
            whole = page.locator(".text").first.evaluate("e => e.textContent")
            assert whole == "first line\nsecond line\nthird"
